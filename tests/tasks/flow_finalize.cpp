// SPDX-License-Identifier: BSD-3-Clause
// MPI_Finalize while idle workers of a flow poll MPI: it waits for those inside, and none calls MPI afterwards. The
// argument says when the tasks end: `before` MPI_Finalize, or `after` it, when tasks are still submitted. A program of
// its own, since MPI_Finalize is its subject.
#include <thence/dataflow.h>
#include <thence/dataflow.hpp>
#include <thence/task_runtime.h>
#include <thence/thence.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>
#include <unistd.h>

namespace {

constexpr int messages = 50;
int sent[messages], received[messages];

// Each task binds a message to itself, so that idle workers poll for it. The tasks of one place run one after another.
void send_to_self(thence::flow &graph, MPI_Request cr) {
    for (int i = 0; i < messages; ++i) {
        graph.submit({thence::out(&received[i]), thence::inout(&received[i % 4])}, [i, cr] {
            MPI_Request both[2];
            MPI_Irecv(&received[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &both[0]);
            MPI_Isend(&sent[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &both[1]);
            thence_task_attach(2, both, 0, MPI_STATUSES_IGNORE, thence_task_with_events(), cr);
        });
    }
}

} // namespace

int main(int argc, char **argv) {
    alarm(60);
    const bool after = argc > 1 && std::strcmp(argv[1], "after") == 0;
    for (int i = 0; i < messages; ++i) {
        sent[i] = i + 1;
    }
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level != MPI_THREAD_MULTIPLE || thence_task_runtime_add(thence_flow_task_runtime()) != MPI_SUCCESS) {
        return 2;
    }
    MPI_Request cr = MPI_REQUEST_NULL;
    thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &cr);
    std::atomic<long> run{0};
    std::atomic<bool> ends{false};
    std::thread submits;
    bool good = true;
    {
        thence::flow graph({.workers = 3});
        send_to_self(graph, cr);
        graph.taskwait();
        for (int i = 0; i < messages; ++i) {
            good = good && received[i] == i + 1;
        }
        int never = 0; // outstanding, so workers poll
        MPI_Request pending = MPI_REQUEST_NULL;
        int flag = 0;
        MPI_Irecv(&never, 1, MPI_INT, 0, messages, MPI_COMM_SELF, &pending);
        thence_attach(
            1, &pending, [](int, MPI_Status *, void *) -> int { return MPI_SUCCESS; }, nullptr, 0, MPI_STATUS_IGNORE,
            cr, &flag);
        submits = std::thread([&] {
            while (!ends) { // a worker that finds no task polls for 200 us
                graph.submit({}, [&] { ++run; });
                std::this_thread::sleep_for(std::chrono::microseconds(100));
            }
        });
        while (run < 20) {
            std::this_thread::yield();
        }
        if (!after) {
            ends = true;
            submits.join();
        }
        good = MPI_Finalize() == MPI_SUCCESS && good;
        const long finalized = run;
        while (after && run < finalized + 20) {
            std::this_thread::yield();
        }
        ends = true;
        if (submits.joinable()) {
            submits.join();
        }
        graph.taskwait();
    }
    if (!good) {
        std::fprintf(stderr, "a message was lost, or MPI_Finalize failed\n");
    }
    return good ? 0 : 1;
}
