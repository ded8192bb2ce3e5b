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

void say_why(const char *call) noexcept {
    static std::atomic<bool> said{false};
    if (!said.exchange(true)) {
        diagnose::print_to_stderr(
            std::string(call) + " has failed: THENCE_PROGRESS=always has raised the thread level of MPI to "
                                "MPI_THREAD_MULTIPLE, at which this Open MPI may have no one-sided communication. Run "
                                "the program without --progress, or with OMPI_MCA_osc=ucx, which has it\n");
    }
}

} // namespace

// Only a program that has asked for less than MPI_THREAD_MULTIPLE is told less. So no other thread of it makes a call
// that would find the changed error handler.
window_creation::window_creation(MPI_Comm comm) noexcept : comm_(comm) {
    if (comm != MPI_COMM_NULL && unchanged::reported_level() < MPI_THREAD_MULTIPLE && mpi::level_may_forbid_windows() &&
        mpi::table.Comm_get_errhandler(comm, &users_) == MPI_SUCCESS) {
        mpi::table.Comm_set_errhandler(comm, mpi::errors_return());
    }
}

int window_creation::end(const char *call, int code) noexcept {
    if (users_ == MPI_ERRHANDLER_NULL) {
        return code;
    }
    mpi::table.Comm_set_errhandler(comm_, users_);
    mpi::table.Errhandler_free(&users_);
    if (code != MPI_SUCCESS) {
        if (is_refusal(code)) {
            say_why(call);
        }
        mpi::table.Comm_call_errhandler(comm_, code);
    }
    return code;
}

} // namespace thence::interpose
