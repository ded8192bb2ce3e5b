// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/waiting/unchanged.hpp"

#include "core/base/clock.hpp"
#include "core/base/settings.hpp"
#include "core/continuation/lifetime.hpp"
#include "core/continuation/thread_state.hpp"
#include "core/diagnose/process_identity.hpp"
#include "core/diagnose/trace.hpp"
#include "core/mpi/calls.hpp"
#include "core/progress/catch_up.hpp"
#include "core/progress/plain_operations.hpp"
#include "core/progress/progress.hpp"
#include "interpose/waiting/report.hpp"
#include "interpose/waiting/test_until_complete.hpp"
#include "interpose/waiting/usual_wait.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <sched.h>
#include <string>
#include <utility>

namespace thence::interpose {

std::atomic<bool> waits_leave_the_processor{false};
std::atomic<bool> all_ranks_leave_the_processor{false};
constinit usual_wait usual_wait_of_process;

namespace {

using base::nanoseconds;

std::atomic<bool> yields{false};
std::atomic<int> level{INT_MAX};
std::atomic<bool> init_was_interposed{false}; // MPI_Init, or MPI_Init_thread
std::atomic<bool> has_session{false};         // or had one

bool applies() noexcept {
    return waits_leave_the_processor.load(std::memory_order_relaxed) && !continuation::this_thread.in_callback();
}

// A call first tests without a pause. Then it yields, which lets another rank run that waits for the same processor.
// Beside a thread that computes a yield costs a time slice: after one that did, no call yields for 16 times as long as
// that yield lasted. Then it sleeps, the longer the longer it has waited: a message that comes soon is found soon, and
// a rank that waits for seconds uses about a fortieth of a processor. How long it yields, and how long it sleeps at
// most, depends on how long calls of this process usually wait.
constexpr unsigned tests_without_pause = 4;
constexpr nanoseconds slice = 500'000;
constexpr nanoseconds longest_slice = 10'000'000; // a longer yield has other reasons
constexpr nanoseconds times_a_slow_yield = 16;

std::atomic<nanoseconds> may_yield{0}; // from this time on

// A wait that is long since another program had the processor says nothing about other ranks, so it is not learnt
// unless it is much longer than that.
void has_lost_its_processor(const polling_call &call) noexcept {
    const nanoseconds waited = base::read_clock() - call.backoff.since;
    if (waited >= times_a_slow_yield * longest_slice) {
        usual_wait_of_process.learn(waited);
    }
}

void has_waited(const polling_call &call) noexcept {
    const nanoseconds now = base::read_clock();
    if (now - call.backoff.due > slice) {
        has_lost_its_processor(call);
    } else {
        usual_wait_of_process.learn(now - call.backoff.since);
    }
}

// @return when it was back; 0: it has not yielded.
nanoseconds yield(polling_call &call, nanoseconds now, nanoseconds waited) noexcept {
    const bool always = yields.load(std::memory_order_relaxed);
    if (!always && (waited >= yield_time(call.backoff.usual) || now < may_yield.load(std::memory_order_relaxed))) {
        return 0;
    }
    sched_yield();
    const nanoseconds back = base::read_clock();
    if (back - now > slice) {
        may_yield.store(back + times_a_slow_yield * std::min(back - now, longest_slice), std::memory_order_relaxed);
        call.ends = &has_lost_its_processor;
    }
    return back;
}

void pause(polling_call &call) noexcept {
    progress::poll_and_run_some();
    if (++call.turns <= tests_without_pause) {
        return;
    }
    thence_backoff &backoff = call.backoff;
    const nanoseconds now = base::read_clock();
    if (backoff.since == 0) {
        backoff.since = backoff.due = now;
        backoff.misses = backoff.spins + 1; // it has spun
        backoff.usual = usual_wait_of_process.length();
        call.ends = &has_waited;
    }
    const nanoseconds waited = now - backoff.since;
    if (const nanoseconds back = yield(call, now, waited); back != 0) {
        backoff.due = back; // what it has lost by the yield says nothing about sleeps
        return;
    }
    backoff.longest = longest_sleep(waited, backoff.usual);
    progress::pause_and_catch_up(backoff);
}

int complete(MPI_Request *request, MPI_Status *status, const void *) noexcept {
    return complete_by_tests(request, status, &pause);
}

// Of a rank that waits for others in MPI_Init: most MPIs let none leave it before all have come.
constexpr nanoseconds waits_silently = 10'000'000'000;
constexpr nanoseconds waits_at_most = 60'000'000'000;

// The collective operation of this rank stays pending, so later ones of the program would match it on other ranks: it
// cannot go on.
void end_program() noexcept {
    diagnose::print_to_stderr(
        "THENCE_WAIT: some ranks have not told how they wait, so this rank ends the program: they run without "
        "THENCE_WAIT or without libthence. Start all ranks of MPI_COMM_WORLD by thence run --wait=..., or set "
        "THENCE_WAIT "
        "and LD_PRELOAD for all\n");
    mpi::table.Abort(MPI_COMM_WORLD, 1);
}

// Of a program whose MPI_Init has not come here: the names of those that it has set. What observes continuations works
// as soon as the program uses Thence.
std::string settings_without_effect() {
    const base::settings &chosen = base::current_settings();
    const bool used_thence = diagnose::process_identity().pid != 0;
    std::string names;
    const auto add = [&names](bool is_set, const char *name) {
        if (is_set) {
            names += (names.empty() ? "" : ", ") + std::string(name);
        }
    };
    add(chosen.progress_always, "THENCE_PROGRESS");
    add(chosen.wait != base::waiting::in_mpi, "THENCE_WAIT");
    add(chosen.report, "THENCE_REPORT");
    add(chosen.stall.count() != 0 && !used_thence, "THENCE_STALL");
    add(!chosen.trace.empty() && !used_thence, "THENCE_TRACE");
    return names;
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
    if (comm != MPI_COMM_NULL && mpi::table.Comm_test_inter(comm, &inter) == MPI_SUCCESS && inter == 0 &&
        mpi::table.Comm_size(comm, &ranks) == MPI_SUCCESS && ranks > 1 &&
        mpi::table.Ibarrier(comm, &request) == MPI_SUCCESS && request != MPI_REQUEST_NULL) {
        (applies() ? leaving_the_processor : testing).complete(&request, MPI_STATUS_IGNORE, nullptr);
    }
}

namespace unchanged {

bool raises_level() noexcept {
    return base::read_settings().progress_always;
}

bool ask_all_ranks(bool leaves, base::nanoseconds says_after, base::nanoseconds gives_up_after) noexcept {
    int ranks = 0;
    int rank = 0;
    if (mpi::table.Comm_size(MPI_COMM_WORLD, &ranks) != MPI_SUCCESS || ranks <= 1 ||
        mpi::table.Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS) {
        return leaves;
    }
    static std::array<int, 2> own; // of an operation that may stay pending
    static std::array<int, 2> all;
    own = {leaves ? 1 : 0, leaves ? rank : INT_MAX};
    MPI_Request request = MPI_REQUEST_NULL;
    if (mpi::table.Iallreduce(own.data(), all.data(), 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request) != MPI_SUCCESS) {
        return false;
    }
    bool said = false;
    const bool complete = test_until_complete(request, [&](nanoseconds waited) {
        if (waited >= says_after && !std::exchange(said, true)) {
            diagnose::print_to_stderr(
                "THENCE_WAIT: this rank waits in MPI_Init for others to tell how they wait. Set THENCE_WAIT "
                "for all ranks of MPI_COMM_WORLD, with libthence in all: spin for those that shall wait as "
                "MPI does\n");
        }
        if (waited >= gives_up_after) {
            end_program();
            return false;
        }
        return true;
    });
    if (!complete) {
        return false;
    }
    if (all[0] == 0 && all[1] == rank) {
        diagnose::print_to_stderr(
            "THENCE_WAIT: not all ranks leave the processor while they wait, so blocking collectives "
            "wait inside MPI on all of them: set THENCE_WAIT alike for all ranks\n");
    }
    return all[0] != 0;
}

void set_reported_level(int reported) noexcept {
    level.store(reported, std::memory_order_relaxed);
}

int reported_level() noexcept {
    return level.load(std::memory_order_relaxed);
}

void mpi_initialized() noexcept {
    init_was_interposed.store(true);
    const base::settings &chosen = base::current_settings();
    const bool tells_how_it_waits = !chosen.state_of(base::setting::wait).text.value_or("").empty();
    bool leaves = chosen.wait != base::waiting::in_mpi;
    const bool finds_stalls = chosen.stall.count() != 0;
    const bool wanted = leaves || chosen.progress_always || chosen.report || finds_stalls || !chosen.trace.empty();
    const bool possible = wanted && continuation::set_up() == continuation::setting_up::done;
    leaves = leaves && possible;
    if (tells_how_it_waits) {
        all_ranks_leave_the_processor.store(ask_all_ranks(leaves, waits_silently, waits_at_most));
    }
    if (!possible) {
        return;
    }
    if (leaves) {
        yields.store(chosen.wait == base::waiting::yield);
        progress::plain.in_mpi.store(false);
        waits_leave_the_processor.store(true);
        progress::add_way_to_wait();
    }
    if (chosen.progress_always) {
        begin_progress();
    }
    if (chosen.report) {
        begin_report();
    }
    if (finds_stalls) {
        progress::list_calls();
    }
    if (diagnose::trace_is_open()) {
        progress::trace_calls();
    }
}

void mpi_finalizes() noexcept {
    wait_for_ranks(MPI_COMM_WORLD);
    write_report();
    progress::stop_observing_calls();
    progress::plain.in_mpi.store(true);
    all_ranks_leave_the_processor.store(false);
    if (waits_leave_the_processor.exchange(false)) {
        progress::remove_way_to_wait();
    }
}

void session_began() noexcept {
    has_session.store(true);
}

void process_ends() noexcept {
    const std::string settings = init_was_interposed.load() ? "" : settings_without_effect();
    if (settings.empty()) {
        return;
    }
    int initialized = 0; // on Intel MPI by a session, too
    if (has_session.load()) {
        std::fprintf(stderr,
                     "thence: the program has used MPI by sessions only, so these settings have had no effect: %s. "
                     "They begin with MPI_Init or MPI_Init_thread, which a program may call beside MPI_Session_init\n",
                     settings.c_str());
    } else if (mpi::table.Initialized(&initialized) == MPI_SUCCESS && initialized != 0) {
        std::fprintf(stderr,
                     "thence: MPI was initialized, and no call has come to libthence, so these settings have had no "
                     "effect: %s. A program that looks MPI's functions up by dlsym() in the library of MPI has to "
                     "load libthence in place of that\n",
                     settings.c_str());
    }
}

} // namespace unchanged
} // namespace thence::interpose
