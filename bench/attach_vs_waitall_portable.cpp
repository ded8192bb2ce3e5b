// SPDX-License-Identifier: BSD-3-Clause
// The work of attach_vs_waitall on the engine `testsome`, which works on any MPI.
#include "measure/benchmark.hpp"

namespace {

constexpr int batch = 64; // as in attach_vs_waitall

void judge(measure::session &session) {
    for (const measure::level threads : {measure::level::single, measure::level::multiple}) {
        measure::job job{.work = "attach",
                         .threads = threads,
                         .environment = {"THENCE_ENGINE=testsome"},
                         .program = "attach_vs_waitall"};
        const measure::sample ours = session.instructions(job);
        job.work = "waitall";
        const measure::sample baseline = session.instructions(measure::without_interposition(job, "attach_vs_waitall"));
        session.add({.name = std::string(measure::name_of(threads)) + ", engine testsome",
                     .found = measure::difference(ours, baseline, batch),
                     .unit = "instructions per continuation",
                     .kind = measure::bar_kind::at_most,
                     .bar = 300,
                     .against = "MPI_Waitall on the same 64 receives",
                     .side_unit = "instructions per message",
                     .ours = ours.value / batch,
                     .baseline = baseline.value / batch});
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "attach_vs_waitall_portable",
                          .about = "attach_vs_waitall on the engine for any MPI (THENCE_ENGINE=testsome)",
                          .bars = "at most +300 instructions per continuation, at both thread levels",
                          .pieces = {},
                          .judge = judge});
}
