// SPDX-License-Identifier: BSD-3-Clause
// sync_wait, into_variant [exec.sync.wait], [exec.into.variant]
#include <optional>
#include <system_error>
#include <tuple>
#include <variant>

#include "support.hpp"

#if THENCE_EXECUTION_IS_THENCE
#include <thence/exec/error_code.hpp>
#endif

namespace {

static_assert(std::is_same_v<decltype(ex::sync_wait(ex::just(1, 'c'))), std::optional<std::tuple<int, char>>>);
static_assert(std::is_same_v<decltype(ex::sync_wait(ex::just())), std::optional<std::tuple<>>>);

/** Completes with an int or a string. */
struct two_ways {
    using sender_concept = ex::sender_t;
    using completion_signatures = ex::completion_signatures<ex::set_value_t(int), ex::set_value_t(std::string)>;
    template <class, class...> static consteval auto get_completion_signatures() { return completion_signatures(); }
    bool text;
    template <class R> struct operation {
        using operation_state_concept = ex::operation_state_t;
        bool text;
        R receiver;
        void start() &noexcept {
            if (text) {
                ex::set_value(std::move(receiver), std::string("text"));
            } else {
                ex::set_value(std::move(receiver), 1);
            }
        }
    };
    template <class R> auto connect(R receiver) const { return operation<R>{text, std::move(receiver)}; }
};

using either = std::variant<std::tuple<int>, std::tuple<std::string>>;
#if THENCE_EXECUTION_IS_THENCE // stdexec always adds an exception
static_assert(completes_with<decltype(two_ways{true} | ex::into_variant()), ex::set_value_t(either)>);
#endif

/** Has one value completion, and may complete with an error or as stopped instead. */
template <class Completion> struct instead_of_a_value {
    using sender_concept = ex::sender_t;
    using completion_signatures = ex::completion_signatures<ex::set_value_t(int), ex::set_error_t(std::string),
                                                            ex::set_error_t(std::error_code), ex::set_stopped_t()>;
    template <class, class...> static consteval auto get_completion_signatures() { return completion_signatures(); }
    Completion complete;
    template <class R> struct operation {
        using operation_state_concept = ex::operation_state_t;
        Completion complete;
        R receiver;
        void start() &noexcept { complete(std::move(receiver)); }
    };
    template <class R> auto connect(R receiver) const { return operation<R>{complete, std::move(receiver)}; }
};
template <class Completion> instead_of_a_value(Completion) -> instead_of_a_value<Completion>;

TEST(SyncWait, returns_nothing_if_the_sender_is_stopped) {
    const auto result = ex::sync_wait(instead_of_a_value{[](auto &&r) noexcept { ex::set_stopped(std::move(r)); }});
    EXPECT_FALSE(result.has_value());
}

TEST(SyncWait, throws_the_exception_of_an_error) {
    EXPECT_THROW(ex::sync_wait(ex::just() | ex::then([] { raise("x"); })), std::runtime_error);
}

TEST(SyncWait, throws_an_error_of_another_type_unchanged) {
    auto fails = instead_of_a_value{[](auto &&r) noexcept { ex::set_error(std::move(r), std::string("plain")); }};
    EXPECT_THROW(ex::sync_wait(fails), std::string);
}

TEST(SyncWait, throws_an_error_code_as_system_error) {
    auto fails = instead_of_a_value{
        [](auto &&r) noexcept { ex::set_error(std::move(r), std::make_error_code(std::errc::timed_out)); }};
    try {
        ex::sync_wait(fails);
        FAIL();
    } catch (const std::system_error &error) {
        EXPECT_EQ(error.code(), std::errc::timed_out);
    }
}

TEST(SyncWait, waits_for_another_thread) {
    loop_thread other;
    auto [ran] = ex::sync_wait(ex::schedule(other.scheduler()) | ex::then([] { return this_thread(); })).value();
    EXPECT_EQ(ran, other.id());
}

TEST(SyncWait, its_loop_is_the_scheduler_of_the_sender) {
    auto [ran] = ex::sync_wait(ex::read_env(ex::get_scheduler) | ex::let_value([](auto &scheduler) {
                                   return ex::schedule(scheduler) | ex::then([] { return this_thread(); });
                               }))
                     .value();
    EXPECT_EQ(ran, std::this_thread::get_id());
}

TEST(IntoVariant, turns_several_value_completions_into_one) {
    auto [number] = ex::sync_wait(two_ways{false} | ex::into_variant()).value();
    auto [text] = ex::sync_wait(two_ways{true} | ex::into_variant()).value();
    EXPECT_EQ(std::get<0>(std::get<0>(number)), 1);
    EXPECT_EQ(std::get<0>(std::get<1>(text)), "text");
}

} // namespace
