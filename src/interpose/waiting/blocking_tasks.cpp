// SPDX-License-Identifier: BSD-3-Clause
// A call first tests once, which makes progress: a message that is there does not block the task. Then a continuation
// is attached to the operation, and the task is blocked until that has run.
#include "interpose/waiting/blocking_tasks.hpp"

#include "core/continuation/attach.hpp"
#include "core/continuation/request.hpp"
#include "core/continuation/thread_state.hpp"
#include "core/engine/push.hpp"
#include "core/mpi/calls.hpp"
#include "core/progress/backoff.hpp"
#include "interpose/requests/requests.hpp"
#include "interpose/waiting/wait_strategy.hpp"
#include "tasks/blocked_task.hpp"
#include "tasks/blocking_calls.hpp"
#include "tasks/polling_call.hpp"
#include "tasks/polling_task.hpp"
#include "tasks/runtime.hpp"

#include <algorithm>
#include <cstdint>

namespace thence::interpose {

namespace {

using continuation::continuation_request;

// Not in a callback and not in a poll of ours: others wait there for this thread.
bool applies() noexcept {
    if (!task::calls_block_tasks.load(std::memory_order_relaxed) || !task::thread_is_aware ||
        !continuation::free_to_run()) {
        return false;
    }
    const thence_task task = task::current();
    return task.runtime != nullptr && task.runtime->block != nullptr;
}

// Other tasks may run in each pause, also in one of length 0. The pauses become longer: a request that is complete soon
// is found soon, and one that is not costs a test each 100 us.
void pause(polling_call &call) noexcept {
    if (!call.is_listed()) {
        const thence_task self = task::current();
        if (self.runtime == nullptr) { // it was removed meanwhile
            testing.pause(call);
            return;
        }
        call.list(self);
        call.backoff.spins = 16;
    }
    ++call.turns;
    const thence_task_runtime &runtime = *call.task.runtime;
    progress::poll_and_run_some();
    polling_call::leave_mpi();
    if (runtime.sleep_for != nullptr) {
        const std::int64_t length = progress::next_pause(call.backoff);
        runtime.sleep_for(length > 0 ? static_cast<std::uint64_t>(length) : 0, nullptr);
    } else {
        progress::pause(call.backoff);
    }
    call.enter_mpi();
}

int complete_by_pausing(MPI_Request *request, MPI_Status *status, const void *where) noexcept {
    for (polling_call call(nullptr, where);;) {
        pause(call);
        int flag = untouched;
        const int code = mpi::table.Test(request, &flag, status);
        if (flag != 0 || code != MPI_SUCCESS) {
            return code;
        }
    }
}

// Attaches to the requests and blocks the task. Returns false, and has changed nothing, if there is no memory or the CR
// was freed.
bool block_until_complete(int count, MPI_Request requests[], MPI_Status *statuses, const void *where,
                          int &code) noexcept {
    continuation_request *cr = continuation_request::of_handle(task::cr_of_blocking_calls());
    if (cr == nullptr) {
        return false;
    }
    task::blocked_task blocked(task::current());
    int complete = untouched;
    code = continuation::attach(count, requests, blocked.callback(),
                                {THENCE_INVOKE_FAILED, continuation::signature::own, where}, statuses, *cr, &complete);
    if (complete == untouched) {
        return false;
    }
    if (complete == 0) {
        task::let_a_task_poll_for(cr->handle());
        code = blocked.block();
    }
    return true;
}

// If a test has shown that the request is pending, it is not null.
int complete(MPI_Request *request, MPI_Status *status, const void *where) noexcept {
    int flag = untouched;
    int code = mpi::table.Test(request, &flag, status);
    if (flag != 0 || code != MPI_SUCCESS) {
        catch_up();
        return code;
    }
    if (engine::is_persistent(*request) || !block_until_complete(1, request, status, where, code)) {
        return complete_by_pausing(request, status, where);
    }
    return code;
}

// MPI knows by the handle alone whether a request of these kinds is inactive, or belongs to the user after completion.
bool needs_tests(MPI_Request request) noexcept {
    return is_cr_handle(request) || (request != MPI_REQUEST_NULL && engine::is_persistent(request));
}

bool complete_all(int count, MPI_Request requests[], MPI_Status statuses[], const void *where, int &code) noexcept {
    if (count <= 0 || requests == nullptr || std::any_of(requests, requests + count, &needs_tests)) {
        return false;
    }
    progress::poll_and_run_some();
    if (!block_until_complete(count, requests, statuses, where, code)) {
        return false;
    }
    code = code == MPI_SUCCESS ? int{MPI_SUCCESS} : int{MPI_ERR_IN_STATUS};
    return true;
}

} // namespace

const wait_strategy blocking_tasks{"block the task", &applies, &complete, &pause, &complete_all};

} // namespace thence::interpose
