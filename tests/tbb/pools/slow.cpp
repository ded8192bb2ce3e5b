// SPDX-License-Identifier: BSD-3-Clause
// THENCE_SLOW_CONTINUATION reports tasks that keep a polling thread of the pools too long, and no others.
#include "all_modes.hpp"

#include <atomic>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <regex>
#include <sstream>
#include <utility>

namespace {

// Before main() initializes MPI.
const int set = setenv("THENCE_SLOW_CONTINUATION", "20ms", 1);

void work_for(long ms) {
    const timespec time{0, ms * 1000000};
    nanosleep(&time, nullptr);
}

// Each type of task is reported once, so each `Kind` is a type of its own.
template <int Kind> struct fast {
    void operator()() const noexcept {}
};
template <int Kind> struct slow {
    void operator()() const noexcept { work_for(40); }
};
template <int Kind> struct slower {
    long ms;
    void operator()() const noexcept { work_for(ms); }
};

// On a busy machine any task may take long. So what holds for fast tasks need only hold in one of several attempts,
// each with other types of tasks: `holds` gets the number of the attempt as a constant.
template <class Holds> bool in_one_attempt(Holds holds) {
    return [&]<int... Attempt>(std::integer_sequence<int, Attempt...>) {
        return (holds(std::integral_constant<int, Attempt>()) || ...);
    }
    (std::make_integer_sequence<int, 8>());
}

class slow_tasks : public testing::Test {
protected:
    thence::pools &pools = shared_pools();
    errors_return returned;

    // The output when `task` has followed a receive in the given mode. The report comes after the task, so a second
    // task on the same thread has to run before the output is complete.
    template <class Task> std::string output_of(const char *mode, Task task) {
        testing::internal::CaptureStderr();
        run(mode, task);
        run(mode, fast<-1>());
        return testing::internal::GetCapturedStderr();
    }
    // The same for a task that must be reported. It waits for the report, since the second task may run on another
    // thread.
    template <class Task> std::string output_with_report(const char *mode, Task task) {
        testing::internal::CaptureStderr();
        run(mode, task);
        run(mode, fast<-1>());
        wait_for_a_report();
        return testing::internal::GetCapturedStderr();
    }
    static void wait_for_a_report(int ms = 20000) {
        for (int i = 0; i < ms; ++i) {
            std::stringstream so_far;
            so_far << std::ifstream("/proc/self/fd/2").rdbuf();
            if (so_far.str().find("\n") != std::string::npos) {
                return;
            }
            work_for(1);
        }
    }
    template <class Task>
    void run(
        const char *mode, Task task, const std::function<void()> &before_waiting = [] {}) {
        constexpr int tag = 22;
        pending_receive receive(tag);
        auto operation =
            ex::just() |
            pools.transform_mpi([&](MPI_Request *r) { *r = std::exchange(receive.request, MPI_REQUEST_NULL); },
                                thence::parse_completion_mode(mode), thence::uncancellable) |
            ex::then(task) | ex::upon_error([](const std::exception_ptr &) noexcept { ADD_FAILURE(); });
        ex::counting_scope scope;
        ex::spawn(std::move(operation), scope.get_token());
        const int value = 1;
        PMPI_Send(&value, 1, MPI_INT, 0, tag, MPI_COMM_SELF); // unlike MPI_Send it runs no continuation on this thread
        before_waiting();
        pools.sync_wait(scope.join());
    }
};

const std::regex report(R"(^thence\[\d+\]: slow continuation: a task of .* ran for \d+\.\d ms on a thread that polls)");

TEST_F(slow_tasks, the_limit_is_known) {
    ASSERT_EQ(set, 0);
    EXPECT_EQ(thence::detail::slow_limit(), 20000000);
}

TEST_F(slow_tasks, on_the_mpi_pool_are_reported_with_their_name) {
    const std::string text = output_with_report("new-task,mpi-pool,inline-request,inline-completion", slow<0>());
    EXPECT_TRUE(std::regex_search(text, report)) << text;
}

TEST_F(slow_tasks, are_named_by_where_they_are_written) {
    const std::string text =
        output_with_report("new-task,mpi-pool,inline-request,inline-completion", [] { work_for(40); });
    EXPECT_TRUE(std::regex_search(text, std::regex("a task of .*(are_named_by|slow.cpp:[0-9]+)"))) << text;
    EXPECT_LT(text.size(), 600U) << text;

    using thence::detail::task_name;
    EXPECT_EQ(task_name("f() [with What = a<b, c(int, d<e>)::<lambda(auto:1)>, g::<lambda()> >]"), "c(int, d<e>)");
    EXPECT_EQ(task_name("f() [What = a<b, (lambda at x.cpp:3:5), c>]"), "lambda at x.cpp:3:5");
    EXPECT_EQ(task_name("f() [with What = a<b>]"), "a<b>]");
    EXPECT_EQ(task_name("f() [with What = a<s<<lambda closure object>stdexec::<lambda()>()>, d()::<lambda()> >]"),
              "d()");
    EXPECT_EQ(task_name("f() [What = a<s<(lambda at include/stdexec/__detail/a.hpp:1:2){}>, (lambda at x.cpp:3:5)>]"),
              "lambda at x.cpp:3:5");
}

// The thread of the MPI pool has to find the message. So this thread waits in the pools only afterwards.
TEST_F(slow_tasks, that_bypass_the_queue_on_the_mpi_pool_are_reported) {
    EXPECT_TRUE(in_one_attempt([&](auto attempt) {
        std::atomic<bool> started{false};
        const slow<100 + decltype(attempt)::value> task;
        testing::internal::CaptureStderr();
        run(
            "continuation,mpi-pool,inline-request,bypass",
            [&] {
                started = true;
                task();
            },
            [&] {
                for (int i = 0; i < 2000 && !started; ++i) {
                    work_for(1);
                }
            });
        wait_for_a_report(200);
        return std::regex_search(testing::internal::GetCapturedStderr(), report);
    }));
}

TEST_F(slow_tasks, inline_in_a_test_of_yield_while_are_reported) {
    EXPECT_TRUE(
        std::regex_search(output_with_report("yield-while,inline-request,inline-completion", slow<2>()), report));
}

TEST_F(slow_tasks, scheduled_on_the_mpi_pool_are_reported) {
    testing::internal::CaptureStderr();
    pools.sync_wait(ex::schedule(pools.mpi()) | ex::then(slow<3>()));
    pools.sync_wait(ex::schedule(pools.mpi()));
    wait_for_a_report();
    EXPECT_TRUE(std::regex_search(testing::internal::GetCapturedStderr(), report));
}

TEST_F(slow_tasks, in_a_callback_are_reported_once) {
    EXPECT_TRUE(in_one_attempt([&](auto attempt) {
        const std::string text =
            output_with_report("continuation,inline-request,inline-completion", slow<10 + decltype(attempt)::value>());
        const std::regex any("slow continuation: .* ran for");
        return std::distance(std::sregex_iterator(text.begin(), text.end(), any), std::sregex_iterator()) == 1;
    }));
}

TEST_F(slow_tasks, of_the_workers_are_not_reported) {
    EXPECT_TRUE(in_one_attempt(
        [&](auto attempt) { return output_of("continuation", slow<20 + decltype(attempt)::value>()).empty(); }));
    EXPECT_TRUE(in_one_attempt([&](auto attempt) {
        return output_of("continuation,mpi-pool", slow<30 + decltype(attempt)::value>()).empty();
    }));
    EXPECT_TRUE(in_one_attempt(
        [&](auto attempt) { return output_of("yield-while", slow<40 + decltype(attempt)::value>()).empty(); }));
}

TEST_F(slow_tasks, that_are_fast_are_not_reported) {
    EXPECT_TRUE(in_one_attempt([&](auto attempt) {
        return output_of("new-task,mpi-pool,inline-completion", fast<decltype(attempt)::value>()).empty();
    }));
}

TEST_F(slow_tasks, are_reported_again_when_they_take_twice_as_long) {
    EXPECT_TRUE(in_one_attempt([&](auto attempt) {
        std::string reports;
        for (const long ms : {40, 40, 120, 120}) {
            const slower<decltype(attempt)::value> task{ms};
            reports += std::regex_search(output_of("new-task,mpi-pool,inline-completion", task), report) ? '!' : '.';
        }
        return reports == "!.!.";
    }));
}

} // namespace
