// SPDX-License-Identifier: BSD-3-Clause
// MPI_Start, MPI_Startall, MPI_Request_free and MPI_Cancel. A call without continuation requests is forwarded
// unchanged, so that MPI itself refuses null pointers and null requests.
#include "core/api/cr_calls.hpp"
#include "interpose/calls/completion.hpp"
#include "interpose/calls/next.hpp"
#include "interpose/calls/on_stream.hpp"
#include "interpose/requests/only_counted.hpp"
#include "interpose/requests/requests.hpp"

#include <thence/thence.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

using namespace thence::interpose;
using namespace thence::pmpi;
namespace api = thence::api;

namespace {

api::public_call startall_of(int i) {
    return {"MPI_Startall", several_requests, i};
}

bool names_cr(const MPI_Request *request) {
    return request != nullptr && is_cr_handle(*request);
}

// While calls only count, and the request is MPI's.
__attribute__((noinline)) int counted_start(MPI_Request *request) {
    const MPI_Request before = *request;
    const int code = THENCE_NEXT(Start)(request);
    if (code == MPI_SUCCESS && *request == before) [[likely]] {
        count_persistent_start(before);
    } else if (code == MPI_SUCCESS) {
        started(before, *request);
    }
    return code;
}

int start_own(int count, MPI_Request requests[]) {
    if (!tracks_persistent()) [[likely]] {
        return THENCE_NEXT(Startall)(count, requests);
    }
    const std::vector<MPI_Request> before(requests,
                                          requests + count); // some MPIs give a restarted request a new handle
    const int code = THENCE_NEXT(Startall)(count, requests);
    for (int i = 0; i < count && code == MPI_SUCCESS; ++i) {
        started(before[static_cast<std::size_t>(i)], requests[i]);
    }
    return code;
}

// Checks that each continuation request of the array can be started. Returns MPI_SUCCESS, or reports the first error.
int check_crs(int count, const MPI_Request requests[]) {
    std::vector<std::pair<MPI_Request, int>> crs;
    for (int i = 0; i < count; ++i) {
        if (!is_cr_handle(requests[i])) {
            continue;
        }
        if (const auto why = api::wrong_to_start(requests[i])) {
            return api::fail(startall_of(i), *why);
        }
        crs.emplace_back(requests[i], i);
    }
    const auto in_order = [](const auto &a, const auto &b) {
        return a.first != b.first ? std::less<>{}(a.first, b.first) : a.second < b.second;
    };
    std::sort(crs.begin(), crs.end(), in_order);
    const auto twice =
        std::adjacent_find(crs.begin(), crs.end(), [](const auto &a, const auto &b) { return a.first == b.first; });
    return twice == crs.end() ? int{MPI_SUCCESS}
                              : api::fail(startall_of(twice[1].second),
                                          {MPI_ERR_REQUEST, "{cr} is a continuation request that is there twice"});
}

// All are checked before any is started: continuation requests here, the others by MPI in one call.
int start_mixed(int count, MPI_Request requests[]) {
    if (const int code = check_crs(count, requests); code != MPI_SUCCESS) {
        return code;
    }
    std::vector<MPI_Request> own;
    std::remove_copy_if(requests, requests + count, std::back_inserter(own), is_cr_handle);
    if (!own.empty()) {
        if (const int code = start_own(static_cast<int>(own.size()), own.data()); code != MPI_SUCCESS) {
            return code;
        }
    }
    auto started = own.begin();
    for (int i = 0; i < count; ++i) {
        if (!is_cr_handle(requests[i])) {
            requests[i] = *started++;
        }
    }
    for (int i = 0; i < count; ++i) {
        if (is_cr_handle(requests[i])) {
            if (const int code = api::start(startall_of(i), &requests[i]); code != MPI_SUCCESS) {
                return code;
            }
        }
    }
    return MPI_SUCCESS;
}

} // namespace

extern "C" {

THENCE_EXPORT int MPI_Start(MPI_Request *request) {
    if (names_cr(request)) {
        return api::start({"MPI_Start", one_request}, request);
    }
    if (request != nullptr && calls_only_count()) [[unlikely]] {
        return counted_start(request);
    }
    const timed_call timed("MPI_Start", call_kind::starts);
    const MPI_Request before = request != nullptr ? *request : MPI_REQUEST_NULL;
    const int code = call_with<&THENCE_NEXT(Start)>("MPI_Start", 1, request, request);
    if (code == MPI_SUCCESS && request != nullptr) {
        started(before, *request); // some MPIs give a restarted request a new handle
    }
    return code;
}

THENCE_EXPORT int MPI_Startall(int count, MPI_Request requests[]) {
    if (count <= 0 || requests == nullptr) {
        return THENCE_NEXT(Startall)(count, requests);
    }
    const timed_call timed("MPI_Startall", call_kind::starts);
    return any_cr(count, requests) ? call_with<&start_mixed>("MPI_Startall", count, requests, count, requests)
                                   : call_with<&start_own>("MPI_Startall", count, requests, count, requests);
}

THENCE_EXPORT int MPI_Request_free(MPI_Request *request) {
    if (names_cr(request)) {
        return api::free({"MPI_Request_free", one_request}, request);
    }
    if (request == nullptr) {
        return THENCE_NEXT(Request_free)(request);
    }
    const counted_free frees(request);
    return call_with<&thence::interpose::free>("MPI_Request_free", 1, request, request, THENCE_NEXT(Request_free));
}

THENCE_EXPORT int MPI_Cancel(MPI_Request *request) {
    if (names_cr(request)) {
        return api::cancel({"MPI_Cancel", one_request}, request);
    }
    return request != nullptr
               ? call_with<&thence::interpose::cancel>("MPI_Cancel", 1, request, request, THENCE_NEXT(Cancel))
               : THENCE_NEXT(Cancel)(request);
}

} // extern "C"
