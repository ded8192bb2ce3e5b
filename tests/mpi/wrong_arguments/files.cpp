// SPDX-License-Identifier: BSD-3-Clause
// Calls on files that MPI refuses. No row has good arguments, since all children share the file.
#include "table.hpp"

#include <thence/thence.h>

namespace wrong_arguments {

#if defined(THENCE_MPI_FILES)

namespace {

MPI_File new_file;
char name[] = "/no/such/folder/at/all/file";
char format[] = "native";

argument<MPI_File> file(const world &w) {
    return {w.file, {{"null file", MPI_FILE_NULL}}};
}

} // namespace

#define TRANSFER(name, n) WRONG(File_##name, file(w), fixed<void *>(w.in), count(n), type(), pointer(w.statuses))
#define TRANSFER_AT(name, n)                                                                                           \
    WRONG(File_##name, file(w), count(MPI_Offset{0}), fixed<void *>(w.in), count(n), type(), pointer(w.statuses))
#define BEGIN(name, n) WRONG(File_##name, file(w), fixed<void *>(w.in), count(n), type())
#define BEGIN_AT(name, n) WRONG(File_##name, file(w), count(MPI_Offset{0}), fixed<void *>(w.in), count(n), type())
#define END(name) WRONG(File_##name, file(w), fixed<void *>(w.in), pointer(w.statuses))
#define STARTING(name, n) WRONG(File_##name, file(w), fixed<void *>(w.in), count(n), type(), pointer(w.requests))
// Some MPIs take a negative offset, and begin.
#define STARTING_AT(name, n)                                                                                           \
    WRONG(File_##name, file(w), fixed(MPI_Offset{0}), fixed<void *>(w.in), count(n), type(), pointer(w.requests))
#define WITH_REQUESTS(c, n)                                                                                            \
    STARTING(iread##c, n);                                                                                             \
    STARTING(iwrite##c, n);                                                                                            \
    STARTING(iread_all##c, n);                                                                                         \
    STARTING(iwrite_all##c, n);                                                                                        \
    STARTING(iread_shared##c, n);                                                                                      \
    STARTING(iwrite_shared##c, n);                                                                                     \
    STARTING_AT(iread_at##c, n);                                                                                       \
    STARTING_AT(iwrite_at##c, n);                                                                                      \
    STARTING_AT(iread_at_all##c, n);                                                                                   \
    STARTING_AT(iwrite_at_all##c, n)
#define TRANSFERS(c, n)                                                                                                \
    TRANSFER(read##c, n);                                                                                              \
    TRANSFER(write##c, n);                                                                                             \
    TRANSFER_AT(read_at##c, n);                                                                                        \
    TRANSFER_AT(write_at##c, n);                                                                                       \
    TRANSFER(read_all##c, n);                                                                                          \
    TRANSFER(write_all##c, n);                                                                                         \
    TRANSFER(read_shared##c, n);                                                                                       \
    TRANSFER(write_shared##c, n);                                                                                      \
    TRANSFER(read_ordered##c, n);                                                                                      \
    TRANSFER(write_ordered##c, n);                                                                                     \
    TRANSFER_AT(read_at_all##c, n);                                                                                    \
    TRANSFER_AT(write_at_all##c, n);                                                                                   \
    BEGIN(read_all_begin##c, n);                                                                                       \
    BEGIN(write_all_begin##c, n);                                                                                      \
    BEGIN(read_ordered_begin##c, n);                                                                                   \
    BEGIN(write_ordered_begin##c, n);                                                                                  \
    BEGIN_AT(read_at_all_begin##c, n);                                                                                 \
    BEGIN_AT(write_at_all_begin##c, n)

void add_files(table &to, world &w) {
    WRONG(File_open, comm(w.comm), pointer<const char>(name), number(MPI_MODE_RDONLY), fixed(MPI_Info{MPI_INFO_NULL}),
          pointer(&new_file));
    WRONG(File_close, pointer(&w.file));
    to.add_call({"MPI_File_close", "null file", true, true, [](bool pmpi) {
                     new_file = MPI_FILE_NULL;
                     return (pmpi ? &PMPI_File_close : &MPI_File_close)(&new_file);
                 }});
    // Some MPIs crash with each wrong handle. This row is compared there.
    to.add_call({"MPI_File_close", "nothing", true, true, [&w](bool pmpi) {
                     new_file = w.file;
                     return (pmpi ? &PMPI_File_close : &MPI_File_close)(&new_file);
                 }});
    WRONG(File_set_size, file(w), count(MPI_Offset{0}));
    WRONG(File_preallocate, file(w), count(MPI_Offset{0}));
    WRONG(File_set_view, file(w), count(MPI_Offset{0}), type(), type(), pointer<const char>(format),
          fixed(MPI_Info{MPI_INFO_NULL}));
    TRIED(File_set_atomicity, file(w), fixed(0));
    TRIED(File_sync, file(w));
    // An MPI that gives the constants of the standard ABI other values takes MPI_SEEK_SET for another one, with which a
    // negative offset may be right: that depends on where the calls before have left the shared pointer.
    if (thence_errors_return() == MPI_ERRORS_RETURN) {
        WRONG(File_seek_shared, file(w), count(MPI_Offset{0}), number(MPI_SEEK_SET));
    } else {
        WRONG(File_seek_shared, file(w), fixed(MPI_Offset{0}), number(MPI_SEEK_SET));
    }
    TRANSFERS(, 1);
    WITH_REQUESTS(, 1);
#if defined(THENCE_MPI_LARGE_COUNTS)
    TRANSFERS(_c, MPI_Count{1});
    WITH_REQUESTS(_c, MPI_Count{1});
#endif
    END(read_all_end);
    END(write_all_end);
    END(read_at_all_end);
    END(write_at_all_end);
    END(read_ordered_end);
    END(write_ordered_end);
}

#else

void add_files(table &, world &) {}

#endif

} // namespace wrong_arguments
