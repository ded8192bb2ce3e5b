// SPDX-License-Identifier: BSD-3-Clause
// The list of variants. Variants whose runtime was not found at configuration are missing.
#include "run.hpp"

#ifdef HEAT_HAVE_TBB
#include <TAMPI.h>
#endif
#include <array>

namespace heat {
namespace {

// Not constexpr, since with some MPIs the thread levels are no constant expressions.
const std::array table{
    Variant{{"serial", "one sweep over the plate, no messages; the reference", MPI_THREAD_SINGLE, false, false, false,
             true},
            solve_serial},
    Variant{{"mpi", "MPI only, nonblocking, one row of blocks per rank", MPI_THREAD_SINGLE, false, false}, solve_mpi},
    Variant{{"callbacks",
             "one thread; pieces of rows are put with notifications, whose callbacks say what is computed next",
             MPI_THREAD_SINGLE, false, true},
            solve_callbacks,
            prepare_callbacks,
            release_callbacks},
#ifdef HEAT_HAVE_OPENMP
    Variant{{"forkjoin", "OpenMP worksharing along anti-diagonals, MPI between the iterations", MPI_THREAD_FUNNELED,
             true, false},
            solve_forkjoin},
    Variant{{"omp-tasks", "OpenMP tasks with dependences; messages are detached tasks completed by Thence",
             MPI_THREAD_MULTIPLE, true, true},
            solve_omp_tasks},
#endif
#ifdef HEAT_HAVE_TBB
    Variant{{"tbb", "oneTBB flow graph; messages are asynchronous nodes completed by Thence", MPI_THREAD_MULTIPLE, true,
             true},
            solve_tbb},
    Variant{{"tampi-blocking", "data-flow tasks; a task per message calls MPI_Send or MPI_Recv, which block the task",
             MPI_TASK_MULTIPLE, true, true, true},
            solve_tampi_blocking},
    Variant{{"tampi-iwait", "data-flow tasks; a task per message ends when TAMPI_Iwait's operation is complete",
             MPI_THREAD_MULTIPLE, true, true, true},
            solve_tampi_iwait},
    Variant{
        {"dataflow", "data-flow tasks; blocks receive in onready, before their sweep", MPI_THREAD_MULTIPLE, true, true},
        solve_dataflow},
#endif
#ifdef HEAT_HAVE_TAGASPI
    Variant{{"tagaspi", "data-flow tasks; pieces of rows are written into the next band, with notifications",
             MPI_THREAD_MULTIPLE, true, false},
            solve_tagaspi,
            prepare_tagaspi,
            release_tagaspi},
#endif
};

} // namespace

std::span<const Variant> variants() {
    return table;
}

} // namespace heat
