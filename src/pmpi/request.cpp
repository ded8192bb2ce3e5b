// SPDX-License-Identifier: BSD-3-Clause
// MPI_Start, MPI_Request_free, MPI_Cancel and the calls that create persistent requests.
#include "pmpi/interposed.hpp"

#include "continuation/thread_state.hpp"
#include "engine/engine.hpp"
#include "mpi/calls.hpp"
#include "mpi/persistent.hpp"

#include <thence/thence.h>

using namespace thence;

namespace {

bool kept_somewhere() {
    return (continuation::attention.load(std::memory_order_relaxed) & continuation::attention_kept) != 0 &&
           engine::current->polled.keeps();
}

// Some MPIs give a restarted request a new handle.
int start_own(MPI_Request *request) {
    const MPI_Request before = *request;
    const int code = PMPI_Start(request);
    if (*request != before && mpi::noted_persistent(before)) {
        mpi::forget_persistent(before);
        mpi::note_persistent(*request);
    }
    return code;
}

// Only where the engine cannot tell persistent requests itself is the register needed.
int note(int code, MPI_Request *request) {
#if !defined(OPEN_MPI)
    if (code == MPI_SUCCESS) {
        mpi::note_persistent(*request);
    }
#else
    // The native engine reads it from the request; with THENCE_ENGINE=testsome nothing does.
    if (code == MPI_SUCCESS && (engine::current == nullptr || !engine::current->detects_persistent())) {
        mpi::note_persistent(*request);
    }
#endif
    return code;
}

} // namespace

extern "C" {

THENCE_EXPORT int MPI_Start(MPI_Request *request) {
    if (continuation::is_cr_handle(*request)) {
        return thence_start(request);
    }
    return start_own(request);
}

THENCE_EXPORT int MPI_Startall(int count, MPI_Request requests[]) {
    bool own = true;
    for (int i = 0; i < count; ++i) {
        own = own && !continuation::is_cr_handle(requests[i]);
    }
    if (own && mpi::persistent_count.load(std::memory_order_relaxed) == 0) {
        return PMPI_Startall(count, requests);
    }
    for (int i = 0; i < count; ++i) {
        if (const int code = MPI_Start(&requests[i]); code != MPI_SUCCESS) {
            return code;
        }
    }
    return MPI_SUCCESS;
}

THENCE_EXPORT int MPI_Request_free(MPI_Request *request) {
    if (continuation::is_cr_handle(*request)) {
        return thence_free(request);
    }
    mpi::forget_persistent(*request);
    if (kept_somewhere()) {
        continuation::busy_scope freeing;
        bool later = false;
        engine::current->polled.exclusively([&] {
            if (engine::current->polled.is_kept(*request)) {
                engine::current->polled.release_after(*request);
                *request = MPI_REQUEST_NULL;
                later = true;
            }
            return MPI_SUCCESS;
        });
        if (later) {
            return MPI_SUCCESS;
        }
    }
    return PMPI_Request_free(request);
}

THENCE_EXPORT int MPI_Cancel(MPI_Request *request) {
    if (continuation::is_cr_handle(*request)) {
        return thence_cancel(request);
    }
    if (kept_somewhere()) {
        continuation::busy_scope cancelling;
        return engine::current->polled.exclusively([&] { return PMPI_Cancel(request); });
    }
    return PMPI_Cancel(request);
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
THENCE_EXPORT int MPI_Psend_init(const void *buf, int partitions, MPI_Count count, MPI_Datatype type, int dest,
                                 int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request) {
    return note(PMPI_Psend_init(buf, partitions, count, type, dest, tag, comm, info, request), request);
}

THENCE_EXPORT int MPI_Precv_init(void *buf, int partitions, MPI_Count count, MPI_Datatype type, int source, int tag,
                                 MPI_Comm comm, MPI_Info info, MPI_Request *request) {
    return note(PMPI_Precv_init(buf, partitions, count, type, source, tag, comm, info, request), request);
}
#endif

} // extern "C"
