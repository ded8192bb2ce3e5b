// SPDX-License-Identifier: BSD-3-Clause
// MPI_Request_get_status and, if the MPI has them (MPI 4.1), its any, some and all forms. They report the state of a
// request without changing it. If some entries are special, MPI's own function looks at all others first, so that it
// refuses what it must; then each special entry is looked at.
#include "interpose/calls/arguments.hpp"
#include "interpose/calls/completion.hpp"
#include "interpose/calls/next.hpp"
#include "interpose/calls/on_stream.hpp"
#include "interpose/requests/counted.hpp"
#include "interpose/requests/requests.hpp"

#include <thence/thence.h>

#include <tuple>
#include <vector>

using namespace thence::interpose;
using namespace thence::pmpi;

namespace {

// What MPI_Request_get_status does, for a special request. `call`: the call that the user wrote, for errors.
int status_of(const thence::api::public_call &call, MPI_Request request, int *flag, MPI_Status *status) {
    if (!is_cr_handle(request)) {
        return get_status(request, flag, status, THENCE_NEXT(Request_get_status));
    }
    if (thence_is_cr(request) == 0 || flag == nullptr) {
        return thence::api::fail(call,
                                 flag == nullptr ? thence::api::reason::null_flag : thence::api::reason::freed_cr);
    }
    *flag = cr_is_ready(request) ? 1 : 0;
    if (*flag != 0 && status != nullptr) {
        set_empty(status);
    }
    return MPI_SUCCESS;
}

} // namespace

#if defined(THENCE_MPI_GET_STATUS_FORMS)

namespace {

// MPI 5 made the array const; Intel MPI has it as in MPI 4.1.
template <class... Parameters> std::tuple_element_t<1, std::tuple<Parameters...>> second_of(int (*)(Parameters...));
using request_array = decltype(second_of(&PMPI_Request_get_status_any));

// True for an entry that without_special() has hidden, and that is not ignored.
bool must_look(MPI_Request own, MPI_Request request) {
    return own == MPI_REQUEST_NULL && !is_ignored(request);
}

} // namespace
#endif

extern "C" {

THENCE_EXPORT int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
    if (is_plain(request)) [[likely]] {
        return THENCE_NEXT(Request_get_status)(request, flag, status);
    }
    const asking_call asks("MPI_Request_get_status", call_kind::tests);
    if (!is_cr_handle(request) && (flag == nullptr || refused_status(status))) {
        return THENCE_NEXT(Request_get_status)(request, flag, status);
    }
    const thence::streams::serial_call on_stream("MPI_Request_get_status", 1, &request);
    poll_first();
    return refused_status(status) ? refuse_null("MPI_Request_get_status", {{"status", true}})
                                  : status_of({"MPI_Request_get_status", one_request}, request, flag, status);
}

#if defined(THENCE_MPI_GET_STATUS_FORMS)

THENCE_EXPORT int MPI_Request_get_status_any(int count, request_array requests, int *index, int *flag,
                                             MPI_Status *status) {
    if (is_plain(count, requests)) [[likely]] {
        return THENCE_NEXT(Request_get_status_any)(count, requests, index, flag, status);
    }
    const asking_call asks("MPI_Request_get_status_any", call_kind::tests);
    poll_first();
    const bool refused = index == nullptr || flag == nullptr || refused_status(status);
    if (mpi_does(count, requests, refused)) {
        return THENCE_NEXT(Request_get_status_any)(count, requests, index, flag, status);
    }
    if (refused) {
        return refuse_null(
            "MPI_Request_get_status_any",
            {{"index", index == nullptr}, {"flag", flag == nullptr}, {"status", refused_status(status)}});
    }
    std::vector<MPI_Request> own = without_special(count, requests);
    int at = MPI_UNDEFINED;
    int done = untouched;
    tentative_statuses found(1, status);
    int code = THENCE_NEXT(Request_get_status_any)(count, own.data(), &at, &done, found.data());
    if (done == untouched) {
        return code; // MPI refused the arguments
    }
    if (at != MPI_UNDEFINED || code != MPI_SUCCESS) {
        found.keep();
    }
    bool live = done == 0;
    for (int i = 0; i < count && at == MPI_UNDEFINED && code == MPI_SUCCESS; ++i) {
        if (must_look(own[i], requests[i])) {
            live = true;
            done = 0;
            code = status_of({"MPI_Request_get_status_any", several_requests, i}, requests[i], &done, status);
            at = done != 0 ? i : MPI_UNDEFINED;
        }
    }
    *index = at;
    *flag = at != MPI_UNDEFINED || !live ? 1 : 0;
    if (!live) {
        set_empty(status);
    }
    return code;
}

THENCE_EXPORT int MPI_Request_get_status_some(int count, request_array requests, int *found, int indices[],
                                              MPI_Status statuses[]) {
    if (is_plain(count, requests)) [[likely]] {
        return THENCE_NEXT(Request_get_status_some)(count, requests, found, indices, statuses);
    }
    const asking_call asks("MPI_Request_get_status_some", call_kind::tests);
    poll_first();
    const bool refused = found == nullptr || indices == nullptr || refused_status(statuses);
    if (mpi_does(count, requests, refused)) {
        return THENCE_NEXT(Request_get_status_some)(count, requests, found, indices, statuses);
    }
    if (refused) {
        return refuse_null("MPI_Request_get_status_some", {{"outcount", found == nullptr},
                                                           {"array_of_indices", indices == nullptr},
                                                           {"array_of_statuses", refused_status(statuses)}});
    }
    std::vector<MPI_Request> own = without_special(count, requests);
    int number = untouched;
    int code = THENCE_NEXT(Request_get_status_some)(count, own.data(), &number, indices, statuses);
    if (number == untouched) {
        return code; // MPI refused the arguments
    }
    bool live = number != MPI_UNDEFINED;
    number = live ? number : 0;
    for (int i = 0; i < count && code == MPI_SUCCESS; ++i) {
        if (must_look(own[i], requests[i])) {
            live = true;
            int done = 0;
            code = status_of({"MPI_Request_get_status_some", several_requests, i}, requests[i], &done,
                             slot(statuses, number));
            if (done != 0) {
                indices[number++] = i;
            }
        }
    }
    *found = live ? number : MPI_UNDEFINED;
    return code;
}

THENCE_EXPORT int MPI_Request_get_status_all(int count, request_array requests, int *flag, MPI_Status statuses[]) {
    if (is_plain(count, requests)) [[likely]] {
        return THENCE_NEXT(Request_get_status_all)(count, requests, flag, statuses);
    }
    const asking_call asks("MPI_Request_get_status_all", call_kind::tests);
    poll_first();
    const bool refused = flag == nullptr || refused_status(statuses);
    if (mpi_does(count, requests, refused)) {
        return THENCE_NEXT(Request_get_status_all)(count, requests, flag, statuses);
    }
    if (refused) {
        return refuse_null("MPI_Request_get_status_all",
                           {{"flag", flag == nullptr}, {"array_of_statuses", refused_status(statuses)}});
    }
    std::vector<MPI_Request> own = without_special(count, requests);
    int done = untouched;
    tentative_statuses found(count, statuses);
    int code = THENCE_NEXT(Request_get_status_all)(count, own.data(), &done, found.data());
    if (done == untouched) {
        return code; // MPI refused the arguments
    }
    for (int i = 0; i < count && done != 0 && code == MPI_SUCCESS; ++i) {
        if (must_look(own[i], requests[i])) {
            code = status_of({"MPI_Request_get_status_all", several_requests, i}, requests[i], &done,
                             slot(found.data(), i));
        }
    }
    if (done != 0 || code != MPI_SUCCESS) {
        found.keep();
    }
    *flag = done;
    return code;
}

#endif

} // extern "C"
