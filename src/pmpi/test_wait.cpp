// SPDX-License-Identifier: BSD-3-Clause
// MPI_Test, MPI_Wait and their any, some and all forms on any mix of continuation requests and MPI's own.
//
// A mixed array is handled one request at a time, by test_one(): what MPI says of one request is what it says of it in
// an array. The any and all forms take nothing until they can keep their promise: `all` looks at everything first.
#include "continuation/interposing.hpp"

#include <thence/thence.h>

using namespace thence::continuation;

namespace {

MPI_Status *slot(MPI_Status statuses[], int i) {
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
}

void set_error(MPI_Status *status, int code) {
    if (status != MPI_STATUS_IGNORE) {
        status->MPI_ERROR = code;
    }
}

// Between two looks of a blocking call.
class turn {
public:
    void operator()() { take_turn(++turns_); }

private:
    unsigned turns_ = 0;
};

// What `test_one` says, but an inactive persistent request, which the any and some forms ignore, is told from a
// complete one. Once persistent requests have had continuations our own poll may have completed it for the user, so
// then it counts as complete.
int test_entry(MPI_Request *request, int *flag, MPI_Status *status, bool &live) {
    if (is_cr_handle(*request) || (attention.load(std::memory_order_relaxed) & attention_kept) != 0) {
        live = true;
        return test_one(request, flag, status);
    }
    int index = 0;
    const int code = PMPI_Testany(1, request, &index, flag, status);
    if (code == MPI_SUCCESS && *flag != 0 && index == MPI_UNDEFINED) {
        *flag = 0;
    } else {
        live = true;
    }
    return code;
}

// A call that looked once and found nothing: MPI's own progress runs nothing of ours where it has no hook, so a program
// that tests in a loop would never let a continuation run.
void catch_up_unless(int done) {
    if (done == 0) {
        catch_up();
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
        if (is_ignored(requests[i])) {
            continue;
        }
        int flag = 0;
        result.code = test_entry(&requests[i], &flag, status, result.live);
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
        if (is_ignored(requests[i])) {
            continue;
        }
        int flag = 0;
        MPI_Status *status = slot(statuses, result.found);
        const int code = test_entry(&requests[i], &flag, status, result.live);
        if (flag != 0 || code != MPI_SUCCESS) {
            set_error(status, code);
            indices[result.found++] = i;
            result.code = code == MPI_SUCCESS ? result.code : MPI_ERR_IN_STATUS;
        }
    }
    return result;
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
    if (!must_test()) {
        return PMPI_Wait(request, status);
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
    const int code = test_one(request, flag, status);
    catch_up_unless(code != MPI_SUCCESS ? 1 : *flag);
    return code;
}

THENCE_EXPORT int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    if (plain(*request)) [[likely]] {
        return PMPI_Wait(request, status);
    }
    return is_cr_handle(*request) ? thence_wait(request, status) : slow_wait(request, status);
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
    catch_up_unless(*flag);
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
    catch_up_unless(*found);
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
    *flag = 1;
    for (int i = 0; i < count && *flag != 0; ++i) {
        *flag = is_ready(requests[i]) ? 1 : 0;
    }
    catch_up_unless(*flag);
    return *flag != 0 ? wait_for_all(count, requests, statuses) : MPI_SUCCESS;
}

THENCE_EXPORT int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    if (plain(count, requests)) [[likely]] {
        return PMPI_Waitall(count, requests, statuses);
    }
    return wait_for_all(count, requests, statuses);
}

THENCE_EXPORT int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
    if (!is_cr_handle(request)) [[likely]] {
        return PMPI_Request_get_status(request, flag, status);
    }
    if (thence_is_cr(request) == 0 || flag == nullptr) {
        const int code = flag == nullptr ? MPI_ERR_ARG : MPI_ERR_REQUEST;
        PMPI_Comm_call_errhandler(MPI_COMM_WORLD, code);
        return code;
    }
    thence_progress();
    thence_cr_info info;
    thence_cr_query(request, &info);
    *flag = info.active == 0 || info.registered == 0 ? 1 : 0;
    if (*flag != 0) {
        set_empty(status);
    }
    return MPI_SUCCESS;
}

} // extern "C"
