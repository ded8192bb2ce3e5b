// SPDX-License-Identifier: BSD-3-Clause
// The concepts, and computations with completion signatures. Most checks are static assertions.
#include <coroutine>
#include <tuple>
#include <variant>

#include "support.hpp"

namespace {

struct no_sender {};
struct with_nested {
    using sender_concept = ex::sender_t;
    using completion_signatures = ex::completion_signatures<ex::set_value_t(int)>;
};
struct with_function {
    using sender_concept = ex::sender_t;
    template <class, class...> static consteval auto get_completion_signatures() {
        return ex::completion_signatures<ex::set_value_t(int), ex::set_stopped_t()>();
    }
};
struct says_nothing {
    using sender_concept = ex::sender_t;
};

struct answer_t {
    template <class Env> auto operator()(const Env &env) const noexcept -> decltype(env.query(*this)) {
        return env.query(*this);
    }
};
struct with_answer {
    int query(answer_t) const noexcept { return 42; }
};

struct awaitable {
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    int await_resume() const noexcept { return 1; }
};

struct value_only {
    using receiver_concept = ex::receiver_t;
    void set_value(int) &&noexcept {}
};

static_assert(!ex::sender<no_sender> && !ex::sender<int>);
static_assert(ex::sender<with_nested> && ex::sender<with_nested &> && ex::sender<const with_nested &>);
static_assert(ex::sender_in<with_function, ex::env<>>);
static_assert(ex::sender<says_nothing> && !ex::sender_in<says_nothing, ex::env<>>);
static_assert(ex::sender<awaitable>);
static_assert(ex::sender_in<awaitable, ex::env<>>);

static_assert(completes_with<with_function, ex::set_value_t(int), ex::set_stopped_t()>);
static_assert(completes_with<awaitable, ex::set_value_t(int), throws, ex::set_stopped_t()>);

// Completion signatures that depend on the environment need it.
using asks = decltype(ex::read_env(answer_t()));
static_assert(ex::sender<asks> && !ex::sender_in<asks, ex::env<>> && ex::sender_in<asks, with_answer>);
using asks_then = decltype(ex::read_env(answer_t()) | ex::then([](int) noexcept {}));
static_assert(ex::sender<asks_then> && !ex::sender_in<asks_then, ex::env<>> && ex::sender_in<asks_then, with_answer>);

static_assert(ex::receiver<value_only> && !ex::receiver<no_sender>);
static_assert(ex::receiver_of<value_only, ex::completion_signatures<ex::set_value_t(int)>>);
static_assert(!ex::receiver_of<value_only, ex::completion_signatures<ex::set_value_t(int), ex::set_stopped_t()>>);
static_assert(!ex::receiver_of<value_only, ex::completion_signatures<ex::set_value_t(no_sender)>>);
static_assert(ex::sender_to<decltype(ex::just(1)), value_only>);
static_assert(!ex::sender_to<decltype(ex::just_stopped()), value_only>);

static_assert(ex::scheduler<manual_scheduler> && !ex::scheduler<int>);
static_assert(ex::scheduler<decltype(std::declval<ex::run_loop &>().get_scheduler())>);
static_assert(ex::scheduler<ex::inline_scheduler>);

using operation = ex::connect_result_t<decltype(ex::just(1)), value_only>;
static_assert(ex::operation_state<operation> && !ex::operation_state<int>);
#if THENCE_EXECUTION_IS_THENCE
static_assert(!std::is_move_constructible_v<operation>);
#endif

// Types computed from signatures.
using several = with_function;
static_assert(
    std::is_same_v<ex::value_types_of_t<several, ex::env<>, std::tuple, std::variant>, std::variant<std::tuple<int>>>);
static_assert(ex::sends_stopped<several, ex::env<>> && !ex::sends_stopped<with_nested, ex::env<>>);
using failing = decltype(ex::just_error(std::string()));
static_assert(std::is_same_v<ex::error_types_of_t<failing, ex::env<>, std::variant>, std::variant<std::string>>);

// A composed sender is movable or copyable if its children are.
using copyable = decltype(ex::just(1) | ex::then([](int) noexcept {}));
using movable = decltype(ex::just(move_only(1)) | ex::then([](move_only) noexcept {}));
static_assert(ex::sender_to<copyable &, recording<>> && ex::sender_to<const copyable &, recording<>>);
static_assert(ex::sender_to<movable, recording<>> && !std::is_copy_constructible_v<movable>);

TEST(Concepts, an_awaitable_is_a_sender) {
    const auto result = ex::sync_wait(awaitable());
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(std::get<0>(*result), 1);
}

} // namespace
