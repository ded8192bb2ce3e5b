// SPDX-License-Identifier: BSD-3-Clause
// then, upon_error, upon_stopped [exec.then]
#include "support.hpp"

namespace {

constexpr auto quiet = [](auto &&...) noexcept { return 1; };
constexpr auto loud = [](auto &&...) { return 1; };
constexpr auto nothing = [](auto &&...) noexcept {};

// A noexcept function adds no error; any other adds an exception_ptr.
static_assert(completes_with<decltype(ex::just() | ex::then(quiet)), ex::set_value_t(int)>);
static_assert(completes_with<decltype(ex::just() | ex::then(loud)), ex::set_value_t(int), throws>);
static_assert(completes_with<decltype(ex::just(1, 2) | ex::then(nothing)), ex::set_value_t()>);
// Other channels are forwarded and do not involve the function.
static_assert(completes_with<decltype(ex::just_error(1) | ex::then(loud)), ex::set_error_t(int)>);
static_assert(completes_with<decltype(ex::just_stopped() | ex::then(loud)), ex::set_stopped_t()>);
static_assert(completes_with<decltype(ex::just_error(1) | ex::upon_error(quiet)), ex::set_value_t(int)>);
static_assert(completes_with<decltype(ex::just_error(1) | ex::upon_error(loud)), ex::set_value_t(int), throws>);
static_assert(
    completes_with<decltype(ex::just_stopped() | ex::upon_stopped([]() noexcept { return 1; })), ex::set_value_t(int)>);
static_assert(
    completes_with<decltype(ex::just(1) | ex::upon_stopped([]() noexcept { return 'c'; })), ex::set_value_t(int)>);
// References are kept.
static_assert(completes_with<decltype(ex::just() | ex::then([]() noexcept -> int & {
                                          static int i;
                                          return i;
                                      })),
                             ex::set_value_t(int &)>);

TEST(Then, calls_the_function_with_the_values_and_sends_its_result) {
    auto [sum] = ex::sync_wait(ex::just(1, 2) | ex::then([](int a, int b) { return a + b; })).value();
    EXPECT_EQ(sum, 3);
}

TEST(Then, can_be_called_as_a_function) {
    auto [two] = ex::sync_wait(ex::then(ex::just(1), [](int a) { return a + 1; })).value();
    EXPECT_EQ(two, 2);
}

TEST(Then, closures_compose_without_a_sender) {
    auto twice = ex::then([](int a) { return 2 * a; });
    auto four_times = twice | twice;
    auto [result] = ex::sync_wait(ex::just(3) | four_times).value();
    EXPECT_EQ(result, 12);
    auto [again] = ex::sync_wait(ex::just(1) | std::move(four_times)).value();
    EXPECT_EQ(again, 4);
}

TEST(Then, an_exception_of_the_function_is_an_error) {
    EXPECT_THROW(ex::sync_wait(ex::just() | ex::then([] { raise("no"); })), std::runtime_error);
}

TEST(Then, does_not_call_the_function_on_errors_and_stops) {
    int runs = 0;
    record got;
    auto first = ex::connect(ex::just_error(1) | ex::then([&] { ++runs; }), recording{&got});
    auto second = ex::connect(ex::just_stopped() | ex::then([&] { ++runs; }), recording{&got});
    ex::start(first);
    ex::start(second);
    EXPECT_EQ(runs, 0);
    EXPECT_EQ(got.errors, 1);
    EXPECT_EQ(got.stopped, 1);
}

TEST(Then, upon_error_turns_an_error_into_a_value) {
    auto [text] =
        ex::sync_wait(ex::just_error(std::string("bad")) | ex::upon_error([](std::string s) { return s + "!"; }))
            .value();
    EXPECT_EQ(text, "bad!");
}

TEST(Then, upon_error_gets_the_thrown_exception) {
    auto [text] = ex::sync_wait(ex::just() | ex::then([] {
                                    raise("thrown");
                                    return std::string();
                                }) |
                                ex::upon_error([](std::exception_ptr error) {
                                    try {
                                        std::rethrow_exception(std::move(error));
                                    } catch (const std::exception &e) {
                                        return std::string(e.what());
                                    }
                                }))
                      .value();
    EXPECT_EQ(text, "thrown");
}

TEST(Then, upon_stopped_turns_a_stop_into_a_value) {
    auto [seven] = ex::sync_wait(ex::just_stopped() | ex::upon_stopped([] { return 7; })).value();
    EXPECT_EQ(seven, 7);
}

TEST(Then, passes_values_by_move) {
    auto [value] = ex::sync_wait(ex::just(move_only(2)) | ex::then([](move_only &&m) { return std::move(m); })).value();
    EXPECT_EQ(value.value, 2);
    counted::copies = 0;
    ex::sync_wait(ex::just(counted()) | ex::then([](counted &&c) { return std::move(c); }));
    EXPECT_EQ(counted::copies, 0);
    EXPECT_EQ(counted::alive, 0);
}

TEST(Then, takes_move_only_functions_that_are_called_once) {
    auto [value] = ex::sync_wait(ex::just() | ex::then([m = move_only(5)]() mutable { return std::move(m); })).value();
    EXPECT_EQ(value.value, 5);
}

TEST(Then, takes_pointers_to_members) {
    auto [value] = ex::sync_wait(ex::just(move_only(5)) | ex::then(&move_only::value)).value();
    EXPECT_EQ(value, 5);
}

TEST(Then, forwards_the_environment) {
    ex::inplace_stop_source source;
    source.request_stop();
    record got;
    bool seen = false;
    auto sender = ex::read_env(ex::get_stop_token) |
                  ex::then([&](auto token) noexcept { seen = token.stop_requested(); }) | ex::then([]() noexcept {});
    auto operation = ex::connect(std::move(sender), recording{&got, ex::prop{ex::get_stop_token, source.get_token()}});
    ex::start(operation);
    EXPECT_TRUE(seen);
    EXPECT_EQ(got.values, 1);
}

TEST(Then, keeps_the_completion_scheduler_of_its_predecessor) {
    pending_list list;
    auto sender = ex::schedule(manual_scheduler{&list}) | ex::then([] {});
    EXPECT_TRUE((ex::get_completion_scheduler<ex::set_value_t>(ex::get_env(sender)) == manual_scheduler{&list}));
}

} // namespace
