// SPDX-License-Identifier: BSD-3-Clause
// Binds each thread to one core. Both sides of the comparison use the same cores, so the ratio does not depend on where
// the system schedules their threads.
#pragma once

#include <atomic>
#include <mpi.h>
#include <omp.h>
#include <sched.h>
#include <vector>

#include <oneapi/tbb/task_scheduler_observer.h>

namespace cholesky {

class cores {
public:
    // Assigns `threads` of the cores that this process may use to this rank, different ones for each rank of the node.
    explicit cores(int threads) {
        cpu_set_t allowed;
        CPU_ZERO(&allowed);
        if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
            return;
        }
        std::vector<int> found;
        for (int core = 0; core < CPU_SETSIZE; ++core) {
            if (CPU_ISSET(core, &allowed)) {
                found.push_back(core);
            }
        }
        const auto wanted = static_cast<std::size_t>(threads);
        std::size_t first = 0;
        if (found.size() != wanted) { // if they are equal, the launcher has bound this rank
            MPI_Comm node = MPI_COMM_NULL;
            int rank = 0;
            MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
            MPI_Comm_rank(node, &rank);
            MPI_Comm_free(&node);
            first = static_cast<std::size_t>(rank) * wanted;
        }
        if (first + wanted <= found.size()) {
            mine_.assign(found.begin() + static_cast<std::ptrdiff_t>(first),
                         found.begin() + static_cast<std::ptrdiff_t>(first + wanted));
        }
    }
    // False if there are too few cores. Then no thread is bound.
    bool enough() const { return !mine_.empty(); }

    // Binds the calling thread to the core with this number.
    void bind(std::size_t number) const {
        if (!enough()) {
            return;
        }
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(mine_[number % mine_.size()], &one);
        sched_setaffinity(0, sizeof one, &one);
    }

private:
    std::vector<int> mine_;
};

// Binds the workers of an arena to the cores after the first one, which is for the waiting thread.
class pinned_workers : ::tbb::task_scheduler_observer {
public:
    pinned_workers(::tbb::task_arena &arena, const cores &on) : task_scheduler_observer(arena), cores_(on) {
        observe(true);
    }
    ~pinned_workers() override { observe(false); }

private:
    void on_scheduler_entry(bool is_worker) override {
        thread_local bool bound = false;
        if (is_worker && !bound) {
            cores_.bind(++workers_);
        }
        bound = true;
    }
    const cores &cores_;
    std::atomic<std::size_t> workers_{0};
};

// The OpenMP threads exist during the lifetime of this object: its constructor creates and binds them, its destructor
// ends them. Outside of it none of them spins while something else is measured.
class openmp_team {
public:
    openmp_team(int threads, const cores &on) {
#pragma omp parallel num_threads(threads)
        on.bind(static_cast<std::size_t>(omp_get_thread_num()));
    }
    ~openmp_team() {
        omp_pause_resource_all(omp_pause_soft);
    }
    openmp_team(const openmp_team &) = delete;
    openmp_team &operator=(const openmp_team &) = delete;
};

} // namespace cholesky
