// SPDX-License-Identifier: BSD-3-Clause
// What a continuation costs in Fortran beyond what it costs in C: in each language the instructions of a round with a
// continuation less those of a round with MPI_Wait, so that what MPI's own calls cost in Fortran is in neither.
#include "measure/benchmark.hpp"
#include "measure/self_receive.hpp"

#include <thence/thence.h>

extern "C" { // fortran/rounds.F90
void fortran_wait_rounds(long iterations);
void fortran_attach_rounds(long iterations);
}

namespace {

int nothing(int error, MPI_Status *, void *) {
    return error;
}

void attach_in_c(measure::work &work) {
    int in = 0;
    int out = 0;
    MPI_Request cr = MPI_REQUEST_NULL;
    thence_cr_create(0, -1, MPI_INFO_NULL, &cr);
    work.count([&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            MPI_Request receive;
            int flag = 0;
            MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &receive);
            thence_attach(1, &receive, nothing, nullptr, 0, MPI_STATUS_IGNORE, cr, &flag);
            measure::send_to_self(out);
            thence_wait(&cr, MPI_STATUS_IGNORE);
        }
    });
    thence_free(&cr);
}

void wait_in_fortran(measure::work &work) {
    work.count([](long iterations) { fortran_wait_rounds(iterations); });
}

void attach_in_fortran(measure::work &work) {
    work.count([](long iterations) { fortran_attach_rounds(iterations); });
}

void judge(measure::session &session) {
    const std::string engine = session.engine();
    for (const measure::level threads : {measure::level::single, measure::level::multiple}) {
        const auto count = [&](const char *work) {
            return session.instructions({.work = work, .threads = threads, .few = 2000, .many = 12000});
        };
        const measure::sample in_fortran = measure::difference(count("attach_in_fortran"), count("wait_in_fortran"));
        const measure::sample in_c = measure::difference(count("attach_in_c"), count("wait_in_c"));
        session.add({.name = std::string(measure::name_of(threads)) + ", engine " + engine,
                     .found = measure::difference(in_fortran, in_c),
                     .unit = "instructions per continuation",
                     .kind = measure::bar_kind::at_most,
                     .bar = 60,
                     .against = "thence_attach in C",
                     .side_unit = "instructions beyond MPI_Wait",
                     .ours = in_fortran.value,
                     .baseline = in_c.value});
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "fortran_attach",
                          .about = "cost of one continuation from mpi_f08, beyond the cost in C",
                          .bars = "at most +60 instructions",
                          .pieces = {{"wait_in_c", measure::wait_for_self_receive},
                                     {"attach_in_c", attach_in_c},
                                     {"wait_in_fortran", wait_in_fortran},
                                     {"attach_in_fortran", attach_in_fortran}},
                          .judge = judge});
}
