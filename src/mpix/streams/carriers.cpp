// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/streams/carriers.hpp"

#include "core/mpi/calls.hpp"
#include "core/mpi/handles.hpp"

#include <mutex>
#include <new>
#include <unordered_map>

namespace thence::stream {

namespace {

std::mutex mutex;
std::unordered_map<std::uintptr_t, item *> &carried = *new std::unordered_map<std::uintptr_t, item *>;

int query(void *state, MPI_Status *status) {
    const auto &it = *static_cast<const item *>(state);
    *status = it.status;
    return it.error;
}

void forget(MPI_Request carrier) noexcept {
    const std::scoped_lock guard(mutex);
    carried.erase(mpi::bits(carrier));
}

int freed(void *state) {
    auto &it = *static_cast<item *>(state);
    if (it.in_table) {
        it.in_table = false;
        forget(it.carrier);
    }
    it.owner->drop_carrier(it);
    return MPI_SUCCESS;
}

// An operation that is enqueued takes place.
int cancel(void *, int) {
    return MPI_SUCCESS;
}

} // namespace

int start_carrier(item &it) noexcept {
    MPI_Request carrier = MPI_REQUEST_NULL;
    if (const int code = mpi::table.Grequest_start(&query, &freed, &cancel, &it, &carrier); code != MPI_SUCCESS) {
        return code;
    }
    it.carrier = carrier;
    it.in_table = true;
    try {
        const std::scoped_lock guard(mutex);
        carried[mpi::bits(carrier)] = &it;
    } catch (const std::bad_alloc &) {
        it.in_table = false;
        it.references = 2; // the caller gives it back
        abandon_carrier(carrier);
        return MPI_ERR_NO_MEM;
    }
    return MPI_SUCCESS;
}

item *item_of(MPI_Request request) noexcept {
    const std::scoped_lock guard(mutex);
    const auto found = carried.find(mpi::bits(request));
    return found != carried.end() ? found->second : nullptr;
}

item *claim_carrier(MPI_Request request) noexcept {
    const std::scoped_lock guard(mutex);
    const auto found = carried.find(mpi::bits(request));
    item *it = found->second;
    it->in_table = false;
    carried.erase(found);
    return it;
}

void release_carrier(MPI_Request carrier) noexcept {
    mpi::table.Request_free(&carrier); // if it is not complete, MPI frees it after Grequest_complete()
}

void abandon_carrier(MPI_Request carrier) noexcept {
    mpi::table.Grequest_complete(carrier);
    mpi::table.Request_free(&carrier);
}

} // namespace thence::stream
