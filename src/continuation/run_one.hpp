// SPDX-License-Identifier: BSD-3-Clause
// Running one continuation, from its complete operations to its callback, and giving it back. What stands between a
// message and its answer is inline; all else is in run_one.cpp.
#pragma once

#include "continuation/interposing.hpp"
#include "continuation/library.hpp"
#include "continuation/run.hpp"
#include "continuation/thread_state.hpp"
#include "engine/push.hpp"

#include <climits>

namespace thence::continuation {

// This thread, which is free to, runs continuations, and says so to interposed calls. `alone`: no other thread is in
// MPI or in the library, so the count needs no locked instruction.
class running_scope {
public:
    explicit running_scope(bool alone = false) noexcept : alone_(alone) {
        change(attention_running);
        this_thread.busy += thread_state::running_mark + 1;
    }
    ~running_scope() {
        this_thread.busy -= thread_state::running_mark + 1;
        change(-attention_running);
    }
    running_scope(const running_scope &) = delete;
    running_scope &operator=(const running_scope &) = delete;

private:
    void change(std::uint64_t by) const noexcept {
        if (alone_) {
            running_count->store(running_count->load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
        } else {
            running_count->fetch_add(by, std::memory_order_relaxed);
        }
    }
    bool alone_;
};

inline int invoke(const continuation &c, signature form, int error) noexcept {
    switch (form) {
    case signature::own:
        return reinterpret_cast<thence_callback *>(c.callback)(error, c.statuses(), c.data);
    case signature::paper:
        reinterpret_cast<void (*)(MPI_Status *, void *)>(c.callback)(c.statuses(), c.data);
        return MPI_SUCCESS;
    case signature::forum:
        return reinterpret_cast<int (*)(int, void *)>(c.callback)(error, c.data);
    }
    return MPI_SUCCESS;
}

// `error`: of its operations. `result`: of its callback.
__attribute__((noinline)) void note_failure(const continuation &c, int error, int result);

constexpr control_word pushed_single(signature form) noexcept {
    return {phase::attached, form, control_word::single | control_word::pushed};
}

constexpr control_word polled_single(signature form) noexcept {
    return {phase::attached, form, control_word::single};
}

// Everything but the most common kinds. `kind` is what take_control() found.
__attribute__((noinline)) void run_other(continuation &c, control_word kind) noexcept;

// Runs one, and gives all of it back but its CR's reference. Its thread is in a running_scope.
//
// The most common kinds are released after their callback: what that sends must not wait for it. So a callback that
// posts the next receive takes a request more than are outstanding.
[[gnu::always_inline]] inline void run_one(continuation &c) noexcept {
    const control_word kind = c.take_control(); // from attached to free, which is where it runs
    // NOLINTNEXTLINE(bugprone-branch-clone): in the order of likelihood
    if (kind == pushed_single(signature::paper) && engine::try_take(c.first.request, c.first.status)) [[likely]] {
        reinterpret_cast<void (*)(MPI_Status *, void *)>(c.callback)(c.first.status, c.data);
        engine::release(c.first.request);
    } else if (kind == pushed_single(signature::own) && engine::try_take(c.first.request, c.first.status)) {
        const int result = reinterpret_cast<thence_callback *>(c.callback)(MPI_SUCCESS, c.first.status, c.data);
        engine::release(c.first.request);
        if (result != MPI_SUCCESS) [[unlikely]] {
            note_failure(c, MPI_SUCCESS, result);
        }
    } else if (kind == polled_single(signature::paper) && c.first.how == engine::tending::done &&
               c.first.error == MPI_SUCCESS) {
        reinterpret_cast<void (*)(MPI_Status *, void *)>(c.callback)(c.first.status, c.data);
    } else {
        run_other(c, kind);
    }
    continuations.give_one_of_many(this_thread.stock, &c);
}

// The same but for its CR's reference, where no loop runs a queue (see run.cpp): held() is zero there and stays so. It
// is counted as completed after that reference is given back, see thence_stats().
[[gnu::always_inline]] inline void run_alone(continuation &c, continuation_request *cr) noexcept {
    this_thread.current = cr;
    run_one(c);
    continuations.level(this_thread.stock, 1);
}

// Mostly one continuation is ready: that needs no loop. Returns how many ran.
[[gnu::always_inline]] inline long run_from(base::ready_queue<continuation> &queue, long limit) noexcept {
    continuation *c = queue.pop_newcomer();
    if (c == nullptr) [[unlikely]] {
        return run_queue(queue, limit);
    }
    {
        const bool alone = !others_may_attach.load(std::memory_order_relaxed);
        running_scope running(alone);
        run_alone(*c, c->cr);
        if (alone) {
            this_thread.current->release_alone();
        } else {
            this_thread.current->release();
        }
        this_thread.counts.completed.add();
    }
    return queue.glance() == 0 || limit == 1 ? 1 : 1 + run_queue(queue, limit == LONG_MAX ? limit : limit - 1);
}

// Takes the results of all operations; returns the first error.
int settle(continuation &c, control_word kind) noexcept;
// Runs one complete continuation from inside attach(), and gives it back.
void run(continuation &c) noexcept;
// Gives one back that need not run.
void discard(continuation &c) noexcept;

// Where MPI has just reported that the single operation of `c` is complete: runs its callback, if it may run there.
// Else nothing has happened.
bool run_in_completion(continuation &c) noexcept;
// What remains to be done of those, when MPI's progress is over.
__attribute__((noinline)) void give_back_completed() noexcept;

} // namespace thence::continuation
