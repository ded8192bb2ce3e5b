// SPDX-License-Identifier: BSD-3-Clause
#include "pmpi/interposed.hpp"

#include "continuation/run.hpp"
#include "continuation/thread_state.hpp"
#include "engine/engine.hpp"
#include "mpi/calls.hpp"
#include "progress/progress.hpp"

#include <thence/thence.h>

#include <sched.h>

namespace thence::pmpi {

using continuation::attention;
using mpi::table;

bool plain(int count, const MPI_Request requests[]) noexcept {
    if (attention.load(std::memory_order_relaxed) != 0) {
        return false;
    }
    for (int i = 0; i < count; ++i) {
        if (continuation::is_cr_handle(requests[i])) {
            return false;
        }
    }
    return true;
}

namespace {

// The status goes to every continuation on this persistent request, and to the user.
int test_kept(MPI_Request *request, int *flag, MPI_Status *status) noexcept {
    continuation::busy_scope testing;
    return engine::current->polled.exclusively([&] {
        const MPI_Request handle = *request;
        if (!engine::current->polled.is_kept(handle)) {
            return table.Test(request, flag, status);
        }
        MPI_Status result = mpi::empty_status();
        *flag = 0;
        const int code = table.Test(request, flag, &result);
        if (*flag != 0 || code != MPI_SUCCESS) {
            engine::current->polled.completed_by_user(handle, result, code);
            if (status != MPI_STATUS_IGNORE) {
                *status = result;
            }
        }
        return code;
    });
}

} // namespace

int test_one(MPI_Request *request, int *flag, MPI_Status *status) noexcept {
    if (continuation::is_cr_handle(*request)) {
        return thence_test(request, flag, status);
    }
    if ((attention.load(std::memory_order_relaxed) & continuation::attention_kept) != 0 &&
        engine::current->polled.keeps()) {
        return test_kept(request, flag, status);
    }
    return table.Test(request, flag, status);
}

bool must_test() noexcept {
    const std::uint32_t now = attention.load(std::memory_order_relaxed);
    return continuation::this_thread.in_callback != 0 ||
           ((now & continuation::attention_kept) != 0 && engine::current->polled.keeps()) ||
           ((now & continuation::attention_hookless) != 0 && progress::ready.load(std::memory_order_relaxed));
}

void turn::operator()() noexcept {
    if (progress::has_hook()) {
        continuation::busy_scope polling;
        engine::current->poll();
    } else {
        continuation::busy_scope polling;
        engine::current->progress();
    }
    continuation::run_ready(64);
    if (++turns_ > 1000) {
        sched_yield();
    }
}

} // namespace thence::pmpi
