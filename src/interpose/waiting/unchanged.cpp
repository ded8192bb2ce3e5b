// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/waiting/unchanged.hpp"

#include "core/base/clock.hpp"
#include "core/base/settings.hpp"
#include "core/continuation/library.hpp"
#include "core/continuation/thread_state.hpp"
#include "core/mpi/calls.hpp"
#include "core/progress/catch_up.hpp"
#include "core/progress/plain_operations.hpp"
#include "core/progress/progress.hpp"
#include "interpose/waiting/report.hpp"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <sched.h>

namespace thence::interpose {

std::atomic<bool> waits_leave_the_processor{false};

namespace {

using base::nanoseconds;

std::atomic<bool> yields{false};
std::atomic<int> level{INT_MAX};

bool applies() noexcept {
    return waits_leave_the_processor.load(std::memory_order_relaxed) && !continuation::this_thread.in_callback();
}

// A call first tests without a pause. Then it yields, which lets another rank run that waits for the same processor.
// Beside a thread that computes a yield costs a time slice: after one that did, no call yields for some time. Then it
// sleeps, the longer the longer it has waited: a message that comes soon is found soon, and a rank that waits for
// seconds uses about a fiftieth of a processor.
constexpr unsigned tests_without_pause = 16;
constexpr nanoseconds yields_for = 200'000;
constexpr nanoseconds slice = 500'000;
constexpr nanoseconds after_slice = 40'000'000;
constexpr nanoseconds short_sleep = 50'000;
constexpr nanoseconds long_sleep = 1'000'000;
constexpr nanoseconds part = 1000; // of the time waited

std::atomic<nanoseconds> may_yield{0}; // from this time on

// @return when it was back; 0: it has not yielded.
nanoseconds yield(nanoseconds now, nanoseconds waited) noexcept {
    const bool always = yields.load(std::memory_order_relaxed);
    if (!always && (waited >= yields_for || now < may_yield.load(std::memory_order_relaxed))) {
        return 0;
    }
    sched_yield();
    const nanoseconds back = base::read_clock();
    if (back - now > slice) {
        may_yield.store(back + after_slice, std::memory_order_relaxed);
    }
    return back;
}

void pause(polling_call &call) noexcept {
    progress::take_turn();
    if (++call.turns <= tests_without_pause) {
        return;
    }
    thence_backoff &backoff = call.backoff;
    const nanoseconds now = base::read_clock();
    if (backoff.since == 0) {
        backoff.since = backoff.due = now;
        backoff.misses = backoff.spins + 1; // it has spun
    }
    const nanoseconds waited = now - backoff.since;
    if (const nanoseconds back = yield(now, waited); back != 0) {
        backoff.due = back; // what it has lost by the yield says nothing about sleeps
        return;
    }
    backoff.longest = std::clamp(waited / part, short_sleep, long_sleep);
    if (progress::pause(backoff)) {
        progress::catch_up_after_sleep();
    }
}

int complete(MPI_Request *request, MPI_Status *status, const void *) noexcept {
    return complete_by_tests(request, status, &pause);
}

void begin_progress() noexcept {
    const char *why = progress::count_operations();
    if (why != nullptr) {
        std::fprintf(stderr, "thence: THENCE_PROGRESS=always: no helper thread, %s\n", why);
    }
}

} // namespace

const wait_strategy leaving_the_processor{"test and pause", &applies, &complete, &pause};

void wait_for_ranks_asleep(MPI_Comm comm) noexcept {
    int ranks = 0;
    int inter = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    if (comm != MPI_COMM_NULL && applies() && mpi::table.Comm_test_inter(comm, &inter) == MPI_SUCCESS && inter == 0 &&
        mpi::table.Comm_size(comm, &ranks) == MPI_SUCCESS && ranks > 1 &&
        mpi::table.Ibarrier(comm, &request) == MPI_SUCCESS && request != MPI_REQUEST_NULL) {
        complete(&request, MPI_STATUS_IGNORE, nullptr);
    }
}

namespace unchanged {

bool raises_level() noexcept {
    return base::read_settings().progress_always;
}

void tell_level(int told) noexcept {
    level.store(told, std::memory_order_relaxed);
}

int told_level() noexcept {
    return level.load(std::memory_order_relaxed);
}

void mpi_initialized() noexcept {
    const base::settings &chosen = base::current_settings();
    const bool leaves = chosen.wait != base::waiting::in_mpi;
    if ((!leaves && !chosen.progress_always && !chosen.report) ||
        continuation::set_up() != continuation::setting_up::done) {
        return;
    }
    if (leaves) {
        yields.store(chosen.wait == base::waiting::yield);
        progress::plain.in_mpi.store(false); // the helper makes progress while a call sleeps
        waits_leave_the_processor.store(true);
        progress::add_way_to_wait();
    }
    if (chosen.progress_always) {
        begin_progress();
    }
    if (chosen.report) {
        begin_report();
    }
}

void mpi_finalizes() noexcept {
    wait_for_ranks(MPI_COMM_WORLD);
    write_report();
    progress::stop_observing_calls();
    progress::plain.in_mpi.store(true);
    if (waits_leave_the_processor.exchange(false)) {
        progress::remove_way_to_wait();
    }
}

} // namespace unchanged
} // namespace thence::interpose
