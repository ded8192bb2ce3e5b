// SPDX-License-Identifier: BSD-3-Clause
// Sets the value once, through MPI's tool interface. That interface stays initialized: to finalize it during a run
// would free objects that MPICH has created at its own start.
#include "core/mpi/request_poll_frequency.hpp"

#include "core/mpi/calls.hpp"

#include <cstdlib>

namespace thence::mpi {

#if defined(MPICH_VERSION) && !defined(I_MPI_VERSION)

namespace {

void write_larger(int index, int requests) noexcept {
    MPI_T_cvar_handle setting = MPI_T_CVAR_HANDLE_NULL;
    int count = 0;
    if (table.T_cvar_handle_alloc(index, nullptr, &setting, &count) != MPI_SUCCESS) {
        return;
    }
    int value = 0;
    if (count == 1 && table.T_cvar_read(setting, &value) == MPI_SUCCESS && value < requests) {
        table.T_cvar_write(setting, &requests);
    }
    table.T_cvar_handle_free(&setting);
}

} // namespace

void set_request_poll_frequency(int requests) noexcept {
    constexpr const char *name = "MPIR_CVAR_REQUEST_POLL_FREQ";
    if (table.Initialized != &PMPI_Initialized || std::getenv(name) != nullptr) {
        return; // a test has replaced the table, or the user has set the variable
    }
    static const bool usable = [] {
        int level = 0;
        return table.T_init_thread(MPI_THREAD_MULTIPLE, &level) == MPI_SUCCESS;
    }();
    int index = 0;
    if (usable && table.T_cvar_get_index(name, &index) == MPI_SUCCESS) {
        write_larger(index, requests);
    }
}

#else

void set_request_poll_frequency(int) noexcept {}

#endif

} // namespace thence::mpi
