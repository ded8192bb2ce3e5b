// SPDX-License-Identifier: BSD-3-Clause
// The MPI's own progress hook: a function of ours that runs inside every MPI call that makes progress, also while
// another thread blocks in MPI_Wait. It costs an unlinked program nothing: it is registered with the first continuation
// and unregisters itself when nothing is outstanding: each thread looks with every `rest_after`th call that finds
// nothing.
#include "progress/progress.hpp"

#include "mpi/calls.hpp"

#include <mutex>

namespace thence::progress {

std::atomic<bool> ready{false};
thread_local constinit unsigned idle_calls = 0;

namespace {

enum class hook_kind { none, opal, async };

duties duties_{};
hook_kind hook_ = hook_kind::none;
std::mutex mutex_;               // guards registering and unregistering
std::atomic<bool> armed_{false}; // the hook is wanted; changes under mutex_
bool async_running_ = false;     // MPICH holds our async thing; under mutex_

// True if MPICH is to forget us: from then on hook_arm() starts another async thing. It calls us under a lock of its
// own, which hook_arm() may wait for: so never wait for mutex_ here.
bool async_leaves() noexcept {
    std::unique_lock guard(mutex_, std::try_to_lock);
    if (!guard.owns_lock() || armed_.load(std::memory_order_relaxed)) {
        return false;
    }
    async_running_ = false;
    return true;
}

// MPICH asks us whether we are done: that is how we unregister.
int on_async_progress(void *) {
    constexpr int no_progress = 0;
    constexpr int done = 1;
    if (armed_.load(std::memory_order_acquire)) {
        duties_.find();
        return no_progress;
    }
    return async_leaves() ? done : no_progress;
}

} // namespace

const duties &current_duties() noexcept {
    return duties_;
}

void hook_set_up(bool told_first) {
    hook_ = hook_kind::none;
    if (mpi::table.opal_progress_register != nullptr && mpi::table.opal_progress_unregister != nullptr) {
        hook_ = hook_kind::opal;
    } else if (mpi::table.async_start != nullptr && told_first) {
        hook_ = hook_kind::async;
    }
}

const char *hook_name() noexcept {
    switch (hook_) {
    case hook_kind::opal:
        return "opal_progress_register";
    case hook_kind::async:
        return "MPIX_Async_start";
    default:
        return "none";
    }
}

bool has_hook() noexcept {
    return hook_ != hook_kind::none;
}

bool hook_runs() noexcept {
    return hook_ == hook_kind::opal;
}

void hook_arm() noexcept {
    std::scoped_lock guard(mutex_);
    if (hook_ == hook_kind::none || armed_.load(std::memory_order_relaxed)) {
        return;
    }
    armed_.store(true, std::memory_order_seq_cst);
    if (hook_ == hook_kind::opal) {
        mpi::table.opal_progress_register(duties_.on_progress);
    } else if (!async_running_) {
        async_running_ = true;
        constexpr int stream_null = 0x3c000000;
        mpi::table.async_start(&on_async_progress, nullptr, stream_null);
    }
}

void hook_tear_down() noexcept {
    std::scoped_lock guard(mutex_);
    if (armed_.exchange(false) && hook_ == hook_kind::opal) {
        mpi::table.opal_progress_unregister(duties_.on_progress);
    }
}

void hook_may_rest() noexcept {
    if (duties_.outstanding()) {
        return;
    }
    std::unique_lock guard(mutex_, std::try_to_lock);
    if (!guard.owns_lock() || !armed_.load(std::memory_order_relaxed)) {
        return;
    }
    ready.store(false, std::memory_order_seq_cst);
    if (duties_.outstanding()) {
        ready.store(true, std::memory_order_seq_cst);
        helper_wake(); // it may have gone to rest before us, and then `ready` said so
        return;
    }
    armed_.store(false, std::memory_order_seq_cst);
    if (hook_ == hook_kind::opal) {
        mpi::table.opal_progress_unregister(duties_.on_progress);
    }
}

void set_up(const duties &what, bool told_first) {
    duties_ = what;
    hook_set_up(told_first);
    helper_set_up(told_first);
    ready.store(false);
}

void wake() noexcept {
    ready.store(true, std::memory_order_seq_cst);
    hook_arm();
    helper_wake();
}

void tear_down() noexcept {
    helper_tear_down();
    hook_tear_down();
    ready.store(false);
}

} // namespace thence::progress
