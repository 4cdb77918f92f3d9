// The same work on several threads.
#pragma once

#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace verite {

// Calls work(0) to work(count - 1), each on a thread of its own while the system has threads to give, the rest here.
// `work` must not throw.
template <class Work>
void run_on_threads(std::size_t count, const Work& work) {
    std::vector<std::thread> helpers;
    helpers.reserve(count);
    std::size_t started = 1;
    try {
        for (; started < count; ++started) helpers.emplace_back(work, started);
    } catch (const std::system_error&) {
        // No more threads; slower, but the same result.
    }
    work(0);
    for (std::size_t i = started; i < count; ++i) work(i);
    for (auto& helper : helpers) helper.join();
}

}  // namespace verite
