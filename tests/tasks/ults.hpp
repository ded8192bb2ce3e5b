// SPDX-License-Identifier: BSD-3-Clause
// User-level threads (ULTs) as tasks: what holds for the table of each runtime that has them. The file that includes
// this one defines `ults`, the runtime, with
//   start(), stop()      on the main thread, which is a ULT in between
//   table()              its thence_task_runtime
//   run(bodies)          runs each body in a ULT and returns when all have ended
//   yield()              lets others run
// There are 2 workers.
#pragma once

#include <thence/adapter.hpp>
#include <thence/task_runtime.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace {

using bodies = std::vector<std::function<void()>>;

#if defined(THENCE_STANDIN)
constexpr int many = 500; // ULTs that are blocked at once; those of the stand-in are threads
#else
constexpr int many = 10000;
#endif

class ult : public testing::Test {
protected:
    static void SetUpTestSuite() {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, thence_errors_return());
        ults::start();
    }
    static void TearDownTestSuite() { ults::stop(); }
    ult() { EXPECT_EQ(thence_task_runtime_add(&table_), MPI_SUCCESS); }
    ~ult() override {
        if (helped_ != MPI_REQUEST_NULL) {
            EXPECT_EQ(thence_free(&helped_), MPI_SUCCESS);
        }
        EXPECT_EQ(thence_task_runtime_remove(&table_), MPI_SUCCESS);
    }
    // Registers with this are complete without a ULT that makes progress.
    MPI_Request helped() {
        if (helped_ == MPI_REQUEST_NULL) {
            EXPECT_EQ(thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &helped_), MPI_SUCCESS);
        }
        return helped_;
    }

    const thence_task_runtime &table_ = *ults::table();
    MPI_Comm self_ = MPI_COMM_SELF;

private:
    MPI_Request helped_ = MPI_REQUEST_NULL;
};

TEST_F(ult, is_the_current_task_of_its_own_only) {
    void *first = nullptr;
    void *second = nullptr;
    std::atomic<int> arrived{0};
    const auto tell = [&](void *&where) {
        where = table_.current();
        ++arrived;
        while (arrived < 2) { // so both exist at once
            ults::yield();
        }
        EXPECT_EQ(table_.current(), where);
    };
    ults::run({[&] { tell(first); }, [&] { tell(second); }});
    EXPECT_NE(first, nullptr);
    EXPECT_NE(second, nullptr);
    EXPECT_NE(first, second);
    std::thread([&] { EXPECT_EQ(table_.current(), nullptr) << "a plain thread"; }).join();
    EXPECT_GE(table_.workers(), 2);
}

TEST_F(ult, on_a_plain_thread_calls_are_as_without_the_runtime) {
    std::thread([&] {
        MPI_Request request = MPI_REQUEST_NULL;
        int code = thence_task_wait(1, &request, 0, MPI_STATUSES_IGNORE, helped());
        MPI_Error_class(code, &code);
        EXPECT_EQ(code, MPI_ERR_UNSUPPORTED_OPERATION);
        EXPECT_EQ(thence_task_blocking_calls(helped()), MPI_SUCCESS);
        const int out = 3;
        int in = 0;
        MPI_Isend(&out, 1, MPI_INT, 0, 0, self_, &request);
        EXPECT_EQ(MPI_Recv(&in, 1, MPI_INT, 0, 0, self_, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(in, out);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT_EQ(thence_task_blocking_calls(MPI_REQUEST_NULL), MPI_SUCCESS);
    }).join();
}

TEST_F(ult, has_no_events) {
    EXPECT_EQ(table_.raise_events, nullptr);
    EXPECT_EQ(thence_task_with_events(), nullptr);
}

// More than there are workers. Only a ULT makes progress.
TEST_F(ult, is_blocked_while_others_send_what_it_waits_for) {
    constexpr int waiting = 100;
    const thence::continuation_request cr;
    std::vector<int> received(waiting, -1);
    std::atomic<int> posted{0};
    std::atomic<int> over{0};
    bodies all;
    for (int i = 0; i < waiting; ++i) {
        all.emplace_back([&, i] {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Status status;
            MPI_Irecv(&received[static_cast<std::size_t>(i)], 1, MPI_INT, 0, i, self_, &request);
            ++posted;
            EXPECT_EQ(thence_task_wait(1, &request, 0, &status, cr), MPI_SUCCESS);
            EXPECT_EQ(status.MPI_TAG, i);
            ++over;
        });
    }
    all.emplace_back([&] {
        while (posted < waiting) {
            ults::yield();
        }
        EXPECT_EQ(over, 0);
        for (int i = waiting - 1; i >= 0; --i) {
            MPI_Send(&i, 1, MPI_INT, 0, i, self_);
        }
        while (over < waiting) {
            thence_progress();
            ults::yield();
        }
    });
    ults::run(all);
    for (int i = 0; i < waiting; ++i) {
        EXPECT_EQ(received[static_cast<std::size_t>(i)], i);
    }
}

// A thread that is no worker completes the operations, and all ULTs are blocked.
TEST_F(ult, is_unblocked_by_the_helper_thread_when_many_are_blocked) {
    std::vector<int> received(many, -1);
    std::atomic<int> posted{0};
    bodies all;
    for (int i = 0; i < many; ++i) {
        all.emplace_back([&, i] {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(&received[static_cast<std::size_t>(i)], 1, MPI_INT, 0, i, self_, &request);
            ++posted;
            EXPECT_EQ(thence_task_wait(1, &request, 0, MPI_STATUSES_IGNORE, helped()), MPI_SUCCESS);
        });
    }
    std::thread sender([&] {
        while (posted < many) {
            std::this_thread::yield();
        }
        for (int i = 0; i < many; ++i) {
            MPI_Send(&i, 1, MPI_INT, 0, i, self_);
        }
    });
    helped();
    ults::run(all);
    sender.join();
    for (int i = 0; i < many; ++i) {
        ASSERT_EQ(received[static_cast<std::size_t>(i)], i);
    }
}

TEST_F(ult, is_blocked_by_blocking_calls_of_mpi) {
    int rank = 0;
    int size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    constexpr int lanes = 20;
    constexpr int hops = 10;
    EXPECT_EQ(thence_task_blocking_calls(helped()), MPI_SUCCESS);
    bodies all;
    for (int lane = 0; lane < lanes; ++lane) {
        all.emplace_back([&, lane] { // all ULTs of this rank receive before one of them sends
            int value = rank;
            for (int hop = 0; hop < hops; ++hop) {
                int in = -1;
                if (lane % 2 == 0) {
                    MPI_Sendrecv(&value, 1, MPI_INT, (rank + 1) % size, lane, &in, 1, MPI_INT, (rank + size - 1) % size,
                                 lane, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                } else {
                    MPI_Request sent = MPI_REQUEST_NULL;
                    MPI_Issend(&value, 1, MPI_INT, (rank + 1) % size, lane, MPI_COMM_WORLD, &sent);
                    MPI_Recv(&in, 1, MPI_INT, (rank + size - 1) % size, lane, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                    MPI_Wait(&sent, MPI_STATUS_IGNORE);
                }
                value = in + 1;
            }
            EXPECT_EQ(value, ((rank - hops) % size + size) % size + hops);
        });
    }
    all.emplace_back([&] {
        int sum = 0;
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        EXPECT_EQ(sum, size * (size - 1) / 2);
    });
    ults::run(all);
    EXPECT_EQ(thence_task_blocking_calls(MPI_REQUEST_NULL), MPI_SUCCESS);
}

TEST_F(ult, may_be_unblocked_before_it_is_blocked) {
    ults::run({[&] {
        void *const self = table_.current();
        std::thread([&] { EXPECT_EQ(table_.unblock(self), 0); }).join(); // a plain thread
        EXPECT_EQ(table_.block(self), 0);
        EXPECT_EQ(table_.unblock(self), 0); // itself
        EXPECT_EQ(table_.block(self), 0);
    }});
}

TEST_F(ult, is_unblocked_once_per_block_in_any_order) {
    constexpr int rounds = 200;
    std::atomic<void *> wanted{nullptr};
    std::atomic<int> blocked{0};
    std::thread plain([&] {
        for (int i = 0; i < rounds; ++i) {
            wanted.wait(nullptr);
            EXPECT_EQ(table_.unblock(wanted.exchange(nullptr)), 0);
        }
    });
    ults::run({[&] {
        for (int i = 0; i < rounds; ++i) {
            wanted = table_.current();
            wanted.notify_one();
            if (i % 3 == 0) { // sometimes block() is first, sometimes unblock()
                ults::yield();
            }
            EXPECT_EQ(table_.block(table_.current()), 0);
            ++blocked;
        }
    }});
    plain.join();
    EXPECT_EQ(blocked, rounds);
}

TEST_F(ult, is_started_as_a_task) {
    struct state {
        const thence_task_runtime &table;
        std::atomic<bool> ran{false};
        std::atomic<bool> completed{false};
    } s{table_};
    ults::run({[&] {
        EXPECT_EQ(table_.spawn(
                      [](void *argument) {
                          auto &self = *static_cast<state *>(argument);
                          void *const task = self.table.current();
                          EXPECT_NE(task, nullptr);
                          std::thread([&] { self.table.unblock(task); }).join();
                          EXPECT_EQ(self.table.block(task), 0) << "it can be blocked";
                          self.ran = true;
                      },
                      &s,
                      [](void *argument) {
                          EXPECT_TRUE(static_cast<state *>(argument)->ran);
                          static_cast<state *>(argument)->completed = true;
                      },
                      &s, "label"),
                  0);
        while (!s.completed) {
            ults::yield();
        }
    }});
    EXPECT_TRUE(s.completed);
}

TEST_F(ult, sleeps_while_others_run) {
    std::atomic<bool> others_ran{false};
    bodies all;
    for (int i = 0; i < 4; ++i) { // more than there are workers
        all.emplace_back([&] {
            std::uint64_t slept = 0;
            while (!others_ran) {
                EXPECT_EQ(table_.sleep_for(100000, &slept), 0);
                EXPECT_GE(slept, 100000U);
            }
        });
    }
    all.emplace_back([&] { others_ran = true; });
    ults::run(all);
    EXPECT_EQ(table_.sleep_for(0, nullptr), 0);
}

} // namespace
