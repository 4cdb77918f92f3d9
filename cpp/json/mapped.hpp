// A file as one span of bytes with zeros behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace verite {

class MappedFile {
  public:
    static constexpr std::size_t zeros_behind = 64;
    static constexpr std::uint64_t most_bytes = std::uint64_t{8} << 30;

    // Maps a regular file; reads anything else (a pipe, or any file on Windows) into memory.
    // Throws std::system_error if it cannot be read, std::length_error if it is larger than `limit`.
    explicit MappedFile(const std::string& path, std::uint64_t limit = most_bytes);
    // Content that is in memory already.
    explicit MappedFile(std::vector<char> content) { keep(std::move(content)); }
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile();

    std::span<const char> bytes() const { return {data_, size_}; }

    // Lets the system take back the memory behind bytes [first, last). They come from the file again when touched.
    void release(std::size_t first, std::size_t last) const;

    // Whether the file was written to since it was mapped. Touching bytes that a mapped file no longer has kills the
    // process, so this is the question to ask before coming back to them.
    bool has_changed() const;

  private:
    struct Stamp {
        std::uint64_t size = 0;
        std::int64_t seconds = 0, nanoseconds = 0;
        bool operator==(const Stamp&) const = default;
    };

    void map(std::uint64_t size);
    void keep(std::vector<char> content);
    Stamp stamp() const;

    const char* data_ = nullptr;
    std::size_t size_ = 0;
    std::vector<char> copy_;        // empty if mapped
    std::size_t mapped_bytes_ = 0;  // 0 if copied
    int file_ = -1;
    Stamp stamp_;
};

}  // namespace verite
