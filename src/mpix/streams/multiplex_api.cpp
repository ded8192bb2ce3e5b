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

#define MESSAGES(c, count_t)                                                                                           \
    int thence_stream_send##c(const void *buf, count_t count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,     \
                              int source_index, int dest_index) {                                                      \
        return streams::stream_send("thence_stream_send" #c, comm,                                                     \
                                    {buf, count, type, dest, tag, source_index, dest_index});                          \
    }                                                                                                                  \
    int thence_stream_isend##c(const void *buf, count_t count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,    \
                               int source_index, int dest_index, MPI_Request *request) {                               \
        return start("thence_stream_isend" #c, &streams::stream_isend, comm,                                           \
                     {buf, count, type, dest, tag, source_index, dest_index}, request);                                \
    }                                                                                                                  \
    int thence_stream_recv##c(void *buf, count_t count, MPI_Datatype type, int source, int tag, MPI_Comm comm,         \
                              int source_index, int dest_index, MPI_Status *status) {                                  \
        return streams::stream_receive("thence_stream_recv" #c, comm,                                                  \
                                       {buf, count, type, source, tag, source_index, dest_index}, status);             \
    }                                                                                                                  \
    int thence_stream_irecv##c(void *buf, count_t count, MPI_Datatype type, int source, int tag, MPI_Comm comm,        \
                               int source_index, int dest_index, MPI_Request *request) {                               \
        return start("thence_stream_irecv" #c, &streams::stream_ireceive, comm,                                        \
                     {buf, count, type, source, tag, source_index, dest_index}, request);                              \
    }
MESSAGES(, int)
MESSAGES(_c, MPI_Count)

} // extern "C"
