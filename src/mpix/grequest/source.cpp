// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/grequest/source.hpp"

#include "core/base/clock.hpp"
#include "core/continuation/lifetime.hpp"
#include "core/continuation/run.hpp"
#include "core/continuation/thread_state.hpp"
#include "core/progress/interposed.hpp"
#include "core/progress/progress.hpp"
#include "core/progress/source.hpp"
#include "mpix/grequest/async.hpp"
#include "mpix/grequest/request.hpp"

#include <atomic>
#include <cstdio>
#include <mutex>

namespace thence::grequest {

// Never destroyed: the helper thread polls them until the process has ended.
polled_list &may_call_mpi = *new polled_list;
polled_list &never_call_mpi = *new polled_list;
std::atomic<bool> is_set_up{false};

namespace {

std::atomic<long> ended_in_hook{0}; // under a lock of MPI, and not counted by run() yet

bool poll_one(polled &thing) noexcept {
    return thing.kind == polled_kind::generalized_request ? poll(static_cast<generalized &>(thing))
                                                          : poll(static_cast<thence_async &>(thing));
}

long pass(polled_list &list) noexcept {
    const continuation::busy_scope polling; // no callback runs inside a function of the user
    return list.pass(&poll_one);
}

bool outstanding() noexcept {
    return !may_call_mpi.empty() || !never_call_mpi.empty();
}

bool poll_source(progress::polled_from where) noexcept {
    if (where == progress::polled_from::locked_hook) {
        if (!never_call_mpi.empty() && may_run_here()) {
            ended_in_hook.fetch_add(pass(never_call_mpi), std::memory_order_relaxed);
        }
        return false;
    }
    return outstanding() && may_run_here();
}

// It calls each function at most once, however large the limit is.
long run(long) noexcept {
    if (!outstanding() || !may_run_here()) {
        return 0;
    }
    long ended = 0;
    if (!may_call_mpi.empty()) {
        ended += pass(may_call_mpi);
    }
    if (!never_call_mpi.empty()) {
        ended += pass(never_call_mpi);
    }
    return ended + ended_in_hook.exchange(0, std::memory_order_relaxed);
}

const progress::source as_source{"generalized requests", &outstanding, &poll_source, &run};

// Async functions run until they say that they are done, as in MPICH's MPI_Finalize.
void finish_async() noexcept {
    constexpr std::uint32_t patience_ms = 10000;
    const std::uint32_t begun = base::coarse_milliseconds();
    thence_backoff backoff = progress::backoff_of_short_wait();
    for (bool told = false; running_async() != 0 && continuation::free_to_run();) {
        continuation::make_progress_or_pause(backoff);
        if (!told && base::coarse_milliseconds() - begun > patience_ms) {
            told = true;
            std::fprintf(stderr,
                         "thence: MPI_Finalize: waits for %ld async functions (thence_async_start), which have not"
                         " returned THENCE_ASYNC_DONE\n",
                         running_async());
        }
    }
}

void tear_down() noexcept;
constinit continuation::finalize_functions at_finalize{&finish_async, &tear_down};

std::mutex mutex; // guards setting up and tearing down

void tear_down() noexcept {
    const std::scoped_lock guard(mutex);
    if (!is_set_up) {
        return;
    }
    is_set_up = false;
    progress::remove_source(as_source);
    if (const long left = incomplete(); left != 0) {
        std::fprintf(stderr, "thence: MPI_Finalize: %ld generalized requests are not complete\n", left);
    }
    {
        const std::scoped_lock lists(room_lock);
        may_call_mpi.clear();
        never_call_mpi.clear();
        forget_all_async();
    }
    forget_all();
}

} // namespace

bool set_up_first() noexcept {
    const std::scoped_lock guard(mutex);
    if (!is_set_up) {
        if (!progress::add_source(as_source)) {
            return false;
        }
        continuation::add_finalize_functions(at_finalize);
        is_set_up = true;
    }
    return true;
}

namespace {

// The most that there ever were, with room_lock.
std::size_t most_requests = 0;
std::size_t most_things = 0;

bool make_room() noexcept {
    const std::size_t most = most_requests + most_things;
    return may_call_mpi.make_room(most) && never_call_mpi.make_room(most);
}

} // namespace

bool room_for_requests(std::size_t count) noexcept {
    most_requests = count;
    return make_room();
}

bool room_for_things(std::size_t count) noexcept {
    most_things = count;
    return make_room();
}

bool any_polled() noexcept {
    return outstanding();
}

mpi::extension_facts grequest_facts() noexcept {
    return {
        mpi::extension_state::ours,
        progress::hook_runs()
            ? "a generalized request of MPI's own is polled from MPI's progress hook, so every call completes it"
        : progress::interposed.calls
            ? "a generalized request of MPI's own is polled in interposed calls: this MPI has no hook that may call MPI"
            : "a generalized request of MPI's own is polled in calls of Thence: this MPI has no hook that may call"
              " MPI, and MPI's calls do not come to libthence"};
}

mpi::extension_facts async_facts() noexcept {
    return {mpi::extension_state::ours,
            progress::hook_runs() ? "they run in MPI's progress hook, and may call MPI there"
                                  : "they run in interposed calls and in calls of Thence, and may call MPI there"};
}

} // namespace thence::grequest
