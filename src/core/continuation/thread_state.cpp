// SPDX-License-Identifier: BSD-3-Clause
#include "core/continuation/thread_state.hpp"

#include "core/base/per_thread.hpp"
#include "core/continuation/continuation.hpp"
#include "core/continuation/owned_data.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace thence::continuation {

thread_local constinit thread_state this_thread{};

namespace {

std::mutex list_mutex;
thread_state *list = nullptr;
counters ended; // sums over the threads that have ended

counter counters::*const all_counters[] = {&counters::immediate, &counters::completed, &counters::failed};

struct leaving {
    ~leaving() {
        continuations.retire(this_thread.cache);
        groups.retire(this_thread.group_cache);
        data_blocks.retire(this_thread.data_cache);
        std::scoped_lock guard(list_mutex);
        for (thread_state **link = &list; *link != nullptr; link = &(*link)->next) {
            if (*link == &this_thread) {
                *link = this_thread.next;
                break;
            }
        }
        for (counter counters::*which : all_counters) {
            (ended.*which).add((this_thread.counts.*which).get());
            (this_thread.counts.*which).reset();
        }
        this_thread.busy -= thread_state::enlisted_mark;
    }
};

} // namespace

bool enlist_this_thread() noexcept {
    if (this_thread.enlisted()) {
        return true;
    }
    if (base::rare_per_thread<leaving>::get() == nullptr) {
        return false;
    }
    std::scoped_lock guard(list_mutex);
    this_thread.busy += thread_state::enlisted_mark;
    this_thread.next = list;
    list = &this_thread;
    return true;
}

bool enlist_and_ask() noexcept {
    if (this_thread.enlisted()) {
        return false;
    }
    return enlist_this_thread() && this_thread.free_to_run();
}

unsigned long long total(counter counters::*which) noexcept {
    std::scoped_lock guard(list_mutex);
    unsigned long long sum = (ended.*which).get();
    for (thread_state *t = list; t != nullptr; t = t->next) {
        sum += (t->counts.*which).get();
    }
    return sum;
}

// A continuation counts as outstanding until its callback has returned, then as completed. `completed` was read first,
// so none is counted twice. A continuation that changed from one to the other meanwhile may be missed, so the largest
// value so far is kept.
unsigned long long attached_so_far(unsigned long long completed, unsigned long long outstanding) noexcept {
    static std::atomic<unsigned long long> most{0};
    unsigned long long before = most.load();
    unsigned long long attached = 0;
    do {
        attached = std::max(before, completed + outstanding);
    } while (!most.compare_exchange_weak(before, attached));
    return attached;
}

} // namespace thence::continuation
