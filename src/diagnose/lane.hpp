// SPDX-License-Identifier: BSD-3-Clause
// What is kept per thread while somebody observes: its name, the callback it is in, and its records of the timeline.
//
// Invariant: only its own thread adds to a lane; `chunk::used` is raised after a record is filled in. The fields that
// other threads write later, or read meanwhile, are atomic. Lanes outlive their threads: the timeline needs them.
#pragma once

#include "continuation/continuation.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace thence::diagnose {

// One continuation of the timeline, from its attaching thread's lane. Times are nanoseconds since boot, 0: not yet.
struct record {
    const void *where;
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

// A thread's first one is small, since there may be many threads with little to do; the next ones are larger.
struct chunk {
    static constexpr std::uint32_t smallest = 8;
    static constexpr std::uint32_t largest = 256;
    record *records; // as many as `capacity`
    std::uint32_t capacity;
    std::atomic<std::uint32_t> used{0};
    chunk *older;
};

struct lane {
    int thread = 0; // as the kernel numbers it
    char name[16] = "";
    lane *next = nullptr;

    // The callback that runs here now; `since` is 0 while none does, and is written last.
    std::atomic<std::uint64_t> since{0};
    std::atomic<const void *> where{nullptr};
    std::atomic<const void *> callback{nullptr};

    std::atomic<std::uint64_t> ended{0}; // continuations that are over

    std::atomic<chunk *> records{nullptr}; // newest first
    std::atomic<std::uint64_t> dropped{0}; // continuations beyond the limit
};

// This thread's lane.
lane &this_lane() noexcept;

// Newest first.
lane *all_lanes() noexcept;

template <class Visitor> void for_each_lane(Visitor &&visit) {
    for (lane *l = all_lanes(); l != nullptr; l = l->next) {
        visit(*l);
    }
}

} // namespace thence::diagnose
