// SPDX-License-Identifier: BSD-3-Clause
// The list of variants. Variants whose runtime was not found at configuration are missing.
#include "run.hpp"

#include <array>

namespace amr {
namespace {

// Not constexpr, since with some MPIs the thread levels are no constant expressions.
const std::array table{
    Variant{{"serial", "one rank, no messages; the reference", MPI_THREAD_SINGLE, false, false, false, true},
            solve_serial},
    Variant{{"mpi", "MPI only, nonblocking, unpacked in the order of arrival", MPI_THREAD_SINGLE, false, false},
            solve_mpi},
    Variant{{"callbacks", "one thread; parcels are put with notifications, whose callbacks say what is done next",
             MPI_THREAD_SINGLE, false, true},
            solve_callbacks,
            prepare_callbacks,
            release_callbacks},
#ifdef AMR_HAVE_OPENMP
    Variant{{"forkjoin", "OpenMP worksharing over parcels and blocks, MPI between the loops", MPI_THREAD_FUNNELED, true,
             false},
            solve_forkjoin},
#endif
#ifdef AMR_HAVE_TBB
    Variant{{"tampi", "data-flow tasks; a task per message ends when TAMPI_Iwait's operation is complete",
             MPI_THREAD_MULTIPLE, true, true, true},
            solve_tampi},
#endif
#ifdef AMR_HAVE_TAGASPI
    Variant{{"tagaspi", "data-flow tasks; parcels are written with notifications, acknowledgements in onready",
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

} // namespace amr
