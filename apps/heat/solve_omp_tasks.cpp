// SPDX-License-Identifier: BSD-3-Clause
// OpenMP tasks: one per block and iteration, one per message. A message is a detached task: its body only starts the
// operation, and its continuation fulfils the event of the task, whose dependences release the blocks that wait. No
// thread ever blocks in MPI; one that finds no block to sweep runs a polling task.
//
// What GCC's libgomp asks for, all of it allowed by the standard:
//  - taskyield does nothing there, so the thread that creates the tasks helps inside a taskgroup instead. It then takes
//  a
//    task from outside the group only if that has a higher priority: hence blocks 2, polling 1, and
//    OMP_MAX_TASK_PRIORITY, which heat sets (see options.cpp).
//  - beyond 64 ready tasks per thread a new task runs at once in its creator, and a detached one would block it until
//  its
//    message arrives. So there are never that many: the creator stops at a bound and helps.
#include "continuations.hpp"

#include <atomic>
#include <omp.h>
#include <thread>

namespace heat {
namespace {

constexpr int high = 2, low = 1; // blocks and messages, polling

class TaskSolver {
public:
    explicit TaskSolver(Run &r)
        : run(r), halo(r), continuations(r), rows(r.block_rows()), cols(r.block_cols()),
          places(static_cast<std::size_t>(rows + 2) * static_cast<std::size_t>(cols + 2)),
          bindings(4 * static_cast<std::size_t>(cols)), bound(64 * r.threads - r.threads - 4) {}

    void solve() {
#pragma omp parallel num_threads(run.threads)
#pragma omp master
        {
            for (int t = 0; t < run.iterations; ++t)
                create(t);
            help_while_above(0);
        }
    }

private:
    // An operation on its way, with the task that waits for it. There is one for each direction, end and column, and
    // the dependences keep it to one operation at a time.
    struct Binding {
        TaskSolver *solver;
        Flight flight;
        omp_event_handle_t event;
    };

    // The object whose address stands for block (i, k) in dependences; rows -1 and `rows` stand for the halo.
    char *place(int i, int k) {
        return &places[static_cast<std::size_t>(i + 1) * static_cast<std::size_t>(cols + 2) +
                       static_cast<std::size_t>(k + 1)];
    }

    void create(int t) {
        const bool last = t + 1 == run.iterations;
        for (int k = 0; k < cols; ++k) {
            if (t > 0)
                message(false, Direction::up, t - 1, k, place(rows, k));
            message(false, Direction::down, t, k, place(-1, k));
        }
        for (int i = 0; i < rows; ++i) {
            for (int k = 0; k < cols; ++k)
                block(t, i, k);
            for (int k = 0; k < cols && i == 0 && !last; ++k)
                message(true, Direction::up, t, k, place(0, k));
        }
        for (int k = 0; k < cols; ++k)
            message(true, Direction::down, t, k, place(rows - 1, k));
    }

    void block(int t, int i, int k) {
        admit();
        [[maybe_unused]] const char *up = place(i - 1, k), *left = place(i, k - 1), *right = place(i, k + 1),
                                    *down = place(i + 1, k);
        [[maybe_unused]] const char *mid = place(i, k);
#pragma omp task priority(high) depend(in : *up, *left, *right, *down) depend(inout : *mid)
        {
            run.compute(t, i, k);
            continuations.glance();
            --live;
        }
    }

    void message(bool sent, Direction d, int t, int k, const char *where) {
        if (sent ? !halo.sends(d) : !halo.receives(d))
            return;
        admit();
        omp_event_handle_t event;
        // A send reads the block, a receive writes the halo.
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
        const std::size_t end = (flight.message.sent ? 2U : 0U) + (flight.message.direction == Direction::up ? 1U : 0U);
        Binding &b = bindings[4 * static_cast<std::size_t>(flight.message.col) + end];
        b = {this, flight, event};
        if (continuations.attach(b.flight, complete, &b))
            complete(MPI_SUCCESS, nullptr, &b);
    }

    static int complete(int error, MPI_Status *, void *data) {
        Continuations::check(error, "halo exchange");
        auto &b = *static_cast<Binding *>(data);
        TaskSolver &self = *b.solver;
        self.halo.complete(b.flight);
        omp_fulfill_event(b.event); // the binding may be in use again from here on
        --self.live;
        return MPI_SUCCESS;
    }

    // Counts one task in; the creator helps when there are too many.
    void admit() {
        if (live >= bound)
            help_while_above(bound / 2);
        ++live;
    }

    void help_while_above(long few) {
#pragma omp taskgroup
        poll(few);
    }

    // A task that polls and follows itself up. Every idle thread may take it, also those at the end of the parallel
    // region.
    void poll(long few) {
#pragma omp task priority(low)
        {
            const long before = live;
            continuations.progress();
            if (live == before)
                std::this_thread::yield();
            if (live > few)
                poll(few);
        }
    }

    Run &run;
    Halo halo;
    Continuations continuations;
    const int rows, cols;
    std::vector<char> places;
    std::vector<Binding> bindings;
    std::atomic<long> live{0}; // tasks created and not finished
    const long bound;
};

} // namespace

void solve_omp_tasks(Run &run) {
    TaskSolver(run).solve();
}

} // namespace heat
