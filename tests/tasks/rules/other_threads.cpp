// SPDX-License-Identifier: BSD-3-Clause
// Blocking calls of MPI without a nonblocking form, in tasks: another thread makes the call, and the task is blocked
// meanwhile.
#include "library.hpp"
#include "scripted_tasks.hpp"

#include "interpose/waiting/other_thread.hpp"

#include <array>
#include <latch>

namespace {

using namespace thence::fake;
using thence::interpose::block_task_meanwhile;

class other_threads : public on_fake {
protected:
    other_threads() {
        refuses_to_block = 0;
        EXPECT_EQ(thence_task_runtime_add(&scripted), MPI_SUCCESS);
        EXPECT_EQ(thence_task_blocking_calls(c_), MPI_SUCCESS);
    }
    ~other_threads() override {
        EXPECT_EQ(thence_task_blocking_calls(MPI_REQUEST_NULL), MPI_SUCCESS);
        EXPECT_EQ(thence_task_runtime_remove(&scripted), MPI_SUCCESS);
    }
    // True if the call was made by another thread. `code`: what it has returned.
    static bool make(std::function<int()> call, int &code) {
        const auto run = [](void *made) noexcept { return (*static_cast<std::function<int()> *>(made))(); };
        return block_task_meanwhile({run, &call, "a call", nullptr}, code);
    }

    cr c_;
    scripted_task task_;
};

TEST_P(other_threads, the_task_is_blocked_until_the_call_has_returned) {
    std::binary_semaphore may_return(0);
    std::atomic<bool> over{false};
    std::thread worker([&] {
        const in_task scope(task_);
        int code = MPI_SUCCESS;
        const auto mine = std::this_thread::get_id();
        EXPECT_TRUE(make(
            [&] {
                EXPECT_NE(std::this_thread::get_id(), mine);
                may_return.acquire();
                return int{MPI_ERR_WIN};
            },
            code));
        EXPECT_EQ(code, MPI_ERR_WIN);
        over = true;
    });
    EXPECT_TRUE(eventually([&] { return task_.blocks > 0; }));
    EXPECT_FALSE(over);
    may_return.release();
    worker.join();
    EXPECT_EQ(task_.blocks, 1);
}

TEST_P(other_threads, calls_may_wait_for_each_other) {
    constexpr int count = 5;
    std::latch all_made(count);
    std::array<scripted_task, count> tasks;
    std::vector<std::thread> workers;
    for (scripted_task &each : tasks) {
        workers.emplace_back([&] {
            const in_task scope(each);
            int code = MPI_ERR_OTHER;
            EXPECT_TRUE(make(
                [&] {
                    all_made.arrive_and_wait();
                    return int{MPI_SUCCESS};
                },
                code));
            EXPECT_EQ(code, MPI_SUCCESS);
        });
    }
    for (std::thread &each : workers) {
        each.join();
    }
}

TEST_P(other_threads, a_runtime_may_refuse_to_block) {
    refuses_to_block = 1;
    std::thread worker([&] {
        const in_task scope(task_);
        int code = MPI_ERR_OTHER;
        EXPECT_TRUE(make([] { return int{MPI_SUCCESS}; }, code));
        EXPECT_EQ(code, MPI_SUCCESS);
    });
    worker.join();
}

TEST_P(other_threads, make_no_calls_of_others_than_tasks_that_block) {
    int code = 77;
    const auto never = []() -> int {
        ADD_FAILURE();
        return MPI_SUCCESS;
    };
    EXPECT_FALSE(make(never, code)); // outside of a task
    {
        const in_task scope(task_);
        EXPECT_EQ(thence_task_thread_aware(0, nullptr), MPI_SUCCESS);
        EXPECT_FALSE(make(never, code));
        EXPECT_EQ(thence_task_thread_aware(1, nullptr), MPI_SUCCESS);
        EXPECT_EQ(thence_task_blocking_calls(MPI_REQUEST_NULL), MPI_SUCCESS);
        EXPECT_FALSE(make(never, code));
        EXPECT_EQ(thence_task_blocking_calls(c_), MPI_SUCCESS);
    }
    EXPECT_EQ(code, 77);
}

THENCE_RULES(other_threads);

} // namespace
