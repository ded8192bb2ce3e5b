// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file adapter.hpp
 *  @brief What every C++ adapter needs: the exception `thence::error`, an owner of a continuation request, and
 *         progress until a condition holds. C++20.
 *
 *  Errors: no callback of an adapter throws. The function that waits for an operation reports the error of that
 *  operation, with MPI's code, class and text, and the statuses. For that the communicators need `MPI_ERRORS_RETURN`:
 *  without it MPI itself ends the program. */

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <thence/backoff.h>
#include <thence/error.hpp>
#include <thence/thence.h>

namespace thence {

/** @brief Owns a continuation request. Converts to `MPI_Request` wherever one is expected. Movable. The destructor
 *         frees it: continuations registered with it still run (thence_free()). */
class continuation_request {
public:
    /** As thence_cr_create(). @throws thence::error */
    explicit continuation_request(unsigned flags = 0, int max_poll = -1, MPI_Info info = MPI_INFO_NULL) {
        detail::check_mpi_is_active("thence::continuation_request: created");
        check(thence_cr_create(flags, max_poll, info, &cr_), "create a continuation request");
    }
    continuation_request(continuation_request &&other) noexcept : cr_(std::exchange(other.cr_, MPI_REQUEST_NULL)) {}
    continuation_request &operator=(continuation_request &&other) noexcept {
        std::swap(cr_, other.cr_);
        return *this;
    }
    ~continuation_request() {
        int finalized = 0;
        if (cr_ != MPI_REQUEST_NULL && MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized) {
            thence_free(&cr_);
        }
    }
    MPI_Request get() const noexcept { return cr_; }
    operator MPI_Request() const noexcept { return cr_; }

    /** @return true when no continuation is registered any more; as thence_test(). One thread at a time.
     *  @throws thence::error */
    bool test() {
        int flag = 0;
        check(thence_test(&cr_, &flag, MPI_STATUS_IGNORE), "test a continuation request");
        return flag != 0;
    }
    /** Wait until no continuation is registered; as thence_wait(). One thread at a time. @throws thence::error */
    void wait() { check(thence_wait(&cr_, MPI_STATUS_IGNORE), "wait for a continuation request"); }

private:
    MPI_Request cr_ = MPI_REQUEST_NULL;
};

namespace detail {

/** Attaches `callback` to all of `requests`. It also runs if an operation fails.
 *  @return true if all operations are complete already: then `callback` does not run, and `error` is what
 *          thence_attach() returned. False if `callback` will run.
 *  @throws thence::error if nothing could be attached; nothing has changed then. */
inline bool attach(std::span<MPI_Request> requests, MPI_Status *statuses, MPI_Request cr, thence_callback *callback,
                   void *data, int &error) {
    int flag = 0;
    error = MPI_SUCCESS;
    if (requests.empty()) {
        return true;
    }
    const int rc = thence_attach(static_cast<int>(requests.size()), requests.data(), callback, data,
                                 THENCE_INVOKE_FAILED, statuses, cr, &flag);
    if (flag == 0) {
        check(rc, "attach a continuation");
        return false;
    }
    error = rc;
    return true;
}

/** A thread or a fiber that is blocked until operations are complete. It is on its own stack, and destroyed after the
 *  callback has released the lock. The mutex is one of threads also for fibers: it is never held while fibers are
 *  switched, and a mutex of fibers could suspend the fiber that runs the callback.
 *  @tparam Condition a condition variable that works with `std::mutex`. */
template <class Condition> struct blocked_caller {
    std::mutex mutex;
    Condition changed;
    bool done = false;
    int error = MPI_SUCCESS;

    static int unblock(int error, MPI_Status *, void *data) noexcept {
        auto *self = static_cast<blocked_caller *>(data);
        const std::lock_guard lock(self->mutex);
        self->error = error;
        self->done = true;
        self->changed.notify_one();
        return MPI_SUCCESS;
    }

    /** Attaches to `requests` and waits until the callback has run. */
    int block(std::span<MPI_Request> requests, MPI_Status *statuses, MPI_Request cr) {
        int at_once = MPI_SUCCESS;
        if (attach(requests, statuses, cr, &unblock, this, at_once)) {
            return at_once;
        }
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return done; });
        return error;
    }
};

/** A blocking call for one request, and for several. `wait(requests, statuses)` blocks until all are complete and
 *  returns an error code. `what` names the operation in the text of the error.
 *  @return the statuses. @throws thence::error if an operation has failed. */
template <class Wait> MPI_Status complete(MPI_Request &request, const char *what, Wait &&wait) {
    MPI_Status status{};
    if (const int code = wait(std::span<MPI_Request>(&request, 1), &status); code != MPI_SUCCESS) {
        throw error(what, code, {status});
    }
    return status;
}
template <class Wait> std::vector<MPI_Status> complete(std::span<MPI_Request> requests, const char *what, Wait &&wait) {
    std::vector<MPI_Status> statuses(requests.size());
    if (const int code = wait(requests, statuses.data()); code != MPI_SUCCESS) {
        throw error(what, first_error(code, statuses), statuses); // not moved: first_error() may be called after it
    }
    return statuses;
}

} // namespace detail

/** @brief Make progress on the calling thread until `condition()` is true.
 *  @param condition called between polls; something that a continuation or another thread makes true.
 *  @throws thence::error if MPI reports an error from progress; what `condition` throws.
 *  @note Threads: any number at once. In a callback no continuation runs on this thread, so there it returns only
 *        if another thread makes the condition true. Continuations of a poll-only CR do not run: test that CR in
 *        `condition`.
 *  @note Source: paper section 3.4: the application has to call into MPI. */
template <class Condition> void progress_until(Condition &&condition) {
    detail::check_mpi_is_active("thence::progress_until: called");
    thence_backoff backoff = THENCE_BACKOFF_INIT;
    while (!condition()) {
        long ran = 0;
        check(thence_progress_some(&ran), "make progress");
        if (condition()) {
            return;
        }
        if (ran > 0) {
            thence_backoff_found(&backoff);
        } else {
            thence_backoff_pause(&backoff);
        }
    }
}

} // namespace thence
