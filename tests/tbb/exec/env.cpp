// SPDX-License-Identifier: BSD-3-Clause
// env, prop, the queries, read_env, write_env, unstoppable [exec.envs], [exec.queries], [exec.read.env]
#include "support.hpp"

namespace {

struct color_t {
    template <class Env> auto operator()(const Env &env) const noexcept -> decltype(env.query(*this)) {
        return env.query(*this);
    }
    static constexpr bool query(ex::forwarding_query_t) noexcept { return true; }
};
struct secret_t {
    template <class Env> auto operator()(const Env &env) const noexcept -> decltype(env.query(*this)) {
        return env.query(*this);
    }
};
struct shade_t {
    template <class Env> auto operator()(const Env &env) const noexcept -> decltype(env.query(*this)) {
        return env.query(*this);
    }
    static constexpr bool query(ex::forwarding_query_t) noexcept { return true; }
};
inline constexpr color_t color;
inline constexpr shade_t shade;
inline constexpr secret_t secret;

template <class Env, class Query>
concept answers = requires(const Env &env, Query question) {
    env.query(question);
};

static_assert(ex::forwarding_query(color) && !ex::forwarding_query(secret));
static_assert(ex::forwarding_query(ex::get_stop_token) && ex::forwarding_query(ex::get_scheduler));
static_assert(!answers<ex::env<>, color_t>);
static_assert(answers<ex::prop<color_t, int>, color_t> && !answers<ex::prop<color_t, int>, secret_t>);

TEST(Env, a_prop_answers_one_query) {
    const auto env = ex::prop{color, 3};
    EXPECT_EQ(color(env), 3);
}

TEST(Env, the_first_environment_with_the_query_answers) {
    const auto env = ex::env{ex::prop{color, 1}, ex::prop{secret, 2}, ex::prop{color, 3}};
    EXPECT_EQ(color(env), 1);
    EXPECT_EQ(secret(env), 2);
}

TEST(Env, an_object_without_one_has_the_empty_environment) {
    struct bare {};
    static_assert(!answers<ex::env_of_t<bare>, color_t>);
    static_assert(answers<ex::env_of_t<recording<ex::prop<color_t, int>>>, color_t>);
}

TEST(Queries, no_stop_token_means_never_stopped) {
    const auto token = ex::get_stop_token(ex::env<>());
    static_assert(ex::unstoppable_token<decltype(ex::get_stop_token(ex::env<>()))>);
    EXPECT_FALSE(token.stop_requested());
}

TEST(ReadEnv, sends_the_answer) {
    record got;
    int seen = 0;
    auto operation = ex::connect(ex::read_env(color) | ex::then([&](int i) noexcept { seen = i; }),
                                 recording{&got, ex::prop{color, 9}});
    ex::start(operation);
    EXPECT_EQ(seen, 9);
    EXPECT_EQ(got.values, 1);
}

TEST(WriteEnv, answers_its_query_and_forwards_others_to_the_receiver) {
    record got;
    int first = 0, second = 0;
    const auto outer = ex::env{ex::prop{color, 1}, ex::prop{shade, 2}};
    const auto keep = [](int &where) { return ex::then([&where](int i) noexcept { where = i; }); };
    auto a = ex::connect(ex::write_env(ex::read_env(color) | keep(first), ex::prop{color, 20}), recording{&got, outer});
    auto b =
        ex::connect(ex::write_env(ex::read_env(shade) | keep(second), ex::prop{color, 20}), recording{&got, outer});
    ex::start(a);
    ex::start(b);
    EXPECT_EQ(first, 20);
    EXPECT_EQ(second, 2);
    EXPECT_EQ(got.values, 2);
}

TEST(WriteEnv, can_be_piped) {
    auto [answer] = ex::sync_wait(ex::read_env(color) | ex::write_env(ex::prop{color, 4})).value();
    EXPECT_EQ(answer, 4);
}

TEST(Unstoppable, receives_no_stop_request) {
    ex::inplace_stop_source source;
    source.request_stop();
    auto asks = ex::read_env(ex::get_stop_token) | ex::then([](auto token) noexcept { return token.stop_requested(); });
    const auto stopped = ex::prop{ex::get_stop_token, source.get_token()};
    auto [heard] = ex::sync_wait(ex::write_env(asks, stopped)).value();
    auto [not_heard] = ex::sync_wait(ex::write_env(ex::unstoppable(asks), stopped)).value();
    EXPECT_TRUE(heard);
    EXPECT_FALSE(not_heard);
}

} // namespace
