// SPDX-License-Identifier: BSD-3-Clause
// What `thence run --progress` costs an unchanged program that has nothing to overlap: NPB BT-MZ by MPI alone, and
// short messages. Where MPI has a switch of its own for progress, that runs, too.
#include "measure/benchmark.hpp"
#include "measure/clock.hpp"
#include "measure/limit.hpp"
#include "measure/own_progress.hpp"
#include "measure/process.hpp"

#include <mpi.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace {

// Seconds of one round trip of 8 bytes.
double round_trip(int rank, int count) {
    long data = 0;
    const double begun = MPI_Wtime();
    for (int i = 0; i < count; ++i) {
        if (rank == 0) {
            MPI_Send(&data, 1, MPI_LONG, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(&data, 1, MPI_LONG, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&data, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&data, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD);
        }
    }
    return (MPI_Wtime() - begun) / count;
}

// Seconds of one message of 8 bytes each way, of 64 that are outstanding together.
double one_of_window(int rank, int count) {
    constexpr int window = 64;
    std::array<long, window> in{};
    const long out = rank;
    std::array<MPI_Request, std::size_t{2} * window> requests{};
    const double begun = MPI_Wtime();
    for (int i = 0; i < count; ++i) {
        for (int k = 0; k < window; ++k) {
            MPI_Irecv(&in[k], 1, MPI_LONG, 1 - rank, k, MPI_COMM_WORLD, &requests[k]);
        }
        for (int k = 0; k < window; ++k) {
            MPI_Isend(&out, 1, MPI_LONG, 1 - rank, k, MPI_COMM_WORLD, &requests[window + k]);
        }
        MPI_Waitall(2 * window, requests.data(), MPI_STATUSES_IGNORE);
    }
    return (MPI_Wtime() - begun) / count / window;
}

void messages(measure::work &work) {
    const int blocks = work.quick() ? 50 : 300;
    std::vector<double> trips;
    std::vector<double> rates;
    for (int i = -blocks / 10; i < blocks; ++i) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double trip = round_trip(work.rank(), 100);
        const double one = one_of_window(work.rank(), 5);
        if (i >= 0) { // the first blocks are warm-ups
            trips.push_back(1e6 * trip);
            rates.push_back(1e6 * one);
        }
    }
    work.result("round_trip", measure::median_of(trips).value);
    work.result("message", measure::median_of(rates).value);
}

// A message to itself, in three calls.
void calls(measure::work &work) {
    int in = 0;
    const int out = 1;
    work.count([&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            std::array<MPI_Request, 2> requests;
            MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[0]);
            MPI_Isend(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[1]);
            MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
        }
    });
}

// What counting the operations takes, beside the level of threads. The helper thread polls meanwhile, so only the main
// thread is counted.
void count_instructions(measure::session &session) {
    measure::job what{.work = "calls", .few = 2000, .many = 12000, .main_thread_only = true};
    const measure::sample plain = session.instructions(what);
    what.run_options = {"--progress"};
    const measure::sample counted = session.instructions(what);
    what.run_options = {"--wait=spin"}; // the default: the library is preloaded and does nothing else
    const measure::sample preloaded = session.instructions(what);
    measure::figure added{.name = "MPI_Irecv, MPI_Isend, MPI_Waitall of a message to itself, --progress",
                          .found = measure::difference(counted, plain, 3),
                          .unit = "instructions more a call",
                          .kind = measure::bar_kind::at_most,
                          .bar = 6,
                          .against = "the program at MPI_THREAD_MULTIPLE",
                          .side_unit = "instructions, all three",
                          .ours = counted.value,
                          .baseline = plain.value};
    measure::add_peer(added, "preloaded without --progress", measure::difference(preloaded, plain, 3).value);
    measure::add_no_limit(added, "what finding the requests of a call takes at least is not measured apart");
    session.add(added);
}

// A rank that computes, calls no MPI, and has a window that others may access. The result `share` is what the other
// threads of its process use, in percent of a processor.
void window(measure::work &work) {
    MPI_Win win = MPI_WIN_NULL;
    void *memory = nullptr;
    MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, static_cast<void *>(&memory), &win);
    MPI_Win_lock_all(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    const auto of_others = [] { return measure::processor_time() - measure::processor_time_of_thread(); };
    const measure::nanoseconds used = of_others();
    const measure::nanoseconds lasts = work.quick() ? 1'000'000'000 : 3'000'000'000;
    for (const measure::nanoseconds end = measure::now() + lasts; measure::now() < end;) {
    }
    work.result("share", 100 * static_cast<double>(of_others() - used) / static_cast<double>(lasts));
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

void measure_window(measure::session &session) {
    measure::job what{.work = "window", .threads = measure::level::single};
    const double before = session.together(2, what).at("share");
    what.run_options = {"--progress"};
    const double after = session.together(2, what).at("share");
    session.add({.name = "a rank that computes and has a window, --progress",
                 .found = {after, after, after},
                 .unit = "% of one processor for the helper",
                 .kind = measure::bar_kind::at_most,
                 .bar = 2,
                 .against = "the program as it is",
                 .side_unit = "% of one processor",
                 .ours = after,
                 .baseline = before});
}

// Contenders that run alternately. The first is the program as it is. One whose runs need not end is left out if one
// does not.
class alternating {
public:
    struct contender {
        std::string name;
        measure::job what;
        bool must_end = true;
    };
    alternating(measure::session &session, std::vector<contender> all, int rounds)
        : all_(std::move(all)), found_(all_.size()) {
        for (int i = 0; i < rounds; ++i) {
            for (std::size_t c = 0; c < all_.size();) {
                try {
                    found_[c].push_back(session.together(2, all_[c].what));
                    ++c;
                } catch (const measure::exceeded_limit &) {
                    if (all_[c].must_end) {
                        throw;
                    }
                    session.skip(all_[c].what.work + " with " + all_[c].name +
                                 ", without Thence: it did not end within " +
                                 std::to_string(all_[c].what.limit.count()) + " s");
                    const auto place = static_cast<std::ptrdiff_t>(c);
                    all_.erase(all_.begin() + place);
                    found_.erase(found_.begin() + place);
                }
            }
        }
    }
    std::size_t size() const { return all_.size(); }
    // How many times as long contender `c` takes as `baseline`.
    measure::figure compared(std::size_t c, std::size_t baseline, const std::string &name, const std::string &result,
                             const std::string &unit) const {
        std::vector<double> ratios;
        std::vector<double> ours;
        std::vector<double> other;
        for (std::size_t i = 0; i < found_[c].size(); ++i) {
            ours.push_back(found_[c][i].at(result));
            other.push_back(found_[baseline][i].at(result));
            ratios.push_back(ours.back() / other.back());
        }
        return {.name = name + ", " + all_[c].name,
                .found = measure::median_of(ratios),
                .unit = "times as long",
                .against = all_[baseline].name,
                .side_unit = unit,
                .ours = measure::median_of(ours).value,
                .baseline = measure::median_of(other).value};
    }

private:
    std::vector<contender> all_;
    std::vector<std::vector<measure::numbers>> found_;
};

// The program as it is, with progress, with MPI's own switch if it has one, and at last at MPI_THREAD_MULTIPLE, which
// progress needs.
std::vector<alternating::contender> ways_of(const measure::job &plain) {
    std::vector<alternating::contender> all{{"the program as it is", plain}, {"--progress", plain}};
    all[1].what.run_options = {"--progress"};
    if (const std::string own = measure::own_progress_switch(); !own.empty()) {
        all.push_back({own, plain, false}); // Intel MPI waits for a processor in nearly every call then
        all.back().what.environment.push_back(own);
        all.back().what.limit = std::chrono::seconds(30);
    }
    all.push_back({"the program at MPI_THREAD_MULTIPLE", plain});
    all.back().what.threads = measure::level::multiple;
    return all;
}

void compare_messages(measure::session &session, int rounds) {
    const alternating found(session, ways_of({.work = "messages", .threads = measure::level::single}), rounds);
    const std::size_t multiple = found.size() - 1;
    const std::pair<std::string, std::string> results[] = {
        {"round trip of 8 bytes, MPI_Send and MPI_Recv", "round_trip"},
        {"64 messages of 8 bytes at a time, each", "message"}};
    for (const auto &[name, result] : results) {
        measure::figure judged = found.compared(1, multiple, name, result, "microseconds");
        if (result == "round_trip") {
            judged.kind = measure::bar_kind::at_most;
            judged.bar = 1.15;
            measure::add_no_limit(judged, "what the calls of the library take at least is not measured apart");
        }
        session.add(judged);
        for (std::size_t c = 1; c < found.size(); ++c) {
            session.add(found.compared(c, 0, name, result, "microseconds"));
        }
    }
}

#if defined(THENCE_BENCH_UNCHANGED_APPS)
void compare_bt_mz(measure::session &session, int rounds) {
    const measure::job solve{
        .work = "bt_mz",
        .threads = measure::level::single,
        .parameters = {{"steps", session.quick() ? 20 : 60}},
        .environment = {"OMPI_MCA_mpi_yield_when_idle=1"}, // a rank that spins is slow beside others
        .program = "unchanged_apps"};
    const alternating found(session, ways_of(solve), rounds);
    const std::size_t multiple = found.size() - 1;
    for (std::size_t c = 1; c < found.size(); ++c) {
        measure::figure each = found.compared(c, 0, "BT-MZ class W by MPI alone", "seconds", "seconds");
        if (c == 1) {
            each.kind = measure::bar_kind::at_most;
            each.bar = 1.03;
            const double limit = found.compared(multiple, 0, "", "seconds", "").found.value;
            measure::add_limit(each, {.what = "the program at MPI_THREAD_MULTIPLE without progress", .value = limit});
        }
        session.add(each);
    }
}
#endif

void judge(measure::session &session) {
    const int rounds = session.quick() ? 3 : 9;
    compare_messages(session, rounds);
#if defined(THENCE_BENCH_UNCHANGED_APPS)
    compare_bt_mz(session, rounds);
#else
    session.skip("BT-MZ: not measured, the applications are not built");
#endif
    measure_window(session);
    count_instructions(session); // at last, since valgrind cannot run every MPI
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "overlap_cost",
                          .about =
                              "an unchanged program with nothing to overlap under `thence run --progress`, and with "
                              "MPI's own switch for progress",
                          .bars = "BT-MZ at most 1.03 times as long, a round trip at most 1.15 times as long as at "
                                  "MPI_THREAD_MULTIPLE, at most 6 instructions more a call, at most 2 % of a "
                                  "processor for a rank that computes and has a window",
                          .pieces = {{"messages", messages}, {"calls", calls}, {"window", window}},
                          .judge = judge});
}
