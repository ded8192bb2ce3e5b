// SPDX-License-Identifier: BSD-3-Clause
// MPI_Start, MPI_Startall, MPI_Request_free and MPI_Cancel. A call without continuation requests is forwarded
// unchanged, so that MPI itself refuses null pointers and null requests.
#include "interpose/requests.hpp"

#include <thence/thence.h>

#include <algorithm>
#include <functional>
#include <vector>

using namespace thence::interpose;

namespace {

bool names_cr(const MPI_Request *request) {
    return request != nullptr && is_cr_handle(*request);
}

int start_own(int count, MPI_Request requests[]) {
    if (!tracks_persistent()) [[likely]] {
        return PMPI_Startall(count, requests);
    }
    const std::vector<MPI_Request> before(requests,
                                          requests + count); // some MPIs give a restarted request a new handle
    const int code = PMPI_Startall(count, requests);
    for (int i = 0; i < count && code == MPI_SUCCESS; ++i) {
        started(before[static_cast<std::size_t>(i)], requests[i]);
    }
    return code;
}

// All are checked before any is started: continuation requests here, the others by MPI in one call.
int start_mixed(int count, MPI_Request requests[]) {
    std::vector<MPI_Request> crs;
    std::vector<MPI_Request> own;
    for (int i = 0; i < count; ++i) {
        (is_cr_handle(requests[i]) ? crs : own).push_back(requests[i]);
    }
    std::sort(crs.begin(), crs.end(), std::less<>{});
    if (!std::all_of(crs.begin(), crs.end(), may_start) || std::adjacent_find(crs.begin(), crs.end()) != crs.end()) {
        return refuse(MPI_ERR_REQUEST,
                      "MPI_Startall: a continuation request was freed, is started already, or is there twice");
    }
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
    for (MPI_Request &cr : crs) {
        if (const int code = thence_start(&cr); code != MPI_SUCCESS) {
            return code;
        }
    }
    return MPI_SUCCESS;
}

} // namespace

extern "C" {

THENCE_EXPORT int MPI_Start(MPI_Request *request) {
    if (names_cr(request)) {
        return thence_start(request);
    }
    const MPI_Request before = request != nullptr ? *request : MPI_REQUEST_NULL;
    const int code = PMPI_Start(request);
    if (code == MPI_SUCCESS && request != nullptr) {
        started(before, *request); // some MPIs give a restarted request a new handle
    }
    return code;
}

THENCE_EXPORT int MPI_Startall(int count, MPI_Request requests[]) {
    if (count <= 0 || requests == nullptr) {
        return PMPI_Startall(count, requests);
    }
    return any_cr(count, requests) ? start_mixed(count, requests) : start_own(count, requests);
}

THENCE_EXPORT int MPI_Request_free(MPI_Request *request) {
    if (names_cr(request)) {
        return thence_free(request);
    }
    return request != nullptr ? thence::interpose::free(request) : PMPI_Request_free(request);
}

THENCE_EXPORT int MPI_Cancel(MPI_Request *request) {
    if (names_cr(request)) {
        return thence_cancel(request);
    }
    return request != nullptr ? thence::interpose::cancel(request) : PMPI_Cancel(request);
}

} // extern "C"
