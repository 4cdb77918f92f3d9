// The bytes of a file, read piece by piece, or bytes in memory. No memory mapping: a file that becomes shorter is an
// ordinary error. The descriptor lives as long as this, which is while a file is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "columns/memory.hpp"

namespace verite::json {

// Identity of a file, to detect that it was changed after it was read.
struct Stamp {
    std::uint64_t device = 0, file = 0, size = 0;
    std::int64_t seconds = 0, nanoseconds = 0;

    bool operator==(const Stamp&) const = default;
};

// A file was written to while it was read, or before it was read again.
class ChangedFile : public std::runtime_error {
  public:
    ChangedFile(const std::string& path, const char* when)
        : std::runtime_error(std::string("the file was changed ") + when + "; read it again"), path_(path) {}

    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

// The scanner looks ahead without checking for the end: a zero byte, which JSON forbids everywhere, ends every token.
inline constexpr std::size_t zeros_behind_text = 64;

// Some of the bytes, with zeros behind them.
struct Stretch {
    std::span<const char> bytes;
    std::size_t first = 0;  // its place in the whole
    bool is_last = true;    // nothing comes behind it
};

class Content {
  public:
    static constexpr std::uint64_t most_bytes = std::uint64_t{8} << 30;

    // Throws std::system_error if the file cannot be read, std::length_error if it is larger than `limit`.
    explicit Content(const std::string& path, std::uint64_t limit = most_bytes);
    // A copy of what is in memory already.
    explicit Content(std::span<const char> bytes);
    Content(const Content&) = delete;
    Content& operator=(const Content&) = delete;
    ~Content();

    std::size_t size() const { return size_; }

    // The bytes from `first` to `last`: of a file in `room`, which stays the caller's; of what is in memory, always
    // all. Throws ChangedFile if the file has become shorter.
    Stretch read(std::size_t first, std::size_t last, Array<char>& room) const;

    // Throws ChangedFile if the file has been written to since it was opened.
    void check_unchanged() const;

    // Of a regular file; what came through a pipe cannot be read again.
    const std::optional<Stamp>& stamp() const { return stamp_; }
    const std::string& path() const { return path_; }

    // The line that a byte is in, counted from 1.
    std::size_t line_of(std::size_t byte) const;

  private:
    void resize(std::size_t size);
    void read_stream(std::uint64_t limit);

    std::string path_;
    std::optional<Stamp> stamp_;
    Array<char> bytes_;  // and zeros, unless they are read from the file
    std::size_t size_ = 0;
    int file_ = -1;
};

}  // namespace verite::json
