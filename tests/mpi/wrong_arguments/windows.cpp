// SPDX-License-Identifier: BSD-3-Clause
// Calls on windows that MPI refuses. Whether a call is right depends on the epoch, so no row has good arguments.
#include "table.hpp"

namespace wrong_arguments {

#define CREATING(c, unit)                                                                                              \
    WRONG(Win_create##c, fixed<void *>(w.in), count(MPI_Aint{sizeof w.in}), count(unit),                               \
          fixed(MPI_Info{MPI_INFO_NULL}), comm(w.comm), pointer(&w.new_win));                                          \
    WRONG(Win_allocate##c, count(MPI_Aint{64}), count(unit), fixed(MPI_Info{MPI_INFO_NULL}), comm(w.comm),             \
          pointer<void>(&w.base), pointer(&w.new_win));                                                                \
    WRONG(Win_allocate_shared##c, count(MPI_Aint{64}), count(unit), fixed(MPI_Info{MPI_INFO_NULL}), comm(w.comm),      \
          pointer<void>(&w.base), pointer(&w.new_win))

#define TARGET(n) rank(), fixed(MPI_Aint{0}), count(n), type()
#define WITH_REQUESTS(c, n)                                                                                            \
    WRONG(Rput##c, pointer(w.in), count(n), type(), TARGET(n), win(w.win), pointer(w.requests));                       \
    WRONG(Rget##c, pointer(w.out), count(n), type(), TARGET(n), win(w.win), pointer(w.requests));                      \
    WRONG(Raccumulate##c, pointer(w.in), count(n), type(), TARGET(n), op(), win(w.win), pointer(w.requests));          \
    WRONG(Rget_accumulate##c, pointer(w.in), count(n), type(), pointer(w.out), count(n), type(), TARGET(n), op(),      \
          win(w.win), pointer(w.requests))
#define WITHOUT_REQUESTS(c, n)                                                                                         \
    WRONG(Put##c, pointer(w.in), count(n), type(), TARGET(n), win(w.win));                                             \
    WRONG(Get##c, pointer(w.out), count(n), type(), TARGET(n), win(w.win));                                            \
    WRONG(Accumulate##c, pointer(w.in), count(n), type(), TARGET(n), op(), win(w.win));                                \
    WRONG(Get_accumulate##c, pointer(w.in), count(n), type(), pointer(w.out), count(n), type(), TARGET(n), op(),       \
          win(w.win))

void add_windows(table &to, world &w) {
    CREATING(, 1);
#if defined(THENCE_MPI_LARGE_COUNTS)
    CREATING(_c, MPI_Aint{1});
#endif
    WITH_REQUESTS(, 1);
    WITHOUT_REQUESTS(, 1);
#if defined(THENCE_MPI_LARGE_COUNTS)
    WITH_REQUESTS(_c, MPI_Count{1});
    WITHOUT_REQUESTS(_c, MPI_Count{1});
#endif
    WRONG(Win_create_dynamic, fixed(MPI_Info{MPI_INFO_NULL}), comm(w.comm), pointer(&w.new_win));
    WRONG(Win_free, pointer(&w.win));
    to.add_call({"MPI_Win_free", "null window", true, true, [&w](bool pmpi) {
                     w.new_win = MPI_WIN_NULL;
                     return (pmpi ? &PMPI_Win_free : &MPI_Win_free)(&w.new_win);
                 }});
    WRONG(Win_fence, number(0), win(w.win));
    WRONG(Win_start, group(w.group), number(0), win(w.win));
    WRONG(Win_complete, win(w.win));
    WRONG(Win_post, group(w.group), number(0), win(w.win));
    WRONG(Win_wait, win(w.win));
    WRONG(Win_test, win(w.win), pointer(&w.flag));
    WRONG(Fetch_and_op, pointer(w.in), pointer(w.out), type(), rank(), fixed(MPI_Aint{0}), op(), win(w.win));
    WRONG(Compare_and_swap, pointer(w.in), pointer(w.in), pointer(w.out), type(), rank(), fixed(MPI_Aint{0}),
          win(w.win));
    WRONG(Win_lock, number(MPI_LOCK_SHARED), rank(), number(0), win(w.win));
    WRONG(Win_lock_all, number(0), win(w.win));
    WRONG(Win_unlock, rank(), win(w.win));
    WRONG(Win_unlock_all, win(w.win));
    WRONG(Win_flush, rank(), win(w.win));
    WRONG(Win_flush_all, win(w.win));
    WRONG(Win_flush_local, rank(), win(w.win));
    WRONG(Win_flush_local_all, win(w.win));
}

} // namespace wrong_arguments
