// SPDX-License-Identifier: BSD-3-Clause
// How many operations of the program are outstanding, for the helper thread (core/progress/plain_operations.hpp) and
// the report (measured.hpp): what calls on requests count. A request that becomes null has ended. A persistent request
// stays: it is known from its creation on (persistent_states.hpp, with a report known_requests.hpp), and has ended when
// a call says that it is complete.
//
// While no report is wanted, and nothing else is to be done, calls do less (only_counted.hpp).
#pragma once

#include "core/base/visibility.hpp"
#include "core/diagnose/blocked_calls.hpp"
#include "core/progress/plain_operations.hpp"
#include "interpose/requests/known_requests.hpp"
#include "interpose/requests/measured.hpp"
#include "interpose/requests/only_counted.hpp"
#include "interpose/requests/persistent_states.hpp"

#include <mpi.h>

#include <cstdint>

namespace thence::interpose {

using progress::measures_calls;
using progress::note_call;
using progress::observes_calls;
using progress::waits;

// A call that may block lasts. Inside a call that completes requests, that call waits.
class blocking_call {
public:
    explicit blocking_call(const described_call &call, waits where = waits::as_set) noexcept
        : listed_(progress::lists_calls() ? diagnose::list_call(call) : nullptr), timed_(call), in_mpi_(where) {}
    ~blocking_call() {
        if (listed_ != nullptr) [[unlikely]] {
            listed_->end();
        }
    }
    blocking_call(const blocking_call &) = delete;
    blocking_call &operator=(const blocking_call &) = delete;

private:
    diagnose::call_slot *const listed_;
    const timed_call timed_;
    const progress::blocking_call in_mpi_;
};

// A call lasts that starts and ends no operation which is counted, and waits for no other rank.
class asking_call {
public:
    asking_call(const char *name, call_kind kind) noexcept : timed_(name, kind) {
        if (observes_calls()) [[unlikely]] {
            note_call();
        }
    }
    asking_call &operator=(asking_call &&) = delete;

private:
    const timed_call timed_;
};

// A call that completes requests lasts. If nothing is counted, it does nothing.
class counted_completion {
public:
    counted_completion(const char *name, int count, MPI_Request requests[],
                       const completed_requests &completed) noexcept
        : timed_(name, call_kind::tests), completed_(completed), size_(count) {
        begin(requests);
    }
    ~counted_completion() {
        if (requests_ != nullptr) {
            end();
        }
    }
    counted_completion(const counted_completion &) = delete;
    counted_completion &operator=(const counted_completion &) = delete;

private:
    struct asked_requests;

    void begin(MPI_Request requests[]) noexcept {
        if (observes_calls() && requests != nullptr && size_ > 0) [[unlikely]] {
            requests_ = requests;
            begin();
        }
    }
    THENCE_INTERNAL void begin() noexcept;
    THENCE_INTERNAL void end() noexcept;
    long end_asked() noexcept;
    void say_which_ended() noexcept;

    const timed_call timed_;          // waits, if a blocking_call is inside
    asked_requests *asked_ = nullptr; // if any request is known; see asked_requests::take()
    const completed_requests completed_;
    MPI_Request *requests_ = nullptr;
    int size_;
    long before_ = 0; // how many were not null, if none is known
};

THENCE_INTERNAL void count_measured(MPI_Request started, std::int64_t bytes, bool on_file) noexcept;
// After a call that starts an operation has returned `code`. `bytes`: what it transfers. `on_file`: measure_start().
inline void count_if_started(int code, const MPI_Request *request, std::int64_t bytes = 0,
                             bool on_file = false) noexcept {
    if (observes_calls() && code == MPI_SUCCESS && request != nullptr && *request != MPI_REQUEST_NULL) {
        progress::operation_started();
        if (measures_calls()) {
            count_measured(*request, bytes, on_file);
        }
    }
}

// Each is called only while operations are counted.
THENCE_INTERNAL void count_created(MPI_Request persistent, std::int64_t bytes) noexcept;
// A start may give a persistent request a new handle.
THENCE_INTERNAL void count_start(MPI_Request before, MPI_Request after) noexcept;

// A call that frees a request lasts. If nothing is counted, it does nothing.
class counted_free {
public:
    explicit counted_free(const MPI_Request *request) noexcept {
        if (observes_calls()) [[unlikely]] {
            begin(request);
        }
    }
    ~counted_free() {
        if (request_ != nullptr) {
            end();
        }
    }
    counted_free(const counted_free &) = delete;
    counted_free &operator=(const counted_free &) = delete;

private:
    THENCE_INTERNAL void begin(const MPI_Request *request) noexcept;
    THENCE_INTERNAL void end() noexcept;

    const MPI_Request *request_ = nullptr;
    MPI_Request before_ = MPI_REQUEST_NULL;
    bool is_active_ = true;
    persistent_states::state *persistent_ = nullptr; // if it is persistent, and nothing is measured
    persistent_state state_ = persistent_state::none;
    known_request known_;
};

} // namespace thence::interpose
