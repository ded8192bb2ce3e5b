// SPDX-License-Identifier: BSD-3-Clause
// A receive that blocks its task, since the message comes later: the task is blocked, other tasks run, one of them sends
// the message, and the task goes on. Compared with completing the same receive with MPI_Wait, which blocks the thread.
#include "measure/benchmark.hpp"
#include "measure/self_receive.hpp"

#include <thence/fiber.hpp>

#include <boost/fiber/algo/round_robin.hpp>

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

void judge(measure::session &session) {
    const std::string engine = session.engine();
    const measure::sample ours =
        session.instructions({.work = "fiber", .threads = measure::level::multiple, .few = 2000, .many = 12000});
    const measure::sample baseline = session.instructions(measure::without_interposition(
        {.work = "wait", .threads = measure::level::multiple, .few = 2000, .many = 12000}, "task_block"));
    session.add({.name = "Boost.Fiber, engine " + engine,
                 .found = measure::difference(ours, baseline),
                 .unit = "instructions per blocking receive",
                 .kind = engine == "openmpi" ? measure::bar_kind::at_most : measure::bar_kind::none,
                 .bar = 1500,
                 .against = "MPI_Wait on the same receive",
                 .side_unit = "instructions per message",
                 .ours = ours.value,
                 .baseline = baseline.value,
                 .to_beat = "TAMPI on nOS-V: 16356 in all"});
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "task_block",
                          .about = "cost of a receive that blocks its task, compared with MPI_Wait",
                          .bars = "at most +1500 instructions with Boost.Fiber on Open MPI",
                          .pieces = {{"wait", measure::wait_for_self_receive}, {"fiber", fiber}},
                          .judge = judge});
}
