// SPDX-License-Identifier: BSD-3-Clause
// The program of the tests of TAMPI. With an argument it is one test by itself: `outstanding` ends with tasks that
// never end, `by_hand` and `without_threads` start the library themselves, and `polling_task` looks at the runtime
// after MPI_Finalize.
#include "tampi_tasks.hpp"

#include <TAMPI.h>

#include <gtest/gtest.h>
#include <thence/thence.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <thread>

namespace {

// A task that is blocked and one whose operation never completes: MPI_Finalize tells where, and ends.
int finalize_with_outstanding() {
    static int received[2];
    static std::atomic<int> begun{0};
    const auto nothing = [](void *) {};
    const long before = blocked();
    spawn(
        [](void *) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(&received[0], 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
            TAMPI_Iwait(&request, MPI_STATUS_IGNORE);
            ++begun;
        },
        nullptr, nothing, nullptr, "bound", nullptr);
    spawn([](void *) { MPI_Recv(&received[1], 1, MPI_INT, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE); }, nullptr, nothing,
          nullptr, "blocked", nullptr);
    while (begun == 0 || blocked() == before) {
        std::this_thread::yield();
    }
    MPI_Finalize();
    std::fprintf(stderr, "MPI_Finalize has returned\n");
    std::_Exit(0); // the tasks never end
}

// With THENCE_PROGRESS=task, and on the tests' runtime. The task that polls sleeps when MPI_Finalize begins: it has
// ended when MPI_Finalize returns, and the program may shut its runtime down.
int finalize_ends_the_polling_task() {
    const auto sleep_longer = reinterpret_cast<void (*)(long)>(dlsym(RTLD_DEFAULT, "alpi_tests_sleep_longer"));
    const auto count = reinterpret_cast<void (*)(long *, long *)>(dlsym(RTLD_DEFAULT, "alpi_tests_tasks"));
    sleep_longer(1000);
    static int received = 0;
    static std::atomic<int> steps{0};
    spawn(
        [](void *) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(&received, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
            TAMPI_Iwait(&request, MPI_STATUS_IGNORE);
            ++steps;
        },
        nullptr, [](void *) { ++steps; }, nullptr, "bound", nullptr);
    while (steps == 0) {
        std::this_thread::yield();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100)); // the task that polls has found nothing, and sleeps
    const int sent = 7;
    MPI_Send(&sent, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
    while (steps == 1) {
        std::this_thread::yield();
    }
    MPI_Finalize();
    long spawned = 0;
    long ended = 0;
    count(&spawned, &ended);
    std::fprintf(stderr, "%ld tasks, of which %ld have ended\n", spawned, ended);
    return spawned == 2 && ended == 2 && received == 7 ? 0 : 1;
}

// TAMPI_PROPERTY_AUTO_INIT = 0.
int start_by_hand() {
    int provided = -1;
    int faults = TAMPI_Property_set(TAMPI_PROPERTY_AUTO_INIT, 0) == MPI_SUCCESS ? 0 : 1;
    MPI_Init_thread(nullptr, nullptr, MPI_TASK_MULTIPLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, thence_errors_return());
    faults += provided == MPI_THREAD_MULTIPLE ? 0 : 1;
    int on = -1;
    TAMPI_Nonblocking_enabled(&on);
    faults += on == 0 ? 0 : 1;
    faults += TAMPI_Finalize() != MPI_SUCCESS ? 0 : 1; // not started
    faults += TAMPI_Init(MPI_TASK_MULTIPLE, nullptr) != MPI_SUCCESS ? 0 : 1;
    faults += TAMPI_Init(MPI_TASK_MULTIPLE, &provided) == MPI_SUCCESS && provided == MPI_TASK_MULTIPLE ? 0 : 1;
    faults += TAMPI_Init(MPI_TASK_MULTIPLE, &provided) != MPI_SUCCESS ? 0 : 1; // twice
    static int received = 0;
    static std::atomic<int> steps{0};
    spawn(
        [](void *) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(&received, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
            TAMPI_Iwait(&request, MPI_STATUS_IGNORE);
            ++steps;
        },
        nullptr,
        [](void *) { // inside of the callback that has lowered the event, which runs on after the task is complete
            ++steps;
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        },
        nullptr, "bound", nullptr);
    while (steps == 0) {
        std::this_thread::yield();
    }
    int error_class = MPI_SUCCESS;
    MPI_Error_class(TAMPI_Finalize(), &error_class);
    faults += error_class == MPI_ERR_PENDING ? 0 : 1;
    std::thread sends([&faults] { MPI_Send(&faults, 1, MPI_INT, 0, 1, MPI_COMM_SELF); }); // it may run the callback
    while (steps != 2) {
        std::this_thread::yield();
    }
    faults += TAMPI_Finalize() == MPI_SUCCESS ? 0 : 1; // the callback of the operation still runs
    sends.join();
    MPI_Finalize();
    std::fprintf(stderr, "%d faults\n", faults);
    return faults;
}

// In a lower thread level there is no mode, and still what was started can be stopped.
int start_by_hand_without_threads() {
    int provided = -1;
    int level = -1;
    TAMPI_Property_set(TAMPI_PROPERTY_AUTO_INIT, 0);
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &level);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, thence_errors_return());
    int faults = TAMPI_Init(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS && provided == level ? 0 : 1;
    faults += TAMPI_Finalize() == MPI_SUCCESS ? 0 : 1;
    faults += TAMPI_Finalize() != MPI_SUCCESS ? 0 : 1;
    MPI_Finalize();
    std::fprintf(stderr, "%d faults\n", faults);
    return faults;
}

} // namespace

int main(int argc, char **argv) {
    find_runtime();
    if (argc > 1 && std::strcmp(argv[1], "by_hand") == 0) {
        return start_by_hand();
    }
    if (argc > 1 && std::strcmp(argv[1], "without_threads") == 0) {
        return start_by_hand_without_threads();
    }
    int provided = -1;
    MPI_Init_thread(&argc, &argv, MPI_TASK_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        return 77;
    }
    find_ranks();
    if (provided != MPI_TASK_MULTIPLE) {
        std::fprintf(stderr, "MPI_Init_thread provides %d\n", provided);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (argc > 1 && std::strcmp(argv[1], "outstanding") == 0) {
        return finalize_with_outstanding();
    }
    if (argc > 1 && std::strcmp(argv[1], "polling_task") == 0) {
        return finalize_ends_the_polling_task();
    }
    testing::InitGoogleTest(&argc, argv);
    int result = RUN_ALL_TESTS();
    MPI_Allreduce(MPI_IN_PLACE, &result, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return result;
}
