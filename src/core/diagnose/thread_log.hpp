// SPDX-License-Identifier: BSD-3-Clause
// Per-thread data of the observers: the thread's name, the callback it runs now, and its records of the timeline.
//
// Invariant: only the thread that owns a log appends to it; `record_chunk::used` is raised after a record is filled in.
// Fields that are read by other threads meanwhile, or written by another thread later, are atomic. A log outlives its
// thread, since the timeline is written at the end of the program.
#pragma once

#include "core/continuation/continuation.hpp"

#include <atomic>
#include <cstdint>

namespace thence::diagnose {

// One continuation of the timeline, in the log of the thread that attached it. Times are nanoseconds since boot; 0
// means that the event has not happened.
struct record {
    const void *where; // the code address that attached it
    continuation::any_function callback;
    std::uint32_t cr;
    std::int32_t operations;
    std::uint64_t attached;
    std::atomic<std::uint64_t> ready;
    std::atomic<std::uint64_t> begin; // stays 0 if the callback was not run
    std::atomic<std::uint64_t> end;   // written last, by the thread that ran it
    std::atomic<int> result;
    std::atomic<int> run_by; // thread id
    std::atomic<bool> withdrawn;
};

// An array of records. The first chunk of a thread is small, since there may be many threads with few continuations;
// each following one is twice as large, up to `largest`.
struct record_chunk {
    static constexpr std::uint32_t smallest = 8;
    static constexpr std::uint32_t largest = 256;
    record *records; // `capacity` of them
    std::uint32_t capacity;
    std::atomic<std::uint32_t> used{0};
    record_chunk *older;
};

struct traced_call; // traced_calls.cpp

struct thread_log {
    int thread = 0; // the kernel's thread id
    char name[16] = "";
    thread_log *next = nullptr;

    // The callback that runs on this thread now. `since` is written last; it is 0 while no callback runs.
    std::atomic<std::uint64_t> since{0};
    std::atomic<const void *> where{nullptr};
    std::atomic<const void *> callback{nullptr};

    std::atomic<std::uint64_t> ended{0}; // continuations that ended on this thread

    std::atomic<record_chunk *> records{nullptr}; // the newest chunk
    std::atomic<std::uint64_t> dropped{0};        // continuations that were not recorded because of the limit

    traced_call *last_call = nullptr; // of this thread; only it uses this
};

// The calling thread's log; created at the first call.
thread_log &this_thread_log() noexcept;

// The list of all logs, the newest first.
thread_log *all_thread_logs() noexcept;

template <class Visitor> void for_each_thread_log(Visitor &&visit) {
    for (thread_log *log = all_thread_logs(); log != nullptr; log = log->next) {
        visit(*log);
    }
}

} // namespace thence::diagnose
