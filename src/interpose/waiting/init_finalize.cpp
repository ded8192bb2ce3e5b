// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/waiting/init_finalize.hpp"

#include "core/continuation/lifetime.hpp"
#include "core/continuation/thread_state.hpp"
#include "core/diagnose/finalize_watch.hpp"
#include "core/diagnose/process_identity.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/implementation.hpp"
#include "core/mpi/raised_init.hpp"
#include "core/progress/progress.hpp"
#include "interpose/waiting/test_until_complete.hpp"
#include "interpose/waiting/unchanged.hpp"
#include "tasks/polling_call.hpp"

#include <chrono>
#include <thread>
#include <utility>

namespace thence::interpose {

namespace {

// Where mpi::finalize_may_not_return(). No thread of ours makes progress any more. All ranks come here before one calls
// MPI_Finalize. Then each leaves the others time to return from the barrier, also if a packet was lost, which TCP sends
// again after 0.2 s. Ranks without libthence do not come.
void wait_for_all_ranks_to_finalize() noexcept {
    int rank = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    if (mpi::table.Ibarrier(MPI_COMM_WORLD, &request) != MPI_SUCCESS) {
        return;
    }
    mpi::table.Comm_rank(MPI_COMM_WORLD, &rank);
    constexpr base::nanoseconds says_after = 10'000'000'000;
    bool said = rank > 1; // one of the first two ranks says it for all: the other may be the one that comes late
    test_until_complete(request, [&](base::nanoseconds waited) {
        if (waited >= says_after && !std::exchange(said, true)) {
            diagnose::print_to_stderr(
                "MPI_Finalize waits until all ranks call it, which MPICH before 5 on UCX needs between nodes. If some "
                "ranks run without libthence, start them by thence run, too, or link them with it\n");
        }
        return true;
    });
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
    if (mpi::finalize_may_not_return()) {
        wait_for_all_ranks_to_finalize();
    }
    return by_mpi();
}

bool in_callback() noexcept {
    return continuation::this_thread.in_callback();
}

} // namespace thence::interpose
