// SPDX-License-Identifier: BSD-3-Clause
// A benchmark with a known result: 100 instructions. THENCE_BENCH_TEST_BAR sets its bar.
#include "measure/benchmark.hpp"

#include <cstdlib>

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

void judge(measure::session &session) {
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
                          .pieces = {{"nothing", nothing}, {"hundred", hundred}},
                          .judge = judge});
}
