// SPDX-License-Identifier: BSD-3-Clause
// The check of what a program promises of a stream: that no two threads are in its calls at the same time
// (THENCE_CHECK_STREAMS).
//
// A thread that is in a call on a communicator of a stream, or on a request of one, is noted at the stream. If another
// thread begins such a call meanwhile, both are reported, once per stream. Threads that take turns are not.
//
// A call has no way to ask a request for its communicator, so requests are noted in a table when an interposed call
// starts them, until an interposed call completes or frees them. If a continuation takes a request, it stays in the
// table until MPI gives its handle to another one that an interposed call starts. A request that is complete at once is
// not noted, since MPI gives several such the same handle.
#pragma once

#include "core/base/spin_lock.hpp"
#include "core/base/visibility.hpp"
#include "core/progress/interposed.hpp"

#include <mpi.h>

namespace thence::streams {

struct context;

// The thread that is in a call of a stream. Invariant: at most one is noted; `depth_` counts its calls inside of each
// other.
class serial_use {
public:
    // True: leave() must follow. `handle`: of the stream, for the report.
    bool enter(const char *call, int handle) noexcept;
    void leave() noexcept;

private:
    base::spin_lock lock_; // guards what follows
    int depth_ = 0;
    const char *call_ = nullptr;
    int thread_ = 0;
    char name_[16] = "";
    bool reported_ = false;
};

inline bool streams_are_checked() noexcept {
    return (progress::slow_path_reasons.load(std::memory_order_relaxed) & progress::streams_checked) != 0;
}
// Called when a stream is created: the check begins if the setting asks for it.
void check_streams_if_asked() noexcept;

// This thread is in a call while the object lives. If streams are not checked, it does nothing.
class serial_call {
public:
    serial_call(const char *call, context *stream) noexcept { streams_are_checked() ? enter(call, stream) : void(); }
    serial_call(const char *call, MPI_Comm comm) noexcept { streams_are_checked() ? enter(call, comm) : void(); }
    // With requests of any streams, at most 8. Those that the call sets to null leave the table.
    serial_call(const char *call, int count, const MPI_Request requests[]) noexcept {
        streams_are_checked() ? enter(call, count, requests) : void();
    }
    ~serial_call() {
        if (entered_ != 0 || known_ != 0) {
            leave();
        }
    }
    serial_call &operator=(serial_call &&) = delete;

private:
    static constexpr int most = 8;
    THENCE_INTERNAL void enter(const char *call, context *stream) noexcept;
    THENCE_INTERNAL void enter(const char *call, MPI_Comm comm) noexcept;
    THENCE_INTERNAL void enter(const char *call, int count, const MPI_Request requests[]) noexcept;
    THENCE_INTERNAL void leave() noexcept;

    int entered_ = 0;
    int known_ = 0;
    context *streams_[most]; // the first `entered_`
    struct {
        const MPI_Request *where;
        MPI_Request request;
    } requests_[most]; // the first `known_`: they are in the table
};

// A call on `comm` has created this request. `started`: it is no persistent one, so it may be complete.
THENCE_INTERNAL void note_request(MPI_Comm comm, const MPI_Request *request, bool started) noexcept;
// A call on a stream has started this request, whose handle no other has.
void note_request(context *stream, const MPI_Request *request) noexcept;
// The stream is being destroyed.
void forget_requests_of(const context &stream) noexcept;

} // namespace thence::streams
