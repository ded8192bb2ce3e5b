// SPDX-License-Identifier: BSD-3-Clause
// THENCE_SLOW_CONTINUATION tells of tasks that keep a thread which polls for the pools, and of no others.
#include "all_modes.hpp"

#include <cstdlib>
#include <ctime>
#include <regex>

namespace {

// Before main() initializes MPI.
const int set = setenv("THENCE_SLOW_CONTINUATION", "20ms", 1);

void work_for(long ms) {
    const timespec time{0, ms * 1000000};
    nanosleep(&time, nullptr);
}

struct fast {
    void operator()() const noexcept {}
};
template <int Kind> struct slow { // each kind is told of once
    void operator()() const noexcept { work_for(40); }
};
struct slower {
    long ms;
    void operator()() const noexcept { work_for(ms); }
};

class slow_tasks : public testing::Test {
protected:
    thence::pools &pools = shared_pools();
    errors_return returned;

    // What is said when `task` has followed a receive in the given mode. It is said after the task, so a second one on
    // the same thread has to follow before all is there.
    template <class Task> std::string said(const char *mode, Task task) {
        testing::internal::CaptureStderr();
        run(mode, task);
        run(mode, fast());
        return testing::internal::GetCapturedStderr();
    }
    template <class Task> void run(const char *mode, Task task) {
        pending_receive receive(22);
        auto operation =
            ex::just() |
            pools.transform_mpi([&](MPI_Request *r) { *r = std::exchange(receive.request, MPI_REQUEST_NULL); },
                                thence::parse_completion_mode(mode), thence::uncancellable) |
            ex::then(task) | ex::upon_error([](const std::exception_ptr &) noexcept { ADD_FAILURE(); });
        ex::counting_scope scope;
        ex::spawn(std::move(operation), scope.get_token());
        receive.complete();
        pools.sync_wait(scope.join());
    }
};

const std::regex told(R"(^thence\[\d+\]: slow continuation: a task of .* ran for \d+\.\d ms on a thread that polls)");

TEST_F(slow_tasks, the_limit_is_known) {
    ASSERT_EQ(set, 0);
    EXPECT_EQ(thence::detail::slow_limit(thence::continuation_request().get()), 20000000);
}

TEST_F(slow_tasks, on_the_mpi_pool_are_told_of_with_their_name) {
    const std::string text = said("new-task,mpi-pool,inline-request,inline-completion", slow<0>());
    EXPECT_TRUE(std::regex_search(text, told)) << text;
}

TEST_F(slow_tasks, are_named_for_where_they_are_written) {
    const std::string text = said("new-task,mpi-pool,inline-request,inline-completion", [] { work_for(40); });
    EXPECT_TRUE(std::regex_search(text, std::regex("a task of .*(are_named_for|slow.cpp:[0-9]+)"))) << text;
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

TEST_F(slow_tasks, bypassing_the_queue_from_the_mpi_pool_are_told_of) {
    EXPECT_TRUE(std::regex_search(said("continuation,mpi-pool,inline-request,bypass", slow<1>()), told));
}

TEST_F(slow_tasks, inline_where_the_pool_tests_itself_are_told_of) {
    EXPECT_TRUE(std::regex_search(said("yield-while,inline-request,inline-completion", slow<2>()), told));
}

TEST_F(slow_tasks, scheduled_on_the_mpi_pool_are_told_of) {
    testing::internal::CaptureStderr();
    pools.sync_wait(ex::schedule(pools.mpi()) | ex::then(slow<3>()));
    pools.sync_wait(ex::schedule(pools.mpi()));
    EXPECT_TRUE(std::regex_search(testing::internal::GetCapturedStderr(), told));
}

TEST_F(slow_tasks, in_a_callback_are_told_of_once) {
    const std::string text = said("continuation,inline-request,inline-completion", slow<4>());
    const std::regex any("slow continuation: .* ran for");
    EXPECT_EQ(std::distance(std::sregex_iterator(text.begin(), text.end(), any), std::sregex_iterator()), 1) << text;
}

TEST_F(slow_tasks, of_the_workers_may_take_their_time) {
    EXPECT_EQ(said("continuation", slow<5>()), "");
    EXPECT_EQ(said("continuation,mpi-pool", slow<6>()), "");
    EXPECT_EQ(said("yield-while", slow<7>()), "");
}

TEST_F(slow_tasks, fast_ones_are_not_told_of) {
    EXPECT_EQ(said("new-task,mpi-pool,inline-completion", fast()), "");
}

TEST_F(slow_tasks, are_told_of_again_when_they_take_twice_as_long) {
    std::string tellings;
    for (const long ms : {40, 40, 120, 120})
        tellings += std::regex_search(said("new-task,mpi-pool,inline-completion", slower{ms}), told) ? '!' : '.';
    EXPECT_EQ(tellings, "!.!.");
}

} // namespace
