// SPDX-License-Identifier: BSD-3-Clause
// What the library keeps per thread: whether callbacks may run on it now, its stock of continuation objects, counters.
#pragma once

#include "base/pool.hpp"

#include <atomic>

namespace thence::continuation {

struct continuation;
class continuation_request;

// Written by one thread, read by any: no lost update, no lock prefix.
class counter {
public:
    void add(unsigned long long n = 1) noexcept {
        value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
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
    // Above zero while no continuation may run on this thread: it is in a callback, in an attaching call, or in a poll.
    unsigned busy;
    bool helper; // the library's own thread
    bool enlisted;
    // The CR whose callbacks this thread runs now, else null.
    const continuation_request *current;
    long held; // continuations of `current` that have run here and still count as registered
    base::magazine<continuation> stock;
    counters counts;
    thread_state *next;
};

extern thread_local constinit thread_state this_thread;

// Marks this thread busy for a scope.
class busy_scope {
public:
    busy_scope() noexcept { ++this_thread.busy; }
    ~busy_scope() { --this_thread.busy; }
    busy_scope(const busy_scope &) = delete;
    busy_scope &operator=(const busy_scope &) = delete;
};

// Makes this thread's counters part of the totals until it ends, and returns its stock to the pool then.
void enlist_this_thread();

// Sums over all threads, ended ones included. `read` picks the counter.
unsigned long long total(counter counters::*which) noexcept;

} // namespace thence::continuation
