// SPDX-License-Identifier: BSD-3-Clause
// The continuation requests of senders. All operations of the process that cannot be stopped share one, or another one
// if they may complete in MPI's completion path. Each operation that can be stopped has one of its own, since a stop
// request cancels all operations that are registered with a continuation request (thence_cancel).
//
// Invariant: at most one operation that is not complete is registered with such a continuation request. It is given
// back after the operation's callback has run and no stop request can use it any more. So a late cancel does not cancel
// the next operation.
#include "tbb/senders/requests.hpp"

#include "core/base/free_list.hpp"

#include <thence/error.hpp>

#include <mutex>
#include <new>

namespace thence::libthence_senders {

constinit shared_requests requests;
constinit thread_local unsigned completing = 0;

namespace {

constinit std::mutex mutex; // guards `requests`, for those that create and free them
constinit base::shared_free_list<own_request> unused_requests;

// The library may have freed its continuation requests before.
void free_if_live(MPI_Request cr) noexcept {
    if (thence_is_cr(cr) != 0) {
        thence_free(&cr);
    }
}

} // namespace

void release_requests() noexcept {
    const std::scoped_lock lock(mutex);
    if (!requests.ready.exchange(false)) {
        return;
    }
    free_if_live(requests.normal);
    free_if_live(requests.in_completion);
    while (own_request *const freed = unused_requests.take()) {
        free_if_live(freed->cr);
        delete freed;
    }
}

int make_requests() noexcept {
    const std::scoped_lock lock(mutex);
    if (requests.ready.load(detail::order::relaxed)) {
        return MPI_SUCCESS;
    }
    if (detail::mpi_inactive_reason() != nullptr) {
        return MPI_ERR_OTHER; // the C API would end the program, since there is no error handler to call
    }
    if (const int code = thence_cr_create(0, -1, MPI_INFO_NULL, &requests.normal); code != MPI_SUCCESS) {
        return code;
    }
    if (const int code = thence_cr_create(THENCE_CR_IN_COMPLETION, -1, MPI_INFO_NULL, &requests.in_completion);
        code != MPI_SUCCESS) {
        thence_free(&requests.normal);
        return code;
    }
    thence_at_finalize_(&release_requests);
    requests.ready.store(true, detail::order::release);
    return MPI_SUCCESS;
}

int take_own_request(own_request *&taken) noexcept {
    if (!requests.ready.load(detail::order::acquire)) {
        if (const int code = make_requests(); code != MPI_SUCCESS) {
            return code;
        }
    }
    if (own_request *const unused = unused_requests.take()) {
        taken = unused;
        return MPI_SUCCESS;
    }
    auto *made = new (std::nothrow) own_request{};
    if (made == nullptr) {
        return MPI_ERR_NO_MEM;
    }
    if (const int code = thence_cr_create(0, -1, MPI_INFO_NULL, &made->cr); code != MPI_SUCCESS) {
        delete made;
        return code;
    }
    taken = made;
    return MPI_SUCCESS;
}

void give_back_own_request(own_request *given) noexcept {
    unused_requests.give(*given);
}

} // namespace thence::libthence_senders
