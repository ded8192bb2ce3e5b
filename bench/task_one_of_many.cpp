// SPDX-License-Identifier: BSD-3-Clause
// The cost of a message that is bound to data-flow tasks with TAMPI_Iwait, while 10,000 other tasks wait for messages.
// It is compared with the same message while no other task waits.
//
// The other messages use a communicator of their own, so that the cost of MPI's matching does not grow.
#include "measure/benchmark.hpp"
#include "tasks/waves.hpp"

#include <TAMPI.h>
#include <thence/thence.h>

#include <vector>

namespace {

// Submits `count` tasks that wait for messages, and runs them, so that all messages are outstanding.
void start_others(measure::flow_team &team, std::vector<int> &buffers, MPI_Comm communicator) {
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        team.flow().submit({thence::out(&buffers[i])}, [&buffers, communicator, i] {
            MPI_Request request;
            MPI_Irecv(&buffers[i], 1, MPI_INT, 0, static_cast<int>(i), communicator, &request);
            TAMPI_Iwait(&request, MPI_STATUS_IGNORE);
        });
    }
    const char last = 0;
    team.flow().submit({thence::out(&last)}, [] {}); // tasks begin in the order in which they were submitted
    team.flow().taskwait({thence::in(&last)});
}

void message(measure::work &work) {
    MPI_Comm communicator_of_others;
    MPI_Comm_dup(MPI_COMM_SELF, &communicator_of_others);
    {
        const measure::flow_runtime runtime;
        std::vector<int> buffers(static_cast<std::size_t>(work.parameter("others")));
        measure::flow_team team;
        start_others(team, buffers, communicator_of_others);
        int in = 0;
        int out = 0;
        const auto receive = [&in] {
            MPI_Request request;
            MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
            TAMPI_Iwait(&request, MPI_STATUS_IGNORE);
        };
        const auto send = [&out] {
            MPI_Request request;
            MPI_Isend(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
            TAMPI_Iwait(&request, MPI_STATUS_IGNORE);
            thence_progress(); // completes the other task; else this thread would spin until the helper does
        };
        work.count([&](long iterations) {
            for (long i = 0; i < iterations; ++i) {
                team.flow().submit({thence::out(&in)}, receive);
                team.flow().submit({thence::in(&out)}, send);
                team.flow().taskwait({thence::in(&in)});
            }
        });
        for (std::size_t i = 0; i < buffers.size(); ++i) {
            MPI_Send(&out, 1, MPI_INT, 0, static_cast<int>(i), communicator_of_others);
        }
    }
    MPI_Comm_free(&communicator_of_others);
}

void judge(measure::session &session) {
    const std::string engine = session.engine();
    const auto count = [&](long others) {
        return session.instructions({.work = "message",
                                     .parameters = {{"others", others}},
                                     .few = 500,
                                     .many = 2500,
                                     .main_thread_only = true});
    };
    const measure::sample alone = count(0);
    const measure::sample among = count(10000);
    session.add({.name = "10,000 other tasks wait, engine " + engine,
                 .found = measure::ratio(among, alone),
                 .unit = "times the instructions",
                 .kind = engine == "openmpi" ? measure::bar_kind::at_most : measure::bar_kind::none,
                 .bar = 2,
                 .against = "the same message, and no other task waits",
                 .side_unit = "instructions per message with its two tasks",
                 .ours = among.value,
                 .baseline = alone.value,
                 .to_beat = "TAMPI 4.1 on Open MPI: 494,565 instructions"});
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "task_one_of_many",
                          .about = "cost of one message in tasks while 10,000 other tasks wait, compared with none",
                          .bars = "at most 2 times the instructions on Open MPI",
                          .pieces = {{"message", message}},
                          .judge = judge});
}
