// SPDX-License-Identifier: BSD-3-Clause
// An adapter to your own runtime in 30 lines: a small thread pool that does not use MPI, and the adapter that couples
// it to MPI. The program does many ring all-reductions (lanes). Each is a chain of tasks that start when their messages
// have arrived. Usage:
// mpirun -n N own_runtime (any N, no arguments). Link thence-core or thence. See docs/guide/your-own-runtime.md.
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <thence/thence.h>

// ---- The runtime: tasks, workers, and a function that idle workers call. Most runtimes have such a hook. ----
class pool {
public:
    pool(int workers, std::function<void()> idle) : idle_(std::move(idle)) {
        for (int i = 0; i < workers; ++i) {
            workers_.emplace_back([this] { work(); });
        }
    }
    ~pool() {
        {
            const std::lock_guard lock(mutex_);
            stop_ = true;
        }
        for (std::thread &worker : workers_) {
            worker.join();
        }
    }
    void submit(std::function<void()> task) {
        const std::lock_guard lock(mutex_);
        tasks_.push_back(std::move(task));
    }

private:
    void work() {
        std::unique_lock lock(mutex_);
        while (!stop_) {
            if (tasks_.empty()) {
                lock.unlock();
                idle_();
                std::this_thread::yield();
                lock.lock();
                continue;
            }
            const std::function<void()> task = std::move(tasks_.front());
            tasks_.pop_front();
            lock.unlock();
            task();
            lock.lock();
        }
    }
    std::mutex mutex_;
    std::deque<std::function<void()>> tasks_;
    bool stop_ = false;
    std::function<void()> idle_;
    std::vector<std::thread> workers_;
};

// [adapter]
// ---- The adapter: all code that couples MPI and the pool. ----
struct after { // the task to run after the operations; it exists until the callback has run
    pool &where;
    std::function<void(int error)> task;
};

int submit_task(int error, MPI_Status *, void *data) { // the callback: only submits the task to the pool
    const std::unique_ptr<after> self(static_cast<after *>(data));
    self->where.submit([task = std::move(self->task), error] { task(error); });
    return MPI_SUCCESS;
}

// Runs `task(error)` on the pool once all requests are complete. Returns an MPI error if nothing was attached.
int submit_after(pool &where, std::vector<MPI_Request> &requests, MPI_Request cr, std::function<void(int error)> task) {
    auto data = std::make_unique<after>(after{where, std::move(task)});
    int complete = 0;
    const int rc = thence_attach(static_cast<int>(requests.size()), requests.data(), submit_task, data.get(),
                                 THENCE_INVOKE_FAILED, MPI_STATUSES_IGNORE, cr, &complete);
    if (complete) {
        submit_task(rc, MPI_STATUSES_IGNORE, data.release()); // rc is the error of the first failed operation
    } else if (rc == MPI_SUCCESS) {
        (void)data.release(); // now the callback owns it
    }
    return complete ? MPI_SUCCESS : rc;
}
// [adapter]

// ---- The program ----
struct lane {
    int number, rank, size;
    int hop = 0;
    long sum, sent = 0, received;
};

void next_hop(pool &workers, lane &l, MPI_Request cr, const std::function<void(bool)> &finished) {
    if (l.hop == l.size - 1) {
        finished(l.sum == l.size * 10L * l.number + l.size * (l.size - 1L) / 2);
        return;
    }
    l.sent = l.received;
    std::vector<MPI_Request> requests(2);
    MPI_Isend(&l.sent, 1, MPI_LONG, (l.rank + 1) % l.size, l.number, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&l.received, 1, MPI_LONG, (l.rank + l.size - 1) % l.size, l.number, MPI_COMM_WORLD, &requests[1]);
    const int rc = submit_after(workers, requests, cr, [&, cr](int error) {
        if (error != MPI_SUCCESS) {
            return finished(false);
        }
        l.sum += l.received;
        ++l.hop;
        next_hop(workers, l, cr, finished);
    });
    if (rc != MPI_SUCCESS) {
        finished(false);
    }
}

int main(int argc, char **argv) {
    constexpr int lanes = 16;
    int level = 0, rank = 0, size = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (level < MPI_THREAD_MULTIPLE) {
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    MPI_Request cr = MPI_REQUEST_NULL;
    thence_cr_create(0, -1, MPI_INFO_NULL, &cr);

    std::mutex mutex;
    std::condition_variable changed;
    int done = 0, right = 0;
    const std::function<void(bool)> finished = [&](bool ok) {
        const std::lock_guard lock(mutex);
        ++done;
        right += ok;
        changed.notify_one();
    };
    {
        std::vector<lane> all;
        all.reserve(lanes);
        for (int i = 0; i < lanes; ++i) {
            all.push_back({i, rank, size, 0, 10L * i + rank, 0, 10L * i + rank});
        }
        pool workers(2, [] { thence_progress(); }); // idle workers poll
        for (lane &l : all) {
            workers.submit([&] { next_hop(workers, l, cr, finished); });
        }
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return done == lanes; });
    }
    thence_free(&cr);
    if (rank == 0) {
        std::cout << right << " of " << lanes << " lanes are right\n";
    }
    MPI_Finalize();
    return right == lanes ? EXIT_SUCCESS : EXIT_FAILURE;
}
