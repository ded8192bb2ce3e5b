// SPDX-License-Identifier: BSD-3-Clause
#include "table.hpp"

#include <thence/thence.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

namespace wrong_arguments {

world::world() {
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    const int one = 1;
    MPI_Cart_create(comm, 1, &one, &one, 0, &ring);
    MPI_Comm_group(comm, &group);
    MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, comm, &base, &win);
#if defined(THENCE_MPI_FILES)
    char name[] = "/tmp/thence_wrong_arguments_XXXXXX";
    close(mkstemp(name));
    MPI_File_open(comm, name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
#endif
#if defined(THENCE_MPI_BUFFER_FLUSH)
    MPI_Session_init(MPI_INFO_NULL, thence_errors_return(), &session);
#endif
    // Messages to itself: one that a probe has matched, one that is unexpected, and two that complete receives.
    // Not every MPI completes a send to itself before it is received.
    MPI_Isend(&sent[0], 1, MPI_INT, 0, 1, comm, &sends[0]);
    MPI_Mprobe(0, 1, comm, &message, MPI_STATUS_IGNORE);
    MPI_Isend(&sent[1], 1, MPI_INT, 0, message_tag, comm, &sends[1]);
    MPI_Irecv(&received[0], 1, MPI_INT, 0, 2, comm, &complete[0]);
    MPI_Irecv(&received[3], 1, MPI_INT, 0, 6, comm, &complete[1]);
    MPI_Isend(&sent[2], 1, MPI_INT, 0, 2, comm, &sends[2]);
    MPI_Isend(&sent[4], 1, MPI_INT, 0, 6, comm, &sends[3]);
    for (int i = 0; i < 100; ++i) { // these two are not tested, which would change them on some MPIs
        PMPI_Iprobe(0, message_tag, comm, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Irecv(&received[1], 1, MPI_INT, 0, pending_tag, comm, &pending);
    MPI_Recv_init(&received[2], 1, MPI_INT, 0, 4, comm, &persistent[0]);
    MPI_Send_init(&sent[3], 1, MPI_INT, 0, 5, comm, &persistent[1]);
    MPI_Recv_init(&received[4], 1, MPI_INT, 0, active_tag, comm, &active);
    MPI_Start(&active);
    reset_outputs();
}

world::~world() {
    MPI_Send(&sent[0], 1, MPI_INT, 0, active_tag, comm);
    MPI_Wait(&active, MPI_STATUS_IGNORE);
    MPI_Request_free(&active);
    MPI_Mrecv(out, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Recv(out, 1, MPI_INT, 0, message_tag, comm, MPI_STATUS_IGNORE);
    MPI_Waitall(4, sends, MPI_STATUSES_IGNORE);
    MPI_Waitall(2, complete, MPI_STATUSES_IGNORE);
    MPI_Cancel(&pending);
    MPI_Wait(&pending, MPI_STATUS_IGNORE);
    MPI_Request_free(&persistent[0]);
    MPI_Request_free(&persistent[1]);
#if defined(THENCE_MPI_FILES)
    MPI_File_close(&file);
#endif
#if defined(THENCE_MPI_BUFFER_FLUSH)
    MPI_Session_finalize(&session);
#endif
    MPI_Win_free(&win);
    MPI_Group_free(&group);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&comm);
}

void world::reset_outputs() {
    constexpr int untouched = -5555;
    std::fill_n(requests, some, MPI_Request{MPI_REQUEST_NULL});
    std::memset(statuses, 0, sizeof statuses);
    for (MPI_Status &status : statuses) {
        status.MPI_SOURCE = status.MPI_TAG = status.MPI_ERROR = untouched;
    }
    std::fill_n(indices, some, untouched);
    flag = index = number = untouched;
    new_comm = MPI_COMM_NULL;
    new_win = MPI_WIN_NULL;
    new_message = MPI_MESSAGE_NULL;
    base = nullptr;
}

} // namespace wrong_arguments
