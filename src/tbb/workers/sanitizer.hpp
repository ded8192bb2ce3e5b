// SPDX-License-Identifier: BSD-3-Clause
// Tells the thread sanitizer which stack a thread runs on, since it does not see oneTBB change stacks. Does nothing in
// other builds. Only arena.cpp includes it, which is not instrumented itself.
//
// Invariant: what a thread runs outside of arena::call() and of suspended stacks, it runs in its base context, in which
// no instrumented function is active. So it does not matter which thread has which base.
#pragma once

#if defined(THENCE_THREAD_SANITIZER)
#include <mutex>
#include <sanitizer/tsan_interface.h>
#endif

namespace thence::workers::sanitizer {

#if defined(THENCE_THREAD_SANITIZER)

class context {
public:
    explicit context(bool first_of_thread) : first_(first_of_thread), own_(__tsan_get_current_fiber()) {}
    // Just before the thread goes to its next stack.
    void left() {
        if (first_) {
            outer_ = base(); // of work that visits another arena
            base() = take();
        }
        __tsan_switch_to_fiber(base(), 0);
    }
    // On the suspended stack, perhaps on another thread.
    void returned() {
        void *const current = __tsan_get_current_fiber();
        base() = first_ ? outer_ : current;
        __tsan_switch_to_fiber(own_, 0);
        if (first_) {
            give(current);
        }
    }
    // Before and after oneTBB hands `data` to another thread.
    static void hand_over(void *data) { __tsan_release(data); }
    static void take_over(void *data) { __tsan_acquire(data); }
    // Around the work, which may end on another thread than it began on.
    static void enter(void *data) {
        take_over(data);
        base() = __tsan_get_current_fiber();
        __tsan_switch_to_fiber(take(), 0);
    }
    static void leave() {
        void *const current = __tsan_get_current_fiber();
        __tsan_switch_to_fiber(base(), 0);
        give(current);
    }

private:
    [[gnu::noipa]] static void *&base() {
        static thread_local void *mine = nullptr;
        return mine;
    }
    static void *take() {
        const std::scoped_lock guard(mutex_);
        return count_ == 0 ? __tsan_create_fiber(0) : spare_[--count_];
    }
    static void give(void *unused) {
        const std::scoped_lock guard(mutex_);
        if (count_ < most) {
            spare_[count_++] = unused;
        }
    }
    static constexpr int most = 4096;
    // No memory of the heap: what this file does there would look like a race.
    static inline constinit std::mutex mutex_;
    static inline void *spare_[most];
    static inline int count_ = 0;
    bool first_;
    void *own_;
    void *outer_ = nullptr;
};

#else

struct context {
    explicit context(bool) {}
    void left() {}
    void returned() {}
    static void hand_over(void *) {}
    static void take_over(void *) {}
    static void enter(void *) {}
    static void leave() {}
};

#endif

} // namespace thence::workers::sanitizer
