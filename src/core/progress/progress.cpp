// SPDX-License-Identifier: BSD-3-Clause
// The table of sources, and MPI's own progress hook, which polls them. The hook is a function of ours that runs inside
// every MPI call that makes progress, also while another thread blocks in MPI_Wait. It is registered when something
// becomes outstanding, and unregisters itself when nothing is outstanding any more: each thread checks that at every
// `rest_after`th call that found nothing.
#include "core/progress/progress.hpp"

#include "core/engine/engine.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/implementation.hpp"
#include "core/progress/polling_task.hpp"
#include "core/progress/source.hpp"
#include "core/progress/threads.hpp"

#include <algorithm>
#include <mutex>

namespace thence::progress {

std::atomic<bool> awake{false};

namespace {

std::mutex table_mutex; // guards adding and removing
// Filled from the front without gaps, so the first null ends the table. A thread that reads the table while a source is
// removed may find that source once more, or miss another one. So remove_source() wakes hook and helper, one of which
// may have gone to rest because it missed a source.
std::atomic<const source *> table[most_sources + 1]{};

template <class Visit> void for_each_source(Visit visit) noexcept {
    for (int i = 0;; ++i) {
        const source *s = table[i].load(std::memory_order_seq_cst);
        if (s == nullptr || !visit(*s)) {
            return;
        }
    }
}

} // namespace

bool add_source(const source &added) noexcept {
    const std::scoped_lock guard(table_mutex);
    for (int i = 0; i < most_sources; ++i) {
        if (table[i].load(std::memory_order_relaxed) == nullptr) {
            table[i].store(&added, std::memory_order_seq_cst);
            return true;
        }
    }
    return false;
}

void remove_source(const source &removed) noexcept {
    const std::scoped_lock guard(table_mutex);
    bool found = false;
    for (int i = 0; i < most_sources; ++i) {
        found = found || table[i].load(std::memory_order_relaxed) == &removed;
        if (found) {
            table[i].store(table[i + 1].load(std::memory_order_relaxed), std::memory_order_seq_cst);
        }
    }
    if (table[0].load(std::memory_order_relaxed) != nullptr) {
        wake();
    }
}

bool any_outstanding() noexcept {
    bool some = false;
    for_each_source([&](const source &s) {
        some = s.outstanding();
        return !some;
    });
    return some;
}

bool poll_sources(polled_from where, const source *except) noexcept {
    bool some = false;
    for_each_source([&](const source &s) {
        some = (&s != except && s.poll(where)) || some;
        return true;
    });
    return some;
}

long run_sources(long limit, const source *except) noexcept {
    long ran = 0;
    for_each_source([&](const source &s) {
        if (&s != except) {
            ran += s.run(std::max(limit - ran, 1L));
        }
        return true;
    });
    return ran;
}

namespace {

// `registered`: callbacks may run in the hook. `async`: MPI holds a lock while it calls the hook.
enum class hook_kind { none, registered, async };

// The hook runs on a thread that called MPI for another purpose, so it runs few continuations per call.
constexpr long most_in_hook = 64;
constexpr unsigned rest_after = 1024;

// The number of hook calls on this thread that found nothing. Every poll in MPI calls the hook, so the counter is per
// thread: no cache line is shared.
thread_local constinit unsigned idle_calls = 0;

hook_kind hook_ = hook_kind::none;
std::mutex hook_mutex_;                  // guards registering and unregistering
std::atomic<bool> armed_{false};         // the hook is wanted; changes under hook_mutex_
bool async_running_ = false;             // MPICH holds our async thing; under hook_mutex_
bool closed_ = false;                    // the hook is not registered again; under hook_mutex_
std::atomic<bool> mpi_finalizes_{false}; // leave_before_finalize() was called
std::atomic<bool> others_forbidden_{false};

// True if MPICH must drop our async thing; from then on hook_arm() starts a new one. MPICH calls this under a lock of
// its own, for which hook_arm() may wait while it holds hook_mutex_. So this function must not wait for hook_mutex_.
bool async_leaves() noexcept {
    std::unique_lock guard(hook_mutex_, std::try_to_lock);
    if (!guard.owns_lock() || armed_.load(std::memory_order_relaxed)) {
        return false;
    }
    async_running_ = false;
    return true;
}

void found_nothing() noexcept;

// MPI calls this each time it polls for messages: hundreds of times for each message that arrives.
int on_progress() noexcept {
    if (poll_sources(polled_from::hook)) {
        if (const long ran = run_sources(most_in_hook); ran != 0) {
            return static_cast<int>(ran);
        }
    }
    found_nothing();
    return 0;
}

// MPICH calls this in its progress. To return `done` unregisters it.
int on_async_progress(void *) {
    constexpr int no_progress = 0;
    constexpr int done = 1;
    if (armed_.load(std::memory_order_acquire)) {
        poll_sources(polled_from::locked_hook);
        found_nothing();
        return no_progress;
    }
    return async_leaves() ? done : no_progress;
}

} // namespace

void hook_set_up(bool interposed) {
    const std::scoped_lock guard(hook_mutex_);
    closed_ = false;
    hook_ = hook_kind::none;
    if (mpi::table.progress_register != nullptr && mpi::table.progress_unregister != nullptr) {
        hook_ = hook_kind::registered;
    } else if (mpi::table.async_start != nullptr && interposed) {
        hook_ = hook_kind::async;
    }
}

const char *hook_name() noexcept {
    switch (hook_) {
    case hook_kind::registered:
        return mpi::registered_hook;
    case hook_kind::async:
        return mpi::async_hook;
    default:
        return "none";
    }
}

bool has_hook() noexcept {
    return hook_ != hook_kind::none;
}

void poll_and_run_some() noexcept {
    constexpr long most = 64;
    if (engine::current != nullptr) {
        // If MPI has a hook, the test of the call has just made all the progress that a poll could make.
        poll_sources(has_hook() ? polled_from::after_progress : polled_from::outside);
        run_sources(most);
    }
}

bool hook_runs() noexcept {
    return hook_ == hook_kind::registered;
}

void hook_arm() noexcept {
    std::scoped_lock guard(hook_mutex_);
    if (hook_ == hook_kind::none || closed_ || armed_.load(std::memory_order_relaxed)) {
        return;
    }
    armed_.store(true, std::memory_order_seq_cst);
    if (hook_ == hook_kind::registered) {
        mpi::table.progress_register(&on_progress);
    } else if (!async_running_) {
        async_running_ = true;
        mpi::table.async_start(&on_async_progress, nullptr, mpi::stream_null);
    }
}

// Open MPI would call the hook after its end. Another source may still call engage().
void hook_tear_down() noexcept {
    std::scoped_lock guard(hook_mutex_);
    closed_ = true;
    if (armed_.exchange(false) && hook_ == hook_kind::registered) {
        mpi::table.progress_unregister(&on_progress);
    }
}

namespace {

// Unregisters the hook if nothing is outstanding.
__attribute__((noinline)) void may_rest() noexcept {
    if (any_outstanding()) {
        return;
    }
    std::unique_lock guard(hook_mutex_, std::try_to_lock);
    if (!guard.owns_lock() || !armed_.load(std::memory_order_relaxed)) {
        return;
    }
    awake.store(false, std::memory_order_seq_cst);
    if (any_outstanding()) {
        awake.store(true, std::memory_order_seq_cst);
        helper_wake(); // the helper may have gone to sleep while `awake` was false
        return;
    }
    armed_.store(false, std::memory_order_seq_cst);
    if (hook_ == hook_kind::registered) {
        mpi::table.progress_unregister(&on_progress);
    }
}

void found_nothing() noexcept {
    if (++idle_calls % rest_after == 0) [[unlikely]] {
        may_rest();
    }
}

// The helper first: until it has ended, a callback on it may start a progress thread.
void end_threads() noexcept {
    helper_tear_down();
    threads_tear_down();
    polling_task_tear_down();
}

} // namespace

void set_up(bool interposed) {
    hook_set_up(interposed);
    helper_set_up(interposed);
    polling_task_set_up();
    awake.store(false);
    if (mpi_finalizes_) {
        leave_before_finalize();
    }
}

// MPICH's MPI_Finalize would wait for ever for a hook that is registered.
void leave_before_finalize() noexcept {
    mpi_finalizes_ = true;
    if (hook_ == hook_kind::async) {
        hook_tear_down();
        hook_ = hook_kind::none;
    }
    if (mpi::finalize_forbids_other_threads()) {
        end_threads();
        others_forbidden_.store(true, std::memory_order_relaxed);
    }
}

bool other_threads_forbidden() noexcept {
    return others_forbidden_.load(std::memory_order_relaxed);
}

void wake() noexcept {
    awake.store(true, std::memory_order_seq_cst);
    hook_arm();
    helper_wake();
}

void tear_down() noexcept {
    end_threads();
    hook_tear_down();
    awake.store(false);
    mpi_finalizes_ = false;
    others_forbidden_ = false;
}

} // namespace thence::progress
