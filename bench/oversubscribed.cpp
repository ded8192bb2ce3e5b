// SPDX-License-Identifier: BSD-3-Clause
// More ranks than processors, in a program that knows nothing of Thence: a barrier, a small reduction, and heat by MPI
// alone, as MPI waits and under `thence run --wait=sleep`.
#include "measure/benchmark.hpp"
#include "measure/busy_processes.hpp"
#include "measure/clock.hpp"
#include "measure/library.hpp"
#include "measure/limit.hpp"

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

namespace {

using measure::now;

// Microseconds of one call. Many short ones are measured: one time slice that a rank loses is as long as hundreds.
template <class Call> double time_of(const measure::work &work, Call call) {
    const measure::nanoseconds lasts = work.quick() ? 300'000'000 : 1'000'000'000;
    constexpr int at_a_time = 50;
    call();
    const measure::nanoseconds begun = now();
    int count = 0;
    for (int more = 1; more != 0; count += at_a_time) {
        for (int i = 0; i < at_a_time; ++i) {
            call();
        }
        more = now() - begun < lasts ? 1 : 0;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return static_cast<double>(now() - begun) / 1000 / count;
}

void calls(measure::work &work) {
    work.result("barrier", time_of(work, [] { MPI_Barrier(MPI_COMM_WORLD); }));
    work.result("allreduce", time_of(work, [] {
                    const long one = 1;
                    long sum = 0;
                    MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
                }));
}

// The same by nonblocking calls that are waited for, the form that --wait=sleep gives them.
void calls_by_wait(measure::work &work) {
    work.result("barrier", time_of(work, [] {
                    MPI_Request request = MPI_REQUEST_NULL;
                    MPI_Ibarrier(MPI_COMM_WORLD, &request);
                    MPI_Wait(&request, MPI_STATUS_IGNORE);
                }));
    work.result("allreduce", time_of(work, [] {
                    const long one = 1;
                    long sum = 0;
                    MPI_Request request = MPI_REQUEST_NULL;
                    MPI_Iallreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &request);
                    MPI_Wait(&request, MPI_STATUS_IGNORE);
                }));
}

// What runs beside both: a limit, or a peer.
struct third {
    measure::job what;
    std::string name;
    bool is_limit = false;
};

// As MPI waits, and with --wait=sleep, alternately.
struct found {
    std::vector<measure::numbers> before;
    std::vector<measure::numbers> after;
    std::vector<measure::numbers> beside;
    std::optional<third> other;

    found(measure::session &session, int ranks, measure::job what, std::optional<third> also) : other(std::move(also)) {
        what.threads = measure::level::single;
        what.as_mpi_waits = true;
        what.environment = measure::waiting_not_tuned;
        for (int round = 0; round < (session.quick() ? 1 : 3); ++round) {
            what.run_options.clear();
            before.push_back(session.together(ranks, what));
            what.run_options = {"--wait=sleep"};
            after.push_back(session.together(ranks, what));
            if (other) {
                beside.push_back(session.together(ranks, other->what));
            }
        }
    }
    // How many times as fast. `unit`: of the result.
    void add(measure::session &session, const std::string &name, const std::string &result, const std::string &unit,
             double bar) const {
        std::vector<double> ratios;
        std::vector<double> ours;
        std::vector<double> baseline;
        std::vector<double> ratios_beside;
        for (std::size_t i = 0; i < before.size(); ++i) {
            ours.push_back(after[i].at(result));
            baseline.push_back(before[i].at(result));
            ratios.push_back(baseline.back() / ours.back());
            if (other) {
                ratios_beside.push_back(baseline.back() / beside[i].at(result));
            }
        }
        measure::figure added{.name = name,
                              .found = measure::median_of(ratios),
                              .unit = "times the speed",
                              .kind = measure::bar_kind::at_least,
                              .bar = bar,
                              .against = "as MPI waits",
                              .side_unit = unit,
                              .ours = measure::median_of(ours).value,
                              .baseline = measure::median_of(baseline).value};
        if (!other) {
            measure::add_no_limit(added, "what the program waits for is not measured apart");
        } else if (other->is_limit) {
            measure::add_limit(added, {.what = other->name, .value = measure::median_of(ratios_beside).value});
        } else {
            measure::add_peer(added, other->name, measure::median_of(ratios_beside).value);
            measure::add_no_limit(added, "how soon the system lets a rank run that sleeps is not measured apart");
        }
        session.add(added);
    }
};

void judge(measure::session &session) {
    // Waiting ranks of Open MPI yield by themselves if they are more than the processors.
    const std::string version = measure::library_version();
    const bool yields = version.find("Open MPI") != std::string::npos;
    const double bar = yields ? 1 / 1.1 : 5;
    // So do those of newer Intel MPIs, whatever the switch says.
    const bool switch_helps = !yields && version.find("Intel") == std::string::npos;
    // Without `as_mpi_waits` together() sets the switch by which ranks of MPICH and Intel MPI yield.
    const std::string own = "plain MPI with its own switch (MPIR_CVAR_POLLS_BEFORE_YIELD=1, I_MPI_WAIT_MODE=1)";
    const third calls_beside =
        switch_helps
            ? third{.what = {.work = "calls", .threads = measure::level::single}, .name = own}
            : third{.what = {.work = "calls_by_wait",
                             .threads = measure::level::single,
                             .environment = measure::waiting_not_tuned,
                             .as_mpi_waits = true},
                    .name = "plain MPI by nonblocking calls and MPI_Wait, the form that --wait=sleep gives them",
                    .is_limit = true};
    for (const int times : {2, 4}) {
        const int ranks = times * measure::processors();
        const std::string on =
            ", " + std::to_string(ranks) + " ranks on " + std::to_string(measure::processors()) + " processors";
        const found of_calls(session, ranks, {.work = "calls"}, calls_beside);
        of_calls.add(session, "barrier" + on, "barrier", "microseconds", bar);
        of_calls.add(session, "allreduce" + on, "allreduce", "microseconds", bar);
#if defined(THENCE_BENCH_UNCHANGED_APPS)
        const measure::job heat{.work = "heat",
                                .threads = measure::level::single,
                                .parameters = {{"iterations", session.quick() ? 100 : 300}},
                                .program = "unchanged_apps"};
        const found of_heat(session, ranks, heat,
                            switch_helps ? std::optional<third>({.what = heat, .name = own}) : std::nullopt);
        of_heat.add(session, "heat by MPI alone" + on, "seconds", "seconds", bar);
#endif
    }
#if !defined(THENCE_BENCH_UNCHANGED_APPS)
    session.skip("heat: not measured, the applications are not built");
#endif
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "oversubscribed",
                          .about = "an unchanged program with more ranks than processors, under `thence run "
                                   "--wait=sleep`, compared with how MPI waits",
                          .bars =
                              "at least 5 times the speed on MPICH and Intel MPI; on Open MPI, whose ranks yield by "
                              "themselves, at most 1.1 times as long",
                          .pieces = {{"calls", calls}, {"calls_by_wait", calls_by_wait}},
                          .judge = judge});
}
