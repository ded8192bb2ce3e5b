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
    Variant{"serial", "one sweep over the plate, no messages; the reference", solve_serial, MPI_THREAD_SINGLE, false,
            false},
    Variant{"mpi", "MPI only, nonblocking, one row of blocks per rank", solve_mpi, MPI_THREAD_SINGLE, false, false},
#ifdef HEAT_HAVE_OPENMP
    Variant{"forkjoin", "OpenMP worksharing along anti-diagonals, MPI between the iterations", solve_forkjoin,
            MPI_THREAD_FUNNELED, true, false},
    Variant{"omp-tasks", "OpenMP tasks with dependences; messages are detached tasks completed by Thence",
            solve_omp_tasks, MPI_THREAD_MULTIPLE, true, true},
#endif
#ifdef HEAT_HAVE_TBB
    Variant{"tbb", "oneTBB flow graph; messages are asynchronous nodes completed by Thence", solve_tbb,
            MPI_THREAD_MULTIPLE, true, true},
    Variant{"tampi-blocking", "data-flow tasks; a task per message calls MPI_Send or MPI_Recv, which block the task",
            solve_tampi_blocking, MPI_TASK_MULTIPLE, true, true, true},
    Variant{"tampi-iwait", "data-flow tasks; a task per message ends when TAMPI_Iwait's operation is complete",
            solve_tampi_iwait, MPI_THREAD_MULTIPLE, true, true, true},
    Variant{"dataflow", "data-flow tasks; blocks receive in onready, before their sweep", solve_dataflow,
            MPI_THREAD_MULTIPLE, true, true},
#endif
};

} // namespace

std::span<const Variant> variants() {
    return table;
}

const Variant *find_variant(std::string_view name) {
    for (const Variant &v : table)
        if (name == v.name)
            return &v;
    return nullptr;
}

} // namespace heat
