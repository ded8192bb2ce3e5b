// SPDX-License-Identifier: BSD-3-Clause
// Calls on files that wait for other ranks, see blocking_in_mpi.hpp.
#include "interpose/calls/blocking_in_mpi.hpp"

#if defined(THENCE_MPI_FILES)

extern "C" {

THENCE_BLOCKING_ON_PROCESSES(File_open, (MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file),
                             (comm, name, mode, info, file))
THENCE_BLOCKING(File_close, (MPI_File * file), (file))
THENCE_BLOCKING(File_set_size, (MPI_File file, MPI_Offset size), (file, size))
THENCE_BLOCKING(File_preallocate, (MPI_File file, MPI_Offset size), (file, size))
THENCE_BLOCKING(File_set_view,
                (MPI_File file, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype, const char *format,
                 MPI_Info info),
                (file, displacement, etype, filetype, format, info))
THENCE_BLOCKING(File_set_atomicity, (MPI_File file, int flag), (file, flag))
THENCE_BLOCKING(File_sync, (MPI_File file), (file))
THENCE_BLOCKING(File_seek_shared, (MPI_File file, MPI_Offset offset, int whence), (file, offset, whence))

#define TRANSFERS(c, count_t)                                                                                          \
    TRANSFER(read_all##c, void *, count_t)                                                                             \
    TRANSFER(write_all##c, const void *, count_t)                                                                      \
    TRANSFER(read_shared##c, void *, count_t)                                                                          \
    TRANSFER(write_shared##c, const void *, count_t)                                                                   \
    TRANSFER(read_ordered##c, void *, count_t)                                                                         \
    TRANSFER(write_ordered##c, const void *, count_t)                                                                  \
    TRANSFER_AT(read_at_all##c, void *, count_t)                                                                       \
    TRANSFER_AT(write_at_all##c, const void *, count_t)                                                                \
    BEGIN(read_all_begin##c, void *, count_t)                                                                          \
    BEGIN(write_all_begin##c, const void *, count_t)                                                                   \
    BEGIN(read_ordered_begin##c, void *, count_t)                                                                      \
    BEGIN(write_ordered_begin##c, const void *, count_t)                                                               \
    BEGIN_AT(read_at_all_begin##c, void *, count_t)                                                                    \
    BEGIN_AT(write_at_all_begin##c, const void *, count_t)
#define TRANSFER(name, buffer, count_t)                                                                                \
    THENCE_BLOCKING(File_##name, (MPI_File file, buffer buf, count_t count, MPI_Datatype type, MPI_Status * status),   \
                    (file, buf, count, type, status))
#define TRANSFER_AT(name, buffer, count_t)                                                                             \
    THENCE_BLOCKING(                                                                                                   \
        File_##name,                                                                                                   \
        (MPI_File file, MPI_Offset offset, buffer buf, count_t count, MPI_Datatype type, MPI_Status * status),         \
        (file, offset, buf, count, type, status))
#define BEGIN(name, buffer, count_t)                                                                                   \
    THENCE_BLOCKING(File_##name, (MPI_File file, buffer buf, count_t count, MPI_Datatype type),                        \
                    (file, buf, count, type))
#define BEGIN_AT(name, buffer, count_t)                                                                                \
    THENCE_BLOCKING(File_##name, (MPI_File file, MPI_Offset offset, buffer buf, count_t count, MPI_Datatype type),     \
                    (file, offset, buf, count, type))
#define END(name, buffer)                                                                                              \
    THENCE_BLOCKING(File_##name, (MPI_File file, buffer buf, MPI_Status * status), (file, buf, status))

TRANSFERS(, int)
#if defined(THENCE_MPI_LARGE_COUNTS)
TRANSFERS(_c, MPI_Count)
#endif
END(read_all_end, void *)
END(write_all_end, const void *)
END(read_at_all_end, void *)
END(write_at_all_end, const void *)
END(read_ordered_end, void *)
END(write_ordered_end, const void *)

} // extern "C"

#endif
