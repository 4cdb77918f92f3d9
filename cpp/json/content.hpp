// The bytes of a file in memory, with zeros behind them. Nothing stays open: no descriptor, no mapping of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace verite::json {

// What tells whether a file is still the one that was read.
struct Stamp {
    std::uint64_t device = 0, file = 0, size = 0;
    std::int64_t seconds = 0, nanoseconds = 0;

    bool operator==(const Stamp&) const = default;
};

// Somebody wrote to a file that was being read, or is to be read once more.
class ChangedFile : public std::runtime_error {
  public:
    ChangedFile(const std::string& path, const char* when)
        : std::runtime_error(std::string("the file was changed ") + when + "; read it again"), path_(path) {}

    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

// Is there another file at this path now? One that is gone has not changed.
bool has_changed(const std::string& path, const Stamp& stamp);

class Content {
  public:
    static constexpr std::size_t small = std::size_t{16}
                                         << 20;  // what is kept as long as segmentations may be asked for
    static constexpr std::uint64_t most_bytes = std::uint64_t{8} << 30;

    // Throws std::system_error if the file cannot be read, std::length_error if it is larger than `limit`, and
    // ChangedFile if it changes meanwhile.
    explicit Content(const std::string& path, unsigned threads = 1, std::uint64_t limit = most_bytes);
    // What is in memory already.
    explicit Content(std::vector<char> bytes);
    Content(const Content&) = delete;
    Content& operator=(const Content&) = delete;
    ~Content();

    std::span<const char> bytes() const { return {data_, size_}; }

    // Of a regular file; what came through a pipe cannot be read again.
    const std::optional<Stamp>& stamp() const { return stamp_; }
    const std::string& path() const { return path_; }

    // Gives back the memory of the bytes up to `last`, which nobody will look at again. Only of a file that can be read
    // again.
    void release(std::size_t last);

    // The line that a byte is in, counted from 1; from the file where its bytes are gone.
    std::size_t line_of(std::size_t byte) const;

  private:
    void make_room(std::size_t size);
    void read_regular(int file, unsigned threads);
    void read_stream(int file, std::uint64_t limit);

    std::string path_;
    std::optional<Stamp> stamp_;
    char* data_ = nullptr;
    std::size_t size_ = 0, room_ = 0, released_ = 0;
};

}  // namespace verite::json
