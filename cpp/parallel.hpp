// The same work on one thread or on several: pieces are handed out in order, and what each writes is its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace verite {

// Calls work(piece) for every piece from 0 to `pieces`. The first exception ends the work and is thrown here.
template <class Work>
void in_parallel(std::size_t pieces, unsigned threads, Work&& work) {
    const std::size_t workers = std::min<std::size_t>(std::max(threads, 1u), pieces);
    if (workers <= 1) {
        for (std::size_t piece = 0; piece < pieces; ++piece) work(piece);
        return;
    }
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex failing;
    const auto run = [&] {
        try {
            for (std::size_t piece; (piece = next.fetch_add(1)) < pieces;) work(piece);
        } catch (...) {
            next = pieces;
            const std::lock_guard guard(failing);
            if (!failure) failure = std::current_exception();
        }
    };
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < workers; ++i) others.emplace_back(run);
    run();
    for (auto& other : others) other.join();
    if (failure) std::rethrow_exception(failure);
}

}  // namespace verite
