// Memory for large arrays: huge pages where the system has them, never zeroed.
#pragma once

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "columns/columns.hpp"

namespace verite {

// An allocator that leaves new values uninitialised and takes huge pages for large blocks.
template <class T>
struct PageAllocator {
    using value_type = T;

    PageAllocator() = default;
    template <class U>
    PageAllocator(const PageAllocator<U>&) {}

    T* allocate(std::size_t count) { return static_cast<T*>(resize_block(nullptr, 0, count * sizeof(T))); }
    void deallocate(T* block, std::size_t count) { free_block(block, count * sizeof(T)); }

    template <class U>
    void construct(U* place) {
        ::new (static_cast<void*>(place)) U;
    }
    template <class U, class... Given>
    void construct(U* place, Given&&... given) {
        ::new (static_cast<void*>(place)) U(std::forward<Given>(given)...);
    }

    bool operator==(const PageAllocator&) const = default;
};

// resize() leaves new values unset; say Array<int>(n, 0) or assign(n, 0) where zeros are meant.
template <class T>
using Array = std::vector<T, PageAllocator<T>>;

// Prefetches memory that will be read soon.
inline void prefetch(const void* place) {
#if defined(__GNUC__)
    __builtin_prefetch(place);
#else
    (void)place;
#endif
}

}  // namespace verite
