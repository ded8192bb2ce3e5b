// SPDX-License-Identifier: BSD-3-Clause
// A receive from self, completed with MPI_Wait; the message is sent after the receive is posted. It is the baseline of
// the benchmarks of a single pending receive.
#pragma once

#include "measure/work.hpp"

#include <mpi.h>

namespace measure {

inline void send_to_self(int &out, int tag = 0) {
    MPI_Request send;
    MPI_Isend(&out, 1, MPI_INT, 0, tag, MPI_COMM_SELF, &send);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
}

inline void wait_for_self_receive(work &work) {
    int in = 0;
    int out = 0;
    work.count([&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            MPI_Request receive;
            MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &receive);
            send_to_self(out);
            MPI_Wait(&receive, MPI_STATUS_IGNORE);
        }
    });
}

} // namespace measure
