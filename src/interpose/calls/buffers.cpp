// SPDX-License-Identifier: BSD-3-Clause
// Calls of MPI 4.1 that wait until buffered messages are sent. They are interposed only because operations are counted
// and calls that block are listed: a buffer belongs to no stream, queue or thread communicator.
#include "interpose/calls/blocking_in_mpi.hpp"
#include "interpose/calls/next.hpp"
#include "interpose/calls/on_stream.hpp"

#if defined(THENCE_MPI_BUFFER_FLUSH)

using thence::pmpi::block_in_mpi;
using thence::pmpi::start_on;

extern "C" {

THENCE_EXPORT int MPI_Buffer_flush() {
    return block_in_mpi("MPI_Buffer_flush", [] { return THENCE_NEXT(Buffer_flush)(); });
}
THENCE_EXPORT int MPI_Buffer_iflush(MPI_Request *request) {
    return start_on<&THENCE_NEXT(Buffer_iflush)>("MPI_Buffer_iflush", MPI_COMM_NULL, request);
}
THENCE_EXPORT int MPI_Comm_flush_buffer(MPI_Comm comm) {
    return block_in_mpi(
        "MPI_Comm_flush_buffer", [&] { return THENCE_NEXT(Comm_flush_buffer)(comm); }, comm);
}
THENCE_EXPORT int MPI_Comm_iflush_buffer(MPI_Comm comm, MPI_Request *request) {
    return start_on<&THENCE_NEXT(Comm_iflush_buffer)>("MPI_Comm_iflush_buffer", MPI_COMM_NULL, request, comm);
}
THENCE_EXPORT int MPI_Session_flush_buffer(MPI_Session session) {
    return block_in_mpi("MPI_Session_flush_buffer", [&] { return THENCE_NEXT(Session_flush_buffer)(session); });
}
THENCE_EXPORT int MPI_Session_iflush_buffer(MPI_Session session, MPI_Request *request) {
    return start_on<&THENCE_NEXT(Session_iflush_buffer)>("MPI_Session_iflush_buffer", MPI_COMM_NULL, request, session);
}

} // extern "C"

#endif
