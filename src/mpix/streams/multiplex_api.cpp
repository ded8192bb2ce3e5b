// SPDX-License-Identifier: BSD-3-Clause
// Multiplex communicators and their messages: thence/stream.h.
#include <thence/stream.h>

#include "core/api/checks.hpp"
#include "core/mpi/error_code.hpp"
#include "mpix/streams/multiplex.hpp"
#include "mpix/streams/multiplex_messages.hpp"
#include "mpix/threadcomm/communicator.hpp"

using namespace thence;
using api::fail;
using api::public_call;
using api::reason;

namespace {

using starting = int (*)(const char *call, MPI_Comm comm, const streams::stream_message &message,
                         MPI_Request &request) noexcept;

int start(const public_call &call, starting how, MPI_Comm comm, const streams::stream_message &message,
          MPI_Request *request) noexcept {
    return request == nullptr ? fail(call, reason::null_request) : how(call.name, comm, message, *request);
}

} // namespace

extern "C" {

int thence_stream_comm_create_multiplex(MPI_Comm comm, int count, thence_stream array_of_streams[], MPI_Comm *newcomm) {
    static constexpr public_call call{"thence_stream_comm_create_multiplex"};
    if (newcomm == nullptr) {
        return fail(call, reason::null_newcomm);
    }
    if (comm == MPI_COMM_NULL) {
        return fail(call, reason::null_comm);
    }
    if (const int code = api::set_up(call); code != MPI_SUCCESS) {
        return code;
    }
    if (threadcomm::find_if_any(comm) != nullptr) {
        return mpi::report_on(comm, MPI_ERR_COMM, call.name, "comm is a thread communicator");
    }
    return streams::create_multiplex(call.name, comm, count, array_of_streams, newcomm);
}

int thence_stream_send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                       int source_stream_index, int dest_stream_index) {
    return streams::stream_send("thence_stream_send", comm,
                                {buf, count, datatype, dest, tag, source_stream_index, dest_stream_index});
}

int thence_stream_send_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                         int source_stream_index, int dest_stream_index) {
    return streams::stream_send("thence_stream_send_c", comm,
                                {buf, count, datatype, dest, tag, source_stream_index, dest_stream_index});
}

int thence_stream_isend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                        int source_stream_index, int dest_stream_index, MPI_Request *request) {
    return start("thence_stream_isend", &streams::stream_isend, comm,
                 {buf, count, datatype, dest, tag, source_stream_index, dest_stream_index}, request);
}

int thence_stream_isend_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                          int source_stream_index, int dest_stream_index, MPI_Request *request) {
    return start("thence_stream_isend_c", &streams::stream_isend, comm,
                 {buf, count, datatype, dest, tag, source_stream_index, dest_stream_index}, request);
}

int thence_stream_recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                       int source_stream_index, int dest_stream_index, MPI_Status *status) {
    return streams::stream_receive("thence_stream_recv", comm,
                                   {buf, count, datatype, source, tag, source_stream_index, dest_stream_index}, status);
}

int thence_stream_recv_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                         int source_stream_index, int dest_stream_index, MPI_Status *status) {
    return streams::stream_receive("thence_stream_recv_c", comm,
                                   {buf, count, datatype, source, tag, source_stream_index, dest_stream_index}, status);
}

int thence_stream_irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                        int source_stream_index, int dest_stream_index, MPI_Request *request) {
    return start("thence_stream_irecv", &streams::stream_ireceive, comm,
                 {buf, count, datatype, source, tag, source_stream_index, dest_stream_index}, request);
}

int thence_stream_irecv_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                          int source_stream_index, int dest_stream_index, MPI_Request *request) {
    return start("thence_stream_irecv_c", &streams::stream_ireceive, comm,
                 {buf, count, datatype, source, tag, source_stream_index, dest_stream_index}, request);
}

} // extern "C"
