// Parallel loops: the same work on one thread or on several. Pieces are handed out in order and each writes its own
// memory, so that results do not depend on the number of threads. Callers must not hold Python's lock (see pause.hpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "columns/pause.hpp"

namespace verite {

// Calls work(0) to work(count - 1), each on a thread of its own while the system grants threads, the rest on the
// calling thread. `work` must not throw. Loops of the other threads end soon after `stop` is set. While the calling
// thread waits for them it calls `wait` now and then, which must not throw either. Throws std::logic_error where the
// caller holds Python's lock, in builds without NDEBUG.
template <class Work, class Wait>
void run_on_threads(std::size_t count, const Work& work, const Stop* stop, const Wait& wait) {
    if (count > 1) expect_interpreter_released("threads");
    std::vector<std::thread> helpers;
    helpers.reserve(count);
    std::mutex counting;
    std::condition_variable is_done;
    std::size_t started = 1, done = 0;
    try {
        for (; started < count; ++started)
            helpers.emplace_back([&, started] {
                is_helper = true;
                stop_of_thread = stop;
                work(started);
                const std::lock_guard guard(counting);
                ++done;
                is_done.notify_one();
            });
    } catch (const std::system_error&) {
        // No more threads; slower, but the same result.
    }
    work(0);
    for (std::size_t i = started; i < count; ++i) work(i);
    for (std::unique_lock lock(counting); done < helpers.size();)
        if (is_done.wait_for(lock, std::chrono::milliseconds(50)) == std::cv_status::timeout) {
            lock.unlock();
            wait();
            lock.lock();
        }
    for (auto& helper : helpers) helper.join();
}

template <class Work>
void run_on_threads(std::size_t count, const Work& work) {
    run_on_threads(count, work, nullptr, [] {});
}

// Calls work(piece) for every piece from 0 to below `pieces`. The first exception ends the work and is thrown here.
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
    const auto guarded = [&](auto&& part) {
        try {
            part();
        } catch (...) {
            next = pieces;
            const std::lock_guard guard(failing);
            if (!failure) failure = std::current_exception();
            stop.is_set = true;
        }
    };
    const auto help = [&](std::size_t worker) {
        guarded([&] {
            for (std::size_t piece; (piece = next.fetch_add(1)) < pieces;) {
                work(piece);
                if (worker == 0) pause();
            }
        });
    };
    run_on_threads(workers, help, &stop, [&] { guarded(pause); });
    if (failure) std::rethrow_exception(failure);
}

// Calls work(first, last) for consecutive ranges that together are 0 .. count.
template <class Work>
void in_stretches(std::size_t count, unsigned threads, Work&& work) {
    const std::size_t pieces = threads > 1 ? std::size_t{4} * threads : 1;
    in_parallel(pieces, threads,
                [&](std::size_t piece) { work(count * piece / pieces, count * (piece + 1) / pieces); });
}

}  // namespace verite
