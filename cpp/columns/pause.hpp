// Does somebody want long work to end? Loops ask between one object, pair or draw and the next; who runs them answers.
//
// Only loops that hold no lock for which somebody waits with the interpreter in his hands may ask: the answer may have
// to wait for him.
#pragma once

#include <atomic>
#include <chrono>
#include <stdexcept>

namespace verite {

// May throw, which ends the loop. Null where nobody minds.
inline std::atomic<void (*)()> on_pause{nullptr};

// Somebody waits for other threads and wants them to end: an interrupt reaches one thread alone. A thread that works
// for somebody says so; its loops end when that stop is set.
struct Stop {
    std::atomic<bool> is_set{false};
};
inline thread_local const Stop* stop_of_thread = nullptr;

struct Stopped : std::runtime_error {
    Stopped() : std::runtime_error("the work is no longer wanted") {}
};

// Threads that help another are not asked: the one they help answers for them, and may hold the interpreter. They end
// when his loop did.
inline thread_local bool is_helper = false;

// AnswerTable at most every 50 ms, and looks at the clock only every so many times it is asked.
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
