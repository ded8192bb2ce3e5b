// SPDX-License-Identifier: BSD-3-Clause
// just, just_error, just_stopped [exec.just]
#include "support.hpp"

namespace {

static_assert(completes_with<decltype(ex::just()), ex::set_value_t()>);
static_assert(completes_with<decltype(ex::just(1, std::string())), ex::set_value_t(int, std::string)>);
static_assert(completes_with<decltype(ex::just_error(1)), ex::set_error_t(int)>);
static_assert(completes_with<decltype(ex::just_stopped()), ex::set_stopped_t()>);
static_assert(!ex::sends_stopped<decltype(ex::just(1)), ex::env<>>);
static_assert(noexcept(ex::just(1)) &&noexcept(ex::just_stopped()));

TEST(Just, sends_its_values_in_order) {
    auto [number, text] = ex::sync_wait(ex::just(1, std::string("one"))).value();
    EXPECT_EQ(number, 1);
    EXPECT_EQ(text, "one");
}

TEST(Just, decays_its_arguments) {
    const char text[] = "array";
    int number = 1;
    auto sender = ex::just(text, number);
    ++number;
    EXPECT_EQ(number, 2);
    auto [pointer, copied] = ex::sync_wait(std::move(sender)).value();
    EXPECT_STREQ(pointer, "array");
    EXPECT_EQ(copied, 1);
}

TEST(Just, moves_values_that_cannot_be_copied) {
    auto [value] = ex::sync_wait(ex::just(move_only(3))).value();
    EXPECT_EQ(value.value, 3);
}

TEST(Just, an_lvalue_can_be_used_again) {
    auto sender = ex::just(std::string("kept"));
    for (int i = 0; i < 2; ++i) {
        auto [text] = ex::sync_wait(sender).value();
        EXPECT_EQ(text, "kept");
    }
}

TEST(Just, completes_the_receiver_once_and_not_before_start) {
    record got;
    auto operation = ex::connect(ex::just(1), recording{&got});
    EXPECT_EQ(got.completions(), 0);
    ex::start(operation);
    EXPECT_EQ(got.values, 1);
    EXPECT_EQ(got.completions(), 1);
}

TEST(Just, errors_and_stopped_use_their_own_channels) {
    record failed, stopped;
    auto first = ex::connect(ex::just_error(1), recording{&failed});
    auto second = ex::connect(ex::just_stopped(), recording{&stopped});
    ex::start(first);
    ex::start(second);
    EXPECT_EQ(failed.errors, 1);
    EXPECT_EQ(stopped.stopped, 1);
    EXPECT_EQ(failed.completions() + stopped.completions(), 2);
}

TEST(Just, its_values_are_destroyed_with_the_operation) {
    {
        record got;
        auto operation = ex::connect(ex::just(counted()), recording{&got});
        EXPECT_EQ(counted::alive, 1);
        ex::start(operation);
    }
    EXPECT_EQ(counted::alive, 0);
}

} // namespace
