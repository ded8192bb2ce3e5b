// SPDX-License-Identifier: BSD-3-Clause
// Parts of an MPI with a fault, which the environment variable FAULT names. Linked into an application, they show what
// it then says, and with which exit status it ends.
//   wrong_value: the last number, or the last byte, of each message of rank 0 to another rank is slightly wrong.
//   wrong_data:  the same for messages of more than 8 KiB only, so that those by which ranks agree on something stay
//                right.
//   very_wrong_value: such a number is wrong by up to a sixteenth.
//   truncated:   each receive has a buffer that is too small, and errors are returned.
//   few_notifications: a segment of GASPI has 3.
#include <GASPI.h>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <list>
#include <mpi.h>
#include <mutex>
#include <string_view>
#include <vector>

namespace {

bool has_fault(std::string_view name) {
    const char *fault = std::getenv("FAULT");
    return fault != nullptr && name == fault;
}

// The function of this name that the application would call: of Thence if it interposes the call, else of MPI.
template <class Function> Function *next(const char *name, Function *mpi) {
    void *const found = dlsym(RTLD_NEXT, name);
    return found == nullptr ? mpi : reinterpret_cast<Function *>(found);
}

// The message with a wrong value, or as it is. Copies live until the program ends: the send may need them for any time.
const void *with_fault(const void *buffer, int count, MPI_Datatype type, MPI_Comm comm) {
    static std::mutex mutex; // guards the list
    static std::list<std::vector<char>> copies;
    int rank = 0, size = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Type_size(type, &size);
    const bool very = has_fault("very_wrong_value");
    const auto bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
    const bool wrong_here = very || has_fault("wrong_value") || (has_fault("wrong_data") && bytes > 8192);
    if (!wrong_here || rank != 0 || bytes == 0) {
        return buffer;
    }
    std::unique_lock guard(mutex);
    std::vector<char> &copy = copies.emplace_back(bytes);
    guard.unlock();
    std::memcpy(copy.data(), buffer, copy.size());
    // Of a double, a bit in the middle of the mantissa, so that rounding does not hide it, or a high bit of it.
    char &wrong = copy[copy.size() - (type != MPI_DOUBLE ? 1 : very ? 2 : 5)];
    wrong = static_cast<char>(wrong ^ 1);
    return copy.data();
}

} // namespace

// Also for the calls of the libraries of Thence: so these are not hidden, as symbols are by default here. The headers
// of some MPIs say so themselves, those of MPICH 5 do not.
#pragma GCC visibility push(default)

extern "C" int MPI_Init_thread(int *argc, char ***argv, int wanted, int *granted) {
    static const auto call = next("MPI_Init_thread", &PMPI_Init_thread);
    const int error = call(argc, argv, wanted, granted);
    if (has_fault("truncated")) {
        PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }
    return error;
}

extern "C" int MPI_Send(const void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
    static const auto call = next("MPI_Send", &PMPI_Send);
    return call(with_fault(buffer, count, type, comm), count, type, peer, tag, comm);
}

extern "C" int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                         MPI_Request *request) {
    static const auto call = next("MPI_Isend", &PMPI_Isend);
    return call(with_fault(buffer, count, type, comm), count, type, peer, tag, comm, request);
}

extern "C" int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                         MPI_Request *request) {
    static const auto call = next("MPI_Irecv", &PMPI_Irecv);
    return call(buffer, has_fault("truncated") && count > 0 ? count - 1 : count, type, peer, tag, comm, request);
}

// The application asks nobody else. The library has it as a weak symbol.
extern "C" gaspi_return_t gaspi_notification_num(gaspi_number_t *number) {
    *number = has_fault("few_notifications") ? 3 : 65536;
    return GASPI_SUCCESS;
}

#pragma GCC visibility pop
