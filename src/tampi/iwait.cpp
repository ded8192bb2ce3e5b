// SPDX-License-Identifier: BSD-3-Clause
// Binding operations to the calling task.
//
// A call with one run of requests ends in a tail call of thence_task_attach(): the place that reports name, which is its
// return address, is then the user's.
#include "tampi/library.hpp"

#include <TAMPI.h>
#include <thence/task_runtime.h>

#include <algorithm>

using namespace thence::tampi;

namespace {

// Whether a wrapper of 3.0.1 has left a request to its user on this thread. Otherwise all requests of wrappers are bound to
// tasks, and TAMPI_Wait has nothing to do. It must not look at them either: the tasks may write them meanwhile.
thread_local constinit bool left_a_request = false;

bool all_are_bound() noexcept {
    return !left_a_request && nonblocking.load(std::memory_order_acquire);
}

// The calling task if operations can be bound to it, else null.
const thence_task *task_with_events() noexcept {
    return nonblocking.load(std::memory_order_acquire) ? thence_task_with_events() : nullptr;
}

MPI_Status *from(MPI_Status statuses[], int i) noexcept {
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUSES_IGNORE : statuses + i;
}

// Calls `complete` for each run of requests that are not null. Returns the first error.
template <class Complete> int for_each_run(int count, MPI_Request requests[], Complete complete) {
    int result = MPI_SUCCESS;
    for (int i = 0; i < count;) {
        const int begin = i;
        while (i < count && requests[i] != MPI_REQUEST_NULL) {
            ++i;
        }
        if (i != begin) {
            const int code = complete(begin, i - begin);
            result = result == MPI_SUCCESS ? code : result;
        } else {
            ++i;
        }
    }
    return result;
}

// True if the call may pass the whole array on: nothing of it is ignored, or MPI or Thence will refuse it.
bool is_one_run(int count, const MPI_Request requests[], const MPI_Status statuses[]) noexcept {
    return count < 0 || requests == nullptr || statuses == MPI_STATUSES_IGNORE ||
           std::find(requests, requests + count, MPI_REQUEST_NULL) == requests + count;
}

int wait_for_all(int count, MPI_Request requests[], MPI_Status statuses[]) {
    if (is_one_run(count, requests, statuses)) {
        return MPI_Waitall(count, requests, statuses);
    }
    return for_each_run(count, requests, [&](int i, int n) { return MPI_Waitall(n, requests + i, from(statuses, i)); });
}

} // namespace

extern "C" {

int TAMPI_Iwait(MPI_Request *request, MPI_Status *status) {
    if (request != nullptr && *request == MPI_REQUEST_NULL) {
        return MPI_SUCCESS;
    }
    const thence_task *self = task_with_events();
    if (self == nullptr) {
        return MPI_Wait(request, status);
    }
    return thence_task_attach(1, request, 0, status, self, requests_of_tasks);
}

int TAMPI_Iwaitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    const thence_task *self = task_with_events();
    if (self == nullptr) {
        return wait_for_all(count, requests, statuses);
    }
    if (is_one_run(count, requests, statuses)) {
        return thence_task_attach(count, requests, 0, statuses, self, requests_of_tasks);
    }
    return for_each_run(count, requests, [&](int i, int n) {
        return thence_task_attach(n, requests + i, 0, from(statuses, i), self, requests_of_tasks);
    });
}

int TAMPI_Wait(MPI_Request *request, MPI_Status *status) {
    const bool done = all_are_bound() || (request != nullptr && *request == MPI_REQUEST_NULL);
    return done ? int{MPI_SUCCESS} : MPI_Wait(request, status);
}

int TAMPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    return all_are_bound() ? int{MPI_SUCCESS} : wait_for_all(count, requests, statuses);
}

int thence_tampi_bind_(int code, MPI_Request *request, MPI_Status *status) {
    if (code != MPI_SUCCESS || request == nullptr || *request == MPI_REQUEST_NULL) {
        return code;
    }
    const thence_task *self = task_with_events();
    if (self == nullptr) {
        left_a_request = true;
        return MPI_SUCCESS;
    }
    return thence_task_attach(1, request, 0, status, self, requests_of_tasks);
}

int thence_tampi_bind_or_wait_(int code, MPI_Request *request, MPI_Status *status) {
    return code != MPI_SUCCESS ? code : TAMPI_Iwait(request, status);
}

} // extern "C"
