// SPDX-License-Identifier: BSD-3-Clause
// Blocking calls of Fortran in tasks block the task, not its thread: more tasks wait than there are threads before the
// messages are sent.
#include <thence/dataflow.h>
#include <thence/dataflow.hpp>
#include <thence/task_runtime.h>
#include <thence/thence.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

extern "C" {
int fortran_receive(int source, int tag);
int fortran_wait(int source, int tag);
}

namespace {

constexpr int many = 12;
constexpr unsigned workers = 2;
std::atomic<int> started{0};
std::array<int, many> values{};

bool all_start() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (started != many && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return started == many;
}

} // namespace

int main(int argc, char **argv) {
    int level = 0, rank = 0, size = 1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;
    int faults = 0;
    {
        thence::flow tasks{{.workers = workers}};
        MPI_Request cr = MPI_REQUEST_NULL;
        thence_task_runtime_add(thence_flow_task_runtime());
        thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &cr);
        faults += thence_task_blocking_calls(cr) != MPI_SUCCESS ? 1 : 0;
        for (int i = 0; i < many; ++i) {
            tasks.submit({}, {}, [=] {
                ++started;
                values[static_cast<std::size_t>(i)] = i % 2 == 0 ? fortran_receive(left, i) : fortran_wait(left, i);
            });
        }
        if (!all_start()) {
            std::printf("FAILED: %d of %d tasks have started: those before them block their threads\n", started.load(),
                        many);
            std::fflush(stdout);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        for (int i = many - 1; i >= 0; --i) {
            const int value = 100 * rank + i;
            MPI_Send(&value, 1, MPI_INT, right, i, MPI_COMM_WORLD);
        }
        tasks.taskwait();
        for (int i = 0; i < many; ++i) {
            if (values[static_cast<std::size_t>(i)] != 100 * left + i) {
                std::printf("FAILED: task %d got %d\n", i, values[static_cast<std::size_t>(i)]);
                ++faults;
            }
        }
        thence_task_blocking_calls(MPI_REQUEST_NULL);
        thence_wait(&cr, MPI_STATUS_IGNORE);
        thence_free(&cr);
        thence_task_runtime_remove(thence_flow_task_runtime());
    }
    MPI_Finalize();
    return faults != 0;
}
