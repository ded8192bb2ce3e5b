// SPDX-License-Identifier: BSD-3-Clause
// MPI_Test, MPI_Wait and their any, some and all forms on any mix of continuation requests and MPI's own.
//
// A mixed array is handled one request at a time, by test_one(): what MPI says of one request is what it says of it in an
// array. The any and all forms take nothing until they can keep their promise: `all` looks at everything first.
#include "pmpi/interposed.hpp"

#include "mpi/calls.hpp"

#include <thence/thence.h>

using namespace thence;
using mpi::table;
using pmpi::must_test;
using pmpi::plain;
using pmpi::slot;
using pmpi::test_one;
using pmpi::turn;

namespace {

// Null, or inactive for sure: such an entry is ignored by the any and some forms.
bool ignored(MPI_Request request) {
    if (request == MPI_REQUEST_NULL) {
        return true;
    }
    if (continuation::is_cr_handle(request)) {
        auto *cr = continuation::continuation_request::from(request);
        return cr != nullptr && !cr->active();
    }
    return false;
}

int set_error(MPI_Status *status, int code) {
    if (status != MPI_STATUS_IGNORE) {
        status->MPI_ERROR = code;
    }
    return code;
}

void set_empty(MPI_Status *status) {
    if (status != MPI_STATUS_IGNORE) {
        *status = mpi::empty_status();
    }
}

struct any_result {
    bool live = false;  // some entry was neither null nor inactive
    bool found = false; // entry `index` is complete, or failed with `code`
    int index = MPI_UNDEFINED;
    int code = MPI_SUCCESS;
};

any_result find_any(int count, MPI_Request requests[], MPI_Status *status) {
    any_result result;
    for (int i = 0; i < count; ++i) {
        if (ignored(requests[i])) {
            continue;
        }
        result.live = true;
        int flag = 0;
        result.code = test_one(&requests[i], &flag, status);
        if (flag != 0 || result.code != MPI_SUCCESS) {
            result.found = true;
            result.index = i;
            break;
        }
    }
    return result;
}

struct some_result {
    bool live = false;
    int found = 0;
    int code = MPI_SUCCESS;
};

some_result find_some(int count, MPI_Request requests[], int indices[], MPI_Status statuses[]) {
    some_result result;
    for (int i = 0; i < count; ++i) {
        if (ignored(requests[i])) {
            continue;
        }
        result.live = true;
        int flag = 0;
        MPI_Status *status = slot(statuses, result.found);
        const int code = test_one(&requests[i], &flag, status);
        if (flag != 0 || code != MPI_SUCCESS) {
            set_error(status, code);
            indices[result.found++] = i;
            result.code = code == MPI_SUCCESS ? result.code : MPI_ERR_IN_STATUS;
        }
    }
    return result;
}

// True if every entry could be completed now, without completing any.
bool all_ready(int count, MPI_Request requests[]) {
    for (int i = 0; i < count; ++i) {
        int flag = 0;
        if (requests[i] == MPI_REQUEST_NULL) {
            continue;
        }
        if (continuation::is_cr_handle(requests[i])) {
            auto *cr = continuation::continuation_request::from(requests[i]);
            if (cr != nullptr && cr->active() && !cr->idle()) {
                thence_test(&requests[i], &flag, MPI_STATUS_IGNORE); // lets its continuations run
                if (flag == 0) {
                    return false;
                }
            }
        } else {
            table.Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE);
            if (flag == 0) {
                return false;
            }
        }
    }
    return true;
}

// Completes each entry in turn. MPI_ERR_IN_STATUS if any failed.
int wait_for_all(int count, MPI_Request requests[], MPI_Status statuses[]) {
    int result = MPI_SUCCESS;
    turn next;
    for (int i = 0; i < count; ++i) {
        MPI_Status *status = slot(statuses, i);
        int flag = 0;
        int code = MPI_SUCCESS;
        for (;;) {
            code = test_one(&requests[i], &flag, status);
            if (flag != 0 || code != MPI_SUCCESS) {
                break;
            }
            next();
        }
        set_error(status, code);
        result = code == MPI_SUCCESS ? result : MPI_ERR_IN_STATUS;
    }
    return result;
}

__attribute__((noinline)) int slow_wait(MPI_Request *request, MPI_Status *status) {
    if (continuation::is_cr_handle(*request)) {
        return thence_wait(request, status);
    }
    if (!must_test()) {
        return table.Wait(request, status);
    }
    turn next;
    for (;;) {
        int flag = 0;
        const int code = test_one(request, &flag, status);
        if (flag != 0 || code != MPI_SUCCESS) {
            return code;
        }
        next();
    }
}

} // namespace

extern "C" {

THENCE_EXPORT int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    if (plain(*request)) [[likely]] {
        return PMPI_Test(request, flag, status);
    }
    return test_one(request, flag, status);
}

THENCE_EXPORT int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    if (plain(*request)) [[likely]] {
        return PMPI_Wait(request, status);
    }
    return slow_wait(request, status);
}

THENCE_EXPORT int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status) {
    if (plain(count, requests)) [[likely]] {
        return PMPI_Testany(count, requests, index, flag, status);
    }
    const any_result result = find_any(count, requests, status);
    *index = result.index;
    *flag = result.found || !result.live ? 1 : 0;
    if (!result.live) {
        set_empty(status);
    }
    return result.code;
}

THENCE_EXPORT int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status) {
    if (plain(count, requests)) [[likely]] {
        return PMPI_Waitany(count, requests, index, status);
    }
    turn next;
    for (;;) {
        const any_result result = find_any(count, requests, status);
        if (result.found || !result.live) {
            if (!result.live) {
                set_empty(status);
            }
            *index = result.index;
            return result.code;
        }
        next();
    }
}

THENCE_EXPORT int MPI_Testsome(int count, MPI_Request requests[], int *found, int indices[], MPI_Status statuses[]) {
    if (plain(count, requests)) [[likely]] {
        return PMPI_Testsome(count, requests, found, indices, statuses);
    }
    const some_result result = find_some(count, requests, indices, statuses);
    *found = result.live ? result.found : MPI_UNDEFINED;
    return result.code;
}

THENCE_EXPORT int MPI_Waitsome(int count, MPI_Request requests[], int *found, int indices[], MPI_Status statuses[]) {
    if (plain(count, requests)) [[likely]] {
        return PMPI_Waitsome(count, requests, found, indices, statuses);
    }
    turn next;
    for (;;) {
        const some_result result = find_some(count, requests, indices, statuses);
        if (result.found != 0 || !result.live) {
            *found = result.live ? result.found : MPI_UNDEFINED;
            return result.code;
        }
        next();
    }
}

THENCE_EXPORT int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[]) {
    if (plain(count, requests)) [[likely]] {
        return PMPI_Testall(count, requests, flag, statuses);
    }
    *flag = all_ready(count, requests) ? 1 : 0;
    return *flag != 0 ? wait_for_all(count, requests, statuses) : MPI_SUCCESS;
}

THENCE_EXPORT int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    if (plain(count, requests)) [[likely]] {
        return PMPI_Waitall(count, requests, statuses);
    }
    return wait_for_all(count, requests, statuses);
}

THENCE_EXPORT int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
    if (!continuation::is_cr_handle(request)) [[likely]] {
        return PMPI_Request_get_status(request, flag, status);
    }
    auto *cr = continuation::continuation_request::from(request);
    if (cr == nullptr || flag == nullptr) {
        return mpi::report(cr == nullptr ? MPI_ERR_REQUEST : MPI_ERR_ARG);
    }
    thence_progress();
    *flag = !cr->active() || cr->idle() ? 1 : 0;
    if (*flag != 0) {
        set_empty(status);
    }
    return MPI_SUCCESS;
}

} // extern "C"
