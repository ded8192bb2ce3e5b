// SPDX-License-Identifier: BSD-3-Clause
// A receive that blocks its task, since the message comes later: the task is blocked, other tasks run, one of them
// sends the message, and the task goes on. Compared with completing the same receive with MPI_Wait, which blocks the
// thread.
#include "measure/benchmark.hpp"
#include "measure/self_receive.hpp"
#include "tasks/flow_on_caller.hpp"

#include <thence/fiber.hpp>

#include <boost/fiber/algo/round_robin.hpp>

#include <array>

namespace {

// Two fibers of one thread take turns. The count is that of the one that sends.
void fiber(measure::work &work) {
    thence_task_runtime_add(&thence::fibers::task_runtime());
    {
        const thence::continuation_request cr;
        int out = 0;
        bool stop = false;
        boost::fibers::fiber receiver([&] {
            int in = 0;
            while (!stop) {
                MPI_Request receive;
                MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &receive);
                thence_task_wait(1, &receive, 0, MPI_STATUSES_IGNORE, cr);
            }
        });
        boost::this_fiber::yield(); // the receiver posts its receive and is blocked
        work.count([&](long iterations) {
            for (long i = 0; i < iterations; ++i) {
                measure::send_to_self(out);
                thence_progress();          // unblocks the receiver, if that send has not
                boost::this_fiber::yield(); // it goes on, posts its next receive and is blocked
            }
        });
        stop = true;
        measure::send_to_self(out);
        thence_progress();
        receiver.join();
    }
    thence_task_runtime_remove(&thence::fibers::task_runtime());
}

// Two tasks of one thread send each other a message in turns. Each posts its receive before it sends, and is blocked
// until the other one has got that message and answers.
void flow(measure::work &work) {
    const measure::flow_runtime runtime;
    measure::flow_on_caller team;
    const thence::continuation_request cr;
    std::array<int, 2> in{};
    const auto exchange = [&](int own, long iterations) {
        int out = 0;
        const auto send = [&] {
            measure::send_to_self(out, 1 - own);
            thence_progress(); // unblocks the other task, if that send has not
        };
        for (long i = 0; i < iterations; ++i) {
            MPI_Request receive;
            MPI_Irecv(&in[own], 1, MPI_INT, 0, own, MPI_COMM_SELF, &receive);
            if (i != 0 || own == 0) {
                send();
            }
            thence_task_wait(1, &receive, 0, MPI_STATUSES_IGNORE, cr);
        }
        if (own == 1) {
            send();
        }
    };
    work.count([&](long iterations) {
        for (const int own : {1, 0}) { // task 1 waits for the first message
            team.flow().submit({thence::out(&in[own])}, [&exchange, own, iterations] { exchange(own, iterations); });
        }
        team.wait(std::array{thence::in(&in[0]), thence::in(&in[1])});
    });
}

void judge(measure::session &session) {
    const std::string engine = session.engine();
    const auto counted = [](const char *work) {
        return measure::job{.work = work, .threads = measure::level::multiple, .few = 2000, .many = 12000};
    };
    const measure::sample baseline =
        session.instructions(measure::without_interposition(counted("wait"), "task_block"));
    const auto add = [&](const char *name, const measure::sample &ours, double bar) {
        session.add({.name = std::string(name) + ", engine " + engine,
                     .found = measure::difference(ours, baseline),
                     .unit = "instructions per blocking receive",
                     .kind = engine == "openmpi" ? measure::bar_kind::at_most : measure::bar_kind::none,
                     .bar = bar,
                     .against = "MPI_Wait on the same receive",
                     .side_unit = "instructions per message",
                     .ours = ours.value,
                     .baseline = baseline.value,
                     .to_beat = "TAMPI on nOS-V: 16356 in all"});
    };
    add("Boost.Fiber", session.instructions(counted("fiber")), 1500);
    add("data-flow task", measure::difference(session.instructions(counted("flow")), {}, 2), 4000);
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "task_block",
                          .about = "cost of a receive that blocks its task, compared with MPI_Wait",
                          .bars = "at most +1500 instructions with Boost.Fiber, +4000 in a data-flow task, on Open MPI",
                          .pieces = {{"wait", measure::wait_for_self_receive}, {"fiber", fiber}, {"flow", flow}},
                          .judge = judge});
}
