// SPDX-License-Identifier: BSD-3-Clause
// The functions of MPI that the headers of senders call, implemented by the fake. The linker takes the definitions of
// the program before those of the MPI library.
#include "fake_mpi.hpp"

#include <cstdio>

extern "C" {

int MPI_Test_cancelled(const MPI_Status *status, int *flag) {
    *flag = thence::fake::mpi::is_cancelled(*status) ? 1 : 0;
    return MPI_SUCCESS;
}
int MPI_Error_class(int code, int *error_class) {
    *error_class = code;
    return MPI_SUCCESS;
}
int MPI_Error_string(int code, char *text, int *length) {
    *length = std::snprintf(text, MPI_MAX_ERROR_STRING, "error %d of the fake", code);
    return MPI_SUCCESS;
}
int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *when_deleted, int *keyval,
                           void *extra) {
    return thence::mpi::table.Comm_create_keyval(copy, when_deleted, keyval, extra);
}
int MPI_Comm_free_keyval(int *keyval) {
    *keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

} // extern "C"
