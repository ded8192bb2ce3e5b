// SPDX-License-Identifier: BSD-3-Clause
// Work outside of MPI for which a generalized request stands, with a record of every call of its functions. It notes
// what must never be: two functions at a time, a call after completion, a query or free function beside a poll.
#pragma once

#include "library.hpp"

#include <thence/grequest.h>

#include <atomic>
#include <functional>

namespace thence::fake {

struct work {
    std::atomic<bool> ended{false}; // the test sets it: the next poll or wait function completes the request
    std::atomic<int> polls{0};
    std::atomic<int> waits{0};
    std::atomic<int> queries{0};
    std::atomic<int> frees{0};
    std::atomic<int> cancels{0};
    std::atomic<int> misuses{0};
    int answer = MPI_SUCCESS;     // what the poll or wait function returns
    int tag = 0;                  // what the query function sets
    bool in_status = false;       // the poll function sets the tag instead
    std::function<void()> inside; // called in the poll function
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Request handle = MPI_REQUEST_NULL; // a copy, for MPI_Grequest_complete

    std::atomic<int> running{0};
    std::atomic<bool> completed{false};

    struct call {
        explicit call(work &called) : w(called) {
            if (w.running.fetch_add(1) != 0 || w.completed) {
                ++w.misuses;
            }
        }
        ~call() { --w.running; }
        call(const call &) = delete;
        call &operator=(const call &) = delete;
        work &w;
    };

    void complete() { EXPECT_EQ(MPI_Grequest_complete(handle), MPI_SUCCESS); }
    static int poll(void *state, MPI_Status *status) {
        work &w = *static_cast<work *>(state);
        const call in_call(w);
        ++w.polls;
        if (w.inside) {
            w.inside();
        }
        if (w.in_status) {
            status->MPI_TAG = w.tag;
        }
        if (w.ended) {
            w.complete();
        }
        return w.answer;
    }
    static int query(void *state, MPI_Status *status) {
        work &w = *static_cast<work *>(state);
        w.misuses += w.running != 0 ? 1 : 0;
        w.completed = true;
        ++w.queries;
        if (!w.in_status) {
            status->MPI_TAG = w.tag;
        }
        return MPI_SUCCESS;
    }
    static int free(void *state) {
        work &w = *static_cast<work *>(state);
        w.misuses += w.running != 0 ? 1 : 0;
        w.completed = true;
        ++w.frees;
        return MPI_SUCCESS;
    }
    static int cancel(void *state, int) {
        work &w = *static_cast<work *>(state);
        ++w.cancels;
        w.ended = true;
        return MPI_SUCCESS;
    }

    void start(thence_grequest_poll_function *polled = &poll, thence_grequest_wait_function *waits_for = nullptr,
               unsigned flags = 0) {
        // The poll function uses `handle`, which is set before its first call, on any thread.
        EXPECT_EQ(thence_grequest_start_x(&query, &free, &cancel, polled, waits_for, this, flags, &handle),
                  MPI_SUCCESS);
        request = handle;
    }
    // Its functions were called as they should be, and the request is gone.
    void expect_over(int times_queried = 1) const {
        EXPECT_EQ(frees, 1);
        EXPECT_EQ(queries, times_queried);
        EXPECT_EQ(misuses, 0);
    }
};

} // namespace thence::fake
