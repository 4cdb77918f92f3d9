#include "json/content.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "columns/columns.hpp"
#include "columns/parallel.hpp"
#include "json/scan.hpp"

#if defined(_WIN32)
#include <filesystem>
#else
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace verite::json {

namespace {

[[noreturn]] void fail(const std::string& path) { throw std::system_error(errno, std::generic_category(), path); }

void check_size(const std::string& path, std::uint64_t size, std::uint64_t limit) {
    if (size > limit)
        throw std::length_error(path + ": " + std::to_string(size) + " bytes or more, the limit is " +
                                std::to_string(limit));
}

}  // namespace

Content::Content(std::vector<char> bytes) {
    make_room(bytes.size());
    if (size_ > 0) std::memcpy(data_, bytes.data(), size_);
}

Content::~Content() { free_block(data_, room_); }

// Room for so many bytes and the zeros behind them; bytes that are there stay.
void Content::make_room(std::size_t size) {
    data_ = static_cast<char*>(resize_block(data_, room_, size + zeros_behind_text));
    room_ = size + zeros_behind_text;
    size_ = size;
    std::memset(data_ + size_, 0, zeros_behind_text);
}

std::size_t Content::line_of(std::size_t byte) const {
    byte = std::min(byte, size_);
    std::size_t lines = 1;
    if (released_ > 0) {
        std::ifstream file(path_, std::ios::binary);
        std::vector<char> piece(std::size_t{1} << 20);
        for (std::size_t left = std::min(released_, byte); left > 0 && file;) {
            file.read(piece.data(), static_cast<std::streamsize>(std::min(left, piece.size())));
            const auto got = static_cast<std::size_t>(file.gcount());
            lines += static_cast<std::size_t>(std::count(piece.data(), piece.data() + got, '\n'));
            left -= got;
        }
    }
    const std::size_t first = std::min(released_, byte);
    return lines + static_cast<std::size_t>(std::count(data_ + first, data_ + byte, '\n'));
}

#if defined(_WIN32)

Content::Content(const std::string& path, unsigned, std::uint64_t limit) : path_(path) {
    std::ifstream file(std::filesystem::path(std::u8string(path.begin(), path.end())), std::ios::binary);
    if (!file) fail(path);
    constexpr std::size_t step = std::size_t{1} << 20;
    for (std::size_t before = 0;;) {
        make_room(before + std::max(step, before / 2));
        file.read(data_ + before, static_cast<std::streamsize>(size_ - before));
        if (file.bad()) fail(path);
        const auto got = static_cast<std::size_t>(file.gcount());
        before += got;
        check_size(path, before, limit);
        if (got == 0) return make_room(before);
    }
}

void Content::release(std::size_t) {}

bool has_changed(const std::string&, const Stamp&) { return false; }

#else

namespace {

class OpenFile {
  public:
    explicit OpenFile(const std::string& path) : number(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        if (number < 0) fail(path);
    }
    OpenFile(const OpenFile&) = delete;
    ~OpenFile() { close(number); }

    const int number;
};

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

Content::Content(const std::string& path, unsigned threads, std::uint64_t limit) : path_(path) {
    const OpenFile file(path);
    const auto stamp = stamp_of(file.number, path);
    if (!stamp || stamp->size == 0) {  // files of the system say 0 bytes
        read_stream(file.number, limit);
        return;
    }
    check_size(path, stamp->size, limit);
    make_room(stamp->size);
    try {
        read_regular(file.number, threads);
        if (stamp_of(file.number, path) != stamp) throw ChangedFile(path, "while it was read");
    } catch (...) {
        free_block(std::exchange(data_, nullptr), std::exchange(room_, 0));
        throw;
    }
    stamp_ = stamp;
}

bool has_changed(const std::string& path, const Stamp& stamp) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    struct Closing {
        int file;
        ~Closing() { close(file); }
    } const closing{file};
    return stamp_of(file, path) != stamp;
}

void Content::read_regular(int file, unsigned threads) {
    constexpr std::size_t piece = std::size_t{4} << 20;
    std::atomic<bool> is_shorter{false};
    in_parallel((size_ + piece - 1) / piece, threads, [&](std::size_t index) {
        const std::size_t last = std::min((index + 1) * piece, size_);
        for (std::size_t at = index * piece; at < last && !is_shorter;) {
            const std::size_t got =
                read_some(path_, [&] { return pread(file, data_ + at, last - at, static_cast<off_t>(at)); });
            if (got == 0) is_shorter = true;
            at += got;
        }
    });
    if (is_shorter) throw ChangedFile(path_, "while it was read");
}

void Content::read_stream(int file, std::uint64_t limit) {
    constexpr std::size_t step = std::size_t{1} << 20;
    for (std::size_t before = 0;;) {
        make_room(before + std::max(step, before / 2));
        const std::size_t got = read_some(path_, [&] { return read(file, data_ + before, size_ - before); });
        before += got;
        check_size(path_, before, limit);
        if (got == 0) return make_room(before);
    }
}

void Content::release(std::size_t last) {
    // In steps of several huge pages: to break up a huge page costs more than to keep half of one.
    constexpr std::size_t step = 4 * huge_page;
    last = std::min(last, size_) / step * step;
    if (!stamp_ || size_ <= small || last <= released_) return;
    const auto first = (reinterpret_cast<std::uintptr_t>(data_) + released_ + 4095) / 4096 * 4096;
    const auto end = (reinterpret_cast<std::uintptr_t>(data_) + last) / 4096 * 4096;
    if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
    released_ = last;
}

#endif

}  // namespace verite::json
