// The same work on one thread or on several: pieces are handed out in order, and what each writes is its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "columns/pause.hpp"

namespace verite {

// Calls work(0) to work(count - 1), each on a thread of its own while the system has threads to give, the rest here.
// `work` must not throw. Loops of the other threads end soon after `stop` is set.
template <class Work>
void run_on_threads(std::size_t count, const Work& work, const Stop* stop = nullptr) {
    std::vector<std::thread> helpers;
    helpers.reserve(count);
    std::size_t started = 1;
    try {
        for (; started < count; ++started)
            helpers.emplace_back([&work, started, stop] {
                is_helper = true;
                stop_of_thread = stop;
                work(started);
            });
    } catch (const std::system_error&) {
        // No more threads; slower, but the same result.
    }
    work(0);
    for (std::size_t i = started; i < count; ++i) work(i);
    for (auto& helper : helpers) helper.join();
}

// Calls work(piece) for every piece from 0 to `pieces`. The first exception ends the work and is thrown here.
template <class Work>
void in_parallel(std::size_t pieces, unsigned threads, Work&& work) {
    const std::size_t workers = std::min<std::size_t>(std::max(threads, 1u), pieces);
    Pause pause;
    if (workers <= 1) {
        for (std::size_t piece = 0; piece < pieces; ++piece, pause()) work(piece);
        return;
    }
    std::atomic<std::size_t> next{0};
    Stop stop;
    std::exception_ptr failure;
    std::mutex failing;
    const auto help = [&](std::size_t worker) {
        try {
            for (std::size_t piece; (piece = next.fetch_add(1)) < pieces;) {
                work(piece);
                if (worker == 0) pause();
            }
        } catch (...) {
            next = pieces;
            const std::lock_guard guard(failing);
            if (!failure) failure = std::current_exception();
            stop.is_set = true;
        }
    };
    run_on_threads(workers, help, &stop);
    if (failure) std::rethrow_exception(failure);
}

// Calls work(first, last) for stretches that together are 0 .. count.
template <class Work>
void in_stretches(std::size_t count, unsigned threads, Work&& work) {
    const std::size_t pieces = threads > 1 ? std::size_t{4} * threads : 1;
    in_parallel(pieces, threads,
                [&](std::size_t piece) { work(count * piece / pieces, count * (piece + 1) / pieces); });
}

}  // namespace verite
