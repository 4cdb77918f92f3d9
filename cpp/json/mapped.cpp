#include "json/mapped.hpp"

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

#if defined(_WIN32)
#include <filesystem>
#include <fstream>
#else
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

namespace verite {

namespace {

[[noreturn]] void fail(const std::string& path) { throw std::system_error(errno, std::generic_category(), path); }

void check_size(const std::string& path, std::uint64_t size, std::uint64_t limit) {
    if (size > limit)
        throw std::length_error(path + ": " + std::to_string(size) + " bytes or more, the limit is " +
                                std::to_string(limit));
}

// Calls `read(buffer, room)` until it has nothing more.
template <class Read>
std::vector<char> read_all(const std::string& path, std::uint64_t limit, Read&& read) {
    std::vector<char> content;
    constexpr std::size_t step = std::size_t{1} << 20;
    for (;;) {
        const std::size_t before = content.size();
        content.resize(before + std::max(step, before / 2));
        const std::size_t got = read(content.data() + before, content.size() - before);
        content.resize(before + got);
        check_size(path, content.size(), limit);
        if (got == 0) return content;
    }
}

}  // namespace

void MappedFile::keep(std::vector<char> content) {
    size_ = content.size();
    content.resize(size_ + zeros_behind);
    copy_ = std::move(content);
    data_ = copy_.data();
}

#if defined(_WIN32)

MappedFile::MappedFile(const std::string& path, std::uint64_t limit) {
    std::ifstream file(std::filesystem::path(std::u8string(path.begin(), path.end())), std::ios::binary);
    if (!file) fail(path);
    keep(read_all(path, limit, [&](char* buffer, std::size_t room) {
        file.read(buffer, static_cast<std::streamsize>(room));
        if (file.bad()) fail(path);
        return static_cast<std::size_t>(file.gcount());
    }));
}

MappedFile::~MappedFile() = default;

void MappedFile::release(std::size_t, std::size_t) const {}

bool MappedFile::has_changed() const { return false; }

#else

MappedFile::MappedFile(const std::string& path, std::uint64_t limit) {
    file_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) fail(path);
    try {
        struct stat status;
        if (fstat(file_, &status) != 0) fail(path);
        stamp_ = stamp();
        if (S_ISREG(status.st_mode) && stamp_.size > 0) {
            check_size(path, stamp_.size, limit);
            map(stamp_.size);
        }
        if (mapped_bytes_ == 0) {
            keep(read_all(path, limit, [&](char* buffer, std::size_t room) {
                const ssize_t got = read(file_, buffer, room);
                if (got < 0) fail(path);
                return static_cast<std::size_t>(got);
            }));
        }
    } catch (...) {
        close(file_);
        throw;
    }
}

MappedFile::~MappedFile() {
    if (mapped_bytes_ > 0) munmap(const_cast<char*>(data_), mapped_bytes_);
    if (file_ >= 0) close(file_);
}

// Maps zero pages first and the file over them: the rest of its last page is zero too, and one page of zeros follows.
void MappedFile::map(std::uint64_t size) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t whole = (size + page - 1) / page * page + page;
    void* zeros = mmap(nullptr, whole, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (zeros == MAP_FAILED) return;
    if (mmap(zeros, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, file_, 0) == MAP_FAILED) {
        munmap(zeros, whole);
        return;
    }
    data_ = static_cast<const char*>(zeros);
    size_ = size;
    mapped_bytes_ = whole;
}

void MappedFile::release(std::size_t first, std::size_t last) const {
    if (mapped_bytes_ == 0) return;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    first = (first + page - 1) / page * page;
    last = last / page * page;
    if (first < last) madvise(const_cast<char*>(data_) + first, last - first, MADV_DONTNEED);
}

MappedFile::Stamp MappedFile::stamp() const {
    struct stat status{};
    fstat(file_, &status);
#if defined(__APPLE__)
    const timespec written = status.st_mtimespec;
#else
    const timespec written = status.st_mtim;
#endif
    return {static_cast<std::uint64_t>(status.st_size), written.tv_sec, written.tv_nsec};
}

bool MappedFile::has_changed() const { return mapped_bytes_ > 0 && stamp() != stamp_; }

#endif

}  // namespace verite
