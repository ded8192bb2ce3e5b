// SPDX-License-Identifier: BSD-3-Clause
// A task that is blocked until a continuation runs. The object lies on the stack of the task.
//
// Invariant: block() returns only after unblock() has stored the error, and nothing reads the object after that but the
// task itself. Each call of the runtime's unblock() meets one of its block() that has succeeded, or, if the runtime
// refuses to block the task, has ended before block() returns: so the runtime may free what belongs to the task when
// the task ends.
#pragma once

#include "core/base/visibility.hpp"
#include "core/continuation/attach.hpp"
#include "tasks/runtime.hpp"

#include <mpi.h>

#include <atomic>

namespace thence::task {

class blocked_task {
public:
    explicit blocked_task(const thence_task &blocked) noexcept : task_(blocked) {}
    blocked_task &operator=(blocked_task &&) = delete;

    // The callback that lets the task go on, for attach(). Attach it with THENCE_INVOKE_FAILED.
    continuation::user_callback callback() noexcept {
        return {reinterpret_cast<continuation::any_function>(&unblock), this};
    }
    // What the callback does, for a thread that no continuation tells: the task may go on, and this object be gone.
    void go_on(int error) noexcept { unblock(error, nullptr, this); }
    // For reports, of an attached continuation while it is visited: the runtime of the task that it lets go on, or
    // null.
    static const char *runtime_of(const continuation::continuation &c, continuation::control_word kind) noexcept;
    // Blocks the current task, which is this one, until the callback has run. Returns the error that it was given. The
    // task may be on another thread then, so a caller must not keep the address of anything that is thread-local.
    int block() noexcept;

private:
    enum class state { waits, polls, done };

    static int unblock(int error, MPI_Status *, void *data) noexcept;
    void poll() noexcept;
    void wait_for_unblock() noexcept;

    thence_task task_;
    int error_ = MPI_SUCCESS;
    std::atomic<state> state_{state::waits};
};

} // namespace thence::task
