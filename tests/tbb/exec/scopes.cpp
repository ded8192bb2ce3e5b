// SPDX-License-Identifier: BSD-3-Clause
// counting_scope, simple_counting_scope, spawn, spawn_future, associate [exec.scope], [exec.counting.scopes]
#include "support.hpp"

namespace {

static_assert(ex::scope_token<decltype(std::declval<ex::counting_scope &>().get_token())>);
static_assert(ex::scope_token<decltype(std::declval<ex::simple_counting_scope &>().get_token())>);

template <class Scope> struct Scopes : testing::Test {};
using both = testing::Types<ex::simple_counting_scope, ex::counting_scope>;
TYPED_TEST_SUITE(Scopes, both);

TYPED_TEST(Scopes, join_waits_for_spawned_work) {
    TypeParam scope;
    loop_thread other;
    int ran = 0;
    for (int i = 0; i < 10; ++i) {
        ex::spawn(ex::schedule(other.scheduler()) | ex::then([&]() noexcept { ++ran; }), scope.get_token());
    }
    ex::sync_wait(scope.join());
    EXPECT_EQ(ran, 10);
}

TYPED_TEST(Scopes, join_of_an_empty_scope_completes) {
    TypeParam used, unused;
    ex::spawn(ex::just(), used.get_token());
    EXPECT_TRUE(ex::sync_wait(used.join()).has_value());
    EXPECT_TRUE(ex::sync_wait(unused.join()).has_value());
}

TYPED_TEST(Scopes, a_scope_that_was_never_used_need_not_be_joined) {
    TypeParam scope;
    scope.close();
}

TYPED_TEST(Scopes, a_closed_scope_takes_no_work) {
    TypeParam scope;
    scope.close();
    bool ran = false;
    ex::spawn(ex::just() | ex::then([&]() noexcept { ran = true; }), scope.get_token());
    EXPECT_FALSE(ran);
    EXPECT_FALSE(ex::sync_wait(ex::spawn_future(ex::just(1), scope.get_token())).has_value());
    EXPECT_FALSE(ex::sync_wait(ex::associate(ex::just(1), scope.get_token())).has_value());
}

TYPED_TEST(Scopes, a_joined_scope_takes_no_work) {
    TypeParam scope;
    ex::spawn(ex::just(), scope.get_token());
    ex::sync_wait(scope.join());
    EXPECT_FALSE(static_cast<bool>(scope.get_token().try_associate()));
}

TYPED_TEST(Scopes, several_joins_may_wait) {
    TypeParam scope;
    pending_list list;
    ex::spawn(pending_sender{&list}, scope.get_token());
    record got[2];
    const auto env = on_scheduler(ex::inline_scheduler());
    auto a = ex::connect(scope.join(), recording{&got[0], env});
    auto b = ex::connect(scope.join(), recording{&got[1], env});
    ex::start(a);
    ex::start(b);
    EXPECT_EQ(got[0].completions() + got[1].completions(), 0);
    list.complete();
    EXPECT_EQ(got[0].values, 1);
    EXPECT_EQ(got[1].values, 1);
}

TYPED_TEST(Scopes, join_completes_on_the_scheduler_of_its_environment) {
    TypeParam scope;
    pending_list work, turns;
    ex::spawn(pending_sender{&work}, scope.get_token());
    record got;
    auto join = ex::connect(scope.join(), recording{&got, on_scheduler(manual_scheduler{&turns})});
    ex::start(join);
    work.complete();
    EXPECT_EQ(got.completions(), 0);
    turns.complete();
    EXPECT_EQ(got.values, 1);
}

TYPED_TEST(Scopes, spawn_future_sends_the_result) {
    TypeParam scope;
    loop_thread other;
    auto future = ex::spawn_future(ex::starts_on(other.scheduler(), ex::just(std::string("done"), move_only(2))),
                                   scope.get_token());
    auto [text, value] = ex::sync_wait(std::move(future)).value();
    EXPECT_EQ(text, "done");
    EXPECT_EQ(value.value, 2);
    auto failing = ex::spawn_future(ex::just() | ex::then([] { raise("future"); }), scope.get_token());
    EXPECT_THROW(ex::sync_wait(std::move(failing)), std::runtime_error);
    ex::sync_wait(scope.join());
}

TYPED_TEST(Scopes, a_future_may_be_started_before_its_work_completes) {
    TypeParam scope;
    pending_list list;
    record got;
    {
        auto operation = ex::connect(ex::spawn_future(pending_sender{&list}, scope.get_token()), recording{&got});
        ex::start(operation);
        EXPECT_EQ(got.completions(), 0);
        list.complete();
        EXPECT_EQ(got.values, 1);
    }
    ex::sync_wait(scope.join());
}

TYPED_TEST(Scopes, destroying_a_future_requests_its_work_to_stop) {
    TypeParam scope;
    pending_list list;
    bool asked = false;
    {
        auto future = ex::spawn_future(ex::read_env(ex::get_stop_token) | ex::let_value([&](auto &token) {
                                           return pending_sender{&list} |
                                                  ex::then([&, token] { asked = token.stop_requested(); });
                                       }),
                                       scope.get_token());
    }
    list.complete();
    EXPECT_TRUE(asked);
    ex::sync_wait(scope.join());
}

TYPED_TEST(Scopes, an_associated_sender_delays_join) {
    TypeParam scope;
    record joined;
    const auto env = on_scheduler(ex::inline_scheduler());
    auto join = ex::connect(scope.join(), recording{&joined, env});
    {
        auto sender = ex::just(1) | ex::associate(scope.get_token());
        ex::start(join);
        EXPECT_EQ(joined.completions(), 0);
        auto [one] = ex::sync_wait(std::move(sender)).value();
        EXPECT_EQ(one, 1);
    }
    EXPECT_EQ(joined.values, 1);
}

TEST(CountingScope, requests_all_its_work_to_stop) {
    ex::counting_scope scope;
    pending_list list;
    int asked = 0;
    for (int i = 0; i < 3; ++i) {
        ex::spawn(ex::read_env(ex::get_stop_token) | ex::let_value([&](auto &token) noexcept {
                      return pending_sender{&list} |
                             ex::then([&, token]() noexcept { asked += token.stop_requested() ? 1 : 0; });
                  }) | ex::upon_error([](auto &&) noexcept {}),
                  scope.get_token());
    }
    scope.request_stop();
    while (!list.empty()) {
        list.complete();
    }
    EXPECT_EQ(asked, 3);
    ex::sync_wait(scope.join());
}

TEST(CountingScopeDeathTest, must_be_joined_before_it_is_destroyed) {
#if defined(THENCE_EXECUTION_IS_THENCE)
    const char *message = "a scope is destroyed before it was joined.*sync_wait";
#else
    const char *message = "";
#endif
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            ex::counting_scope scope;
            ex::spawn(ex::just(), scope.get_token());
        },
        message);
}

} // namespace
