// SPDX-License-Identifier: BSD-3-Clause
// schedule, starts_on, continues_on, run_loop, inline_scheduler [exec.schedule], [exec.starts.on], [exec.continues.on],
// [exec.run.loop]
#include "support.hpp"

namespace {

using loop_scheduler = decltype(std::declval<ex::run_loop &>().get_scheduler());

static_assert(ex::sends_stopped<decltype(ex::schedule(std::declval<loop_scheduler>())),
                                ex::prop<ex::get_stop_token_t, ex::inplace_stop_token>>);
static_assert(completes_with<decltype(ex::schedule(ex::inline_scheduler())), ex::set_value_t()>);
// continues_on adds the other completions of the scheduler, and an exception if storing the values may throw.
static_assert(completes_with<decltype(ex::just(1) | ex::continues_on(std::declval<manual_scheduler>())),
                             ex::set_value_t(int), ex::set_stopped_t()>);
using may_throw = decltype(ex::just() | ex::then([]() noexcept -> const std::string & {
                               static std::string s;
                               return s;
                           }));
static_assert(completes_with<decltype(std::declval<may_throw>() | ex::continues_on(std::declval<manual_scheduler>())),
                             ex::set_value_t(std::string), throws, ex::set_stopped_t()>);

TEST(RunLoop, runs_work_in_order_on_the_thread_that_calls_run) {
    ex::run_loop loop;
    std::vector<int> order;
    record got[2];
    auto first =
        ex::connect(ex::schedule(loop.get_scheduler()) | ex::then([&] { order.push_back(1); }), recording{&got[0]});
    auto second =
        ex::connect(ex::schedule(loop.get_scheduler()) | ex::then([&] { order.push_back(2); }), recording{&got[1]});
    ex::start(first);
    ex::start(second);
    EXPECT_TRUE(order.empty());
    loop.finish();
    loop.run();
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
    EXPECT_EQ(got[0].values + got[1].values, 2);
    EXPECT_EQ(got[0].thread, std::this_thread::get_id());
}

TEST(RunLoop, work_may_add_work) {
    ex::run_loop loop;
    record inner, outer;
    auto next = ex::connect(ex::schedule(loop.get_scheduler()), recording{&inner});
    auto first =
        ex::connect(ex::schedule(loop.get_scheduler()) | ex::then([&] { ex::start(next); }), recording{&outer});
    ex::start(first);
    loop.finish();
    loop.run();
    EXPECT_EQ(inner.values, 1);
}

TEST(RunLoop, work_that_was_requested_to_stop_before_it_ran_is_stopped) {
    ex::run_loop loop;
    ex::inplace_stop_source source;
    record got;
    auto operation = ex::connect(ex::schedule(loop.get_scheduler()),
                                 recording{&got, ex::prop{ex::get_stop_token, source.get_token()}});
    ex::start(operation);
    source.request_stop();
    loop.finish();
    loop.run();
    EXPECT_EQ(got.stopped, 1);
    EXPECT_EQ(got.completions(), 1);
}

TEST(RunLoop, schedulers_of_one_loop_are_equal) {
    ex::run_loop one, other;
    EXPECT_TRUE(one.get_scheduler() == one.get_scheduler());
    EXPECT_FALSE(one.get_scheduler() == other.get_scheduler());
    auto sender = ex::schedule(one.get_scheduler());
    EXPECT_TRUE(ex::get_completion_scheduler<ex::set_value_t>(ex::get_env(sender)) == one.get_scheduler());
}

TEST(InlineScheduler, completes_at_once) {
    record got;
    auto operation = ex::connect(ex::schedule(ex::inline_scheduler()), recording{&got});
    ex::start(operation);
    EXPECT_EQ(got.values, 1);
    EXPECT_EQ(got.thread, std::this_thread::get_id());
}

TEST(StartsOn, runs_the_sender_on_the_scheduler) {
    loop_thread other;
    auto where = ex::just() | ex::then([] { return this_thread(); });
    auto [ran] = ex::sync_wait(ex::starts_on(other.scheduler(), where)).value();
    EXPECT_EQ(ran, other.id());
}

#if !THENCE_EXECUTION_IS_STDEXEC // newer versions use another query
TEST(StartsOn, its_scheduler_is_in_the_environment) {
    loop_thread other;
    auto [same] =
        ex::sync_wait(ex::starts_on(other.scheduler(), ex::read_env(ex::get_scheduler) |
                                                           ex::then([&](auto s) { return s == other.scheduler(); })))
            .value();
    EXPECT_TRUE(same);
}
#endif

TEST(StartsOn, does_not_run_the_sender_when_the_scheduler_stops) {
    pending_list list;
    bool ran = false;
    record got;
    auto operation = ex::connect(ex::starts_on(manual_scheduler{&list}, ex::just() | ex::then([&] { ran = true; })),
                                 recording{&got});
    ex::start(operation);
    list.stop();
    EXPECT_FALSE(ran);
    EXPECT_EQ(got.stopped, 1);
}

TEST(ContinuesOn, sends_values_from_the_scheduler) {
    loop_thread other;
    auto [ran, value] = ex::sync_wait(ex::just(move_only(4)) | ex::continues_on(other.scheduler()) |
                                      ex::let_value([](move_only &m) { return ex::just(this_thread(), m.value); }))
                            .value();
    EXPECT_EQ(ran, other.id());
    EXPECT_EQ(value, 4);
}

TEST(ContinuesOn, sends_errors_and_stops_from_the_scheduler) {
    loop_thread other;
    auto [after_error] = ex::sync_wait(ex::just_error(1) | ex::continues_on(other.scheduler()) |
                                       ex::upon_error([](auto &&) { return this_thread(); }))
                             .value();
    auto [after_stop] = ex::sync_wait(ex::just_stopped() | ex::continues_on(other.scheduler()) |
                                      ex::upon_stopped([] { return this_thread(); }))
                            .value();
    EXPECT_EQ(after_error, other.id());
    EXPECT_EQ(after_stop, other.id());
}

TEST(ContinuesOn, stores_the_result_until_the_scheduler_runs_it) {
    pending_list list;
    record got;
    auto operation = ex::connect(ex::just(std::string("kept")) | ex::continues_on(manual_scheduler{&list}) |
                                     ex::then([](const std::string &s) { EXPECT_EQ(s, "kept"); }),
                                 recording{&got});
    ex::start(operation);
    EXPECT_EQ(got.completions(), 0);
    list.complete();
    EXPECT_EQ(got.values, 1);
}

#if THENCE_EXECUTION_IS_THENCE // stdexec sends this error on the thread of the predecessor
TEST(ContinuesOn, a_value_that_cannot_be_stored_is_an_error_sent_from_the_scheduler) {
    const throws_when_copied value;
    pending_list list;
    record got;
    auto operation = ex::connect(ex::just() | ex::then([&]() noexcept -> const throws_when_copied & { return value; }) |
                                     ex::continues_on(manual_scheduler{&list}),
                                 recording{&got});
    ex::start(operation);
    EXPECT_EQ(got.completions(), 0);
    list.complete();
    EXPECT_EQ(got.errors, 1);
}
#endif

TEST(ContinuesOn, is_stopped_when_its_scheduler_is) {
    pending_list list;
    record got;
    auto operation = ex::connect(ex::just(1) | ex::continues_on(manual_scheduler{&list}), recording{&got});
    ex::start(operation);
    list.stop();
    EXPECT_EQ(got.stopped, 1);
    EXPECT_EQ(got.completions(), 1);
}

TEST(ContinuesOn, has_a_completion_scheduler) {
    pending_list list;
    auto sender = ex::just() | ex::continues_on(manual_scheduler{&list});
    EXPECT_TRUE((ex::get_completion_scheduler<ex::set_value_t>(ex::get_env(sender)) == manual_scheduler{&list}));
}

} // namespace
