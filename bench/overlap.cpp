// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking operations around computation that takes as long as the transfer, in a program that knows nothing of
// Thence: how much of the transfer is hidden, as the program is and under `thence run --progress`.
#include "measure/benchmark.hpp"
#include "measure/busy_processes.hpp"
#include "measure/clock.hpp"
#include "measure/hosts.hpp"
#include "measure/library.hpp"
#include "measure/limit.hpp"
#include "measure/own_progress.hpp"
#include "measure/process.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using measure::nanoseconds;
using measure::now;

enum operation { exchange, all_to_all, all_reduce, get };
constexpr std::array<const char *, 4> names{"Isend/Irecv", "Ialltoall", "Iallreduce", "Rget"};

// One transfer between two ranks, of `bytes` each way.
class transfer {
public:
    transfer(operation kind, long bytes, int rank)
        : kind_(kind), count_(static_cast<int>(bytes / 8)), rank_(rank), out_(2 * bytes / 8, 1), in_(2 * bytes / 8) {
        if (kind_ == get) {
            MPI_Win_create(out_.data(), static_cast<MPI_Aint>(out_.size() * sizeof out_[0]), 8, MPI_INFO_NULL,
                           MPI_COMM_WORLD, &window_);
            MPI_Win_lock_all(0, window_);
        }
    }
    ~transfer() {
        if (window_ != MPI_WIN_NULL) {
            MPI_Win_unlock_all(window_);
            MPI_Win_free(&window_);
        }
    }
    transfer(const transfer &) = delete;
    transfer &operator=(const transfer &) = delete;

    void start() {
        switch (kind_) {
        case exchange:
            MPI_Irecv(in_.data(), count_, MPI_DOUBLE, 1 - rank_, 0, MPI_COMM_WORLD, &requests_[0]);
            MPI_Isend(out_.data(), count_, MPI_DOUBLE, 1 - rank_, 0, MPI_COMM_WORLD, &requests_[1]);
            break;
        case all_to_all:
            MPI_Ialltoall(out_.data(), count_, MPI_DOUBLE, in_.data(), count_, MPI_DOUBLE, MPI_COMM_WORLD,
                          &requests_[0]);
            break;
        case all_reduce:
            MPI_Iallreduce(out_.data(), in_.data(), count_, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests_[0]);
            break;
        case get:
            MPI_Rget(in_.data(), count_, MPI_DOUBLE, 1 - rank_, 0, count_, MPI_DOUBLE, window_, &requests_[0]);
        }
    }
    void test() {
        int done = 0;
        MPI_Testall(2, requests_.data(), &done, MPI_STATUSES_IGNORE);
    }
    void complete() { MPI_Waitall(2, requests_.data(), MPI_STATUSES_IGNORE); }
    bool is_right() const {
        const double expected = kind_ == all_reduce ? 2 : 1;
        return std::all_of(in_.begin(), in_.begin() + count_, [&](double each) { return each == expected; });
    }

private:
    operation kind_;
    int count_;
    int rank_;
    std::vector<double> out_;
    std::vector<double> in_;
    std::array<MPI_Request, 2> requests_{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Win window_ = MPI_WIN_NULL;
};

void compute(nanoseconds time) {
    volatile double x = 1;
    for (const nanoseconds end = now() + time; now() < end;) {
        for (int i = 0; i < 1000; ++i) {
            x = x * 1.0000001 + 1e-9;
        }
    }
}

// `piece`: how long the program computes before it tests. It computes for `time` in all. 0: it does not test.
void compute_and_test(transfer &one, nanoseconds time, nanoseconds piece) {
    if (piece == 0) {
        return compute(time);
    }
    for (; time > 0; time -= piece) {
        compute(std::min(time, piece));
        one.test();
    }
}

// The longer one of both ranks.
double round_of(transfer &one, nanoseconds computation, nanoseconds piece) {
    MPI_Barrier(MPI_COMM_WORLD);
    const nanoseconds begun = now();
    one.start();
    compute_and_test(one, computation, piece);
    one.complete();
    auto took = static_cast<double>(now() - begun);
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return took / 1e6;
}

double median_round(transfer &one, nanoseconds computation, int rounds, nanoseconds piece = 0) {
    std::vector<double> found;
    found.reserve(static_cast<std::size_t>(rounds));
    for (int i = 0; i < rounds; ++i) {
        found.push_back(round_of(one, computation, piece));
    }
    return measure::median_of(found).value;
}

// The parameters `computation` and `piece` are in nanoseconds. Computation of 0: as long as the transfer takes.
void one(measure::work &work) {
    const int rounds = work.quick() ? 7 : 21;
    transfer moved(static_cast<operation>(work.parameter("operation")), work.parameter("bytes"), work.rank());
    median_round(moved, 0, 3);
    const double alone = median_round(moved, 0, rounds);
    const long given = work.parameter("computation");
    const auto computation = given != 0 ? nanoseconds{given} : static_cast<nanoseconds>(alone * 1e6);
    const double together = median_round(moved, computation, rounds, work.parameter("piece"));
    work.result("right", moved.is_right() ? 1 : 0);
    work.result("alone", alone);
    work.result("computation", static_cast<double>(computation) / 1e6);
    work.result("together", together);
    work.result("hosts", measure::hosts_of_two_ranks());
    int processors = measure::processors();
    MPI_Allreduce(MPI_IN_PLACE, &processors, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    work.result("processors", processors); // of the rank that may run on the fewest
}

// Where the two ranks run.
struct place {
    std::string name;
    std::string delay;                    // between two hosts; empty: one host
    std::vector<std::string> environment; // of the ranks
    int busy = 0;                         // processes that compute beside
    bool without_windows = false;         // on Open MPI 4.1
};

double median_of(const std::vector<measure::numbers> &found, const std::string &result) {
    std::vector<double> all;
    all.reserve(found.size());
    for (const measure::numbers &each : found) {
        all.push_back(each.at(result));
    }
    return measure::median_of(all).value;
}

// The program as it is, and with progress, alternately.
struct compared {
    std::vector<measure::numbers> before;
    std::vector<measure::numbers> after;

    std::vector<double> ratios() const {
        std::vector<double> all;
        all.reserve(before.size());
        for (std::size_t i = 0; i < before.size(); ++i) {
            all.push_back(after[i].at("together") / before[i].at("together"));
        }
        return all;
    }
    // Both compute for the same time and move the same, so the transfer alone is that of the plain program.
    double hidden(double together) const {
        const double alone = median_of(before, "alone");
        return (alone + before[0].at("computation") - together) / alone;
    }
    measure::sample hidden_after() const {
        std::vector<double> all;
        all.reserve(after.size());
        for (const measure::numbers &each : after) {
            all.push_back(hidden(each.at("together")));
        }
        return measure::median_of(all);
    }
};

measure::figure on_one_host(const compared &found, const std::string &what) {
    return {.name = what,
            .found = measure::median_of(found.ratios()),
            .unit = "times as long",
            .kind = measure::bar_kind::at_most,
            .bar = 1.03,
            .against = "the program as it is",
            .side_unit = "milliseconds",
            .ours = median_of(found.after, "together"),
            .baseline = median_of(found.before, "together")};
}

measure::figure on_two_hosts(const compared &found, const std::string &what) {
    const measure::sample hidden = found.hidden_after();
    const double plainly = found.hidden(median_of(found.before, "together"));
    measure::figure added{.name = what,
                          .found = hidden,
                          .unit = "of the transfer hidden",
                          .kind = plainly < 0.4 ? measure::bar_kind::at_least : measure::bar_kind::none,
                          .bar = 0.8,
                          .against = "the program as it is",
                          .side_unit = "of the transfer hidden",
                          .ours = hidden.value,
                          .baseline = plainly};
    measure::add_note(added, "transfer and computation " + measure::text_of(median_of(found.before, "alone")) +
                                 " ms each; together " + measure::text_of(median_of(found.before, "together")) +
                                 " ms, with progress " + measure::text_of(median_of(found.after, "together")) + " ms");
    return added;
}

// How long the transfer alone takes while other processes compute on the processors of both ranks, in milliseconds: a
// rank that computes leaves no more of its processor. The fastest of three ways to wait.
template <class Run> double alone_beside_computation(const Run &run) {
    const measure::busy_processes beside(2);
    return std::min({run({}).at("alone"), run({"--wait=sleep"}).at("alone"), run({"--progress"}).at("alone")});
}

void compare(measure::session &session, operation kind, long bytes, const place &where) {
    measure::job one{.work = "one",
                     .threads = measure::level::single,
                     .parameters = {{"operation", kind}, {"bytes", bytes}, {"computation", 0}, {"piece", 0}},
                     .environment = where.environment};
    one.environment.emplace_back("OMPI_MCA_mpi_yield_when_idle=1");
    const measure::busy_processes beside(where.busy);
    const auto run = [&](const std::vector<std::string> &options) {
        one.run_options = options;
        measure::numbers found =
            where.delay.empty() ? session.together(2, one) : session.on_two_hosts(where.delay, one);
        if (found.at("right") != 1) {
            throw std::runtime_error(std::string(names[kind]) + ": wrong values");
        }
        return found;
    };
    compared found;
    const int rounds = session.quick() ? 1 : 3;
    for (int round = 0; round < rounds; ++round) {
        found.before.push_back(run({}));
        one.parameters["computation"] = static_cast<long>(found.before[0].at("computation") * 1e6);
        found.after.push_back(run({"--progress"}));
    }
    const std::string what = std::string(names[kind]) + " of " + std::to_string(bytes / 1024) + " KiB, " + where.name;
    measure::figure added = where.delay.empty() ? on_one_host(found, what) : on_two_hosts(found, what);
    if (!added.passed() && where.delay.empty()) { // limits take time, so they are measured only beside a missed bar
        one.threads = measure::level::multiple;
        std::vector<measure::numbers> at_multiple;
        at_multiple.reserve(static_cast<std::size_t>(rounds));
        for (int round = 0; round < rounds; ++round) {
            at_multiple.push_back(run({}));
        }
        measure::add_limit(added, {.what = "the program at MPI_THREAD_MULTIPLE without progress",
                                   .value = median_of(at_multiple, "together") / median_of(found.before, "together")});
        one.threads = measure::level::single;
    } else if (!added.passed()) {
        one.parameters["computation"] = 1;
        const double together = std::max(found.before[0].at("computation"), alone_beside_computation(run));
        measure::add_limit(
            added, {.what = "the transfer beside computation of other processes", .value = found.hidden(together)});
        one.parameters["computation"] = static_cast<long>(found.before[0].at("computation") * 1e6);
    }
    if (!where.delay.empty()) {
        one.parameters["piece"] = 100'000;
        measure::add_note(added, "by hand in one run, with MPI_Testall after every 100 us of computation: " +
                                     measure::text_of(found.hidden(run({}).at("together"))) + " hidden");
        one.parameters["piece"] = 0;
    }
    if (const std::string own = measure::own_progress_switch(); !own.empty()) {
        one.environment.push_back(own);
        one.limit = std::chrono::seconds(30); // on Intel MPI not all of these runs end
        try {
            const double together = run({}).at("together");
            measure::add_note(added, where.delay.empty() ? "with " + own + " " + measure::text_of(together) + " ms"
                                                         : own + " hides " + measure::text_of(found.hidden(together)));
        } catch (const measure::exceeded_limit &) {
            measure::add_note(added, "with " + own + ", and without Thence, it did not end within 30 s");
        }
    }
    session.add(added);
}

void judge(measure::session &session) {
    const std::vector<long> sizes =
        session.quick() ? std::vector<long>{1 << 20} : std::vector<long>{256 << 10, 1 << 20, 8 << 20};
    const std::string why = session.why_no_two_hosts();
    const bool lacks_windows = measure::library_version().starts_with("Open MPI v4.");
    std::string skipped = why.empty() ? std::string() : "two hosts: not measured, it " + why;
    if (lacks_windows) {
        skipped += std::string(skipped.empty() ? "" : "; ") +
                   "Rget between two hosts and without the kernel's single copy: not measured, this Open MPI has no "
                   "one-sided communication there";
    }
    if (!skipped.empty()) {
        session.skip(skipped);
    }
    // Each MPI ignores the switches of others.
    const std::vector<std::string> two_copies{"OMPI_MCA_btl_vader_single_copy_mechanism=none",
                                              "MPIR_CVAR_CH4_CMA_ENABLE=0", "MPIR_CVAR_CH4_XPMEM_ENABLE=0"};
    // Open MPI 4.1 has no windows over TCP at MPI_THREAD_MULTIPLE, and at no level those of MPI_Win_create on one host
    // without the single copy.
    const place places[] = {
        {.name = "two hosts, delay 50us", .delay = "50us", .environment = {}, .without_windows = true},
        {.name = "two hosts, delay 300us", .delay = "300us", .environment = {}, .without_windows = true},
        {.name = "two hosts, delay 300us, beside a busy process",
         .delay = "300us",
         .environment = {},
         .busy = 1,
         .without_windows = true},
        {.name = "one host", .delay = "", .environment = {}},
        {.name = "one host without the kernel's single copy",
         .delay = "",
         .environment = two_copies,
         .without_windows = true},
        {.name = "one host beside a busy process", .delay = "", .environment = {}, .busy = 1}};
    for (const place &where : places) {
        for (const operation kind : {exchange, all_to_all, all_reduce, get}) {
            const bool possible =
                (where.delay.empty() || why.empty()) && !(kind == get && lacks_windows && where.without_windows);
            for (const long bytes : possible ? sizes : std::vector<long>{}) {
                compare(session, kind, bytes, where);
            }
        }
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "overlap",
                          .about =
                              "an unchanged program under `thence run --progress`: how much of a transfer is hidden "
                              "behind computation",
                          .bars = "two hosts: at least 0.8 of the transfer, where the program as it is hides less than "
                                  "0.4; one host: at most 1.03 times as long",
                          .pieces = {{"one", one}},
                          .judge = judge});
}
