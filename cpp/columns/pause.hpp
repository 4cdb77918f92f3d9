// Interruption of long work (Ctrl-C), and the lock rule that keeps it free of deadlocks.
//
// Loops call a Pause between one object, pair or replicate and the next. Now and then it asks Python whether a signal
// has arrived, and for that it must take Python's lock (GIL). Hence the lock rule: a thread that waits for other
// threads, or for a lock under which others pause, must not hold Python's lock. Otherwise the paused thread waits for
// Python's lock and the holder of Python's lock waits for the paused thread. Bindings therefore release Python's lock
// before they call a kernel; expect_interpreter_released() checks it in builds without NDEBUG.
#pragma once

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>

namespace verite {

// Called by a pause; may throw, which ends the loop. Null where there is no interpreter.
inline std::atomic<void (*)()> on_pause{nullptr};

// Whether the calling thread holds Python's lock. Null where there is no interpreter.
inline std::atomic<bool (*)()> holds_interpreter{nullptr};

// Throws std::logic_error where the calling thread holds Python's lock, in builds without NDEBUG; `what` is what it is
// about to do. Costs nothing in release builds.
inline void expect_interpreter_released([[maybe_unused]] const char* what) {
#ifndef NDEBUG
    if (const auto holds = holds_interpreter.load(); holds && holds())
        throw std::logic_error(std::string(what) + ": expected Python's lock to be released, found it held");
#endif
}

// A request to end the work of other threads: a signal reaches one thread only. A thread that works for another has its
// stop here; its loops end when it is set.
struct Stop {
    std::atomic<bool> is_set{false};
};
inline thread_local const Stop* stop_of_thread = nullptr;

struct Stopped : std::runtime_error {
    Stopped() : std::runtime_error("the work is no longer wanted") {}
};

// Helper threads do not ask Python: the thread they work for does, and it may hold Python's lock. They end when its
// loop did.
inline thread_local bool is_helper = false;

// Asks at most every 50 ms, and looks at the clock only at every `every`-th call. Throws Stopped where a stop is set,
// and whatever on_pause throws.
class Pause {
  public:
    explicit Pause(unsigned every = 1) : every_(every), left_(every) {}

    void operator()() {
        if (--left_ != 0) [[likely]]
            return;
        left_ = every_;
        const auto now = std::chrono::steady_clock::now();
        if (now - last_ < std::chrono::milliseconds(50)) return;
        last_ = now;
        if (stop_of_thread && stop_of_thread->is_set) throw Stopped();
        if (is_helper) return;
        if (const auto answer = on_pause.load()) answer();
    }

  private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    unsigned every_, left_;
};

}  // namespace verite
