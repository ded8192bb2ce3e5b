// SPDX-License-Identifier: BSD-3-Clause
// Tells whether a function of MPI is interposed in this program, by a shared or a static libthence.
#pragma once

#include <dlfcn.h>

// True if MPI_X is in another object file than PMPI_X.
template <class Function> bool is_interposed(Function *mpi, Function *pmpi) {
    Dl_info called{};
    Dl_info own{};
    return dladdr(reinterpret_cast<void *>(mpi), &called) != 0 && dladdr(reinterpret_cast<void *>(pmpi), &own) != 0 &&
           called.dli_fbase != own.dli_fbase;
}
