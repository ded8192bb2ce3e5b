// SPDX-License-Identifier: BSD-3-Clause
// Calls on files that wait for other ranks (blocking_in_mpi.hpp), or for the file alone (INDEPENDENT), or start an
// operation (THENCE_STARTING).
#include "interpose/calls/blocking_in_mpi.hpp"
#include "interpose/requests/counted.hpp"
#include "interpose/requests/counted_files.hpp"

#if defined(THENCE_MPI_FILES)

extern "C" {

THENCE_EXPORT int MPI_File_open(MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *file) {
    if (auto *const found = thence::threadcomm::find_if_any(comm)) [[unlikely]] {
        return thence::pmpi::refuse_on(*found, "MPI_File_open");
    }
    return thence::pmpi::block_with_ranks("MPI_File_open", comm, [&] {
        return thence::interpose::open_counted_file(
            [&] { return THENCE_NEXT(File_open)(comm, name, mode, info, file); });
    });
}
THENCE_EXPORT int MPI_File_close(MPI_File *file) {
    return thence::pmpi::block_in_mpi("MPI_File_close", [&] {
        return thence::interpose::close_counted_file([&] { return THENCE_NEXT(File_close)(file); });
    });
}
THENCE_BLOCKING(File_set_size, (MPI_File file, MPI_Offset size), (file, size))
THENCE_BLOCKING(File_preallocate, (MPI_File file, MPI_Offset size), (file, size))
THENCE_BLOCKING(File_set_view,
                (MPI_File file, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype, const char *format,
                 MPI_Info info),
                (file, displacement, etype, filetype, format, info))
THENCE_BLOCKING(File_set_atomicity, (MPI_File file, int flag), (file, flag))
THENCE_BLOCKING(File_sync, (MPI_File file), (file))
THENCE_BLOCKING(File_seek_shared, (MPI_File file, MPI_Offset offset, int whence), (file, offset, whence))

// MPI makes no progress with messages meanwhile, so it is no blocking call for the helper thread.
#define INDEPENDENT(name, parameters, arguments)                                                                       \
    THENCE_EXPORT int MPI_##name(THENCE_UNPACK parameters) {                                                           \
        const thence::interpose::asking_call asks("MPI_" #name, thence::interpose::call_kind::blocks);                 \
        return THENCE_NEXT(name)(THENCE_UNPACK arguments);                                                             \
    }

// The forms of calls that read or write. `how` defines the call.
#define WITH_STATUS(how, name, buffer, count_t)                                                                        \
    how(File_##name, (MPI_File file, buffer buf, count_t count, MPI_Datatype type, MPI_Status * status),               \
        (file, buf, count, type, status))
#define WITH_STATUS_AT(how, name, buffer, count_t)                                                                     \
    how(File_##name,                                                                                                   \
        (MPI_File file, MPI_Offset offset, buffer buf, count_t count, MPI_Datatype type, MPI_Status * status),         \
        (file, offset, buf, count, type, status))
#define WITHOUT_STATUS(how, name, buffer, count_t)                                                                     \
    how(File_##name, (MPI_File file, buffer buf, count_t count, MPI_Datatype type), (file, buf, count, type))
#define WITHOUT_STATUS_AT(how, name, buffer, count_t)                                                                  \
    how(File_##name, (MPI_File file, MPI_Offset offset, buffer buf, count_t count, MPI_Datatype type),                 \
        (file, offset, buf, count, type))
#define END(how, name, buffer, count_t)                                                                                \
    how(File_##name, (MPI_File file, buffer buf, MPI_Status * status), (file, buf, status))

#define READ_AND_WRITE(form, how, before, behind, count_t)                                                             \
    form(how, before##read##behind, void *, count_t) form(how, before##write##behind, const void *, count_t)

#define TRANSFERS(c, count_t)                                                                                          \
    READ_AND_WRITE(WITH_STATUS, INDEPENDENT, , c, count_t)                                                             \
    READ_AND_WRITE(WITH_STATUS_AT, INDEPENDENT, , _at##c, count_t)                                                     \
    READ_AND_WRITE(WITH_STATUS, THENCE_BLOCKING, , _all##c, count_t)                                                   \
    READ_AND_WRITE(WITH_STATUS, THENCE_BLOCKING, , _shared##c, count_t)                                                \
    READ_AND_WRITE(WITH_STATUS, THENCE_BLOCKING, , _ordered##c, count_t)                                               \
    READ_AND_WRITE(WITH_STATUS_AT, THENCE_BLOCKING, , _at_all##c, count_t)                                             \
    READ_AND_WRITE(WITHOUT_STATUS, THENCE_BLOCKING, , _all_begin##c, count_t)                                          \
    READ_AND_WRITE(WITHOUT_STATUS, THENCE_BLOCKING, , _ordered_begin##c, count_t)                                      \
    READ_AND_WRITE(WITHOUT_STATUS_AT, THENCE_BLOCKING, , _at_all_begin##c, count_t)                                    \
    READ_AND_WRITE(WITHOUT_STATUS, THENCE_STARTING, i, c, count_t)                                                     \
    READ_AND_WRITE(WITHOUT_STATUS, THENCE_STARTING, i, _all##c, count_t)                                               \
    READ_AND_WRITE(WITHOUT_STATUS, THENCE_STARTING, i, _shared##c, count_t)                                            \
    READ_AND_WRITE(WITHOUT_STATUS_AT, THENCE_STARTING, i, _at##c, count_t)                                             \
    READ_AND_WRITE(WITHOUT_STATUS_AT, THENCE_STARTING, i, _at_all##c, count_t)
TRANSFERS(, int)
#if defined(THENCE_MPI_LARGE_COUNTS)
TRANSFERS(_c, MPI_Count)
#endif
READ_AND_WRITE(END, THENCE_BLOCKING, , _all_end, )
READ_AND_WRITE(END, THENCE_BLOCKING, , _at_all_end, )
READ_AND_WRITE(END, THENCE_BLOCKING, , _ordered_end, )

} // extern "C"

#endif
