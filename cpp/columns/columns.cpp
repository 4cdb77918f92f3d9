#include "columns/columns.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace verite {

namespace {

// Blocks from here up, and below huge pages, come in sizes of an eighth of a power of two, so that the next one can be
// of the same size.
constexpr std::size_t least_kept = std::size_t{64} << 10;

bool is_kept(std::size_t bytes) { return bytes >= least_kept && bytes < huge_page; }

std::size_t round_up(std::size_t bytes) {
    const std::size_t step = std::bit_floor(bytes) / 8;
    return (bytes + step - 1) / step * step;
}

// Blocks of the heap that were given back, the oldest first. The heap would return them to the system, which clears
// each page anew: of the 19 ms of reading and evaluating val2017 again, 2 ms.
class SpareHeapBlocks {
  public:
    SpareHeapBlocks() { blocks_.reserve(most_kept / least_kept + 1); }  // so that giving back cannot fail

    void* take(std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        const auto spare = std::ranges::find(blocks_, bytes, &Spare::bytes);
        if (spare == blocks_.end()) return nullptr;
        void* block = spare->block;
        kept_ -= bytes;
        blocks_.erase(spare);
        return block;
    }

    void keep(void* block, std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        blocks_.push_back({block, bytes});
        kept_ += bytes;
        while (kept_ > most_kept) {
            std::free(blocks_.front().block);
            kept_ -= blocks_.front().bytes;
            blocks_.erase(blocks_.begin());
        }
    }

  private:
#if defined(__SANITIZE_ADDRESS__)
    static constexpr std::size_t most_kept = 0;  // reading what was given back is to be noticed
#else
    static constexpr std::size_t most_kept = std::size_t{8} << 20;
#endif

    struct Spare {
        void* block;
        std::size_t bytes;
    };

    std::mutex mutex_;
    std::vector<Spare> blocks_;
    std::size_t kept_ = 0;
};

SpareHeapBlocks& spare_heap_blocks() {
    static SpareHeapBlocks* blocks = new SpareHeapBlocks;  // for as long as there may be columns
    return *blocks;
}

void* take_from_heap(std::size_t bytes) {
    if (is_kept(bytes)) {
        bytes = round_up(bytes);
        if (void* spare = spare_heap_blocks().take(bytes)) return spare;
    }
    void* block = std::malloc(bytes);
    if (!block) throw std::bad_alloc();
    return block;
}

void give_to_heap(void* block, std::size_t bytes) {
    if (is_kept(bytes))
        spare_heap_blocks().keep(block, round_up(bytes));
    else
        std::free(block);
}

void* resize_on_heap(void* block, std::size_t old_bytes, std::size_t new_bytes) {
    if (new_bytes == 0) {
        if (block) give_to_heap(block, old_bytes);
        return nullptr;
    }
    if (!is_kept(old_bytes) && !is_kept(new_bytes)) {
        void* resized = std::realloc(block, new_bytes);
        if (!resized) throw std::bad_alloc();
        return resized;
    }
    if (is_kept(old_bytes) && is_kept(new_bytes) && round_up(old_bytes) == round_up(new_bytes)) return block;
    void* resized = take_from_heap(new_bytes);
    if (block) {
        std::memcpy(resized, block, std::min(old_bytes, new_bytes));
        give_to_heap(block, old_bytes);
    }
    return resized;
}

#if defined(__linux__)

// As much at a time comes in huge pages; what is more comes in ordinary ones. Where the host of a virtual machine has
// to find the memory first, a huge page takes up to 6 ms instead of 0.2: 300 MB in them took from 0.1 to 1 s of system
// time on the same machine, 300 MB in ordinary ones 0.3 s, and with this limit 0.2 s.
constexpr std::size_t most_in_huge_pages = std::size_t{96} << 20;
std::atomic<std::size_t> mapped_bytes{0};

bool is_mapped(std::size_t bytes) { return bytes >= huge_page; }

std::size_t whole_pages(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

// Blocks that were given back, kept for the next one of about their size: what a new page costs is that the system
// clears it, a tenth of reading and evaluating a file of 25,000 boxes where one detector comes after another.
class SpareBlocks {
  public:
    // A block of this size, or null.
    void* take(std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        const auto spare = std::ranges::find_if(
            blocks_, [&](const Spare& one) { return one.bytes >= bytes && one.bytes - bytes <= bytes / 8; });
        if (spare == blocks_.end()) return nullptr;
        void* block = spare->block;
        if (spare->bytes > bytes) munmap(static_cast<char*>(block) + bytes, spare->bytes - bytes);
        kept_ -= spare->bytes;
        blocks_.erase(spare);
        return block;
    }

    // False if there is no room: then it goes back to the system.
    bool keep(void* block, std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        if (kept_ + bytes > most_kept) return false;
        blocks_.push_back({block, bytes});
        kept_ += bytes;
        return true;
    }

  private:
    static constexpr std::size_t most_kept = std::size_t{8} << 20;

    struct Spare {
        void* block;
        std::size_t bytes;
    };

    std::mutex mutex_;
    std::vector<Spare> blocks_;
    std::size_t kept_ = 0;
};

SpareBlocks& spare_blocks() {
    static SpareBlocks* blocks = new SpareBlocks;  // for as long as there may be columns
    return *blocks;
}

// Fresh pages that start on a huge-page border, so that the system can use huge ones.
char* map_pages(std::size_t bytes) {
    const std::size_t reserved = bytes + huge_page;
    void* start = mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) throw std::bad_alloc();
    char* first = static_cast<char*>(start);
    const std::size_t before = (huge_page - reinterpret_cast<std::uintptr_t>(first) % huge_page) % huge_page;
    if (before > 0) munmap(first, before);
    munmap(first + before + bytes, huge_page - before);
    if (mapped_bytes.fetch_add(bytes) + bytes <= most_in_huge_pages) madvise(first + before, bytes, MADV_HUGEPAGE);
    return first + before;
}

void unmap_pages(void* block, std::size_t bytes) {
    munmap(block, bytes);
    mapped_bytes -= bytes;
}

char* take_pages(std::size_t bytes) {
    void* spare = spare_blocks().take(bytes);
    if (!spare) return map_pages(bytes);
    mapped_bytes += bytes;
    return static_cast<char*>(spare);
}

void give_back(void* block, std::size_t bytes) {
    if (!spare_blocks().keep(block, bytes)) munmap(block, bytes);
    mapped_bytes -= bytes;
}

// Takes the pages along instead of copying them.
void* move_pages(void* block, std::size_t old_bytes, std::size_t new_bytes) {
    char* target = map_pages(new_bytes);
    void* moved = mremap(block, old_bytes, new_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, target);
    if (moved == MAP_FAILED) throw std::bad_alloc();
    mapped_bytes -= old_bytes;
    return moved;
}

#endif

}  // namespace

void* resize_block(void* block, std::size_t old_bytes, std::size_t new_bytes) {
#if defined(__linux__)
    if (is_mapped(old_bytes) && is_mapped(new_bytes)) {
        const std::size_t old_pages = whole_pages(old_bytes), new_pages = whole_pages(new_bytes);
        if (new_pages > old_pages) return move_pages(block, old_pages, new_pages);
        if (new_pages < old_pages) unmap_pages(static_cast<char*>(block) + new_pages, old_pages - new_pages);
        return block;
    }
    if (is_mapped(old_bytes) || is_mapped(new_bytes)) {
        void* resized =
            is_mapped(new_bytes) ? take_pages(whole_pages(new_bytes)) : resize_on_heap(nullptr, 0, new_bytes);
        if (block && new_bytes > 0) std::memcpy(resized, block, std::min(old_bytes, new_bytes));
        if (is_mapped(old_bytes)) {
            give_back(block, whole_pages(old_bytes));
        } else {
            resize_on_heap(block, old_bytes, 0);
        }
        return resized;
    }
#endif
    return resize_on_heap(block, old_bytes, new_bytes);
}

std::shared_ptr<char> make_shared_block(std::size_t bytes) {
    bytes = std::max(bytes, huge_page);
    return {static_cast<char*>(resize_block(nullptr, 0, bytes)), [bytes](char* block) { free_block(block, bytes); }};
}

}  // namespace verite
