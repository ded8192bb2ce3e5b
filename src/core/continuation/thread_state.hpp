// SPDX-License-Identifier: BSD-3-Clause
// What the library keeps per thread: whether callbacks may run on it now, its cache of continuation objects, counters.
#pragma once

#include "core/base/load_plain.hpp"
#include "core/base/pool.hpp"

#include <atomic>

namespace thence::continuation {

struct continuation;
struct group;
struct data_block;
class continuation_request;

// One thread writes it, any thread reads it. So no update is lost, and no lock prefix is needed.
class counter {
public:
    void add(unsigned long long n = 1) noexcept {
        base::add_plain(value_, n); // saves two instructions per continuation
    }
    unsigned long long get() const noexcept { return value_.load(std::memory_order_relaxed); }
    void reset() noexcept { value_.store(0, std::memory_order_relaxed); }

private:
    std::atomic<unsigned long long> value_;
};

struct counters {
    counter immediate, completed, failed;
};

struct thread_state {
    // The number of scopes in which no continuation may run on this thread: callbacks, attaching calls, polls. A mark
    // is added to it while the thread is enlisted (from its first attach or run until it ends), while it runs
    // callbacks, and while it lets MPI make progress for us. So one comparison decides whether a continuation may run
    // here.
    unsigned long busy;
    static constexpr unsigned long enlisted_mark = 1UL << 30;
    static constexpr unsigned long running_mark = 1UL << 20;
    static constexpr unsigned long progress_mark = 1UL << 12;
    // The CR whose callback this thread runs now, or ran last.
    continuation_request *current;
    // A list of the continuations whose callbacks have run in MPI's completion path and that must be given back, and
    // its last entry.
    continuation *completed;
    continuation *last_completed;
    base::thread_cache<continuation> cache;
    base::thread_cache<group> group_cache;
    base::thread_cache<data_block> data_cache;
    counters counts;
    thread_state *next;

    bool enlisted() const noexcept { return busy >= enlisted_mark; }
    bool free_to_run() const noexcept { return busy == enlisted_mark; }
    bool in_callback() const noexcept { return (busy & running_mark) != 0; }
    // True if this thread is in MPI's progress, which we have called, and in no other scope.
    bool only_in_progress() const noexcept { return busy == enlisted_mark + progress_mark + 1; }
    // True if this thread is in a callback and in MPI's progress. If a callback finds this true, MPI's
    // progress has called the callback.
    bool in_completion() const noexcept {
        return (busy & (running_mark | progress_mark)) == (running_mark | progress_mark);
    }
};

extern thread_local constinit thread_state this_thread;

// Marks this thread busy for a scope.
class busy_scope {
public:
    busy_scope() noexcept { ++this_thread.busy; }
    ~busy_scope() { --this_thread.busy; }
    busy_scope &operator=(busy_scope &&) = delete;
};

// The same for a scope in which this thread lets MPI make progress.
class progress_scope {
public:
    progress_scope() noexcept { this_thread.busy += thread_state::progress_mark + 1; }
    ~progress_scope() { this_thread.busy -= thread_state::progress_mark + 1; }
    progress_scope &operator=(progress_scope &&) = delete;
};

// Makes this thread's counters part of the totals until it ends, and returns its cache to the pool then. False if
// memory is exhausted; nothing has changed then.
bool enlist_this_thread() noexcept;

// The rare part of free_to_run(): the thread is busy, or is not enlisted yet.
bool enlist_and_ask() noexcept;
// True if continuations may run on this thread now; then it is enlisted.
inline bool free_to_run() noexcept {
    return this_thread.free_to_run() || enlist_and_ask();
}

// Sums one counter over all threads, including those that have ended.
unsigned long long total(counter counters::*which) noexcept;
// The number of continuations attached so far. `completed` must have been read before `outstanding`.
unsigned long long attached_so_far(unsigned long long completed, unsigned long long outstanding) noexcept;

} // namespace thence::continuation
