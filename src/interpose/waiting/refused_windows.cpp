// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/waiting/refused_windows.hpp"

#include "core/diagnose/process_identity.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/implementation.hpp"
#include "interpose/waiting/unchanged.hpp"

#include <atomic>
#include <string>

namespace thence::interpose {

namespace {

bool is_refusal(int code) noexcept {
    int error_class = MPI_SUCCESS;
    return mpi::table.Error_class(code, &error_class) == MPI_SUCCESS && error_class == MPI_ERR_WIN;
}

} // namespace

void tell_if_level_forbids_windows(const char *call, int code) noexcept {
    static std::atomic<bool> said{false};
    if (unchanged::reported_level() < MPI_THREAD_MULTIPLE && mpi::level_may_forbid_windows() && is_refusal(code) &&
        !said.exchange(true)) {
        diagnose::print_to_stderr(
            std::string(call) + " has failed: THENCE_PROGRESS=always has raised the thread level of MPI to "
                                "MPI_THREAD_MULTIPLE, at which this Open MPI may have no one-sided communication. Run "
                                "the program without --progress, or with OMPI_MCA_osc=ucx, which has it\n");
    }
}

} // namespace thence::interpose
