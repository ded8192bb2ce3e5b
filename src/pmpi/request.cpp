// SPDX-License-Identifier: BSD-3-Clause
// MPI_Start, MPI_Request_free, MPI_Cancel and the calls that create persistent requests.
#include "continuation/interposing.hpp"

#include <thence/thence.h>

using namespace thence::continuation;

namespace {

int note(int code, const MPI_Request *request) {
    if (code == MPI_SUCCESS) {
        created_persistent(*request);
    }
    return code;
}

} // namespace

extern "C" {

THENCE_EXPORT int MPI_Start(MPI_Request *request) {
    if (is_cr_handle(*request)) {
        return thence_start(request);
    }
    const MPI_Request before = *request; // some MPIs give a restarted request a new handle
    const int code = PMPI_Start(request);
    restarted(before, *request);
    return code;
}

THENCE_EXPORT int MPI_Startall(int count, MPI_Request requests[]) {
    for (int i = 0; i < count; ++i) {
        if (const int code = MPI_Start(&requests[i]); code != MPI_SUCCESS) {
            return code;
        }
    }
    return MPI_SUCCESS;
}

THENCE_EXPORT int MPI_Request_free(MPI_Request *request) {
    return is_cr_handle(*request) ? thence_free(request) : free_request(request);
}

THENCE_EXPORT int MPI_Cancel(MPI_Request *request) {
    return is_cr_handle(*request) ? thence_cancel(request) : cancel_request(request);
}

#define POINT_TO_POINT_INIT(name, buffer)                                                                              \
    THENCE_EXPORT int MPI_##name(buffer buf, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,           \
                                 MPI_Request *request) {                                                               \
        return note(PMPI_##name(buf, count, type, peer, tag, comm, request), request);                                 \
    }
POINT_TO_POINT_INIT(Send_init, const void *)
POINT_TO_POINT_INIT(Bsend_init, const void *)
POINT_TO_POINT_INIT(Ssend_init, const void *)
POINT_TO_POINT_INIT(Rsend_init, const void *)
POINT_TO_POINT_INIT(Recv_init, void *)

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
THENCE_EXPORT int MPI_Psend_init(const void *buf, int partitions, MPI_Count count, MPI_Datatype type, int dest, int tag,
                                 MPI_Comm comm, MPI_Info info, MPI_Request *request) {
    return note(PMPI_Psend_init(buf, partitions, count, type, dest, tag, comm, info, request), request);
}

THENCE_EXPORT int MPI_Precv_init(void *buf, int partitions, MPI_Count count, MPI_Datatype type, int source, int tag,
                                 MPI_Comm comm, MPI_Info info, MPI_Request *request) {
    return note(PMPI_Precv_init(buf, partitions, count, type, source, tag, comm, info, request), request);
}
#endif

} // extern "C"
