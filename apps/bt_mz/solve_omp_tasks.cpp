// SPDX-License-Identifier: BSD-3-Clause
// OpenMP tasks: one per zone and step, and one per zone and exchange for its messages. That one is detached: its body
// only starts the messages, and a continuation of Thence over all of them fulfils its event. No step waits for
// another zone than its neighbours, so zones run ahead of each other, and no thread waits inside MPI. Messages have
// priority over steps, and steps of zones that have messages over others, so that messages leave early; bt_mz sets
// OMP_MAX_TASK_PRIORITY.
//
// One thread more than --threads creates the tasks and does nothing else, so that it can wait for tasks. It must, since
// GCC's runtime runs a new task at once, on the thread that creates it, while more than 64 tasks per thread are
// unfinished, and a detached task would block that thread. It waits for an old step of the zone at hand, and not for a
// number of tasks: the messages of that old step have been created on every rank, or will be without this one, so some
// rank can always go on. (`taskwait depend` would be shorter, but in GCC 12 a detached task that runs inside of it ends
// with its body.)
#include "run.hpp"

#include "common/check.hpp"
#include "common/input_error.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string>
#include <thence/omp.h>

namespace bt_mz {
namespace {

using apps::check;

// How many tasks may be unfinished: 64 per thread, without those that share a zone and those that end just now.
long most_tasks(const Run &run) {
    const long threads = run.threads;
    return 64 * (threads + 1) - (threads > 1 ? threads * threads : 0) - 2 * threads - 4;
}

// How many steps of a zone may be unfinished; 0 if even one is too many.
int most_steps(const Run &run) {
    constexpr long enough = 8;
    long tasks = static_cast<long>(run.zones.size());
    for (const auto &z : run.zones) {
        tasks += z->has_remote ? 1 : 0;
    }
    const bool messages = tasks > static_cast<long>(run.zones.size());
    return static_cast<int>(std::clamp(most_tasks(run) / tasks, messages ? 0L : 1L, enough));
}

class TaskSolver {
public:
    explicit TaskSolver(Run &r) : run(r), ahead(most_steps(r)), tokens(r.zones.size()) {
        check(thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &cr));
    }
    ~TaskSolver() { check(thence_free(&cr)); }
    TaskSolver(const TaskSolver &) = delete;
    TaskSolver &operator=(const TaskSolver &) = delete;

    void solve() {
#pragma omp parallel num_threads(run.threads + 1)
#pragma omp master
        {
            check_team();
            for (auto &z : run.zones) {
                first_faces(z.get());
                messages(z.get(), 0);
            }
            for (int t = 0; t < run.steps; ++t) {
                for (auto &z : run.zones) {
                    wait_for_step(z.get(), t - ahead);
                    step(z.get(), t);
                    messages(z.get(), t + 1);
                }
            }
            for (auto &z : run.zones) {
                wait_for_step(z.get(), run.steps - 1);
            }
            check(thence_omp_taskwait(cr));
        }
    }

private:
    // The objects whose addresses stand for the solution of a zone and its faces in dependences.
    struct Tokens {
        char solution, out[2], in[2];
        std::atomic<int> steps_done{0};
    };
    Tokens &of(const LocalZone *z) {
        return tokens[static_cast<std::size_t>(z->index)];
    }
    // What the faces of a side depend on: the neighbour's, or the messages.
    const char *faces(const LocalZone *z, Side side, int t) {
        return z->local[side] != nullptr ? &of(z->local[side]).out[t % 2] : &of(z).in[t % 2];
    }

    // With a thread less, this one would wait for steps that nobody computes.
    void check_team() const {
        if (omp_get_num_threads() > run.threads) {
            return;
        }
        std::fprintf(
            stderr,
            "bt_mz: OpenMP gives %d threads, and omp-tasks needs one more than --threads %d; see OMP_THREAD_LIMIT "
            "and OMP_DYNAMIC\n",
            omp_get_num_threads(), run.threads);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }

    // The tasks capture a pointer to the zone: of a reference, a task would copy the object.
    void first_faces(LocalZone *z) {
        [[maybe_unused]] Tokens &mine = of(z);
#pragma omp task depend(in : mine.solution) depend(out : mine.out[0])
        Run::copy_out(*z, 0);
    }

    void step(LocalZone *z, int t) {
        [[maybe_unused]] Tokens &mine = of(z);
        [[maybe_unused]] const char *w = faces(z, west, t), *e = faces(z, east, t), *s = faces(z, south, t),
                                    *n = faces(z, north, t);
        [[maybe_unused]] char *out = &mine.out[(t + 1) % 2];
        const int urgent = z->has_remote ? 1 : 0;
#pragma omp task priority(urgent) depend(in : *w, *e, *s, *n) depend(inout : mine.solution) depend(out : *out)
        {
            run.copy_in(*z, t);
            for (const Part part : parts) {
                share(z, part, t);
                thence_progress(); // so that messages need not wait for the helper thread
            }
            Run::copy_out(*z, t + 1);
            run.done(*z, t);
            of(z).steps_done.store(t + 1, std::memory_order_release);
            of(z).steps_done.notify_one();
        }
    }

    // Sleeps until step t of the zone is done.
    void wait_for_step(LocalZone *z, int t) {
        std::atomic<int> &done = of(z).steps_done;
        for (int n = done.load(std::memory_order_acquire); n <= t; n = done.load(std::memory_order_acquire)) {
            done.wait(n, std::memory_order_acquire);
        }
    }

    // Computes a part by as many tasks as there are threads.
    void share(LocalZone *z, Part part, int t) {
        const int first = Run::first(part), count = Run::last(part, *z) - first;
        const int pieces = std::min(run.threads, count);
        for (int p = 1; p < pieces; ++p) {
#pragma omp task
            run.compute(*z, part, t, first + count * p / pieces, first + count * (p + 1) / pieces);
        }
        run.compute(*z, part, t, first, first + count / pieces);
#pragma omp taskwait
    }

    void messages(LocalZone *z, int t) {
        if (!z->has_remote || t == run.steps) {
            return;
        }
        [[maybe_unused]] Tokens &mine = of(z);
        omp_event_handle_t event{};
#pragma omp task priority(2) depend(in : mine.out[t % 2]) depend(out : mine.in[t % 2]) detach(event)
        {
            MPI_Request requests[2 * sides];
            const int count = run.start_messages(*z, t, requests);
            check(thence_omp_fulfill_event_after(count, requests, MPI_STATUSES_IGNORE, event, cr));
        }
    }

    Run &run;
    const int ahead;
    std::vector<Tokens> tokens;
    MPI_Request cr = MPI_REQUEST_NULL;
};

} // namespace

void check_omp_tasks(const Run &run) {
    int enough = most_steps(run) > 0, all = 0;
    MPI_Allreduce(&enough, &all, 1, MPI_INT, MPI_MIN, run.comm);
    if (all == 0) {
        throw apps::InputError("the variant omp-tasks can have " + std::to_string(most_tasks(run)) +
                               " unfinished tasks with " + std::to_string(run.threads) +
                               " threads per rank, too few for the zones of a rank; use more ranks, or --variant "
                               "dataflow");
    }
}

void solve_omp_tasks(Run &run) {
    TaskSolver(run).solve();
}

} // namespace bt_mz
