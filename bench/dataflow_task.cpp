// SPDX-License-Identifier: BSD-3-Clause
// The cost of a task with data dependences, compared with `task depend` of the OpenMP of this compiler, with as many
// threads. Rounds of both alternate in one process, so that other load on the machine meets both.
//
// In `chains` each task changes the data that one of 64 sets of addresses stands for: 64 chains of tasks. In `chain`
// there is one set. In `readers` all tasks read one set, so none waits for another one; there OpenMP's libgomp makes no
// task once 64 for each thread wait, but calls the body.
#include "measure/benchmark.hpp"

#include <thence/dataflow.hpp>

#include <chrono>
#include <omp.h>
#include <thread>

namespace {

constexpr int sets = 64;
constexpr int most = 10; // dependences
char keys[sets * 16];

enum pattern { chains, chain, readers };
const char *const names[] = {"64 chains", "one chain", "readers"};

// A body of about 10 us. The number of turns is found once.
volatile long turns = 0;
void body() {
    for (long i = turns; i > 0; --i) {
        asm volatile("");
    }
}
double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
void calibrate(long microseconds) {
    double best = 1;
    turns = 100'000;
    for (int i = 0; i < 20; ++i) {
        const double start = seconds();
        body();
        best = std::min(best, seconds() - start);
    }
    turns = static_cast<long>(static_cast<double>(turns) * 1e-6 * static_cast<double>(microseconds) / best);
}

char *set_of(pattern which, long task) {
    return &keys[which == chains ? task % sets * 16 : 0];
}

double by_openmp(pattern which, int dependences, long tasks, int threads) {
    const double start = seconds();
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (long i = 0; i < tasks; ++i) {
        [[maybe_unused]] char *const set = set_of(which, i);
        if (which == readers) {
#pragma omp task depend(iterator(j = 0 : dependences), in : set[j])
            body();
        } else {
#pragma omp task depend(iterator(j = 0 : dependences), inout : set[j])
            body();
        }
    }
    return seconds() - start;
}

double by_flow(thence::flow &flow, pattern which, int dependences, long tasks) {
    const double start = seconds();
    for (long i = 0; i < tasks; ++i) {
        const char *const set = set_of(which, i);
        thence::access accesses[most];
        for (int j = 0; j < dependences; ++j) {
            accesses[j] = which == readers ? thence::in(set + j) : thence::inout(set + j);
        }
        flow.submit(std::span<const thence::access>(accesses, static_cast<std::size_t>(dependences)), [] { body(); });
    }
    flow.taskwait();
    return seconds() - start;
}

void tasks(measure::work &work) {
    const auto which = static_cast<pattern>(work.parameter("pattern"));
    const int dependences = static_cast<int>(work.parameter("dependences"));
    const long microseconds = work.parameter("body");
    const int threads = std::max(2, static_cast<int>(std::thread::hardware_concurrency()));
    const long count = microseconds == 0 ? 20'000 : 2'000;
    const int rounds = work.quick() ? 7 : 25;
    calibrate(microseconds);
    thence::flow flow({.workers = threads - 1}); // and this thread
    std::vector<double> openmp;
    std::vector<double> ours;
    std::vector<double> ratios;
    for (int i = -1; i < rounds; ++i) {
        const double a = by_openmp(which, dependences, count, threads) / static_cast<double>(count) * 1e9;
        const double b = by_flow(flow, which, dependences, count) / static_cast<double>(count) * 1e9;
        if (i >= 0) { // the first round is a warm-up
            openmp.push_back(a);
            ours.push_back(b);
            ratios.push_back(b / a);
        }
    }
    const measure::sample ratio = measure::median_of(ratios);
    work.result("openmp", measure::median_of(openmp).value);
    work.result("ours", measure::median_of(ours).value);
    work.result("ratio", ratio.value);
    work.result("ratio_low", ratio.low);
    work.result("ratio_high", ratio.high);
}

void judge(measure::session &session) {
    for (const pattern which : {chains, chain, readers}) {
        for (const long microseconds : {0L, 10L}) {
            for (const long dependences : {1L, 2L, 5L, 10L}) {
                const measure::numbers found = session.alone(
                    {.work = "tasks",
                     .parameters = {{"pattern", which}, {"dependences", dependences}, {"body", microseconds}}});
                session.add({.name = std::string(names[which]) + ", " + std::to_string(dependences) +
                                     (dependences == 1 ? " dependence, " : " dependences, ") +
                                     (microseconds == 0 ? "empty body" : "body of 10 us"),
                             .found = {found.at("ratio"), found.at("ratio_low"), found.at("ratio_high")},
                             .unit = "times the time per task",
                             .kind = measure::bar_kind::at_most,
                             .bar = 1.5,
                             .against = "task depend of OpenMP, as many threads",
                             .side_unit = "ns per task",
                             .ours = found.at("ours"),
                             .baseline = found.at("openmp")});
            }
        }
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "dataflow_task",
                          .about = "cost of a task with data dependences, compared with task depend of OpenMP",
                          .bars = "at most 1.5 times, 1 to 10 dependences",
                          .pieces = {{"tasks", tasks}},
                          .judge = judge});
}
