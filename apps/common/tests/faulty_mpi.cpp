// SPDX-License-Identifier: BSD-3-Clause
// Parts of an MPI with a fault, which the environment variable FAULT names. Linked into an application, they show what it
// then says, and with which exit status it ends.
//   wrong_value: the last number, or the last byte, of each message of rank 0 to another rank is slightly wrong.
//   truncated:   each receive has a buffer that is too small, and errors are returned.
#include <cstdlib>
#include <cstring>
#include <list>
#include <mpi.h>
#include <string_view>
#include <vector>

namespace {

bool has_fault(std::string_view name) {
    const char *fault = std::getenv("FAULT");
    return fault != nullptr && name == fault;
}

// The message with a wrong value, or as it is. Copies live until the program ends: the send may need them for any time.
const void *with_fault(const void *buffer, int count, MPI_Datatype type, MPI_Comm comm) {
    static std::list<std::vector<char>> copies;
    int rank = 0, size = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Type_size(type, &size);
    if (!has_fault("wrong_value") || rank != 0 || count == 0)
        return buffer;
    std::vector<char> &copy = copies.emplace_back(static_cast<std::size_t>(count) * static_cast<std::size_t>(size));
    std::memcpy(copy.data(), buffer, copy.size());
    // Of a double, a bit in the middle of the mantissa, so that rounding does not hide it.
    char &wrong = copy[copy.size() - (type == MPI_DOUBLE ? 5 : 1)];
    wrong = static_cast<char>(wrong ^ 1);
    return copy.data();
}

} // namespace

extern "C" int MPI_Init_thread(int *argc, char ***argv, int wanted, int *granted) {
    const int error = PMPI_Init_thread(argc, argv, wanted, granted);
    if (has_fault("truncated"))
        PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    return error;
}

extern "C" int MPI_Send(const void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
    return PMPI_Send(with_fault(buffer, count, type, comm), count, type, peer, tag, comm);
}

extern "C" int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                         MPI_Request *request) {
    return PMPI_Isend(with_fault(buffer, count, type, comm), count, type, peer, tag, comm, request);
}

extern "C" int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                         MPI_Request *request) {
    return PMPI_Irecv(buffer, has_fault("truncated") ? count - 1 : count, type, peer, tag, comm, request);
}
