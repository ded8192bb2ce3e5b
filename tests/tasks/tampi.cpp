// SPDX-License-Identifier: BSD-3-Clause
// TAMPI on the real MPI, with the tests' runtime of three workers, which is found through ALPI. Many tests start more tasks
// that wait than there are workers, before those that they wait for: they end only because no call keeps a worker.
#include "tampi_wrappers.h"

#include <TAMPI.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace {

int rank = 0;
int size = 1;
int previous_rank = 0;
int next_rank = 0;
int (*spawn)(void (*body)(void *), void *argument, void (*completed)(void *), void *completed_argument,
             const char *label, const void *attributes);
long (*blocked)();

constexpr int many = 20; // tasks, more than workers

// Tasks of one test. Its end waits until all are complete.
class tasks {
public:
    tasks() = default;
    ~tasks() { wait(); }
    tasks(const tasks &) = delete;
    tasks &operator=(const tasks &) = delete;

    // `completed` runs when the task is complete, as one that depends on it would.
    void start(
        std::function<void()> body, std::function<void()> completed = [] {}) {
        ++running_;
        auto *made = new task{std::move(body), std::move(completed), this};
        ASSERT_EQ(spawn([](void *t) { static_cast<task *>(t)->body(); }, made, &complete, made, "of a test", nullptr),
                  0);
    }
    void wait() {
        while (running_ != 0) {
            std::this_thread::yield();
        }
    }
    int running() const { return running_; }

private:
    struct task {
        std::function<void()> body;
        std::function<void()> completed;
        tasks *of;
    };
    static void complete(void *t) {
        const std::unique_ptr<task> ended(static_cast<task *>(t));
        ended->completed();
        --ended->of->running_;
    }
    std::atomic<int> running_{0};
};

TEST(tampi, both_modes_are_on) {
    int value = 0;
    EXPECT_EQ(TAMPI_Property_get(TAMPI_PROPERTY_BLOCKING_MODE, &value), MPI_SUCCESS);
    EXPECT_EQ(value, 1);
    EXPECT_EQ(TAMPI_Nonblocking_enabled(&value), MPI_SUCCESS);
    EXPECT_EQ(value, 1);
}

TEST(tampi, tasks_in_blocking_calls_keep_no_worker) {
    const long before = blocked();
    std::array<int, many> received{};
    tasks all;
    for (int i = 0; i < many; ++i) {
        all.start([&, i] {
            MPI_Status status{};
            EXPECT_EQ(MPI_Recv(&received[static_cast<std::size_t>(i)], 1, MPI_INT, previous_rank, i, MPI_COMM_WORLD,
                               &status),
                      MPI_SUCCESS);
            EXPECT_EQ(status.MPI_TAG, i);
            EXPECT_EQ(received[static_cast<std::size_t>(i)], 1000 * previous_rank + i);
        });
    }
    while (blocked() - before < many) {
        std::this_thread::yield();
    }
    MPI_Barrier(MPI_COMM_WORLD); // nobody sends before all tasks of all ranks are blocked
    for (int i = 0; i < many; ++i) {
        all.start([i] {
            const int sent = 1000 * rank + i;
            EXPECT_EQ(MPI_Ssend(&sent, 1, MPI_INT, next_rank, i, MPI_COMM_WORLD), MPI_SUCCESS);
        });
    }
}

TEST(tampi, waits_for_several_keep_no_worker) {
    std::atomic<int> waiting{0};
    tasks all;
    for (int i = 0; i < many; ++i) {
        all.start([i, &waiting] {
            std::array<int, 2> received{};
            std::array<MPI_Request, 2> requests;
            for (int j = 0; j < 2; ++j)
                MPI_Irecv(&received[static_cast<std::size_t>(j)], 1, MPI_INT, previous_rank, 2 * i + j, MPI_COMM_WORLD,
                          &requests[static_cast<std::size_t>(j)]);
            ++waiting;
            if (i % 3 == 0) {
                std::array<MPI_Status, 2> statuses;
                EXPECT_EQ(MPI_Waitall(2, requests.data(), statuses.data()), MPI_SUCCESS);
                EXPECT_EQ(statuses[1].MPI_TAG, 2 * i + 1);
            }
            for (int left = i % 3 == 0 ? 0 : 2; left > 0;) {
                int found = 1;
                int index[2];
                if (i % 3 == 1) {
                    EXPECT_EQ(MPI_Waitany(2, requests.data(), index, MPI_STATUS_IGNORE), MPI_SUCCESS);
                } else {
                    EXPECT_EQ(MPI_Waitsome(2, requests.data(), &found, index, MPI_STATUSES_IGNORE), MPI_SUCCESS);
                }
                left -= found;
            }
            EXPECT_EQ(received[0], 2 * i);
            EXPECT_EQ(received[1], 2 * i + 1);
        });
    }
    while (waiting < many) {
        std::this_thread::yield();
    }
    for (int i = 0; i < 2 * many; ++i) {
        MPI_Send(&i, 1, MPI_INT, next_rank, i, MPI_COMM_WORLD);
    }
}

TEST(tampi, probes_and_exchanges_keep_no_worker) {
    std::atomic<int> probing{0};
    tasks all;
    for (int i = 0; i < many; ++i) {
        all.start([i, &probing] {
            int received = 0;
            ++probing;
            if (i % 2 == 0) {
                MPI_Status status;
                EXPECT_EQ(MPI_Probe(previous_rank, i, MPI_COMM_WORLD, &status), MPI_SUCCESS);
                EXPECT_EQ(MPI_Recv(&received, 1, MPI_INT, status.MPI_SOURCE, i, MPI_COMM_WORLD, &status), MPI_SUCCESS);
            } else {
                MPI_Message message;
                EXPECT_EQ(MPI_Mprobe(previous_rank, i, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
                EXPECT_EQ(MPI_Mrecv(&received, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_SUCCESS);
            }
            EXPECT_EQ(received, i);
        });
    }
    while (probing < many) {
        std::this_thread::yield();
    }
    for (int i = 0; i < many; ++i) {
        MPI_Send(&i, 1, MPI_INT, next_rank, i, MPI_COMM_WORLD);
    }
    all.wait();
    for (int i = 0; i < many; ++i) {
        all.start([i] {
            int mine = 10 * rank + i;
            int theirs = -1;
            EXPECT_EQ(MPI_Sendrecv(&mine, 1, MPI_INT, next_rank, i, &theirs, 1, MPI_INT, previous_rank, i,
                                   MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                      MPI_SUCCESS);
            EXPECT_EQ(theirs, 10 * previous_rank + i);
            EXPECT_EQ(MPI_Sendrecv_replace(&mine, 1, MPI_INT, next_rank, many + i, previous_rank, many + i,
                                           MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                      MPI_SUCCESS);
            EXPECT_EQ(mine, 10 * previous_rank + i);
        });
    }
}

// Rank 0 calls them in tasks, all others in main.
TEST(tampi, collectives_in_tasks_match_those_outside) {
    std::vector<MPI_Comm> comms(many);
    for (MPI_Comm &comm : comms)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    const auto call = [](MPI_Comm comm) {
        int sum = 0;
        const int one = 1 + rank;
        EXPECT_EQ(MPI_Barrier(comm), MPI_SUCCESS);
        EXPECT_EQ(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
        EXPECT_EQ(sum, size * (size + 1) / 2);
        EXPECT_EQ(MPI_Bcast(&sum, 1, MPI_INT, size - 1, comm), MPI_SUCCESS);
        std::vector<int> from_all(static_cast<std::size_t>(size));
        EXPECT_EQ(MPI_Allgather(&one, 1, MPI_INT, from_all.data(), 1, MPI_INT, comm), MPI_SUCCESS);
        EXPECT_EQ(from_all.back(), size);
        EXPECT_EQ(MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, from_all.data(), 1, MPI_INT, comm), MPI_SUCCESS);
        EXPECT_EQ(from_all.front(), 1 + rank);
        EXPECT_EQ(MPI_Scan(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
        EXPECT_EQ(sum, (rank + 1) * size * (size + 1) / 2);
    };
    {
        tasks all;
        for (const MPI_Comm comm : comms) {
            if (rank == 0) {
                all.start([&call, comm] { call(comm); });
            } else {
                call(comm);
            }
        }
    }
    for (MPI_Comm &comm : comms)
        MPI_Comm_free(&comm);
}

TEST(tampi, a_task_is_complete_after_the_operations_that_it_has_bound) {
    struct buffers {
        std::array<int, 2> received{};
        std::array<MPI_Status, 2> statuses{};
    };
    std::vector<buffers> all_buffers(many);
    std::atomic<int> bodies{0};
    tasks all;
    for (int i = 0; i < many; ++i) {
        buffers &mine = all_buffers[static_cast<std::size_t>(i)];
        all.start(
            [&mine, &bodies, i] {
                std::array<MPI_Request, 2> requests;
                for (int j = 0; j < 2; ++j)
                    MPI_Irecv(&mine.received[static_cast<std::size_t>(j)], 1, MPI_INT, previous_rank, 2 * i + j,
                              MPI_COMM_WORLD, &requests[static_cast<std::size_t>(j)]);
                EXPECT_EQ(TAMPI_Iwaitall(2, requests.data(), mine.statuses.data()), MPI_SUCCESS);
                EXPECT_EQ(requests[0], MPI_REQUEST_NULL);
                ++bodies;
            },
            [&mine, i] {
                EXPECT_EQ(mine.received[0], 2 * i);
                EXPECT_EQ(mine.received[1], 2 * i + 1);
                EXPECT_EQ(mine.statuses[0].MPI_TAG, 2 * i);
                EXPECT_EQ(mine.statuses[1].MPI_TAG, 2 * i + 1);
            });
    }
    while (bodies < many) { // no body waits for a message
        std::this_thread::yield();
    }
    for (int i = 0; i < 2 * many; ++i) {
        all.start([i] {
            static std::array<int, 2 * many> sent;
            sent[static_cast<std::size_t>(i)] = i;
            MPI_Request request = MPI_REQUEST_NULL;
            EXPECT_EQ(TAMPI_Isend(&sent[static_cast<std::size_t>(i)], 1, MPI_INT, next_rank, i, MPI_COMM_WORLD,
                                  &request),
                      MPI_SUCCESS);
            EXPECT_EQ(request, MPI_REQUEST_NULL);
        });
    }
}

TEST(tampi, every_wrapper_does_its_operation_in_tasks_and_outside) {
    std::array<char, 8192> attached;
    MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size()));
    for (auto *form : {&wrappers_of_3, &wrappers_of_4}) {
        auto buffers = std::make_unique<wrapper_buffers>();
        wrapper_prepare(buffers.get(), MPI_COMM_WORLD);
        {
            tasks all;
            all.start([&] { EXPECT_EQ(form(buffers.get(), MPI_COMM_WORLD), 0); });
        }
        EXPECT_EQ(wrapper_faults(buffers.get(), MPI_COMM_WORLD), 0);
    }
    auto buffers = std::make_unique<wrapper_buffers>();
    wrapper_prepare(buffers.get(), MPI_COMM_WORLD);
    EXPECT_EQ(wrappers_of_3(buffers.get(), MPI_COMM_WORLD), 0);
    EXPECT_EQ(wrapper_faults(buffers.get(), MPI_COMM_WORLD), 0);
    void *detached = nullptr;
    int bytes = 0;
    MPI_Buffer_detach(&detached, &bytes);
}

TEST(tampi, a_failed_operation_ends_no_process_and_holds_no_task) {
    if (size == 1) {
        GTEST_SKIP() << "Open MPI does not report truncation of messages to oneself";
    }
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    std::array<int, 1000> sent{};
    std::array<int, 1000> received{};
    MPI_Status status{};
    std::atomic<bool> bound{false};
    const auto class_of = [](int code) {
        int error_class = code;
        MPI_Error_class(code, &error_class);
        return error_class;
    };
    tasks all;
    all.start(
        [&] {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(received.data(), 500, MPI_INT, previous_rank, 0, comm, &request);
            EXPECT_EQ(TAMPI_Iwait(&request, &status), MPI_SUCCESS);
            bound = true;
        },
        [&] { EXPECT_EQ(class_of(status.MPI_ERROR), MPI_ERR_TRUNCATE); });
    while (!bound) {
        std::this_thread::yield();
    }
    MPI_Barrier(comm);
    MPI_Send(sent.data(), 1000, MPI_INT, next_rank, 0, comm);
    all.wait();
    all.start([&] {
        EXPECT_EQ(class_of(MPI_Recv(received.data(), 500, MPI_INT, previous_rank, 1, comm, MPI_STATUS_IGNORE)),
                  MPI_ERR_TRUNCATE);
    });
    MPI_Send(sent.data(), 1000, MPI_INT, next_rank, 1, comm);
    all.wait();
    MPI_Comm_free(&comm);
}

TEST(tampi, ten_thousand_operations_are_outstanding) {
    constexpr int operations = 10000;
    std::vector<int> received(operations);
    tasks all;
    std::atomic<bool> bound{false};
    all.start([&] {
        for (int i = 0; i < operations; ++i) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(&received[static_cast<std::size_t>(i)], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &request);
            ASSERT_EQ(TAMPI_Iwait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        }
        bound = true;
    });
    while (!bound) {
        std::this_thread::yield();
    }
    EXPECT_EQ(all.running(), 1);
    for (int i = 0; i < operations; ++i) {
        MPI_Send(&i, 1, MPI_INT, rank, i, MPI_COMM_WORLD);
    }
    all.wait();
    for (int i = 0; i < operations; ++i) {
        ASSERT_EQ(received[static_cast<std::size_t>(i)], i);
    }
}

void find_runtime() {
    if (dlopen(alpi_complete, RTLD_NOW | RTLD_GLOBAL) == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        std::exit(1);
    }
    spawn = reinterpret_cast<decltype(spawn)>(dlsym(RTLD_DEFAULT, "alpi_task_spawn"));
    blocked = reinterpret_cast<decltype(blocked)>(dlsym(RTLD_DEFAULT, "alpi_tests_blocked"));
}

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

// TAMPI_PROPERTY_AUTO_INIT = 0.
int start_by_hand() {
    int provided = -1;
    int faults = TAMPI_Property_set(TAMPI_PROPERTY_AUTO_INIT, 0) == MPI_SUCCESS ? 0 : 1;
    MPI_Init_thread(nullptr, nullptr, MPI_TASK_MULTIPLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
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
        nullptr, [](void *) { ++steps; }, nullptr, "bound", nullptr);
    while (steps == 0) {
        std::this_thread::yield();
    }
    int error_class = MPI_SUCCESS;
    MPI_Error_class(TAMPI_Finalize(), &error_class);
    faults += error_class == MPI_ERR_PENDING ? 0 : 1;
    MPI_Send(&faults, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
    while (steps != 2) {
        std::this_thread::yield();
    }
    while (TAMPI_Finalize() != MPI_SUCCESS) { // the callback of the operation may still run
        std::this_thread::yield();
    }
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
    int provided = -1;
    MPI_Init_thread(&argc, &argv, MPI_TASK_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        return 77;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    previous_rank = (rank + size - 1) % size;
    next_rank = (rank + 1) % size;
    if (provided != MPI_TASK_MULTIPLE) {
        std::fprintf(stderr, "MPI_Init_thread provides %d\n", provided);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (argc > 1 && std::strcmp(argv[1], "outstanding") == 0) {
        return finalize_with_outstanding();
    }
    testing::InitGoogleTest(&argc, argv);
    int result = RUN_ALL_TESTS();
    MPI_Allreduce(MPI_IN_PLACE, &result, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return result;
}
