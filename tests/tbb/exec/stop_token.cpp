// SPDX-License-Identifier: BSD-3-Clause
// inplace_stop_source, its token and callback, never_stop_token [thread.stoptoken]
#include <memory>
#include <optional>

#include "support.hpp"

namespace {

static_assert(ex::stoppable_token<ex::inplace_stop_token> && !ex::unstoppable_token<ex::inplace_stop_token>);
static_assert(ex::unstoppable_token<ex::never_stop_token>);
static_assert(!std::is_move_constructible_v<ex::inplace_stop_source>);

struct count_calls {
    int *calls;
    void operator()() const noexcept { ++*calls; }
};
using callback = ex::inplace_stop_callback<count_calls>;

TEST(StopSource, sets_the_state_of_its_tokens) {
    ex::inplace_stop_source source;
    const auto token = source.get_token();
    EXPECT_TRUE(token.stop_possible());
    EXPECT_FALSE(token.stop_requested());
    EXPECT_TRUE(source.request_stop());
    EXPECT_TRUE(token.stop_requested());
    EXPECT_FALSE(source.request_stop());
}

TEST(StopSource, tokens_of_one_source_are_equal) {
    ex::inplace_stop_source one, other;
    EXPECT_EQ(one.get_token(), one.get_token());
    EXPECT_NE(one.get_token(), other.get_token());
    EXPECT_FALSE(ex::inplace_stop_token().stop_possible());
}

TEST(StopCallback, runs_once_when_stop_is_requested) {
    ex::inplace_stop_source source;
    int calls = 0;
    const callback c(source.get_token(), count_calls{&calls});
    EXPECT_EQ(calls, 0);
    source.request_stop();
    source.request_stop();
    EXPECT_EQ(calls, 1);
}

TEST(StopCallback, runs_at_once_when_stop_was_requested) {
    ex::inplace_stop_source source;
    source.request_stop();
    int calls = 0;
    const callback c(source.get_token(), count_calls{&calls});
    EXPECT_EQ(calls, 1);
}

TEST(StopCallback, does_not_run_after_its_destruction) {
    ex::inplace_stop_source source;
    int first = 0, second = 0, third = 0;
    {
        const callback a(source.get_token(), count_calls{&first});
        std::optional<callback> b(std::in_place, source.get_token(), count_calls{&second});
        const callback c(source.get_token(), count_calls{&third});
        b.reset(); // from the middle of the list
        source.request_stop();
    }
    EXPECT_EQ(first, 1);
    EXPECT_EQ(second, 0);
    EXPECT_EQ(third, 1);
}

TEST(StopCallback, may_destroy_itself_and_others) {
    struct destroy_all {
        std::optional<ex::inplace_stop_callback<destroy_all>> *slots;
        int *calls;
        void operator()() const noexcept {
            ++*calls;
            auto *all = slots;
            for (int i = 0; i < 3; ++i) {
                all[i].reset(); // one of them is this
            }
        }
    };
    ex::inplace_stop_source source;
    std::optional<ex::inplace_stop_callback<destroy_all>> slots[3];
    int calls = 0;
    for (auto &slot : slots) {
        slot.emplace(source.get_token(), destroy_all{slots, &calls});
    }
    source.request_stop();
    EXPECT_EQ(calls, 1);
}

TEST(StopCallback, on_a_token_without_a_source_never_runs) {
    int calls = 0;
    { const callback c(ex::inplace_stop_token(), count_calls{&calls}); }
    EXPECT_EQ(calls, 0);
}

#if THENCE_EXECUTION_IS_THENCE
TEST(StopCallback, may_destroy_the_source_that_runs_it) {
    struct owner {
        ex::inplace_stop_source source;
        struct drop {
            std::unique_ptr<owner> *all;
            void operator()() const noexcept { all->reset(); }
        };
        std::optional<ex::inplace_stop_callback<drop>> callback;
        ~owner() { callback.reset(); }
    };
    auto all = std::make_unique<owner>();
    all->callback.emplace(all->source.get_token(), owner::drop{&all});
    owner *raw = all.get();
    EXPECT_TRUE(raw->source.request_stop());
    EXPECT_EQ(all, nullptr);
}

TEST(StopWhen, stops_on_either_token) {
    for (const bool by_receiver : {false, true}) {
        ex::inplace_stop_source given, outer;
        pending_list list;
        record got;
        bool seen = false;
        auto sender = ex::stop_when(ex::read_env(ex::get_stop_token) | ex::let_value([&](auto &token) {
                                        return pending_sender{&list} |
                                               ex::then([&seen, token] { seen = token.stop_requested(); });
                                    }),
                                    given.get_token());
        auto operation = ex::connect(sender, recording{&got, ex::prop{ex::get_stop_token, outer.get_token()}});
        ex::start(operation);
        (by_receiver ? outer : given).request_stop();
        list.complete();
        EXPECT_TRUE(seen);
        EXPECT_EQ(got.values, 1);
    }
}
#endif

} // namespace
