// SPDX-License-Identifier: BSD-3-Clause
// A runtime with ALPI that is in the process is found by name; its tasks end after their operations, or are blocked.
#include <thence/task_runtime.h>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <dlfcn.h>
#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace {

const thence_task_runtime *find(std::string &why) {
    const thence_task_runtime *found = nullptr;
    const char *text = nullptr;
    EXPECT_EQ(thence_task_runtime_alpi(&found, &text), MPI_SUCCESS);
    why = text;
    return found;
}

class alpi : public testing::Test {
protected:
    static void SetUpTestSuite() {
        static bool loaded = false;
        if (std::exchange(loaded, true)) {
            return;
        }
        std::string why;
        EXPECT_EQ(find(why), nullptr);
        EXPECT_EQ(why, "no library of this process exports alpi_version_check");
        ASSERT_NE(dlopen(alpi_complete, RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
    }
    explicit alpi(unsigned flags = THENCE_CR_ANY_THREAD) : runtime_(find(why_)) {
        EXPECT_NE(runtime_, nullptr) << why_;
        EXPECT_EQ(thence_task_runtime_add(runtime_), MPI_SUCCESS);
        EXPECT_EQ(thence_cr_create(flags, -1, MPI_INFO_NULL, &cr_), MPI_SUCCESS);
    }
    ~alpi() override {
        EXPECT_EQ(thence_wait(&cr_, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(thence_free(&cr_), MPI_SUCCESS);
        EXPECT_EQ(thence_task_runtime_remove(runtime_), MPI_SUCCESS);
    }
    // Spawns a task and waits until it is complete. `before`: called on this thread meanwhile.
    void run(
        const std::function<void()> &body, const std::function<void()> &before = [] {}) {
        struct state {
            const std::function<void()> *body;
            std::atomic<bool> complete{false};
        } s{&body};
        ASSERT_EQ(runtime_->spawn([](void *argument) { (*static_cast<state *>(argument)->body)(); }, &s,
                                  [](void *argument) { static_cast<state *>(argument)->complete.store(true); }, &s,
                                  "of a test"),
                  0);
        before();
        while (!s.complete.load()) {
            std::this_thread::yield();
        }
    }

    std::string why_;
    const thence_task_runtime *runtime_;
    MPI_Request cr_ = MPI_REQUEST_NULL;
};

// Before the others, whose continuation requests start the helper thread.
class alpi_without_helper : public alpi {
protected:
    alpi_without_helper() : alpi(0) {}

    // How many tasks were spawned, and how many of them have ended.
    static std::pair<long, long> tasks() {
        const auto count = reinterpret_cast<void (*)(long *, long *)>(dlsym(RTLD_DEFAULT, "alpi_tests_tasks"));
        long spawned = 0;
        long ended = 0;
        count(&spawned, &ended);
        return {spawned, ended};
    }
    static bool helper_runs() {
        thence_info info{};
        EXPECT_EQ(thence_query(&info, sizeof info), MPI_SUCCESS);
        return std::string(info.helper) == "running";
    }
    // While the operation of a task is outstanding. No other thread calls MPI once it can be complete.
    void expect_that_a_task_polls() {
        const long before = tasks().first;
        MPI_Request operation = MPI_REQUEST_NULL;
        MPI_Request kept = MPI_REQUEST_NULL;
        std::atomic<bool> ended{false};
        run(
            [&] {
                const auto nothing = [](void *) -> int { return MPI_SUCCESS; };
                EXPECT_EQ(MPI_Grequest_start(
                              [](void *, MPI_Status *status) -> int {
                                  MPI_Status_set_elements(status, MPI_BYTE, 0);
                                  MPI_Status_set_cancelled(status, 0);
                                  return MPI_SUCCESS;
                              },
                              nothing, [](void *, int) -> int { return MPI_SUCCESS; }, nullptr, &operation),
                          MPI_SUCCESS);
                kept = operation;
                thence_task self{};
                EXPECT_EQ(thence_task_current(&self), MPI_SUCCESS);
                EXPECT_EQ(thence_task_attach(1, &operation, 0, MPI_STATUSES_IGNORE, &self, cr_), MPI_SUCCESS);
                ended = true;
            },
            [&] {
                while (!ended) {
                    std::this_thread::yield();
                }
                MPI_Grequest_complete(kept);
            });
        EXPECT_EQ(tasks().first, before + 2) << "the task, and the one that polls";
        while (tasks().second != before + 2) {
            std::this_thread::yield();
        }
    }
};

TEST_F(alpi_without_helper, a_task_polls_until_nothing_is_outstanding) {
    if (helper_runs()) {
        GTEST_SKIP() << "the helper thread runs already";
    }
    for (int round = 0; round < 3; ++round) {
        expect_that_a_task_polls();
    }
}

// The helper thread may not run the callbacks of this continuation request.
TEST_F(alpi_without_helper, a_task_polls_although_a_helper_runs_for_others) {
    MPI_Request of_others = MPI_REQUEST_NULL;
    ASSERT_EQ(thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &of_others), MPI_SUCCESS);
    EXPECT_TRUE(helper_runs());
    for (int round = 0; round < 3; ++round) {
        expect_that_a_task_polls();
    }
    EXPECT_EQ(thence_free(&of_others), MPI_SUCCESS);
}

TEST_F(alpi, names_the_runtime_and_its_parts) {
    EXPECT_EQ(why_, "threads of the tests, ALPI 1.2");
    EXPECT_EQ(runtime_->workers(), 3);
    EXPECT_NE(runtime_->block, nullptr);
    EXPECT_NE(runtime_->sleep_for, nullptr);
    std::uint64_t slept = 0;
    EXPECT_EQ(runtime_->sleep_for(1000, &slept), 0);
    EXPECT_GE(slept, 1000U);
    thence_task task{};
    EXPECT_EQ(thence_task_current(&task), MPI_SUCCESS);
    EXPECT_EQ(task.handle, nullptr) << "main is no task";
}

TEST_F(alpi, a_task_is_complete_after_its_messages) {
    std::array<int, 2> received{};
    std::array<MPI_Status, 2> statuses{};
    const int sent[2] = {11, 12};
    std::atomic<bool> ended{false};
    run(
        [&] {
            thence_task self{};
            EXPECT_EQ(thence_task_current(&self), MPI_SUCCESS);
            EXPECT_EQ(self.runtime, runtime_);
            std::array<MPI_Request, 2> requests;
            for (int i = 0; i < 2; ++i) {
                MPI_Irecv(&received[static_cast<std::size_t>(i)], 1, MPI_INT, 0, i, MPI_COMM_SELF,
                          &requests[static_cast<std::size_t>(i)]);
            }
            EXPECT_EQ(thence_task_attach(2, requests.data(), 0, statuses.data(), &self, cr_), MPI_SUCCESS);
            ended = true;
        },
        [&] {
            while (!ended) {
                std::this_thread::yield();
            }
            for (int i = 0; i < 2; ++i) {
                MPI_Send(&sent[i], 1, MPI_INT, 0, i, MPI_COMM_SELF);
            }
        });
    EXPECT_EQ(received[0], 11);
    EXPECT_EQ(received[1], 12);
    EXPECT_EQ(statuses[1].MPI_TAG, 1);
}

TEST_F(alpi, a_task_is_blocked_until_its_message_is_there) {
    int received = 0;
    std::atomic<bool> posted{false};
    run(
        [&] {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(&received, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &request);
            posted = true;
            EXPECT_EQ(thence_task_wait(1, &request, 0, MPI_STATUSES_IGNORE, cr_), MPI_SUCCESS);
            EXPECT_EQ(received, 7);
        },
        [&] {
            while (!posted) {
                std::this_thread::yield();
            }
            const int sent = 7;
            MPI_Send(&sent, 1, MPI_INT, 0, 3, MPI_COMM_SELF);
        });
}

// Only the running task may raise its events: the error of the runtime is one of ours, and the request stays.
TEST_F(alpi, events_of_a_task_that_does_not_run_are_refused) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, thence_errors_return());
    int nobody = 0;
    const thence_task other{runtime_, &nobody};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&nobody, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request); // pending: a complete one needs no event
    int error_class = MPI_SUCCESS;
    MPI_Error_class(thence_task_attach(1, &request, 0, MPI_STATUSES_IGNORE, &other, cr_), &error_class);
    EXPECT_EQ(error_class, MPI_ERR_OTHER);
    EXPECT_NE(request, MPI_REQUEST_NULL);
    const int sent = 7;
    MPI_Send(&sent, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

TEST(refused, version_2) {
    ASSERT_NE(dlopen(alpi_version_2, RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
    std::string why;
    EXPECT_EQ(find(why), nullptr);
    EXPECT_EQ(why, "it has ALPI 2.2, and Thence needs 1.0 or a later 1.x");
}

TEST(refused, no_events) {
    ASSERT_NE(dlopen(alpi_no_events, RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
    std::string why;
    EXPECT_EQ(find(why), nullptr);
    EXPECT_EQ(why, "it has ALPI 1.2, but no alpi_task_events_increase");
}

} // namespace
