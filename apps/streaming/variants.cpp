// SPDX-License-Identifier: BSD-3-Clause
// The list of variants. Variants whose runtime was not found at configuration are missing.
#include "run.hpp"

#include <array>

namespace streaming {
namespace {

// Not constexpr, since with some MPIs the thread levels are no constant expressions.
const std::array table{
    Variant{
        {"serial", "one rank, all functions, no messages; the reference", MPI_THREAD_SINGLE, false, false, false, true},
        solve_serial},
    Variant{{"mpi", "MPI only, nonblocking, receives of a whole chunk posted ahead", MPI_THREAD_SINGLE, false, false},
            solve_mpi},
#ifdef STREAMING_HAVE_OPENMP
    Variant{{"forkjoin", "OpenMP worksharing over the blocks of a chunk, MPI between the chunks", MPI_THREAD_FUNNELED,
             true, false},
            solve_forkjoin},
#endif
    Variant{{"callbacks", "one thread; blocks are put with notifications, whose callbacks say what is computed next",
             MPI_THREAD_SINGLE, false, true},
            solve_callbacks,
            prepare_callbacks,
            release_callbacks},
#ifdef STREAMING_HAVE_TBB
    Variant{{"tampi", "data-flow tasks; a task per message ends when TAMPI_Iwait's operation is complete",
             MPI_THREAD_MULTIPLE, true, true, true},
            solve_tampi},
#endif
#ifdef STREAMING_HAVE_TAGASPI
    Variant{{"tagaspi", "data-flow tasks; blocks are written with notifications, acknowledgements in onready",
             MPI_THREAD_MULTIPLE, true, false},
            solve_tagaspi,
            prepare_tagaspi,
            release_tagaspi},
    Variant{{"tagaspi-tasks", "the same, with a task for each acknowledgement", MPI_THREAD_MULTIPLE, true, false},
            solve_tagaspi_tasks,
            prepare_tagaspi,
            release_tagaspi},
#endif
};

} // namespace

std::span<const Variant> variants() {
    return table;
}

} // namespace streaming
