// SPDX-License-Identifier: BSD-3-Clause
// The functions of MPI that libthence-tampi calls itself, on the fake. The program's own definitions come before those
// of the MPI library.
#include "fake_mpi.hpp"

using thence::mpi::table;

extern "C" {

int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *when_deleted, int *keyval,
                           void *extra) {
    return table.Comm_create_keyval(copy, when_deleted, keyval, extra);
}
int MPI_Comm_free_keyval(int *keyval) {
    *keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}
int MPI_Add_error_code(int error_class, int *code) {
    return table.Add_error_code(error_class, code);
}
int MPI_Add_error_string(int code, const char *text) {
    return table.Add_error_string(code, text);
}
int MPI_Error_string(int code, char *text, int *length) {
    return table.Error_string(code, text, length);
}
int MPI_Comm_call_errhandler(MPI_Comm comm, int code) {
    return table.Comm_call_errhandler(comm, code);
}

} // extern "C"
