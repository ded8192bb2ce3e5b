// SPDX-License-Identifier: BSD-3-Clause
// An MPI that makes the last byte of each message of rank 0 wrong. Linked into latency_mt, it shows what the program then
// says, and with which exit status.
#include <cstring>
#include <mpi.h>
#include <vector>

extern "C" int MPI_Send(const void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    if (rank != 0 || type != MPI_BYTE || count == 0)
        return PMPI_Send(buffer, count, type, peer, tag, comm);
    std::vector<char> bytes(static_cast<std::size_t>(count));
    std::memcpy(bytes.data(), buffer, bytes.size());
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    return PMPI_Send(bytes.data(), count, type, peer, tag, comm);
}
