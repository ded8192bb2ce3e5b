// SPDX-License-Identifier: BSD-3-Clause
// OpenMP tasks: one per block and iteration, one per message. A message is a detached task: its body only starts the
// operation. The continuation of the operation fulfils the event of the task, whose dependences then release the
// waiting blocks. No thread ever blocks in MPI. A thread without a block to sweep runs a polling task.
//
// Two properties of GCC's libgomp, which the standard allows, need extra code:
//  - taskyield does nothing. So the thread that creates the tasks executes tasks inside a taskgroup instead. There it
//    takes a task from outside the group only if that task has a higher priority. Therefore blocks have priority 2,
//    polling has priority 1, and heat sets OMP_MAX_TASK_PRIORITY (see options.cpp).
//  - With more than 64 ready tasks per thread, a new task runs at once on the creating thread. A detached task would
//    block that thread until its message arrives. So the creating thread stops at a lower number and executes tasks.
#include "continuations.hpp"

#include <atomic>
#include <omp.h>
#include <thence/backoff.h>

namespace heat {
namespace {

constexpr int high = 2, low = 1; // high: blocks and messages; low: polling

class TaskSolver {
public:
    explicit TaskSolver(Run &r)
        : run(r), halo(r), continuations(r), rows(r.block_rows()), cols(r.block_cols()),
          dependence_objects(static_cast<std::size_t>(rows + 2) * static_cast<std::size_t>(cols + 2)),
          bindings(4 * static_cast<std::size_t>(cols)), bound(64 * r.threads - r.threads - 4) {}

    void solve() {
#pragma omp parallel num_threads(run.threads)
#pragma omp master
        {
            for (int t = 0; t < run.iterations; ++t) {
                create(t);
            }
            run_tasks_while_above(0);
        }
    }

private:
    // An operation in flight and the task that waits for it. There is one binding for each direction, end and column;
    // the dependences allow one operation at a time in each.
    struct Binding {
        TaskSolver *solver;
        Flight flight;
        omp_event_handle_t event;
    };

    // The object whose address represents block (i, k) in dependences; rows -1 and `rows` represent the halo.
    char *dependence_of(int i, int k) {
        return &dependence_objects[static_cast<std::size_t>(i + 1) * static_cast<std::size_t>(cols + 2) +
                                   static_cast<std::size_t>(k + 1)];
    }

    void create(int t) {
        const bool last = t + 1 == run.iterations;
        for (int k = 0; k < cols; ++k) {
            if (t > 0) {
                message(false, Direction::up, t - 1, k, dependence_of(rows, k));
            }
            message(false, Direction::down, t, k, dependence_of(-1, k));
        }
        for (int i = 0; i < rows; ++i) {
            for (int k = 0; k < cols; ++k) {
                block(t, i, k);
            }
            for (int k = 0; k < cols && i == 0 && !last; ++k) {
                message(true, Direction::up, t, k, dependence_of(0, k));
            }
        }
        for (int k = 0; k < cols; ++k) {
            message(true, Direction::down, t, k, dependence_of(rows - 1, k));
        }
    }

    void block(int t, int i, int k) {
        count_new_task();
        [[maybe_unused]] const char *up = dependence_of(i - 1, k), *left = dependence_of(i, k - 1),
                                    *right = dependence_of(i, k + 1), *down = dependence_of(i + 1, k);
        [[maybe_unused]] const char *mid = dependence_of(i, k);
#pragma omp task priority(high) depend(in : *up, *left, *right, *down) depend(inout : *mid)
        {
            run.compute(t, i, k);
            continuations.poll_if_due();
            --live;
        }
    }

    void message(bool sent, Direction d, int t, int k, const char *where) {
        if (sent ? !halo.sends(d) : !halo.receives(d)) {
            return;
        }
        count_new_task();
        omp_event_handle_t event;
        // A send depends on the block as input, a receive has the halo as output.
        // NOLINTNEXTLINE(bugprone-branch-clone): the tasks differ in what they depend on
        if (sent) {
#pragma omp task priority(high) depend(in : *where) detach(event)
            begin(halo.send(d, t, k, run.col0(k), run.col1(k)), event);
        } else {
#pragma omp task priority(high) depend(out : *where) detach(event)
            begin(halo.receive(d, t, k, run.col0(k), run.col1(k)), event);
        }
    }

    void begin(const Flight &flight, omp_event_handle_t event) {
        const std::size_t end = (flight.message.sent ? 2U : 0U) + (flight.direction() == Direction::up ? 1U : 0U);
        Binding &b = bindings[4 * static_cast<std::size_t>(flight.message.col) + end];
        b = {this, flight, event};
        if (continuations.attach(b.flight, complete, &b)) {
            complete(MPI_SUCCESS, nullptr, &b);
        }
    }

    static int complete(int error, MPI_Status *, void *data) {
        check(error);
        auto &b = *static_cast<Binding *>(data);
        TaskSolver &self = *b.solver;
        self.halo.complete(b.flight);
        omp_fulfill_event(b.event); // from here on another task may use the binding
        --self.live;
        return MPI_SUCCESS;
    }

    // Counts a new task. If there are too many, the creating thread executes tasks first.
    void count_new_task() {
        if (live >= bound) {
            run_tasks_while_above(bound / 2);
        }
        ++live;
    }

    void run_tasks_while_above(long few) {
#pragma omp taskgroup
        poll(few);
    }

    // A task that polls and creates its successor. Every idle thread may execute it, including those at the end of the
    // parallel region.
    void poll(long few) {
#pragma omp task priority(low)
        {
            const long before = live;
            continuations.progress();
            if (live == before) {
                thence_backoff_pause(&backoff);
            } else {
                thence_backoff_found(&backoff);
            }
            if (live > few) {
                poll(few);
            }
        }
    }

    Run &run;
    Halo halo;
    Continuations continuations;
    const int rows, cols;
    std::vector<char> dependence_objects;
    std::vector<Binding> bindings;
    std::atomic<long> live{0}; // tasks that were created but have not finished
    const long bound;
    thence_backoff backoff = THENCE_BACKOFF_INIT; // of the polling task: there is one at a time
};

} // namespace

void solve_omp_tasks(Run &run) {
    TaskSolver(run).solve();
}

} // namespace heat
