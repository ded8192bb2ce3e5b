// SPDX-License-Identifier: BSD-3-Clause
// First all objects are put into this thread's cache, so that the memory suffices for all operations or nothing
// changes. Then each operation is attached as a call of its own would attach it.
#include "core/continuation/attach_each.hpp"

#include "core/continuation/observe.hpp"
#include "core/engine/engine.hpp"
#include "core/mpi/calls.hpp"

namespace thence::continuation {

namespace {

bool is_common(MPI_Request request, const continuation_request &cr) noexcept {
    return !is_cr_handle(request) && is_single(request, cr);
}

// Puts `count` groups with room for one operation on top of the cache. False if memory is exhausted.
bool reserve_groups(int count) noexcept {
    group *taken = nullptr;
    bool enough = true;
    for (int i = 0; i < count && enough; ++i) {
        group *g = groups.take(this_thread.group_cache);
        enough = g != nullptr && g->reserve(1);
        if (g != nullptr) {
            g->next = taken;
            taken = g;
        }
    }
    while (taken != nullptr) {
        group *g = taken;
        taken = g->next;
        groups.put_back(this_thread.group_cache, g);
    }
    return enough;
}

// Puts the objects for all operations on top of this thread's caches. False if memory is exhausted.
bool reserve(int count, int in_groups) noexcept {
    if (!this_thread.enlisted() && !enlist_this_thread()) [[unlikely]] {
        return false;
    }
    return continuations.reserve(this_thread.cache, static_cast<unsigned>(count)) && reserve_groups(in_groups);
}

// Looks at the operations from `first` on: how many need a group.
int count_groups(int first, int count, const MPI_Request requests[], unsigned flags,
                 const continuation_request &cr) noexcept {
    if (observing != nullptr || (flags & THENCE_PERSISTENT) != 0) {
        return count - first;
    }
    int groups_needed = 0;
    for (int i = first; i < count; ++i) {
        groups_needed += is_common(requests[i], cr) || is_ordinary(requests[i]) ? 0 : 1;
    }
    return groups_needed;
}

// How many operations, from the first on, MPI pushes. They need not be looked at again: if one completes meanwhile,
// push() finds that. No callback runs while they are attached, so the cache suffices.
int count_pushed(int count, const MPI_Request requests[], unsigned flags, const continuation_request &cr) noexcept {
    int i = 0;
    if (cr.pushes() && (flags & THENCE_PERSISTENT) == 0) {
        while (i < count && !is_cr_handle(requests[i]) && engine::can_push(requests[i])) {
            ++i;
        }
    }
    return i;
}

} // namespace

int attach_each(int count, MPI_Request requests[], user_callback callback, unsigned flags, const void *where,
                MPI_Status statuses[], continuation_request &cr, int *outcount, int indices[]) noexcept {
    const int pushed = count_pushed(count, requests, flags, cr);
    if (!reserve(count, count_groups(pushed, count, requests, flags, cr))) [[unlikely]] {
        return out_of_memory;
    }
    const std::uint32_t site = site_of(where);
    const bool may_be_common = (flags & THENCE_PERSISTENT) == 0;
    const bool with_statuses = engine::wanted(statuses);
    const MPI_Request handle = cr.handle();
    int complete = 0;
    bool failed = false;
    int flag = 0;
    int i = 0;
    for (; i < pushed; ++i) {
        attach_single(requests[i], callback, {flags, signature::each, origin_at(site, i)},
                      with_statuses ? statuses + i : MPI_STATUS_IGNORE, handle, &flag);
    }
    for (; i < count; ++i) {
        const attach_options how{flags, signature::each, origin_at(site, i)};
        MPI_Status *status = with_statuses ? statuses + i : MPI_STATUS_IGNORE;
        flag = 0;
        const int error = may_be_common && is_common(requests[i], cr) && this_thread.cache.head != nullptr
                              ? attach_single(requests[i], callback, how, status, handle, &flag)
                              : attach(1, &requests[i], callback, how, status, cr, &flag);
        if (flag != 0) {
            indices[complete++] = i;
            failed = failed || error != MPI_SUCCESS;
        } else if (error != MPI_SUCCESS) [[unlikely]] {
            return error;
        }
    }
    if (outcount != nullptr) {
        *outcount = complete;
    }
    return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

} // namespace thence::continuation
