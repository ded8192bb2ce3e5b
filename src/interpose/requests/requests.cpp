// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/requests/requests.hpp"

#include "core/api/errors.hpp"
#include "core/continuation/request.hpp"
#include "core/continuation/run.hpp"
#include "core/continuation/thread_state.hpp"
#include "core/continuation/wait.hpp"
#include "core/engine/engine.hpp"
#include "core/engine/shared_persistent.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/persistent.hpp"
#include "core/progress/progress.hpp"
#include "core/progress/reaches_libthence.hpp"
#include "core/progress/source.hpp"
#include "interpose/requests/counted.hpp"
#include "interpose/requests/grequests.hpp"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <vector>

namespace thence::interpose {

using continuation::bits;
using continuation::busy_scope;
using continuation::continuation_request;
using continuation::handle_kind;
using continuation::integer_prefix;
using continuation::request_handles;
using engine::shared_persistent;
using mpi::table;

namespace {

bool persistent_attached() noexcept {
    return (progress::slow_path_reasons.load(std::memory_order_relaxed) & progress::persistent_attached) != 0;
}

// True if some persistent request has continuations now.
bool any_waited_for() noexcept {
    return persistent_attached() && shared_persistent::any_waited_for();
}

// The same, or a poll of ours has completed one and the user's call has not fetched its result yet.
bool any_shared() noexcept {
    return any_waited_for() || (persistent_attached() && shared_persistent::any_answers());
}

// True if one of these may hold for this request. Takes no lock.
bool may_be_shared(MPI_Request request) noexcept {
    return engine::may_be_known(request) && any_shared();
}

// The index of the first request for which may_be_shared() is true, or `count`.
int first_that_may_be_shared(int count, const MPI_Request requests[]) noexcept {
    return any_shared() ? engine::first_that_may_be_known(count, requests) : count;
}

// Tests a persistent request. Every continuation on it and the user receive the status.
int test_shared(MPI_Request *request, int *flag, MPI_Status *status) noexcept {
    busy_scope testing;
    shared_persistent shared;
    const MPI_Request handle = *request;
    if (!shared.knows(handle)) {
        return table.Test(request, flag, status);
    }
    MPI_Status result = mpi::empty_status();
    *flag = 0;
    int code = table.Test(request, flag, &result);
    if (*flag != 0 || code != MPI_SUCCESS) {
        code = shared.completed_by_user(handle, code, result);
        if (status != MPI_STATUS_IGNORE) {
            *status = result;
        }
    }
    return code;
}

bool has_failed(MPI_Request request) noexcept {
    return grequest::error_of(request) != MPI_SUCCESS;
}
bool any_failed() noexcept {
    return grequest::failed.load(std::memory_order_relaxed) != 0;
}

void forget_answer(MPI_Request request) noexcept {
    if (may_be_shared(request)) {
        busy_scope forgetting;
        shared_persistent().forget_answer(request);
    }
}

// True if there is a CR among the first requests, which are checked several at a time. `i` becomes the number of
// requests that were checked. Without continuations, this check is the whole cost of an interposed call on an array.
bool any_cr_among_many(int count, const MPI_Request requests[], int &i) noexcept {
    if constexpr (request_handles == handle_kind::object_address) {
        for (; i + 4 <= count; i += 4) {
            const MPI_Request *four = requests + i;
            if (((bits(four[0]) | bits(four[1]) | bits(four[2]) | bits(four[3])) & 1) != 0) {
                return true;
            }
        }
    } else if constexpr (request_handles == handle_kind::integer) {
        using four [[gnu::vector_size(16)]] = std::uint32_t;
        constexpr int at_once = 8;
        for (; i + at_once <= count; i += at_once) {
            four handles[2];
            std::memcpy(&handles, requests + i, sizeof handles);
            const auto found =
                ((handles[0] & 0xff000000U) == integer_prefix) | ((handles[1] & 0xff000000U) == integer_prefix);
            std::uint64_t halves[2];
            std::memcpy(&halves, &found, sizeof halves);
            if ((halves[0] | halves[1]) != 0) {
                return true;
            }
        }
    }
    return false;
}

} // namespace

bool any_cr(int count, const MPI_Request requests[]) noexcept {
    int i = 0;
    if (any_cr_among_many(count, requests, i)) {
        return true;
    }
    for (; i < count; ++i) {
        if (is_cr_handle(requests[i])) {
            return true;
        }
    }
    return false;
}

bool is_special(MPI_Request request) noexcept {
    if (is_cr_handle(request) || has_failed(request)) {
        return true;
    }
    if (!may_be_shared(request)) {
        return false;
    }
    busy_scope looking;
    return shared_persistent().knows(request);
}

bool is_plain(int count, const MPI_Request requests[]) noexcept {
    if (requests == nullptr || count < 0) {
        return true; // MPI knows whether that is an error
    }
    const std::uint64_t why = progress::slow_path_reasons.load(std::memory_order_relaxed);
    if (why == 0) [[likely]] {
        return !any_cr(count, requests);
    }
    constexpr std::uint64_t of_other_requests = progress::persistent_attached | progress::persistent_hidden |
                                                progress::polled_grequests | progress::waited_grequests;
    return (why & ~of_other_requests) == 0 && !any_special(count, requests) && !any_with_wait_function(count, requests);
}

bool is_plain_to_wait(int count, const MPI_Request requests[]) noexcept {
    return is_plain(count, requests) && (!any_waited_for() || requests == nullptr || count < 0);
}

bool any_special(int count, const MPI_Request requests[]) noexcept {
    if (any_cr(count, requests) || (any_failed() && std::any_of(requests, requests + count, has_failed))) {
        return true;
    }
    const int first = first_that_may_be_shared(count, requests);
    if (first == count) [[likely]] {
        return false;
    }
    busy_scope looking;
    const shared_persistent shared;
    return std::any_of(requests + first, requests + count, [&](MPI_Request each) { return shared.knows(each); });
}

void hide_special(int count, MPI_Request requests[]) noexcept {
    const int first = first_that_may_be_shared(count, requests);
    if (first != count) {
        busy_scope looking;
        const shared_persistent shared;
        std::replace_if(
            requests + first, requests + count, [&](MPI_Request each) { return shared.knows(each); },
            MPI_Request{MPI_REQUEST_NULL});
    }
    std::replace_if(
        requests, requests + count, [](MPI_Request each) { return is_cr_handle(each) || has_failed(each); },
        MPI_Request{MPI_REQUEST_NULL});
}

int test(MPI_Request *request, int *flag, MPI_Status *status, decltype(&PMPI_Test) by_mpi) noexcept {
    return may_be_shared(*request) ? test_shared(request, flag, status) : by_mpi(request, flag, status);
}

bool is_ignored(MPI_Request request) noexcept {
    if (request == MPI_REQUEST_NULL) {
        return true;
    }
    const continuation_request *cr = is_cr_handle(request) ? continuation_request::of_handle(request) : nullptr;
    if (cr == nullptr) {
        return false;
    }
    // A CR that needs a start becomes active by a start only. Any other becomes active by a registration.
    return cr->has(THENCE_CR_NEEDS_START) ? !cr->active() : cr->idle() && cr->reported();
}

bool cr_is_ready(MPI_Request request) noexcept {
    continuation_request *cr = continuation_request::of_handle(request);
    if (cr == nullptr || !cr->active() || cr->idle()) {
        return true;
    }
    continuation::poll_for(*cr);
    continuation::run_own(*cr); // runs at most its max_poll
    progress::run_sources(LONG_MAX, &continuation::as_source);
    return cr->idle();
}

bool report_cr_complete(MPI_Request request, MPI_Status *status, int &code) noexcept {
    continuation_request *cr = continuation_request::of_handle(request);
    set_empty(status);
    if (cr == nullptr) {
        return false;
    }
    code = continuation::report(cr->active() ? continuation::report_complete(*cr) : continuation::test_result{});
    return true;
}

int test_all(int count, MPI_Request requests[], int *flag, MPI_Status statuses[],
             decltype(&PMPI_Testall) by_mpi) noexcept {
    if (first_that_may_be_shared(count, requests) == count && !any_failed()) {
        return by_mpi(count, requests, flag, statuses);
    }
    busy_scope testing;
    shared_persistent shared;
    const std::vector<MPI_Request> before(requests, requests + count);
    std::vector<int> failures(static_cast<std::size_t>(count));
    std::transform(requests, requests + count, failures.begin(), grequest::error_of);
    std::vector<MPI_Status> unwanted(statuses == MPI_STATUSES_IGNORE ? static_cast<std::size_t>(count) : 0,
                                     mpi::empty_status());
    MPI_Status *const results = statuses == MPI_STATUSES_IGNORE ? unwanted.data() : statuses;
    int done = untouched;
    const int code = table.Testall(count, requests, &done, results);
    int error_class = MPI_SUCCESS;
    table.Error_class(code, &error_class);
    if (error_class != MPI_ERR_IN_STATUS && (code != MPI_SUCCESS || done == untouched)) {
        return code; // MPI refused the arguments: nothing is complete
    }
    *flag = std::max(done, 0);
    if (done == 0 && code == MPI_SUCCESS) {
        return code;
    }
    std::vector<int> errors(static_cast<std::size_t>(count), MPI_SUCCESS);
    int answered = code;
    for (int i = 0; i < count; ++i) {
        const MPI_Request request = before[static_cast<std::size_t>(i)];
        int &error = errors[static_cast<std::size_t>(i)];
        const int failure = failures[static_cast<std::size_t>(i)];
        error = code == MPI_SUCCESS ? int{MPI_SUCCESS} : failure != MPI_SUCCESS ? failure : results[i].MPI_ERROR;
        if (error != MPI_ERR_PENDING) {
            error = shared.completed_by_user(request, error, results[i]);
            answered = error == MPI_SUCCESS || code != MPI_SUCCESS ? answered : int{MPI_ERR_IN_STATUS};
        }
    }
    for (int i = 0; i < count && answered != MPI_SUCCESS; ++i) {
        results[i].MPI_ERROR = errors[static_cast<std::size_t>(i)];
    }
    return answered;
}

int get_status(MPI_Request request, int *flag, MPI_Status *status, decltype(&PMPI_Request_get_status) by_mpi) noexcept {
    if (!may_be_shared(request)) {
        return by_mpi(request, flag, status);
    }
    busy_scope looking;
    const shared_persistent shared;
    MPI_Status unwanted = mpi::empty_status();
    MPI_Status &result = status != MPI_STATUS_IGNORE ? *status : unwanted;
    const int code = table.Request_get_status(request, flag, &result);
    if (code == MPI_SUCCESS && *flag != 0) {
        shared.copy_answer(request, result);
    }
    return code;
}

void set_empty(MPI_Status *status) noexcept {
    if (status != MPI_STATUS_IGNORE) {
        *status = mpi::empty_status();
    }
}

int refuse(const char *call, int error_class, const char *why) noexcept {
    return api::fail(call, {error_class, why});
}

int refuse_null(const char *call, std::initializer_list<pointer_argument> arguments) noexcept {
    const auto *wrong = std::find_if(arguments.begin(), arguments.end(), [](const auto &each) { return each.refused; });
    char text[128];
    std::snprintf(text, sizeof text, "%s is null, and the requests have a continuation request",
                  wrong != arguments.end() ? wrong->name : "a pointer");
    return api::fail(call, {MPI_ERR_ARG, text});
}

void created_persistent(MPI_Request request, bool can_be_cancelled, std::int64_t bytes) noexcept {
    if (!engine::can_read_requests) { // or no engine is chosen yet
        mpi::note_persistent(request, can_be_cancelled ? mpi::cancelling::possible : mpi::cancelling::fatal);
    }
    if (observes_calls()) {
        count_created(request, bytes);
    }
}

bool tracks_persistent() noexcept {
    progress::note_if_probing();
    return persistent_attached() || mpi::persistent_count.load(std::memory_order_acquire) != 0 || observes_calls();
}

void started(MPI_Request before, MPI_Request after) noexcept {
    progress::note_if_probing();
    forget_answer(before);
    if (before != after && mpi::noted_persistent(before)) {
        mpi::rename_persistent(before, after);
    }
    if (observes_calls()) {
        count_start(before, after);
    }
}

int free(MPI_Request *request, decltype(&PMPI_Request_free) by_mpi) noexcept {
    progress::note_if_probing();
    mpi::forget_persistent(*request);
    if (!may_be_shared(*request)) {
        return by_mpi(request);
    }
    busy_scope freeing;
    shared_persistent shared;
    if (!shared.is_waited_for(*request)) {
        shared.forget_answer(*request);
        return table.Request_free(request);
    }
    shared.release_after(*request);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

int cancel(MPI_Request *request, decltype(&PMPI_Cancel) by_mpi) noexcept {
    progress::note_if_probing();
    const std::scoped_lock guard(progress::helper_in_progress);
    if (!may_be_shared(*request)) {
        return by_mpi(request);
    }
    busy_scope cancelling;
    const shared_persistent shared; // no poll meanwhile
    if (shared.knows(*request) && !shared.is_waited_for(*request)) {
        return MPI_SUCCESS; // complete, so there is nothing to cancel; for MPI it is inactive, which some MPIs refuse
    }
    return table.Cancel(request);
}

} // namespace thence::interpose
