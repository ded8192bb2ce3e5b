// SPDX-License-Identifier: BSD-3-Clause
// let_value, let_error, let_stopped [exec.let]
#include <optional>

#include "support.hpp"

namespace {

static_assert(completes_with<decltype(ex::just(1) | ex::let_value([](int &i) noexcept { return ex::just(i); })),
                             ex::set_value_t(int)>);
static_assert(completes_with<decltype(ex::just(1) | ex::let_value([](int &i) { return ex::just(i); })),
                             ex::set_value_t(int), throws>);
static_assert(
    completes_with<decltype(ex::just_error(1) | ex::let_error([](int &) noexcept { return ex::just_stopped(); })),
                   ex::set_stopped_t()>);
static_assert(
    completes_with<decltype(ex::just_stopped() | ex::let_stopped([]() noexcept { return ex::just_error('c'); })),
                   ex::set_error_t(char)>);
// Other channels are forwarded.
static_assert(
    completes_with<decltype(ex::just_stopped() | ex::let_value([] { return ex::just(); })), ex::set_stopped_t()>);

TEST(LetValue, continues_with_the_sender_that_the_function_returns) {
    auto [result] = ex::sync_wait(ex::just(3) | ex::let_value([](int i) { return ex::just(2 * i); })).value();
    EXPECT_EQ(result, 6);
}

TEST(LetValue, its_values_exist_until_the_next_sender_completes) {
    pending_list list;
    record got;
    std::optional<int> during;
    {
        auto operation = ex::connect(ex::just(counted()) | ex::let_value([&](counted &) {
                                         return pending_sender{&list} | ex::then([&] { during = counted::alive; });
                                     }),
                                     recording{&got});
        ex::start(operation);
        EXPECT_EQ(got.completions(), 0);
        list.complete();
        EXPECT_EQ(got.values, 1);
    }
    EXPECT_GE(during.value_or(0), 1);
    EXPECT_EQ(counted::alive, 0);
}

TEST(LetValue, an_exception_of_the_function_is_an_error) {
    auto bad = [](int) {
        raise("no");
        return ex::just();
    };
    EXPECT_THROW(ex::sync_wait(ex::just(1) | ex::let_value(bad)), std::runtime_error);
}

TEST(LetValue, an_exception_while_storing_the_values_is_an_error) {
    const throws_when_copied value;
    record got;
    auto operation = ex::connect(ex::just() | ex::then([&]() noexcept -> const throws_when_copied & { return value; }) |
                                     ex::let_value([](throws_when_copied &) { return ex::just(); }),
                                 recording{&got});
    ex::start(operation);
    EXPECT_EQ(got.errors, 1);
    EXPECT_EQ(got.completions(), 1);
}

TEST(LetValue, errors_and_stops_of_the_next_sender_are_forwarded) {
    record got;
    auto operation = ex::connect(ex::just() | ex::let_value([] { return ex::just_stopped(); }), recording{&got});
    ex::start(operation);
    EXPECT_EQ(got.stopped, 1);
    EXPECT_EQ(got.completions(), 1);
    auto [caught] = ex::sync_wait(ex::just() | ex::let_value([]() noexcept { return ex::just_error(5); }) |
                                  ex::upon_error([](auto &&error) {
                                      // stdexec also sends an exception here, in case connect throws
                                      if constexpr (std::is_same_v<std::decay_t<decltype(error)>, int>) {
                                          return error;
                                      } else {
                                          return 0;
                                      }
                                  }))
                        .value();
    EXPECT_EQ(caught, 5);
}

TEST(LetError, continues_after_an_error) {
    auto [text] = ex::sync_wait(ex::just_error(std::string("lost")) |
                                ex::let_error([](std::string &error) { return ex::just(error + " found"); }))
                      .value();
    EXPECT_EQ(text, "lost found");
}

TEST(LetStopped, continues_after_a_stop) {
    auto [one] = ex::sync_wait(ex::just_stopped() | ex::let_stopped([] { return ex::just(1); })).value();
    EXPECT_EQ(one, 1);
}

TEST(LetValue, the_next_sender_knows_where_the_predecessor_completed) {
    pending_list list;
    record got;
    bool same = false;
    auto operation = ex::connect(ex::schedule(manual_scheduler{&list}) | ex::let_value([&] {
                                     return ex::read_env(ex::get_scheduler) | ex::then([&](auto scheduler) {
                                                same = scheduler == manual_scheduler{&list};
                                            });
                                 }),
                                 recording{&got});
    ex::start(operation);
    list.complete();
    EXPECT_TRUE(same);
    EXPECT_EQ(got.values, 1);
}

// Sends a pointer to an object in its own operation state.
struct sends_its_own {
    using sender_concept = ex::sender_t;
    using completion_signatures = ex::completion_signatures<ex::set_value_t(const volatile int *)>;
    template <class R> struct operation {
        using operation_state_concept = ex::operation_state_t;
        R receiver;
        volatile int own = 7;

        explicit operation(R r) : receiver(std::move(r)) {}
        operation(operation &&) = delete;
        ~operation() { own = -1; }
        void start() noexcept { ex::set_value(std::move(receiver), static_cast<const volatile int *>(&own)); }
    };
    template <ex::receiver R> auto connect(R r) const { return operation<R>(std::move(r)); }
};

TEST(LetValue, the_function_may_access_objects_of_the_predecessor) {
    auto [seven] =
        ex::sync_wait(sends_its_own() | ex::let_value([](const volatile int *at) { return ex::just(int(*at)); }))
            .value();
    EXPECT_EQ(seven, 7);
}

TEST(LetValue, an_lvalue_can_be_used_again) {
    auto sender = ex::just(1) | ex::let_value([](int i) { return ex::just(i + 1); });
    for (int i = 0; i < 2; ++i) {
        auto [two] = ex::sync_wait(sender).value();
        EXPECT_EQ(two, 2);
    }
}

} // namespace
