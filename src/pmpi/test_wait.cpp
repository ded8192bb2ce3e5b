// SPDX-License-Identifier: BSD-3-Clause
// MPI_Test, MPI_Wait and their any, some and all forms on any mix of continuation requests and MPI's own.
//
// In the any and some forms, special entries are tested one by one, and MPI tests an array with the rest. Waitall
// completes the entries in turn. Testall tests the continuation requests first and completes the rest in one call of
// MPI. It cannot check ordinary requests one by one without completing them, since not every MPI allows that: for some
// requests of files, MPI_Request_get_status of MPICH releases the request or never reports it complete.
//
// If no entry is special, MPI tests the caller's array itself and finds its errors. Pointers that MPI refuses are
// passed to MPI too, unless a continuation request is among the requests: then the call fails with MPI_ERR_ARG.
#include "interpose/requests.hpp"
#include "interpose/wait_strategy.hpp"
#include "pmpi/arguments.hpp"

#include <thence/thence.h>

#include <algorithm>
#include <cstdint>
#include <vector>

using namespace thence::interpose;
using namespace thence::pmpi;

namespace {

void set_error(MPI_Status *status, int code) {
    if (status != MPI_STATUS_IGNORE) {
        status->MPI_ERROR = code;
    }
}

int test_one(MPI_Request *request, int *flag, MPI_Status *status) {
    return is_cr_handle(*request) ? thence_test(request, flag, status) : test(request, flag, status);
}

// Called between two tests of a blocking call. If the first test finds all complete, the destructor calls catch_up():
// without a hook, a program whose calls never block would otherwise run no callbacks.
class turn {
public:
    explicit turn(const wait_strategy *how = strategy()) : how_(how != nullptr ? *how : testing) {}
    ~turn() {
        if (turns_ == 0) {
            catch_up();
        }
    }
    turn(const turn &) = delete;
    turn &operator=(const turn &) = delete;
    void operator()() { how_.pause(++turns_); }

private:
    const wait_strategy &how_; // never null, since MPI itself cannot wait for these requests
    unsigned turns_ = 0;
};

// The same after a call that only tests. But a test of a continuation request has already run callbacks, and its
// max_poll bounds their number.
void catch_up_after(int count, const MPI_Request requests[]) {
    if (!any_cr(count, requests)) {
        catch_up();
    }
}

struct any_result {
    bool live = false;  // some entry was neither null nor inactive
    bool found = false; // entry `index` is complete, or failed with `code`
    int index = MPI_UNDEFINED;
    int code = MPI_SUCCESS;
};

// A copy of the array in which special entries are null. test_one() tests the special entries, and MPI's own call on
// the copy tests all others. So MPI decides about inactive requests and errors.
std::vector<MPI_Request> without_special(int count, const MPI_Request requests[]) {
    std::vector<MPI_Request> own(requests, requests + count);
    hide_special(count, own.data());
    return own;
}

any_result find_any(int count, MPI_Request requests[], MPI_Status *status) {
    std::vector<MPI_Request> own = without_special(count, requests);
    any_result result;
    for (int i = 0; i < count; ++i) {
        if (own[i] != MPI_REQUEST_NULL || is_ignored(requests[i])) {
            continue;
        }
        result.live = true;
        int flag = 0;
        result.code = test_one(&requests[i], &flag, status);
        if (flag != 0 || result.code != MPI_SUCCESS) {
            result.found = true;
            result.index = i;
            return result;
        }
    }
    int index = MPI_UNDEFINED;
    int flag = 0;
    result.code = PMPI_Testany(count, own.data(), &index, &flag, status);
    result.live = result.live || flag == 0;
    if (index >= 0 && index < count && (flag != 0 || result.code != MPI_SUCCESS)) {
        result.live = true;
        result.found = true;
        result.index = index;
        requests[index] = own[index];
    }
    return result;
}

struct some_result {
    bool live = false;
    int found = 0;
    int code = MPI_SUCCESS;
};

some_result find_some(int count, MPI_Request requests[], int indices[], MPI_Status statuses[]) {
    std::vector<MPI_Request> own = without_special(count, requests);
    some_result result;
    for (int i = 0; i < count; ++i) {
        if (own[i] != MPI_REQUEST_NULL || is_ignored(requests[i])) {
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
    int found = 0;
    std::vector<MPI_Status> found_statuses(static_cast<std::size_t>(count));
    const int code =
        PMPI_Testsome(count, own.data(), &found, indices + result.found, count != 0 ? found_statuses.data() : nullptr);
    result.live = result.live || found != MPI_UNDEFINED;
    for (int i = 0; found != MPI_UNDEFINED && i < found; ++i) {
        const int index = indices[result.found];
        requests[index] = own[index];
        if (MPI_Status *status = slot(statuses, result.found); status != MPI_STATUS_IGNORE) {
            *status = found_statuses[i];
            status->MPI_ERROR = code == MPI_SUCCESS ? int{MPI_SUCCESS} : found_statuses[i].MPI_ERROR;
        }
        ++result.found;
    }
    result.code = code == MPI_SUCCESS ? result.code : code;
    return result;
}

// As MPI_Testany and MPI_Testsome, for any mix of requests.
int test_any(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status) {
    const bool refused = index == nullptr || flag == nullptr || refused_status(status);
    if (mpi_does(count, requests, refused)) {
        return PMPI_Testany(count, requests, index, flag, status);
    }
    if (refused) {
        return THENCE_REFUSE_NULL(MPI_Testany, "index, flag or status");
    }
    const any_result result = find_any(count, requests, status);
    *index = result.index;
    *flag = result.found || !result.live ? 1 : 0;
    if (!result.live) {
        set_empty(status);
    }
    return result.code;
}

int test_some(int count, MPI_Request requests[], int *found, int indices[], MPI_Status statuses[]) {
    const bool refused = found == nullptr || indices == nullptr || refused_status(statuses);
    if (mpi_does(count, requests, refused)) {
        return PMPI_Testsome(count, requests, found, indices, statuses);
    }
    if (refused) {
        return THENCE_REFUSE_NULL(MPI_Testsome, "outcount, indices or statuses");
    }
    const some_result result = find_some(count, requests, indices, statuses);
    *found = result.live ? result.found : MPI_UNDEFINED;
    return result.code;
}

constexpr int bunch = 64; // requests that MPI tests together

// Completes those of at most `bunch` requests of MPI's own that are complete. Bit i of `done` is set if entry i was
// complete. It uses MPI_Testsome, since MPI_Testall of MPICH calls the query function of a generalized request twice.
int take_complete(int count, MPI_Request requests[], MPI_Status statuses[], std::uint64_t &done, bool &refused) {
    int indices[bunch];
    MPI_Status found_statuses[bunch];
    int found = untouched;
    const bool wanted = statuses != MPI_STATUSES_IGNORE;
    const int code = PMPI_Testsome(count, requests, &found, indices, wanted ? found_statuses : MPI_STATUSES_IGNORE);
    refused = found == untouched;
    for (int i = 0; found != MPI_UNDEFINED && i < found; ++i) {
        done |= std::uint64_t{1} << indices[i];
        if (wanted) {
            statuses[indices[i]] = found_statuses[i];
            statuses[indices[i]].MPI_ERROR = code == MPI_SUCCESS ? int{MPI_SUCCESS} : found_statuses[i].MPI_ERROR;
        }
    }
    return code;
}

// Completes each entry in turn. Returns MPI_ERR_IN_STATUS if any failed. For requests that are complete already it
// costs as much as MPI_Waitall.
int wait_for_all(turn &next, int count, MPI_Request requests[], MPI_Status statuses[]) {
    int result = MPI_SUCCESS;
    for (int first = 0; first < count; first += bunch) {
        const int together = std::min(bunch, count - first);
        std::uint64_t done = 0;
        bool refused = false;
        if (thence::mpi::request_handles != thence::mpi::handle_kind::any_pointer &&
            !any_special(together, requests + first)) {
            const int code = take_complete(together, requests + first, slot(statuses, first), done, refused);
            if (refused || (code != MPI_SUCCESS && done == 0)) {
                return code; // MPI refused the arguments
            }
            result = code == MPI_SUCCESS ? result : MPI_ERR_IN_STATUS;
        }
        for (int i = first; i < first + together; ++i) {
            if ((done >> (i - first) & 1) != 0) {
                continue;
            }
            MPI_Status *status = slot(statuses, i);
            int flag = untouched;
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
    }
    return result;
}

// Not inlined, so that the fast path saves no registers for them.
__attribute__((noinline)) int slow_test(MPI_Request *request, int *flag, MPI_Status *status) {
    if (request == nullptr || (!is_cr_handle(*request) && (flag == nullptr || refused_status(status)))) {
        return PMPI_Test(request, flag, status);
    }
    const int code = test_one(request, flag, status);
    catch_up_after(1, request); // a CR keeps its handle
    return code;
}

int wait_by_testing(const wait_strategy *how, MPI_Request *request, MPI_Status *status) {
    turn next(how);
    for (;;) {
        int flag = untouched;
        const int code = test_one(request, &flag, status);
        if (flag != 0 || code != MPI_SUCCESS) {
            return code;
        }
        next();
    }
}

__attribute__((noinline)) int slow_wait(MPI_Request *request, MPI_Status *status) {
    if (request == nullptr || (!is_cr_handle(*request) && refused_status(status))) {
        return PMPI_Wait(request, status);
    }
    const wait_strategy *how = strategy();
    if (is_cr_handle(*request)) { // thence_wait() tests in a loop, too, with fewer calls
        return how == nullptr || how == &testing ? thence_wait(request, status) : wait_by_testing(how, request, status);
    }
    if (!is_special(*request)) {
        return how == nullptr ? PMPI_Wait(request, status) : how->complete(request, status);
    }
    return wait_by_testing(how, request, status);
}

} // namespace

extern "C" {

THENCE_EXPORT int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
    if (is_plain(request)) [[likely]] {
        return PMPI_Test(request, flag, status);
    }
    if (is_plain_beside_persistent(request)) {
        return PMPI_Test(request, flag, status);
    }
    return slow_test(request, flag, status);
}

THENCE_EXPORT int MPI_Wait(MPI_Request *request, MPI_Status *status) {
    if (is_plain(request)) [[likely]] {
        return PMPI_Wait(request, status);
    }
    return slow_wait(request, status);
}

THENCE_EXPORT int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status) {
    if (is_plain(count, requests)) [[likely]] {
        return PMPI_Testany(count, requests, index, flag, status);
    }
    const int code = test_any(count, requests, index, flag, status);
    catch_up_after(count, requests);
    return code;
}

THENCE_EXPORT int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status) {
    if (is_plain_to_wait(count, requests)) [[likely]] {
        return PMPI_Waitany(count, requests, index, status);
    }
    if (index == nullptr || refused_status(status)) {
        return any_cr(count, requests) ? THENCE_REFUSE_NULL(MPI_Waitany, "index or status")
                                       : PMPI_Waitany(count, requests, index, status);
    }
    turn next;
    for (;;) {
        int flag = untouched;
        const int code = test_any(count, requests, index, &flag, status);
        if (code == MPI_SUCCESS && flag == 1 && *index == MPI_UNDEFINED) {
            set_empty(status); // which MPICH's Testany does not
        }
        if (flag != 0 || code != MPI_SUCCESS) {
            return code;
        }
        next();
    }
}

THENCE_EXPORT int MPI_Testsome(int count, MPI_Request requests[], int *found, int indices[], MPI_Status statuses[]) {
    if (is_plain(count, requests)) [[likely]] {
        return PMPI_Testsome(count, requests, found, indices, statuses);
    }
    const int code = test_some(count, requests, found, indices, statuses);
    catch_up_after(count, requests);
    return code;
}

THENCE_EXPORT int MPI_Waitsome(int count, MPI_Request requests[], int *found, int indices[], MPI_Status statuses[]) {
    if (is_plain_to_wait(count, requests)) [[likely]] {
        return PMPI_Waitsome(count, requests, found, indices, statuses);
    }
    if (found == nullptr || indices == nullptr || refused_status(statuses)) {
        return any_cr(count, requests) ? THENCE_REFUSE_NULL(MPI_Waitsome, "outcount, indices or statuses")
                                       : PMPI_Waitsome(count, requests, found, indices, statuses);
    }
    turn next;
    for (;;) {
        int some = untouched;
        const int code = test_some(count, requests, &some, indices, statuses);
        if (some != 0) { // MPI_UNDEFINED too
            *found = some != untouched ? some : *found;
            return code;
        }
        if (code != MPI_SUCCESS) {
            return code;
        }
        next();
    }
}

THENCE_EXPORT int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[]) {
    if (is_plain(count, requests)) [[likely]] {
        return PMPI_Testall(count, requests, flag, statuses);
    }
    if (flag == nullptr || refused_status(statuses)) {
        return any_cr(count, requests) ? THENCE_REFUSE_NULL(MPI_Testall, "flag or statuses")
                                       : PMPI_Testall(count, requests, flag, statuses);
    }
    if (!any_cr(count, requests)) {
        const int code = test_all(count, requests, flag, statuses);
        catch_up();
        return code;
    }
    *flag = 0;
    std::vector<MPI_Request> own(requests, requests + count);
    for (int i = 0; i < count; ++i) {
        if (!is_cr_handle(requests[i])) {
            continue;
        }
        if (thence_is_cr(requests[i]) == 0) {
            return thence_test(&requests[i], flag, MPI_STATUS_IGNORE); // which reports the error
        }
        if (!cr_is_ready(requests[i])) {
            return MPI_SUCCESS;
        }
        own[static_cast<std::size_t>(i)] = MPI_REQUEST_NULL;
    }
    int code = test_all(count, own.data(), flag, statuses);
    for (int i = 0; i < count; ++i) {
        if (!is_cr_handle(requests[i])) {
            requests[i] = own[static_cast<std::size_t>(i)];
        } else if (*flag != 0) {
            MPI_Status *status = slot(statuses, i);
            const int error = report_cr_complete(requests[i], status);
            set_error(status, error);
            code = error == MPI_SUCCESS ? code : MPI_ERR_IN_STATUS;
        }
    }
    return code;
}

THENCE_EXPORT int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    if (is_plain_to_wait(count, requests)) [[likely]] {
        return PMPI_Waitall(count, requests, statuses);
    }
    if (refused_status(statuses)) {
        return any_cr(count, requests) ? THENCE_REFUSE_NULL(MPI_Waitall, "statuses")
                                       : PMPI_Waitall(count, requests, statuses);
    }
    turn next;
    return wait_for_all(next, count, requests, statuses);
}

} // extern "C"
