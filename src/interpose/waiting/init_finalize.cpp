// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/waiting/init_finalize.hpp"

#include "core/continuation/lifetime.hpp"
#include "core/continuation/thread_state.hpp"
#include "core/diagnose/finalize_watch.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/implementation.hpp"
#include "core/mpi/raised_init.hpp"
#include "core/progress/progress.hpp"
#include "interpose/waiting/unchanged.hpp"
#include "tasks/polling_call.hpp"

#include <chrono>
#include <cstdlib>
#include <thread>

namespace thence::interpose {

namespace {

// Where mpi::finalize_needs_answers(). No thread of ours makes progress any more. All ranks come here before one calls
// MPI_Finalize, and then the first ones leave the others time to get out of their last call, also if a packet for that
// was lost: TCP sends it again after 0.2 s.
void wait_until_no_rank_answers() noexcept {
    int ranks = 0;
    const char *const on_this_node = std::getenv("MPI_LOCALNRANKS"); // from the launcher of MPICH
    MPI_Request request = MPI_REQUEST_NULL;
    if (mpi::table.Comm_size(MPI_COMM_WORLD, &ranks) != MPI_SUCCESS || ranks == 1 ||
        (on_this_node != nullptr && std::atoi(on_this_node) == ranks) ||
        mpi::table.Ibarrier(MPI_COMM_WORLD, &request) != MPI_SUCCESS) {
        return;
    }
    mpi::table.Wait(&request, MPI_STATUS_IGNORE);
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
}

} // namespace

bool register_lookup(interposition (*look)() noexcept) noexcept {
    progress::look_where_calls_lead = look;
    return true;
}

int with_raised_level(int (*init)(int *, char ***), int *argc, char ***argv) {
    const mpi::raised_init while_it_lasts;
    return init(argc, argv);
}

void mpi_initialized() noexcept {
    continuation::mpi_initialized();
    unchanged::mpi_initialized();
}

int finalize(int (*by_mpi)(), const void *where) noexcept {
    const diagnose::finalize_watch watch(where);
    unchanged::mpi_finalizes();
    if (mpi::finalize_forbids_other_threads()) {
        task::close_polling_calls();
    }
    progress::leave_before_finalize();
    if (mpi::finalize_needs_answers()) {
        wait_until_no_rank_answers();
    }
    return by_mpi();
}

bool in_callback() noexcept {
    return continuation::this_thread.in_callback();
}

} // namespace thence::interpose
