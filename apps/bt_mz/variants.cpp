// SPDX-License-Identifier: BSD-3-Clause
// The list of variants. Variants whose runtime was not found at configuration are missing.
#include "run.hpp"

#ifdef BT_MZ_HAVE_TBB
#include <TAMPI.h>
#endif
#include <array>

namespace bt_mz {
namespace {

// Not constexpr, since with some MPIs the thread levels are no constant expressions.
const std::array table{
    Variant{{"serial", "one thread, no messages; the reference", MPI_THREAD_SINGLE, false, false}, solve_mpi},
    Variant{{"mpi", "one thread per rank; all faces are exchanged between the steps", MPI_THREAD_SINGLE, false, false},
            solve_mpi},
    Variant{{"waitsome", "one thread per rank; a zone goes on when it has its faces, by MPI_Waitsome",
             MPI_THREAD_SINGLE, false, false},
            solve_waitsome},
    Variant{{"callbacks", "the same by continuations (C API)", MPI_THREAD_SINGLE, false, true}, solve_callbacks},
#ifdef BT_MZ_HAVE_OPENMP
    Variant{{"forkjoin", "OpenMP worksharing in one zone after the other, MPI between the steps", MPI_THREAD_FUNNELED,
             true, false},
            solve_forkjoin},
    Variant{{"omp-tasks", "OpenMP tasks with dependences; messages are detached tasks completed by Thence",
             MPI_THREAD_MULTIPLE, true, true},
            solve_omp_tasks},
#endif
#ifdef BT_MZ_HAVE_TBB
    Variant{{"tampi-blocking", "data-flow tasks; a task calls MPI_Waitall for the messages of a zone, which blocks it",
             MPI_TASK_MULTIPLE, true, true, true},
            solve_tampi_blocking},
    Variant{{"tampi-iwait", "data-flow tasks; a task ends when the messages of TAMPI_Iwaitall are complete",
             MPI_THREAD_MULTIPLE, true, true, true},
            solve_tampi_iwait},
    Variant{{"dataflow", "data-flow tasks; messages delay the end of the task that starts them", MPI_THREAD_MULTIPLE,
             true, true},
            solve_dataflow},
#endif
};

} // namespace

std::span<const Variant> variants() {
    return table;
}

} // namespace bt_mz
