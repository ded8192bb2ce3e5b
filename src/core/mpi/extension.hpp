// SPDX-License-Identifier: BSD-3-Clause
// Who provides an extension of MPICH in this process: MPI itself, Thence, or nobody. Each room that provides one says
// so for thence_extension_query().
#pragma once

namespace thence::mpi {

enum class extension_state { native, ours, not_possible };

struct extension_facts {
    extension_state state;
    const char *why; // one sentence; valid until MPI_Finalize
};

} // namespace thence::mpi
