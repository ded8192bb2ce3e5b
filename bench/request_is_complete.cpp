// SPDX-License-Identifier: BSD-3-Clause
// The cost of thence_request_is_complete() on a pending receive and on one that is complete, with the loop that calls
// it. On Open MPI it reads the request.
#include "measure/benchmark.hpp"

#include <thence/progress.h>

namespace {

volatile int answers = 0; // so that no call is left out

void look(measure::work &work) {
    int in = 0;
    int out = 0;
    MPI_Request receive = MPI_REQUEST_NULL;
    MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &receive);
    const auto send = [&] { MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF); };
    if (work.parameter("complete") != 0) {
        send();
        while (thence_request_is_complete(receive) == 0) {
            thence_progress();
        }
    } else {
        thence_progress(); // the library is set up
    }
    work.count([&](long iterations) {
        int sum = 0;
        for (long i = 0; i < iterations; ++i) {
            sum += thence_request_is_complete(receive);
        }
        answers = sum;
    });
    if (work.parameter("complete") == 0) {
        send();
    }
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
}

void judge(measure::session &session) {
    for (const long complete : {0L, 1L}) {
        const measure::sample found =
            session.instructions({.work = "look", .parameters = {{"complete", complete}}, .few = 300, .many = 2300});
        const bool reads = session.engine() == "openmpi";
        session.add({.name = complete != 0 ? "a complete receive" : "a pending receive",
                     .found = found,
                     .unit = "instructions per call",
                     .kind = reads ? measure::bar_kind::at_most : measure::bar_kind::none,
                     .bar = 25,
                     .against = "nothing: the whole call, with the loop around it",
                     .note = reads ? "" : "not on Open MPI: it is a call of MPI"});
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "request_is_complete",
                          .about = "a look at a request, which on Open MPI is a read of it",
                          .bars = "at most 25 instructions on Open MPI",
                          .pieces = {{"look", look}},
                          .judge = judge});
}
