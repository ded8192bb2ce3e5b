// SPDX-License-Identifier: BSD-3-Clause
// MPI_Testany, MPI_Waitany, MPI_Testsome and MPI_Waitsome.
#include "interpose/calls/arguments.hpp"
#include "interpose/calls/completion.hpp"
#include "interpose/calls/next.hpp"
#include "interpose/calls/on_stream.hpp"
#include "interpose/requests/only_counted.hpp"
#include "interpose/requests/requests.hpp"
#include "interpose/waiting/wait_strategy.hpp"

#include <thence/thence.h>

#include <vector>

using namespace thence::interpose;
using namespace thence::pmpi;

namespace {

// True for an entry that without_special() has hidden, and that is not ignored.
bool must_test(MPI_Request own, MPI_Request request) {
    return own == MPI_REQUEST_NULL && !is_ignored(request);
}

struct any_result {
    bool refused = false; // by MPI, with `code`
    bool live = false;    // some entry was neither null nor inactive
    bool found = false;   // entry `index` is complete, or failed with `code`
    int index = MPI_UNDEFINED;
    int code = MPI_SUCCESS;
};

// `status` is set only if the result is found.
any_result find_any(const char *call, int count, MPI_Request requests[], MPI_Status *status) {
    std::vector<MPI_Request> own = without_special(count, requests);
    any_result result;
    int flag = untouched;
    tentative_statuses found(1, status);
    result.code = PMPI_Testany(count, own.data(), &result.index, &flag, found.data());
    if (result.index >= 0 && result.index < count && (flag != 0 || result.code != MPI_SUCCESS)) {
        result.live = true;
        result.found = true;
        requests[result.index] = own[result.index];
        found.keep();
        return result;
    }
    result.index = MPI_UNDEFINED;
    result.refused = flag == untouched || result.code != MPI_SUCCESS;
    result.live = flag == 0;
    for (int i = 0; i < count && !result.refused && !result.found; ++i) {
        if (!must_test(own[i], requests[i])) {
            continue;
        }
        result.live = true;
        flag = 0;
        result.code = test_entry(call, requests, i, &flag, status);
        if (flag != 0 || result.code != MPI_SUCCESS) {
            result.found = true;
            result.index = i;
        }
    }
    return result;
}

struct some_result {
    bool refused = false; // by MPI, with `code`
    bool live = false;
    int found = untouched;
    int code = MPI_SUCCESS;
};

some_result find_some(const char *call, int count, MPI_Request requests[], int indices[], MPI_Status statuses[]) {
    std::vector<MPI_Request> own = without_special(count, requests);
    some_result result;
    result.code = PMPI_Testsome(count, own.data(), &result.found, indices, statuses);
    if (result.found == untouched || (result.code != MPI_SUCCESS && result.found <= 0)) {
        result.refused = true;
        return result;
    }
    result.live = result.found != MPI_UNDEFINED;
    result.found = result.live ? result.found : 0;
    for (int i = 0; i < result.found; ++i) {
        requests[indices[i]] = own[indices[i]];
        if (result.code == MPI_SUCCESS) { // MPI need not set it, but a special entry may fail
            set_error(slot(statuses, i), MPI_SUCCESS);
        }
    }
    for (int i = 0; i < count; ++i) {
        if (!must_test(own[i], requests[i])) {
            continue;
        }
        result.live = true;
        int flag = 0;
        MPI_Status *status = slot(statuses, result.found);
        const int code = test_entry(call, requests, i, &flag, status);
        if (flag != 0 || code != MPI_SUCCESS) {
            set_error(status, code);
            indices[result.found++] = i;
            result.code = code == MPI_SUCCESS ? result.code : MPI_ERR_IN_STATUS;
        }
    }
    return result;
}

// As MPI_Testany and MPI_Testsome, for any mix of requests. `call`: the call that the user wrote, for errors.
int test_any(const char *call, int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status) {
    const bool refused = index == nullptr || flag == nullptr || refused_status(status);
    if (mpi_does(count, requests, refused)) {
        return PMPI_Testany(count, requests, index, flag, status);
    }
    const thence::streams::serial_call on_streams("MPI_Testany", count, requests);
    if (refused) {
        return refuse_null(
            call, {{"index", index == nullptr}, {"flag", flag == nullptr}, {"status", refused_status(status)}});
    }
    const any_result result = find_any(call, count, requests, status);
    if (result.refused) {
        return result.code;
    }
    *index = result.index;
    *flag = result.found || !result.live ? 1 : 0;
    if (!result.live) {
        set_empty(status);
    }
    return result.code;
}

int test_some(const char *call, int count, MPI_Request requests[], int *found, int indices[], MPI_Status statuses[]) {
    const bool refused = found == nullptr || indices == nullptr || refused_status(statuses);
    if (mpi_does(count, requests, refused)) {
        return PMPI_Testsome(count, requests, found, indices, statuses);
    }
    const thence::streams::serial_call on_streams("MPI_Testsome", count, requests);
    if (refused) {
        return refuse_null(call, {{"outcount", found == nullptr},
                                  {"array_of_indices", indices == nullptr},
                                  {"array_of_statuses", refused_status(statuses)}});
    }
    const some_result result = find_some(call, count, requests, indices, statuses);
    if (result.refused) {
        return result.code;
    }
    *found = result.live ? result.found : MPI_UNDEFINED;
    return result.code;
}

} // namespace

extern "C" {

THENCE_EXPORT int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status) {
    if (is_plain(count, requests)) [[likely]] {
        return THENCE_NEXT(Testany)(count, requests, index, flag, status);
    }
    if (only_counted(count, requests)) {
        return count_test(count, requests, {.indices = index},
                          [&] { return THENCE_NEXT(Testany)(count, requests, index, flag, status); });
    }
    const counted_completion completes("MPI_Testany", count, requests, {.indices = index});
    poll_first();
    const int code = test_any("MPI_Testany", count, requests, index, flag, status);
    catch_up_after(count, requests);
    return code;
}

THENCE_EXPORT int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status) {
    if (is_plain_to_wait(count, requests)) [[likely]] {
        return THENCE_NEXT(Waitany)(count, requests, index, status);
    }
    if (only_counted(count, requests)) {
        return count_wait(count, requests, {.indices = index},
                          [&] { return THENCE_NEXT(Waitany)(count, requests, index, status); });
    }
    const thence::streams::serial_call on_streams("MPI_Waitany", count, requests);
    if (index == nullptr || refused_status(status)) {
        return any_cr(count, requests)
                   ? refuse_null("MPI_Waitany", {{"index", index == nullptr}, {"status", refused_status(status)}})
                   : THENCE_NEXT(Waitany)(count, requests, index, status);
    }
    const counted_completion completes("MPI_Waitany", count, requests, {.indices = index});
    const thence::interpose::blocking_call blocks(waiting_for(count, "MPI_Waitany", __builtin_return_address(0)));
    const wait_strategy *how = strategy("MPI_Waitany");
    if (mpi_waits(how, count, requests)) {
        return THENCE_NEXT(Waitany)(count, requests, index, status);
    }
    turn next(how, "MPI_Waitany", __builtin_return_address(0));
    for (;;) {
        int flag = untouched;
        const int code = test_any("MPI_Waitany", count, requests, index, &flag, status);
        if (code == MPI_SUCCESS && flag == 1 && *index == MPI_UNDEFINED) {
            set_empty(status); // which MPICH's Testany does not
        }
        if (flag != 0 || code != MPI_SUCCESS) {
            return code;
        }
        next(count, requests);
    }
}

THENCE_EXPORT int MPI_Testsome(int count, MPI_Request requests[], int *found, int indices[], MPI_Status statuses[]) {
    if (is_plain(count, requests)) [[likely]] {
        return THENCE_NEXT(Testsome)(count, requests, found, indices, statuses);
    }
    if (only_counted(count, requests)) {
        return count_test(count, requests, {.found = found, .indices = indices},
                          [&] { return THENCE_NEXT(Testsome)(count, requests, found, indices, statuses); });
    }
    const counted_completion completes("MPI_Testsome", count, requests, {.found = found, .indices = indices});
    poll_first();
    const int code = test_some("MPI_Testsome", count, requests, found, indices, statuses);
    catch_up_after(count, requests);
    return code;
}

THENCE_EXPORT int MPI_Waitsome(int count, MPI_Request requests[], int *found, int indices[], MPI_Status statuses[]) {
    if (is_plain_to_wait(count, requests)) [[likely]] {
        return THENCE_NEXT(Waitsome)(count, requests, found, indices, statuses);
    }
    if (only_counted(count, requests)) {
        return count_wait(count, requests, {.found = found, .indices = indices},
                          [&] { return THENCE_NEXT(Waitsome)(count, requests, found, indices, statuses); });
    }
    const thence::streams::serial_call on_streams("MPI_Waitsome", count, requests);
    if (found == nullptr || indices == nullptr || refused_status(statuses)) {
        return any_cr(count, requests) ? refuse_null("MPI_Waitsome", {{"outcount", found == nullptr},
                                                                      {"array_of_indices", indices == nullptr},
                                                                      {"array_of_statuses", refused_status(statuses)}})
                                       : THENCE_NEXT(Waitsome)(count, requests, found, indices, statuses);
    }
    const counted_completion completes("MPI_Waitsome", count, requests, {.found = found, .indices = indices});
    const thence::interpose::blocking_call blocks(waiting_for(count, "MPI_Waitsome", __builtin_return_address(0)));
    const wait_strategy *how = strategy("MPI_Waitsome");
    if (mpi_waits(how, count, requests)) {
        return THENCE_NEXT(Waitsome)(count, requests, found, indices, statuses);
    }
    turn next(how, "MPI_Waitsome", __builtin_return_address(0));
    for (;;) {
        int some = untouched;
        const int code = test_some("MPI_Waitsome", count, requests, &some, indices, statuses);
        if (some != 0) { // MPI_UNDEFINED too
            *found = some != untouched ? some : *found;
            return code;
        }
        if (code != MPI_SUCCESS) {
            return code;
        }
        next(count, requests);
    }
}

} // extern "C"
