// SPDX-License-Identifier: BSD-3-Clause
// A benchmark with a known result: 100 instructions. THENCE_BENCH_TEST_BAR sets its bar. With THENCE_BENCH_TEST_THREADS
// the result is how many cores each of two ranks may use if it has so many threads.
#include "measure/benchmark.hpp"

#include <cstdlib>
#include <mpi.h>
#include <sched.h>

namespace {

void nothing(measure::work &work) {
    work.count([](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            asm volatile("");
        }
    });
}

void hundred(measure::work &work) {
    work.count([](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            asm volatile(".rept 100\n nop\n .endr");
        }
    });
}

void cores(measure::work &work) {
    cpu_set_t allowed;
    int count = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 0, fewest = 0;
    MPI_Allreduce(&count, &fewest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    work.result("cores", fewest);
}

void judge(measure::session &session) {
    if (const char *threads = std::getenv("THENCE_BENCH_TEST_THREADS"); threads != nullptr) {
        const double found = session.together(2, {.work = "cores", .threads_per_rank = std::atoi(threads)}).at("cores");
        session.add({.name = "cores of a rank", .found = {found, found, found}, .unit = "cores", .against = "none"});
        return;
    }
    const char *bar = std::getenv("THENCE_BENCH_TEST_BAR");
    const measure::sample ours = session.instructions({.work = "hundred", .few = 1000, .many = 3000});
    const measure::sample baseline = session.instructions({.work = "nothing", .few = 1000, .many = 3000});
    session.add({.name = "100 instructions",
                 .found = measure::difference(ours, baseline),
                 .unit = "instructions",
                 .kind = measure::bar_kind::at_most,
                 .bar = bar == nullptr ? 100 : std::atof(bar),
                 .against = "none"});
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "known_counts",
                          .about = "a loop of 100 instructions compared with an empty one",
                          .bars = "100",
                          .pieces = {{"nothing", nothing}, {"hundred", hundred}, {"cores", cores}},
                          .judge = judge});
}
