#include "json/content.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "json/scan.hpp"

#if defined(_WIN32)
#include <filesystem>
#include <fstream>
#else
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace verite::json {

namespace {

constexpr std::size_t step = std::size_t{1} << 20;

[[noreturn]] void fail(const std::string& path) { throw std::system_error(errno, std::generic_category(), path); }

void check_size(const std::string& path, std::uint64_t size, std::uint64_t limit) {
    if (size > limit)
        throw std::length_error(path + ": " + std::to_string(size) + " bytes or more, the limit is " +
                                std::to_string(limit));
}

}  // namespace

Content::Content(std::span<const char> bytes) {
    resize(bytes.size());
    std::ranges::copy(bytes, bytes_.begin());
}

// Room in memory for this number of bytes and the zeros behind them.
void Content::resize(std::size_t size) {
    bytes_.resize(size + zeros_behind_text);
    std::memset(bytes_.data() + size, 0, zeros_behind_text);
    size_ = size;
}

std::size_t Content::line_of(std::size_t byte) const {
    byte = std::min(byte, size_);
    std::size_t lines = 1;
    Array<char> room;
    for (std::size_t first = 0, last; first < byte; first = last) {
        last = stamp_ ? std::min(first + step, byte) : byte;
        const auto bytes = read(first, last, room).bytes.first(last - first);
        lines += static_cast<std::size_t>(std::ranges::count(bytes, '\n'));
    }
    return lines;
}

#if defined(_WIN32)

Content::Content(const std::string& path, std::uint64_t limit) : path_(path) { read_stream(limit); }

Content::~Content() = default;

void Content::read_stream(std::uint64_t limit) {
    std::ifstream file(std::filesystem::path(std::u8string(path_.begin(), path_.end())), std::ios::binary);
    if (!file) fail(path_);
    for (std::size_t before = 0;;) {
        resize(before + std::max(step, before / 2));
        file.read(bytes_.data() + before, static_cast<std::streamsize>(size_ - before));
        if (file.bad()) fail(path_);
        const auto got = static_cast<std::size_t>(file.gcount());
        before += got;
        check_size(path_, before, limit);
        if (got == 0) return resize(before);
    }
}

Stretch Content::read(std::size_t, std::size_t, Array<char>&) const { return {{bytes_.data(), size_}}; }

void Content::check_unchanged() const {}

#else

namespace {

// Of a regular file; nothing for a pipe and the like.
std::optional<Stamp> stamp_of(int file, const std::string& path) {
    struct stat status{};
    if (fstat(file, &status) != 0) fail(path);
    if (!S_ISREG(status.st_mode)) return std::nullopt;
#if defined(__APPLE__)
    const timespec written = status.st_mtimespec;
#else
    const timespec written = status.st_mtim;
#endif
    return Stamp{static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino),
                 static_cast<std::uint64_t>(status.st_size), written.tv_sec, written.tv_nsec};
}

// What was in it is not kept. Stretches differ by a record, so that a little more saves the next growth.
void make_room(Array<char>& room, std::size_t size) {
    if (room.capacity() < size) {
        room = {};
        room.reserve(size + size / 16);
    }
    room.resize(size);
}

// Calls read() until it answers; a signal may interrupt it.
template <class Read>
std::size_t read_some(const std::string& path, Read&& read) {
    for (;;) {
        const ssize_t got = read();
        if (got >= 0) return static_cast<std::size_t>(got);
        if (errno != EINTR) fail(path);
    }
}

}  // namespace

Content::Content(const std::string& path, std::uint64_t limit)
    : path_(path), file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_ < 0) fail(path);
    try {
        stamp_ = stamp_of(file_, path);
        if (!stamp_ || stamp_->size == 0) {  // files of the system say 0 bytes
            stamp_.reset();
            read_stream(limit);
            close(std::exchange(file_, -1));
        } else {
            check_size(path, stamp_->size, limit);
            size_ = stamp_->size;
        }
    } catch (...) {
        if (file_ >= 0) close(file_);
        throw;
    }
}

Content::~Content() {
    if (file_ >= 0) close(file_);
}

void Content::read_stream(std::uint64_t limit) {
    for (std::size_t before = 0;;) {
        resize(before + std::max(step, before / 2));
        const std::size_t got = read_some(path_, [&] { return ::read(file_, bytes_.data() + before, size_ - before); });
        before += got;
        check_size(path_, before, limit);
        if (got == 0) return resize(before);
    }
}

Stretch Content::read(std::size_t first, std::size_t last, Array<char>& room) const {
    if (!stamp_) return {{bytes_.data(), size_}};
    last = std::min(last, size_);
    const std::size_t size = last - first;
    make_room(room, size + zeros_behind_text);
    for (std::size_t done = 0; done < size;) {
        const std::size_t got = read_some(
            path_, [&] { return pread(file_, room.data() + done, size - done, static_cast<off_t>(first + done)); });
        if (got == 0) throw ChangedFile(path_, "while it was read");
        done += got;
    }
    std::memset(room.data() + size, 0, zeros_behind_text);
    return {{room.data(), size}, first, last == size_};
}

void Content::check_unchanged() const {
    if (stamp_ && stamp_of(file_, path_) != stamp_) throw ChangedFile(path_, "while it was read");
}

#endif

}  // namespace verite::json
