// SPDX-License-Identifier: BSD-3-Clause
// A message arrives for a task, while all threads of rank 0 sleep; settings are the default ones. Measured is the time
// from its sending until a task that depends on that task begins. It is compared with a thread that blocks in MPI_Wait.
// A second figure is the processor time of an idle second, compared with a thread that tests every 100 us, TAMPI's
// period.
//
// Rank 1 sleeps, then sends the current time. Both ranks read the same clock of one machine.
#include "measure/benchmark.hpp"
#include "measure/busy_processes.hpp"
#include "measure/clock.hpp"
#include "measure/limit.hpp"

#include <TAMPI.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>
#include <thence/dataflow.h>
#include <thence/dataflow.hpp>
#include <thence/task_runtime.h>

#include <atomic>
#include <cstdio>
#include <thread>

namespace {

using measure::nanoseconds;
using measure::now;

// Each waits for one message and returns the time since it was sent.
nanoseconds by_wait() {
    nanoseconds sent = 0;
    MPI_Request receive;
    MPI_Irecv(&sent, 1, MPI_LONG_LONG, 1, 0, MPI_COMM_WORLD, &receive);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    return now() - sent;
}

nanoseconds by_task(thence::flow &flow) {
    nanoseconds sent = 0;
    nanoseconds begun = 0;
    flow.submit({thence::out(&sent)}, [&] {
        MPI_Request receive;
        MPI_Irecv(&sent, 1, MPI_LONG_LONG, 1, 0, MPI_COMM_WORLD, &receive);
        TAMPI_Iwait(&receive, MPI_STATUS_IGNORE);
    });
    flow.submit({thence::in(&sent)}, [&] { begun = now(); });
    flow.taskwait();
    return begun - sent;
}

// The time from the notification of a thread that sleeps until it runs.
double wake_up_of_a_thread(int count) {
    std::vector<double> found;
    for (int i = 0; i < count; ++i) {
        std::atomic<nanoseconds> notified{0};
        nanoseconds awake = 0;
        std::thread sleeper([&] {
            notified.wait(0);
            awake = now();
        });
        measure::sleep_for(2000000);
        const nanoseconds start = now();
        notified = start;
        notified.notify_one();
        sleeper.join();
        found.push_back(static_cast<double>(awake - start) / 1000);
    }
    return measure::median_of(found).value;
}

nanoseconds pause_of(int round) {
    return 2000000LL + 2000000LL * (round * 7 % 10); // not periodic
}

// The time until oneTBB begins a task that another thread adds to an arena, without MPI, and without tasks of ours. As
// in taskwait, the thread that waits is suspended in the arena. The workers have been idle for 2 to 20 ms. `workers`:
// as many as those of the flow.
double begin_of_a_task(int count, int workers) {
    ::tbb::task_arena arena(workers + 1, 1);
    std::vector<double> found;
    for (int i = 0; i < count; ++i) {
        nanoseconds start = 0;
        nanoseconds begun = 0;
        std::atomic<::tbb::task::suspend_point> waits{nullptr};
        std::thread adds([&] {
            waits.wait(nullptr);
            measure::sleep_for(pause_of(i));
            start = now();
            arena.enqueue([&] {
                begun = now();
                ::tbb::task::resume(waits);
            });
        });
        arena.execute([&] {
            ::tbb::task::suspend([&](::tbb::task::suspend_point point) {
                waits = point;
                waits.notify_one();
            });
        });
        adds.join();
        found.push_back(static_cast<double>(begun - start) / 1000);
    }
    return measure::median_of(found).value;
}

// The share of a processor, in percent, that this process uses in one second.
template <class Second> double share_of(Second second) {
    const nanoseconds start = now();
    const nanoseconds used = measure::processor_time();
    second();
    return 100 * static_cast<double>(measure::processor_time() - used) / static_cast<double>(now() - start);
}

// A task waits for a message that comes after a second, or a thread tests for it every 100 us.
double share_of_waiting(thence::flow *flow) {
    MPI_Barrier(MPI_COMM_WORLD);
    return share_of([&] {
        if (flow != nullptr) {
            by_task(*flow);
            return;
        }
        nanoseconds sent = 0;
        int flag = 0;
        MPI_Request receive;
        MPI_Irecv(&sent, 1, MPI_LONG_LONG, 1, 0, MPI_COMM_WORLD, &receive);
        while (flag == 0) {
            measure::sleep_for(100000);
            MPI_Test(&receive, &flag, MPI_STATUS_IGNORE);
        }
    });
}

void send_after(nanoseconds pause) {
    MPI_Barrier(MPI_COMM_WORLD);
    measure::sleep_for(pause);
    nanoseconds sent = now();
    MPI_Send(&sent, 1, MPI_LONG_LONG, 0, 0, MPI_COMM_WORLD);
}

// The messages after 2 to 20 ms: their medians are the results `wait` and `task`.
void wait_and_task(measure::work &work, thence::flow &flow, int rounds) {
    std::vector<double> wait;
    std::vector<double> task;
    for (int i = 0; i < rounds; ++i) {
        MPI_Barrier(MPI_COMM_WORLD);
        wait.push_back(static_cast<double>(by_wait()) / 1000);
        MPI_Barrier(MPI_COMM_WORLD);
        task.push_back(static_cast<double>(by_task(flow)) / 1000);
    }
    work.result("wait", measure::median_of(wait).value);
    work.result("task", measure::median_of(task).value);
}

// The same, beside busy processes that the judge has started.
void beside_others(measure::work &work) {
    const int rounds = work.quick() ? 30 : 200;
    work.result("free_processor", measure::share_while_spinning());
    if (work.rank() == 1) {
        for (int i = 0; i < 2 * rounds; ++i) {
            send_after(pause_of(i / 2));
        }
        return;
    }
    thence_task_runtime_add(thence_flow_task_runtime());
    {
        thence::flow flow;
        wait_and_task(work, flow, rounds);
        work.result("wake_up", wake_up_of_a_thread(rounds));
        work.result("begin", begin_of_a_task(rounds, flow.workers()));
    }
    thence_task_runtime_remove(thence_flow_task_runtime());
}

void both(measure::work &work) {
    const int rounds = work.quick() ? 30 : 200;
    constexpr nanoseconds second = 1000000000;
    work.result("free_processor", measure::share_while_spinning());
    if (work.rank() == 1) {
        for (int i = 0; i < 2 * rounds; ++i) {
            send_after(pause_of(i / 2));
        }
        send_after(second);
        send_after(second);
        MPI_Barrier(MPI_COMM_WORLD);
        return;
    }
    thence_task_runtime_add(thence_flow_task_runtime());
    {
        thence::flow flow;
        wait_and_task(work, flow, rounds);
        work.result("begin", begin_of_a_task(rounds, flow.workers()));
        work.result("waiting", share_of_waiting(&flow));
        work.result("tests", share_of_waiting(nullptr));
        work.result("wake_up", wake_up_of_a_thread(rounds));
        work.result("idle", share_of([] { measure::sleep_for(second); }));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    thence_task_runtime_remove(thence_flow_task_runtime());
}

void judge(measure::session &session) {
    const measure::numbers found = measure::with_free_processors(session, 2, {.work = "both"});
    char wake_up[160];
    std::snprintf(wake_up, sizeof wake_up, "on this machine the wake-up of one thread takes %.3g microseconds (median)",
                  found.at("wake_up"));
    const auto one = [&](const std::string &name) {
        const double value = found.at(name);
        return measure::sample{value, value, value};
    };
    measure::figure idle{.name = "message after 2 to 20 ms of waiting",
                         .found = one("task"),
                         .unit = "microseconds until the dependent task begins, median",
                         .kind = measure::bar_kind::at_most,
                         .bar = 15,
                         .against = "a thread blocked in MPI_Wait",
                         .side_unit = "microseconds, median",
                         .ours = found.at("task"),
                         .baseline = found.at("wait"),
                         .to_beat = "TAMPI: 111 to 156 microseconds",
                         .note = wake_up};
    const std::string limit = "oneTBB begins a task that another thread adds to an idle arena, without MPI";
    measure::add_limit(idle, {.what = limit, .value = found.at("begin")});
    session.add(idle);
    const auto processor = [&](const std::string &name, const std::string &result, measure::bar_kind kind,
                               const std::string &note) {
        const double ratio = found.at(result) / found.at("tests");
        session.add({.name = name,
                     .found = {ratio, ratio, ratio},
                     .unit = "times the processor time",
                     .kind = kind,
                     .bar = 0.5,
                     .against = "a thread that tests every 100 us, as TAMPI does by default",
                     .side_unit = "% of one processor",
                     .ours = found.at(result),
                     .baseline = found.at("tests"),
                     .note = note});
    };
    processor("processor time of an idle second", "idle", measure::bar_kind::at_most, "");
    processor("processor time of a second in which a task waits for a message", "waiting", measure::bar_kind::none,
              "the helper thread polls while operations are outstanding, for this latency");

    const measure::numbers beside = measure::beside_busy_processes(session, 2, {.work = "beside_others"});
    std::snprintf(wake_up, sizeof wake_up, "there the wake-up of one thread takes %.3g microseconds (median)",
                  beside.at("wake_up"));
    measure::figure shared{.name = "message after 2 to 20 ms of waiting, beside one busy process per processor",
                           .found = {beside.at("task"), beside.at("task"), beside.at("task")},
                           .unit = "microseconds until the dependent task begins, median",
                           .kind = measure::bar_kind::at_most,
                           .bar = 100,
                           .against = "a thread blocked in MPI_Wait, which spins",
                           .side_unit = "microseconds, median",
                           .ours = beside.at("task"),
                           .baseline = beside.at("wait"),
                           .note = wake_up};
    measure::add_limit(shared, {.what = limit, .value = beside.at("begin")});
    session.add(shared);
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "task_latency",
         .about = "latency of a message for a task while all threads sleep, compared with MPI_Wait",
         .bars =
             "median at most 15 microseconds, and at most 100 beside one busy process per processor; idle at most half "
             "the processor time of tests every 100 microseconds",
         .pieces = {{"both", both}, {"beside_others", beside_others}},
         .judge = judge});
}
