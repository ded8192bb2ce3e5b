// SPDX-License-Identifier: BSD-3-Clause
// Reads of the memory of a rank that computes and calls no MPI (Zhou et al., figure 8 and progress.c): rank 0 starts
// 1,024 MPI_Get in an epoch of passive target synchronization, and its unlock waits for them. The time of the epoch
// with a progress thread on the target, and with calls of thence_progress between pieces of the computation, is
// compared with that without progress. The three alternate, so other load on the machine meets all.
#include "measure/benchmark.hpp"
#include "measure/clock.hpp"
#include "measure/library.hpp"

#include <array>
#include <mpi.h>
#include <stdexcept>
#include <string>
#include <thence/progress.h>
#include <utility>
#include <vector>

namespace {

constexpr int reads = 1024;
constexpr measure::nanoseconds computation = 100'000'000;
constexpr measure::nanoseconds piece = 100'000; // between two calls of thence_progress

enum way { none, thread, calls, ways };
constexpr std::array<const char *, ways> name_of{"none", "thread", "calls"};

// Occupies the processor, so that the progress thread has to share it.
void compute(measure::nanoseconds end) {
    for (volatile double x = 1; measure::now() < end;) {
        for (int i = 0; i < 100; ++i) {
            x = x * 0.5 + 1;
        }
    }
}

void compute_with_progress(way how) {
    if (how == thread && thence_start_progress_thread(THENCE_STREAM_NULL) != MPI_SUCCESS) {
        throw std::runtime_error("the progress thread does not start; `thence info` says why");
    }
    const measure::nanoseconds end = measure::now() + computation;
    if (how == calls) {
        while (measure::now() < end) {
            compute(measure::now() + piece);
            thence_progress();
        }
    } else {
        compute(end);
    }
    if (how == thread) {
        thence_stop_progress_thread(THENCE_STREAM_NULL);
    }
}

// Returns the milliseconds of the epoch.
double read_all(MPI_Win win) {
    std::array<int, reads> values{};
    const measure::nanoseconds start = measure::now();
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    for (int i = 0; i < reads; ++i) {
        MPI_Get(&values[static_cast<std::size_t>(i)], 1, MPI_INT, 1, i, 1, MPI_INT, win);
    }
    MPI_Win_unlock(1, win);
    const double took = 1e-6 * static_cast<double>(measure::now() - start);
    for (int i = 0; i < reads; ++i) {
        if (values[static_cast<std::size_t>(i)] != 1000 + i) {
            throw std::runtime_error("MPI_Get has read a wrong value");
        }
    }
    return took;
}

void all(measure::work &work) {
    std::array<int, reads> memory{};
    for (int i = 0; i < reads; ++i) {
        memory[static_cast<std::size_t>(i)] = 1000 * work.rank() + i;
    }
    MPI_Win win = MPI_WIN_NULL;
    MPI_Win_create(memory.data(), sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    const int repeats = work.quick() ? 5 : 21;
    std::array<std::vector<double>, ways> epochs;
    std::array<std::vector<double>, ways> ratios; // to the epoch without progress in the same round
    for (int i = -1; i < repeats; ++i) {
        std::array<double, ways> took{};
        for (const way how : {none, thread, calls}) {
            MPI_Barrier(MPI_COMM_WORLD);
            if (work.rank() == 0) {
                took[how] = read_all(win);
            } else {
                compute_with_progress(how);
            }
            if (i >= 0 && work.rank() == 0) { // the first round is a warm-up
                epochs[how].push_back(took[how]);
                ratios[how].push_back(took[how] / took[none]);
            }
        }
    }
    for (const way how : {none, thread, calls}) {
        const std::string name = name_of[how];
        const measure::sample ratio = measure::median_of(ratios[how]);
        work.result(name, ratio.value);
        work.result(name + "_low", ratio.low);
        work.result(name + "_high", ratio.high);
        work.result(name + "_ms", measure::median_of(epochs[how]).value);
    }
    work.result("openmpi", measure::library_version().starts_with("Open MPI") ? 1 : 0);
    MPI_Win_free(&win);
}

bool waits_for_target(const measure::numbers &found) {
    return found.at("none_ms") > 0.5e-6 * static_cast<double>(computation);
}

void add(measure::session &session, const measure::numbers &found, const std::string &where) {
    for (const auto &[how, label] : {std::pair(thread, "progress thread"), std::pair(calls, "thence_progress")}) {
        const std::string name = name_of[how];
        session.add({.name = label + where,
                     .found = {found.at(name), found.at(name + "_low"), found.at(name + "_high")},
                     .unit = "times the time of 1,024 MPI_Get",
                     .against = "the target computes for 100 ms and makes no progress",
                     .side_unit = "milliseconds",
                     .ours = found.at(name + "_ms"),
                     .baseline = found.at("none_ms"),
                     .note = waits_for_target(found) ? "" : "here MPI_Get does not need the target's progress"});
    }
}

void judge(measure::session &session) {
    measure::job job{.work = "all"};
    const measure::numbers found = session.together(2, job);
    add(session, found, "");
    if (waits_for_target(found) || found.at("openmpi") == 0) {
        return;
    }
    // Between processes of one host Open MPI reads the memory directly. Its component for UCX asks the target.
    job.environment = {"OMPI_MCA_osc=ucx"};
    measure::numbers through_ucx;
    try {
        through_ucx = session.together(2, job);
    } catch (const std::exception &) { // there is no such component, or it does not work here
        session.skip(
            "with OMPI_MCA_osc=ucx: not measured, this Open MPI has no windows of UCX or they do not work here");
        return;
    }
    add(session, through_ucx, ", OMPI_MCA_osc=ucx");
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "progress",
                          .about = "reads of the memory of a rank that computes, with a progress thread or calls of "
                                   "thence_progress on it, compared with no progress",
                          .bars = "none",
                          .pieces = {{"all", all}},
                          .judge = judge});
}
