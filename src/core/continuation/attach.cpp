// SPDX-License-Identifier: BSD-3-Clause
// Attaching in every case but the common one, which is in attach.hpp. A continuation with one operation of MPI's own is
// a `single`. Any other continuation has a group.
#include "core/continuation/attach.hpp"

#include "core/continuation/complete.hpp"
#include "core/continuation/observe.hpp"
#include "core/continuation/thread_state.hpp"
#include "core/engine/shared_persistent.hpp"
#include "core/mpi/calls.hpp"
#include "core/progress/interposed.hpp"

namespace thence::continuation {

namespace {

using engine::completion_path;
using engine::outcome;

// Returns null if memory is exhausted. Nothing has changed then.
continuation *take_continuation() noexcept {
    if (!this_thread.enlisted() && !enlist_this_thread()) [[unlikely]] {
        return nullptr;
    }
    return continuations.take(this_thread.cache);
}

// Takes the results of a complete operation and releases its request, if it is plain. That may free a communicator,
// which may call functions of the user.
bool finish_complete(MPI_Request request, MPI_Status *status) noexcept {
    const busy_scope releasing;
    return engine::try_finish_complete(request, status);
}

int attach_one(MPI_Request &request, user_callback callback, attach_options how, MPI_Status *status,
               continuation_request &cr, int *flag) noexcept;
int attach_group(int count, MPI_Request requests[], user_callback callback, attach_options how, MPI_Status statuses[],
                 continuation_request &cr, int *flag) noexcept;

} // namespace

bool take_complete(MPI_Request &request, MPI_Status *status, MPI_Request cr) noexcept {
    if (!continuation_request::is_live(cr) || object_of(cr)->has(THENCE_CR_ENQUEUE_COMPLETE) ||
        !this_thread.enlisted() || observing != nullptr || !finish_complete(request, status)) {
        return false;
    }
    request = MPI_REQUEST_NULL;
    this_thread.counts.immediate.add();
    return true;
}

bool is_ordinary(MPI_Request request) noexcept {
    return !is_cr_or_null(request) && !engine::is_persistent(request);
}

int attach(int count, MPI_Request requests[], user_callback callback, attach_options how, MPI_Status statuses[],
           continuation_request &cr, int *flag) noexcept {
    if (count == 1 && !how.has(THENCE_PERSISTENT) && !is_cr_handle(requests[0])) {
        return attach_one(requests[0], callback, how, statuses, cr, flag);
    }
    return attach_group(count, requests, callback, how, statuses, cr, flag);
}

namespace {

// Attaches to one operation of MPI's own. It is complete, or must be polled, or the thread had no cache of
// continuations.
int attach_one(MPI_Request &request, user_callback callback, attach_options how, MPI_Status *status,
               continuation_request &cr, int *flag) noexcept {
    // It may only ever attach to complete operations, which are counted, too.
    if (!this_thread.enlisted() && !enlist_this_thread()) [[unlikely]] {
        return out_of_memory;
    }
    if (!is_ordinary(request) || observing != nullptr) [[unlikely]] {
        return attach_group(1, &request, callback, how, status, cr, flag);
    }
    const bool may_run = how.has(THENCE_MAY_RUN);
    if (!may_run && !cr.has(THENCE_CR_ENQUEUE_COMPLETE) && engine::is_complete(request) &&
        finish_complete(request, status)) {
        request = MPI_REQUEST_NULL;
        this_thread.counts.immediate.add();
        *flag = 1;
        return MPI_SUCCESS;
    }
    continuation *c = take_continuation();
    if (c == nullptr) [[unlikely]] {
        return out_of_memory;
    }
    fill(*c, callback, how, status, cr);
    c->first.request = request;
    request = MPI_REQUEST_NULL;
    return attach_polled(*c, how, flag);
}

MPI_Status *status_slot(MPI_Status statuses[], int i) noexcept {
    return statuses == MPI_STATUSES_IGNORE || !engine::wanted(statuses) ? MPI_STATUS_IGNORE : statuses + i;
}

// Starts to watch `request`. The user's handle becomes MPI_REQUEST_NULL, except for CRs and persistent requests.
outcome watch(engine::operation &op, MPI_Request &request, unsigned flags) noexcept {
    op.request = request;
    if (request == MPI_REQUEST_NULL) {
        set_empty_results(op, MPI_SUCCESS);
        op.path = completion_path::done;
        return outcome::complete;
    }
    if (is_cr_handle(request)) {
        op.path = completion_path::waiting; // the CR sets the results
        return continuation_request::of_handle(request)->add_waiter(op) ? outcome::pending : outcome::complete;
    }
    if ((flags & THENCE_PERSISTENT) != 0 || engine::is_persistent(request)) {
        const outcome result = engine::current->watch(op, true);
        if (result == outcome::pending || engine::shared_persistent::any_answers()) {
            progress::slow_path_reasons.fetch_or(engine::can_read_requests
                                                     ? progress::persistent_attached
                                                     : progress::persistent_attached | progress::persistent_hidden,
                                                 std::memory_order_relaxed);
        }
        return result;
    }
    request = MPI_REQUEST_NULL;
    return engine::current->watch(op, false);
}

// Returns null if memory is exhausted. Nothing has changed then.
group *take_group(int count) noexcept {
    group *g = groups.take(this_thread.group_cache);
    if (g != nullptr && !g->reserve(count)) {
        groups.give(this_thread.group_cache, g);
        return nullptr;
    }
    return g;
}

// Attaches to any number of operations of any kind.
int attach_group(int count, MPI_Request requests[], user_callback callback, attach_options how, MPI_Status statuses[],
                 continuation_request &cr, int *flag) noexcept {
    const busy_scope attaching; // as in attach_one()
    continuation *c = take_continuation();
    group *g = c != nullptr ? take_group(count) : nullptr;
    if (g == nullptr) [[unlikely]] {
        if (c != nullptr) {
            continuations.give(this_thread.cache, c);
        }
        return out_of_memory;
    }
    const control_word kind = control_of(how, 0);
    fill(*c, callback, how, statuses, cr);
    c->set_control(kind, std::memory_order_relaxed);
    cr.acquire();
    c->first.link = g;
    g->count = count;
    g->remaining.store(count + 1, std::memory_order_relaxed);
    if (observing != nullptr) [[unlikely]] {
        observing->attached(*c);
    }
    int complete = 1; // `remaining` has one count for the attaching call itself
    for (int i = 0; i < count; ++i) {
        member &op = g->members[i];
        op.owner = c;
        op.in_group = true;
        op.status = status_slot(statuses, i);
        op.error = MPI_SUCCESS;
        complete += watch(op, requests[i], how.flags) == outcome::complete ? 1 : 0;
    }
    if (g->remaining.fetch_sub(complete, std::memory_order_acq_rel) == complete) {
        return complete_at_once(*c, how.has(THENCE_MAY_RUN), flag);
    }
    *flag = 0;
    return attached(*c, kind);
}

} // namespace

} // namespace thence::continuation
