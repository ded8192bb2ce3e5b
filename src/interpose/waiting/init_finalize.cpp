// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/waiting/init_finalize.hpp"

#include "core/continuation/lifetime.hpp"
#include "core/continuation/thread_state.hpp"
#include "core/diagnose/finalize_watch.hpp"
#include "core/mpi/implementation.hpp"
#include "core/mpi/raised_init.hpp"
#include "core/progress/progress.hpp"
#include "interpose/waiting/unchanged.hpp"
#include "tasks/polling_call.hpp"

namespace thence::interpose {

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
    return by_mpi();
}

bool in_callback() noexcept {
    return continuation::this_thread.in_callback();
}

} // namespace thence::interpose
