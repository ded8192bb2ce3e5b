// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/queues/enqueued_requests.hpp"

#include "core/mpi/calls.hpp"
#include "core/mpi/handles.hpp"

#include <mutex>
#include <new>
#include <unordered_map>

namespace thence::queues {

namespace {

std::mutex mutex;
std::unordered_map<std::uintptr_t, item *> &item_of_request = *new std::unordered_map<std::uintptr_t, item *>;

int query(void *state, MPI_Status *status) {
    const auto &it = *static_cast<const item *>(state);
    *status = it.status;
    return it.error;
}

void forget(MPI_Request request) noexcept {
    const std::scoped_lock guard(mutex);
    item_of_request.erase(mpi::bits(request));
}

int freed(void *state) {
    auto &it = *static_cast<item *>(state);
    if (it.in_table) {
        it.in_table = false;
        forget(it.user_request);
    }
    it.owner->drop_request(it);
    return MPI_SUCCESS;
}

// An operation that is enqueued takes place.
int cancel(void *, int) {
    return MPI_SUCCESS;
}

} // namespace

bool start_request(item &it) noexcept {
    if (mpi::table.Grequest_start(&query, &freed, &cancel, &it, &it.user_request) != MPI_SUCCESS) {
        return false;
    }
    it.owner->add_request();
    it.in_table = true;
    try {
        const std::scoped_lock guard(mutex);
        item_of_request[mpi::bits(it.user_request)] = &it;
    } catch (const std::bad_alloc &) {
        it.in_table = false;
        it.references = 2; // the caller gives it back
        abandon_request(it.user_request);
        return false;
    }
    return true;
}

item *item_of(MPI_Request request) noexcept {
    const std::scoped_lock guard(mutex);
    const auto found = item_of_request.find(mpi::bits(request));
    return found != item_of_request.end() ? found->second : nullptr;
}

item *claim_request(MPI_Request request) noexcept {
    const std::scoped_lock guard(mutex);
    const auto found = item_of_request.find(mpi::bits(request));
    item *it = found->second;
    it->in_table = false;
    item_of_request.erase(found);
    return it;
}

void release_request(MPI_Request request) noexcept {
    mpi::table.Request_free(&request); // if it is not complete, MPI frees it after Grequest_complete()
}

void abandon_request(MPI_Request request) noexcept {
    mpi::table.Grequest_complete(request);
    mpi::table.Request_free(&request);
}

} // namespace thence::queues
