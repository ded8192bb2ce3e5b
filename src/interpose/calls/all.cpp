// SPDX-License-Identifier: BSD-3-Clause
// MPI_Testall and MPI_Waitall.
#include "interpose/calls/arguments.hpp"
#include "interpose/calls/completion.hpp"
#include "interpose/calls/next.hpp"
#include "interpose/calls/on_stream.hpp"
#include "interpose/requests/only_counted.hpp"
#include "interpose/requests/requests.hpp"
#include "interpose/waiting/wait_strategy.hpp"

#include <thence/thence.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

using namespace thence::interpose;
using namespace thence::pmpi;

namespace {

// An array for a call with `n` requests. It lies on the stack if they are few.
template <class T> class scratch {
public:
    explicit scratch(int n) : large_(n > few ? new T[static_cast<std::size_t>(n)] : nullptr) {}
    T *data() { return large_ != nullptr ? large_.get() : small_; }
    T &operator[](int i) { return data()[i]; }

private:
    static constexpr int few = 64;
    T small_[few];
    std::unique_ptr<T[]> large_;
};

// Completes those of MPI's own requests that are complete. `done[i]` becomes true for these. It uses MPI_Testsome,
// since MPI_Testall of MPICH calls the query function of a generalized request twice. Returns false if MPI refused the
// arguments, with `code`.
bool take_complete(int count, MPI_Request requests[], MPI_Status statuses[], scratch<bool> &done, int &code) {
    scratch<MPI_Request> own(count);
    scratch<int> indices(count);
    scratch<MPI_Status> found_statuses(count);
    std::copy(requests, requests + count, own.data());
    hide_special(count, own.data());
    std::fill_n(done.data(), count, false);
    const bool wanted = statuses != MPI_STATUSES_IGNORE;
    int found = untouched;
    code =
        PMPI_Testsome(count, own.data(), &found, indices.data(), wanted ? found_statuses.data() : MPI_STATUSES_IGNORE);
    if (found == untouched || (code != MPI_SUCCESS && found <= 0)) {
        return false;
    }
    for (int i = 0; i < found; ++i) { // MPI_UNDEFINED is negative
        const int index = indices[i];
        done[index] = true;
        requests[index] = own[index];
        if (wanted) {
            statuses[index] = found_statuses[i];
            statuses[index].MPI_ERROR = code == MPI_SUCCESS ? int{MPI_SUCCESS} : found_statuses[i].MPI_ERROR;
        }
    }
    return true;
}

// Completes what is complete, then each other entry in turn. Returns MPI_ERR_IN_STATUS if any failed. For requests that
// are complete already it costs as much as MPI_Waitall.
int wait_for_all(turn &next, int count, MPI_Request requests[], MPI_Status statuses[]) {
    scratch<bool> done(count);
    int taken = MPI_SUCCESS;
    if (!take_complete(count, requests, statuses, done, taken)) {
        return taken;
    }
    int result = taken == MPI_SUCCESS ? MPI_SUCCESS : MPI_ERR_IN_STATUS;
    for (int i = 0; i < count; ++i) {
        if (done[i]) {
            continue;
        }
        MPI_Status *status = slot(statuses, i);
        int flag = untouched;
        int code = MPI_SUCCESS;
        for (;;) {
            code = test_entry("MPI_Waitall", requests, i, &flag, status);
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

// The same if some are generalized requests with a wait function: each turn tests all entries, so that the wait
// function is called as soon as nothing else is left.
int wait_for_all_by_function(turn &next, int count, MPI_Request requests[], MPI_Status statuses[]) {
    scratch<bool> done(count);
    std::fill_n(done.data(), count, false);
    int result = MPI_SUCCESS;
    for (int left = count;;) {
        for (int i = 0; i < count; ++i) {
            if (done[i]) {
                continue;
            }
            int flag = untouched;
            const int code = test_entry("MPI_Waitall", requests, i, &flag, slot(statuses, i));
            if (flag != 0 || code != MPI_SUCCESS) {
                set_error(slot(statuses, i), code);
                result = code == MPI_SUCCESS ? result : MPI_ERR_IN_STATUS;
                done[i] = true;
                --left;
            }
        }
        if (left == 0) {
            return result;
        }
        next(count, requests, done.data());
    }
}

} // namespace

extern "C" {

THENCE_EXPORT int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[]) {
    if (is_plain(count, requests)) [[likely]] {
        return THENCE_NEXT(Testall)(count, requests, flag, statuses);
    }
    if (only_counted(count, requests)) {
        return count_test(count, requests, {.flag = flag},
                          [&] { return THENCE_NEXT(Testall)(count, requests, flag, statuses); });
    }
    const thence::streams::serial_call on_streams("MPI_Testall", count, requests);
    if (flag == nullptr || refused_status(statuses)) {
        return any_cr(count, requests) ? refuse_null("MPI_Testall", {{"flag", flag == nullptr},
                                                                     {"array_of_statuses", refused_status(statuses)}})
                                       : THENCE_NEXT(Testall)(count, requests, flag, statuses);
    }
    const counted_completion completes("MPI_Testall", count, requests, {.flag = flag});
    poll_first();
    if (!any_cr(count, requests)) {
        const int code = test_all(count, requests, flag, statuses, THENCE_NEXT(Testall));
        catch_up();
        return code;
    }
    std::vector<MPI_Request> own(requests, requests + count);
    for (int i = 0; i < count; ++i) {
        if (!is_cr_handle(requests[i])) {
            continue;
        }
        if (thence_is_cr(requests[i]) == 0) {
            return thence::api::fail({"MPI_Testall", several_requests, i}, thence::api::reason::freed_cr);
        }
        if (!cr_is_ready(requests[i])) {
            *flag = 0;
            return MPI_SUCCESS;
        }
        own[static_cast<std::size_t>(i)] = MPI_REQUEST_NULL;
    }
    int done = untouched;
    int code = test_all(count, own.data(), &done, statuses, THENCE_NEXT(Testall));
    if (done == untouched) {
        return code; // MPI refused the arguments
    }
    *flag = done;
    for (int i = 0; i < count; ++i) {
        if (!is_cr_handle(requests[i])) {
            requests[i] = own[static_cast<std::size_t>(i)];
        } else if (done != 0) {
            MPI_Status *status = slot(statuses, i);
            int error = MPI_SUCCESS;
            if (!report_cr_complete(requests[i], status, error)) { // another thread has freed it meanwhile
                error = thence::api::fail({"MPI_Testall", several_requests, i}, thence::api::reason::freed_cr);
            }
            set_error(status, error);
            code = error == MPI_SUCCESS ? code : MPI_ERR_IN_STATUS;
        }
    }
    return code;
}

THENCE_EXPORT int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
    if (is_plain_to_wait(count, requests)) [[likely]] {
        return THENCE_NEXT(Waitall)(count, requests, statuses);
    }
    if (only_counted(count, requests)) {
        return count_wait(count, requests, {}, [&] { return THENCE_NEXT(Waitall)(count, requests, statuses); });
    }
    const thence::streams::serial_call on_streams("MPI_Waitall", count, requests);
    if (refused_status(statuses)) {
        return any_cr(count, requests) ? refuse_null("MPI_Waitall", {{"array_of_statuses", refused_status(statuses)}})
                                       : THENCE_NEXT(Waitall)(count, requests, statuses);
    }
    const counted_completion completes("MPI_Waitall", count, requests, {});
    const thence::interpose::blocking_call blocks(waiting_for(count, "MPI_Waitall", __builtin_return_address(0)));
    const wait_strategy *how = strategy("MPI_Waitall");
    if (mpi_waits(how, count, requests)) {
        return THENCE_NEXT(Waitall)(count, requests, statuses);
    }
    if (any_with_wait_function(count, requests)) {
        turn next(how, "MPI_Waitall", __builtin_return_address(0));
        return wait_for_all_by_function(next, count, requests, statuses);
    }
    int code = MPI_SUCCESS;
    if (how != nullptr && how->complete_all != nullptr &&
        how->complete_all(count, requests, statuses, __builtin_return_address(0), code)) {
        return code;
    }
    turn next(how, "MPI_Waitall", __builtin_return_address(0));
    return wait_for_all(next, count, requests, statuses);
}

} // extern "C"
