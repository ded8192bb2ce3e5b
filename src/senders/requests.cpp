// SPDX-License-Identifier: BSD-3-Clause
// The continuation requests of the senders: one for all operations of the process that nobody can stop, one for those
// of them that may end in MPI's own completion, and one for each that somebody can stop, since a stop request cancels
// what is registered with a continuation request (thence_cancel).
//
// Invariant: a lent continuation request has one operation at most that is not complete. It is given back when the
// operation's callback runs and no stop request is at work any more, so a late cancel never meets the next operation.
#include "senders/requests.hpp"

#include <thence/error.hpp>

#include <mutex>
#include <new>

namespace thence::libthence_senders {

constinit shared_requests requests;
constinit thread_local unsigned completing = 0;

namespace {

constinit std::mutex mutex;
constinit lent_request *free_requests = nullptr;

// Where the library goes first, its continuation requests are gone already.
void free_if_live(MPI_Request cr) noexcept {
    if (thence_is_cr(cr) != 0) {
        thence_free(&cr);
    }
}

// MPI_Finalize deletes the attributes of MPI_COMM_SELF before anything else.
int at_finalize(MPI_Comm, int, void *, void *) noexcept {
    release_requests();
    return MPI_SUCCESS;
}

} // namespace

void release_requests() noexcept {
    const std::scoped_lock lock(mutex);
    if (!requests.ready.exchange(false)) {
        return;
    }
    free_if_live(requests.normal);
    free_if_live(requests.in_completion);
    while (free_requests != nullptr) {
        lent_request *gone = free_requests;
        free_requests = gone->next;
        free_if_live(gone->cr);
        delete gone;
    }
}

int make_requests() noexcept {
    const std::scoped_lock lock(mutex);
    if (requests.ready.load(detail::order::relaxed)) {
        return MPI_SUCCESS;
    }
    if (detail::mpi_inactive_reason() != nullptr) {
        return MPI_ERR_OTHER; // the C API would end the program: there is no error handler to ask
    }
    if (const int code = thence_cr_create(0, -1, MPI_INFO_NULL, &requests.normal); code != MPI_SUCCESS) {
        return code;
    }
    if (const int code = thence_cr_create(THENCE_CR_IN_COMPLETION, -1, MPI_INFO_NULL, &requests.in_completion);
        code != MPI_SUCCESS) {
        thence_free(&requests.normal);
        return code;
    }
    int keyval = MPI_KEYVAL_INVALID;
    if (MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &at_finalize, &keyval, nullptr) == MPI_SUCCESS) {
        MPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
        MPI_Comm_free_keyval(&keyval); // goes with the attribute
    }
    requests.ready.store(true, detail::order::release);
    return MPI_SUCCESS;
}

int lend_request(lent_request *&lent) noexcept {
    if (!requests.ready.load(detail::order::acquire)) {
        if (const int code = make_requests(); code != MPI_SUCCESS) {
            return code;
        }
    }
    {
        const std::scoped_lock lock(mutex);
        if (free_requests != nullptr) {
            lent = free_requests;
            free_requests = lent->next;
            return MPI_SUCCESS;
        }
    }
    auto *made = new (std::nothrow) lent_request{};
    if (made == nullptr) {
        return MPI_ERR_NO_MEM;
    }
    if (const int code = thence_cr_create(0, -1, MPI_INFO_NULL, &made->cr); code != MPI_SUCCESS) {
        delete made;
        return code;
    }
    lent = made;
    return MPI_SUCCESS;
}

void give_back_request(lent_request *lent) noexcept {
    const std::scoped_lock lock(mutex);
    lent->next = free_requests;
    free_requests = lent;
}

} // namespace thence::libthence_senders
