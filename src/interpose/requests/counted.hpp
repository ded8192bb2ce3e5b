// SPDX-License-Identifier: BSD-3-Clause
// How many operations of the program are outstanding, for the helper thread (core/progress/plain_operations.hpp) and
// the report (measured.hpp): what calls on requests count. A request that becomes null has ended. A persistent request
// stays: it is known from its creation on, and has ended when a call says that it is complete.
#pragma once

#include "core/base/visibility.hpp"
#include "core/progress/plain_operations.hpp"
#include "interpose/requests/measured.hpp"

#include <mpi.h>

#include <cstdint>
#include <memory>

namespace thence::interpose {

using progress::measures_calls;
using progress::note_call;
using progress::observes_calls;

// A call that may block lasts. Inside a call that completes requests, that call waits.
class blocking_call {
    const timed_call timed_{call_kind::blocks};
    const progress::blocking_call in_mpi_;
};

// A call that completes requests lasts. If nothing is counted, it does nothing.
class counted_completion {
public:
    // All of them are complete if `flag` is null, or not 0 at the end.
    counted_completion(int count, MPI_Request requests[], const int *flag = nullptr) noexcept
        : flag_(flag), size_(count) {
        begin(requests);
    }
    // Those are complete that the first `*found` of `indices` name; if `found` is null, the first one. If MPI refuses
    // the call, these may be any numbers.
    counted_completion(int count, MPI_Request requests[], const int *found, const int indices[]) noexcept
        : found_(found), indices_(indices), size_(indices != nullptr ? count : 0) {
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
    void begin(MPI_Request requests[]) noexcept {
        if (observes_calls() && requests != nullptr && size_ > 0) [[unlikely]] {
            note_call(); // also of one that finds nothing
            requests_ = requests;
            before_ = active_ones();
            measured_ = measured_completion::begin(size_, requests);
        }
    }
    THENCE_INTERNAL long active_ones() const noexcept; // but persistent ones
    THENCE_INTERNAL void end() noexcept;

    const timed_call timed_{call_kind::tests};
    std::unique_ptr<measured_completion> measured_;
    MPI_Request *requests_ = nullptr;
    const int *flag_ = nullptr;
    const int *found_ = nullptr;
    const int *indices_ = nullptr;
    int size_;
    long before_ = 0;
};

// After a call that starts an operation has returned `code`. `bytes`: what it transfers, see measure_start().
inline void count_if_started(int code, const MPI_Request *request, std::int64_t bytes = 0) noexcept {
    if (observes_calls() && code == MPI_SUCCESS && request != nullptr && *request != MPI_REQUEST_NULL) {
        progress::operation_started();
        if (measures_calls()) {
            measure_start(*request, bytes);
        }
    }
}

// Each is called only while operations are counted.
THENCE_INTERNAL void count_created(MPI_Request persistent, std::int64_t bytes) noexcept;
// A start may give a persistent request a new handle.
THENCE_INTERNAL void count_start(MPI_Request before, MPI_Request after) noexcept;
// MPI has freed it.
THENCE_INTERNAL void count_freed(MPI_Request request) noexcept;

} // namespace thence::interpose
