// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file result_receives.hpp
 *  @brief When results of tasks that are away may be received. They go into memory of the program, which may be gone
 *         after an exception has left a step.
 *
 *  Invariant: a receive of results is pending only between begin() and ended(). None begins after cancel() has been
 *  called, and cancel() asks MPI only once those that were just beginning are known to it. One that was posted but not
 *  attached is left to MPI, which may write its results at any time. */

#include <thence/detail/cxx20.hpp>

#include <cstddef>
#include <mutex>
#include <span>

#include <mpi.h>

#include <thence/backoff.h>
#include <thence/thence.h>

namespace thence::detail {

// Threads: any number.
template <class Completions> class offload_result_receives {
public:
    explicit offload_result_receives(Completions &completions) : completions_(completions) {}
    offload_result_receives &operator=(offload_result_receives &&) = delete;

    // Posts the receives of the results of a task, with the tags from `tag` on. `done` has to call ended(). After
    // cancel() it does nothing. @return a code of MPI; after an error `done` is not called.
    int begin(std::span<const std::span<std::byte>> into, int source, int tag, MPI_Comm comm, MPI_Request requests[],
              thence_callback *done, void *data) {
        {
            const std::scoped_lock guard(lock_);
            if (is_cancelled_) {
                return MPI_SUCCESS;
            }
            beginning_++, pending_++;
        }
        int posted = 0;
        const int code = post(into, source, tag, comm, requests, posted, done, data);
        const std::scoped_lock guard(lock_);
        beginning_--;
        if (code != MPI_SUCCESS) {
            pending_--;
            is_left_to_mpi_ = is_left_to_mpi_ || posted > 0;
        }
        return code;
    }
    void ended() {
        const std::scoped_lock guard(lock_);
        pending_--;
    }
    // Those that MPI has matched with a message cannot be cancelled: waits for them, at most so many seconds.
    // @return whether none is pending, or left to MPI.
    bool cancel(double seconds) {
        {
            const std::scoped_lock guard(lock_);
            is_cancelled_ = true;
        }
        thence_backoff backoff = THENCE_BACKOFF_INIT;
        while (any(beginning_)) {
            thence_backoff_pause(&backoff);
        }
        completions_.cancel_results();
        for (const double end = MPI_Wtime() + seconds; any(pending_);) {
            if (MPI_Wtime() > end) {
                return false;
            }
            completions_.poll();
            thence_backoff_pause(&backoff);
        }
        const std::scoped_lock guard(lock_);
        return !is_left_to_mpi_;
    }

private:
    int post(std::span<const std::span<std::byte>> into, int source, int tag, MPI_Comm comm, MPI_Request requests[],
             int &posted, thence_callback *done, void *data) {
        int code = MPI_SUCCESS;
        for (const std::span<std::byte> &each : into) {
            code = MPI_Irecv(each.data(), static_cast<int>(each.size()), MPI_BYTE, source, tag + posted, comm,
                             &requests[posted]);
            if (code != MPI_SUCCESS) {
                break;
            }
            posted++;
        }
        code = code == MPI_SUCCESS ? completions_.attach_results(posted, requests, done, data) : code;
        // Nobody waits for them. MPI may have matched them with messages, so that to cancel them would have no effect.
        for (int i = 0; code != MPI_SUCCESS && i < posted; ++i) {
            MPI_Request_free(&requests[i]);
        }
        return code;
    }
    bool any(const int &count) {
        const std::scoped_lock guard(lock_);
        return count > 0;
    }

    Completions &completions_;
    std::mutex lock_; // guards what follows. MPI is not called under it
    int beginning_ = 0, pending_ = 0;
    bool is_cancelled_ = false, is_left_to_mpi_ = false;
};

} // namespace thence::detail
