// SPDX-License-Identifier: BSD-3-Clause
// MPI_Request_get_status and, if the MPI has them (MPI 4.1), its any, some and all forms. They report the state of a
// request without changing it. If an entry is special, these forms check each entry separately.
#include "interpose/requests.hpp"
#include "pmpi/arguments.hpp"

#include <thence/thence.h>

#include <tuple>

using namespace thence::interpose;
using namespace thence::pmpi;

#if defined(THENCE_MPI_GET_STATUS_FORMS)

namespace {

// MPI 5 made the array const; Intel MPI has it as in MPI 4.1.
template <class... Parameters> std::tuple_element_t<1, std::tuple<Parameters...>> second_of(int (*)(Parameters...));
using request_array = decltype(second_of(&PMPI_Request_get_status_any));

enum class standing { ignored, pending, complete };

// Sets `status` if the request is not pending.
standing look_at(MPI_Request request, MPI_Status *status, int &code) {
    int flag = 0;
    if (is_special(request)) {
        if (is_ignored(request)) {
            set_empty(status);
            return standing::ignored;
        }
        code = MPI_Request_get_status(request, &flag, status);
        return flag != 0 ? standing::complete : standing::pending;
    }
    int index = MPI_UNDEFINED;
    code = PMPI_Request_get_status_any(1, &request, &index, &flag, status);
    return flag == 0 ? standing::pending : index == MPI_UNDEFINED ? standing::ignored : standing::complete;
}

} // namespace
#endif

extern "C" {

THENCE_EXPORT int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status) {
    if (is_plain(request)) [[likely]] {
        return PMPI_Request_get_status(request, flag, status);
    }
    if (!is_cr_handle(request)) {
        return flag == nullptr || refused_status(status) ? PMPI_Request_get_status(request, flag, status)
                                                         : get_status(request, flag, status);
    }
    if (thence_is_cr(request) == 0 || flag == nullptr) {
        return flag == nullptr ? refuse(MPI_ERR_ARG, "MPI_Request_get_status: flag is null")
                               : refuse(MPI_ERR_REQUEST, "MPI_Request_get_status: the continuation request was freed");
    }
    *flag = cr_is_ready(request) ? 1 : 0;
    if (*flag != 0 && status != nullptr) {
        set_empty(status);
    }
    return MPI_SUCCESS;
}

#if defined(THENCE_MPI_GET_STATUS_FORMS)

THENCE_EXPORT int MPI_Request_get_status_any(int count, request_array requests, int *index, int *flag,
                                             MPI_Status *status) {
    if (is_plain(count, requests)) [[likely]] {
        return PMPI_Request_get_status_any(count, requests, index, flag, status);
    }
    const bool refused = index == nullptr || flag == nullptr || refused_status(status);
    if (mpi_does(count, requests, refused)) {
        return PMPI_Request_get_status_any(count, requests, index, flag, status);
    }
    if (refused) {
        return THENCE_REFUSE_NULL(MPI_Request_get_status_any, "index, flag or status");
    }
    bool live = false;
    for (int i = 0; i < count; ++i) {
        int code = MPI_SUCCESS;
        const standing found = look_at(requests[i], status, code);
        if (code != MPI_SUCCESS || found == standing::complete) {
            *index = i;
            *flag = 1;
            return code;
        }
        live = live || found == standing::pending;
    }
    *index = MPI_UNDEFINED;
    *flag = live ? 0 : 1;
    if (!live) {
        set_empty(status);
    }
    return MPI_SUCCESS;
}

THENCE_EXPORT int MPI_Request_get_status_some(int count, request_array requests, int *found, int indices[],
                                              MPI_Status statuses[]) {
    if (is_plain(count, requests)) [[likely]] {
        return PMPI_Request_get_status_some(count, requests, found, indices, statuses);
    }
    const bool refused = found == nullptr || indices == nullptr || refused_status(statuses);
    if (mpi_does(count, requests, refused)) {
        return PMPI_Request_get_status_some(count, requests, found, indices, statuses);
    }
    if (refused) {
        return THENCE_REFUSE_NULL(MPI_Request_get_status_some, "outcount, indices or statuses");
    }
    bool live = false;
    *found = 0;
    for (int i = 0; i < count; ++i) {
        int code = MPI_SUCCESS;
        const standing each = look_at(requests[i], slot(statuses, *found), code);
        if (code != MPI_SUCCESS) {
            return code;
        }
        live = live || each != standing::ignored;
        if (each == standing::complete) {
            indices[(*found)++] = i;
        }
    }
    *found = live ? *found : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

THENCE_EXPORT int MPI_Request_get_status_all(int count, request_array requests, int *flag, MPI_Status statuses[]) {
    if (is_plain(count, requests)) [[likely]] {
        return PMPI_Request_get_status_all(count, requests, flag, statuses);
    }
    const bool refused = flag == nullptr || refused_status(statuses);
    if (mpi_does(count, requests, refused)) {
        return PMPI_Request_get_status_all(count, requests, flag, statuses);
    }
    if (refused) {
        return THENCE_REFUSE_NULL(MPI_Request_get_status_all, "flag or statuses");
    }
    *flag = 1;
    for (int i = 0; i < count && *flag != 0; ++i) {
        int code = MPI_SUCCESS;
        if (look_at(requests[i], slot(statuses, i), code) == standing::pending) {
            *flag = 0;
        }
        if (code != MPI_SUCCESS) {
            return code;
        }
    }
    return MPI_SUCCESS;
}

#endif

} // extern "C"
