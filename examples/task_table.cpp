// SPDX-License-Identifier: BSD-3-Clause
// The table of your own task runtime: a small runtime whose tasks have a successor, and the table that makes MPI
// operations part of its tasks. The communication in receive_halo() knows Thence, and nothing of the runtime. The
// program passes values around a ring: each hop is a task that ends when its message has arrived, and its successor
// sends the value on. Usage: mpirun -n N task_table (any N, no arguments). Link thence.
#include <atomic>
#include <cstdlib>
#include <deque>
#include <functional>
#include <iostream>
#include <mutex>
#include <thread>
#include <vector>

#include <thence/task_runtime.h>

// ---- The runtime: a task runs when its predecessor is complete. ----
struct task {
    std::function<void()> body;
    task *successor = nullptr;
    std::atomic<std::uint64_t> events{1}; // that of the body
};

class runtime {
public:
    explicit runtime(int workers) {
        for (int i = 0; i < workers; ++i) {
            workers_.emplace_back([this] { work(); });
        }
    }
    ~runtime() {
        stop_ = true;
        for (std::thread &worker : workers_) {
            worker.join();
        }
    }
    void submit(task *ready) {
        const std::lock_guard lock(mutex_);
        ready_.push_back(ready);
    }
    void lower(task *of, std::uint64_t n) { // the task is complete when its body has ended and all events are lowered
        if (of->events.fetch_sub(n) == n) {
            if (of->successor != nullptr) {
                submit(of->successor);
            }
            delete of;
        }
    }
    static task *&current() {
        static thread_local task *running = nullptr;
        return running;
    }

private:
    void work() {
        while (!stop_) {
            task *next = nullptr;
            {
                const std::lock_guard lock(mutex_);
                if (!ready_.empty()) {
                    next = ready_.front();
                    ready_.pop_front();
                }
            }
            if (next == nullptr) {
                thence_progress();
                std::this_thread::yield();
                continue;
            }
            current() = next;
            next->body();
            current() = nullptr;
            lower(next, 1);
        }
    }
    std::mutex mutex_;
    std::deque<task *> ready_;
    std::atomic<bool> stop_{false};
    std::vector<std::thread> workers_;
};

// [table]
// ---- The table: all code that couples the runtime and Thence. ----
runtime *the_runtime = nullptr;

void *current_task() {
    return runtime::current();
}
int raise_events(void *of, uint64_t n) { // only the running task raises its own
    static_cast<task *>(of)->events += n;
    return 0;
}
int lower_events(void *of, uint64_t n, int) { // the errors of operations are in their statuses
    the_runtime->lower(static_cast<task *>(of), n);
    return 0;
}

thence_task_runtime make_table() {
    thence_task_runtime table{}; // what is null, this runtime cannot do
    table.size = sizeof table;
    table.name = "example";
    table.current = current_task;
    table.raise_events = raise_events;
    table.lower_events = lower_events;
    return table;
}
// [table]

// ---- Code that communicates, in any task of any runtime. ----
int receive_halo(int *value, int from, int tag, MPI_Request cr) {
    thence_task self;
    MPI_Request request;
    if (int code = thence_task_current(&self); code != MPI_SUCCESS) {
        return code;
    }
    if (int code = MPI_Irecv(value, 1, MPI_INT, from, tag, MPI_COMM_WORLD, &request); code != MPI_SUCCESS) {
        return code;
    }
    return thence_task_attach(1, &request, 0, MPI_STATUSES_IGNORE, &self, cr); // it does not wait
}

int main(int argc, char **argv) {
    constexpr int lanes = 8;
    constexpr int hops = 25;
    int level = 0;
    int rank = 0;
    int size = 1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level < MPI_THREAD_MULTIPLE) {
        std::cerr << "task_table: this MPI does not offer MPI_THREAD_MULTIPLE\n";
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    std::vector<int> value(lanes, rank); // each hop adds one and passes the value to the next rank
    std::vector<int> received(lanes);
    std::atomic<int> finished{0};
    MPI_Request cr = MPI_REQUEST_NULL;
    const thence_task_runtime table = make_table();
    thence_cr_create(0, -1, MPI_INFO_NULL, &cr);
    thence_task_runtime_add(&table);
    {
        runtime tasks(2);
        the_runtime = &tasks;
        for (int lane = 0; lane < lanes; ++lane) {
            task *after = nullptr; // built from the last task of a lane to the first
            for (int hop = hops - 1; hop >= 0; --hop) {
                auto *took_part = new task;
                took_part->body = [&, lane, hop] {
                    value[lane] = received[lane] + 1;
                    finished += hop == hops - 1 ? 1 : 0;
                };
                took_part->successor = after;
                auto *passes_on = new task;
                passes_on->body = [&, lane] {
                    MPI_Request send;
                    MPI_Isend(&value[lane], 1, MPI_INT, (rank + 1) % size, lane, MPI_COMM_WORLD, &send);
                    thence_task self;
                    thence_task_current(&self);
                    if (thence_task_attach(1, &send, 0, MPI_STATUSES_IGNORE, &self, cr) != MPI_SUCCESS ||
                        receive_halo(&received[lane], (rank + size - 1) % size, lane, cr) != MPI_SUCCESS) {
                        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
                    }
                };
                passes_on->successor = took_part;
                after = passes_on;
            }
            tasks.submit(after);
        }
        while (finished != lanes) {
            std::this_thread::yield();
        }
    }
    thence_task_runtime_remove(&table);
    thence_free(&cr);

    int wrong = 0;
    const int origin = ((rank - hops) % size + size) % size;
    for (const int each : value) {
        wrong += each == origin + hops ? 0 : 1;
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        std::cout << "task_table: " << lanes << " lanes, " << hops << " hops: " << (wrong == 0 ? "right" : "WRONG")
                  << '\n';
    }
    MPI_Finalize();
    return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
