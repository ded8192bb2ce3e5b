// SPDX-License-Identifier: BSD-3-Clause
// when_all [exec.when.all]
#include <optional>

#include "support.hpp"

namespace {

static_assert(
    completes_with<decltype(ex::when_all(ex::just(1), ex::just('c', 2.0))), ex::set_value_t(int, char, double)>);
static_assert(completes_with<decltype(ex::when_all(ex::just(1), ex::just_stopped())), ex::set_stopped_t()>);
static_assert(completes_with<decltype(ex::when_all(ex::just(1), ex::just_error(1L))), ex::set_error_t(long)>);
// If storing a value may throw, when_all may send an exception.
using may_throw = decltype(ex::just() | ex::then([]() noexcept -> const std::string & {
                               static std::string s;
                               return s;
                           }));
static_assert(completes_with<decltype(ex::when_all(std::declval<may_throw>(), ex::just())),
                             ex::set_value_t(std::string), throws>);

/** A pending operation that completes when the receiver's stop token is stopped. */
struct stoppable_sender {
    using sender_concept = ex::sender_t;
    using completion_signatures = ex::completion_signatures<ex::set_value_t(), ex::set_stopped_t()>;
    template <class, class...> static consteval auto get_completion_signatures() { return completion_signatures(); }
    bool *started;

    template <class R> struct operation {
        using operation_state_concept = ex::operation_state_t;
        struct on_stop {
            operation *self;
            void operator()() const noexcept {
                self->callback.reset();
                ex::set_stopped(std::move(self->receiver));
            }
        };
        using token = ex::stop_token_of_t<ex::env_of_t<R>>;
        bool *started;
        R receiver;
        std::optional<ex::stop_callback_for_t<token, on_stop>> callback;

        operation(bool *s, R r) : started(s), receiver(std::move(r)) {}
        operation(operation &&) = delete;
        void start() &noexcept {
            *started = true;
            const auto stop = ex::get_stop_token(ex::get_env(receiver));
            if (stop.stop_requested()) {
                ex::set_stopped(std::move(receiver));
            } else {
                callback.emplace(stop, on_stop{this});
            }
        }
    };
    template <class R> auto connect(R receiver) const { return operation<R>(started, std::move(receiver)); }
};

TEST(WhenAll, sends_all_values_in_the_order_of_the_senders) {
    auto [a, b, c] = ex::sync_wait(ex::when_all(ex::just(1), ex::just(std::string("two"), move_only(3)))).value();
    EXPECT_EQ(a, 1);
    EXPECT_EQ(b, "two");
    EXPECT_EQ(c.value, 3);
}

TEST(WhenAll, completes_with_the_last_sender_in_any_order) {
    pending_list first, second;
    record got;
    auto operation = ex::connect(ex::when_all(pending_sender{&first}, pending_sender{&second}), recording{&got});
    ex::start(operation);
    second.complete();
    EXPECT_EQ(got.completions(), 0);
    first.complete();
    EXPECT_EQ(got.values, 1);
}

TEST(WhenAll, the_first_error_stops_the_others_and_is_sent) {
    bool started = false;
    pending_list list;
    record got;
    auto operation =
        ex::connect(ex::when_all(stoppable_sender{&started}, pending_sender{&list} | ex::then([] { raise("first"); })),
                    recording{&got});
    ex::start(operation);
    EXPECT_TRUE(started);
    list.complete();
    EXPECT_EQ(got.errors, 1);
    EXPECT_EQ(got.completions(), 1);
}

TEST(WhenAll, a_stopped_sender_stops_the_others) {
    bool started = false;
    pending_list list;
    record got;
    auto operation = ex::connect(ex::when_all(stoppable_sender{&started}, pending_sender{&list}), recording{&got});
    ex::start(operation);
    list.stop();
    EXPECT_EQ(got.stopped, 1);
    EXPECT_EQ(got.completions(), 1);
}

TEST(WhenAll, an_error_has_precedence_over_a_stop) {
    pending_list first, second;
    record got;
    auto operation =
        ex::connect(ex::when_all(pending_sender{&first}, pending_sender{&second} | ex::then([] { raise("late"); })),
                    recording{&got});
    ex::start(operation);
    first.stop();
    second.complete();
    EXPECT_EQ(got.errors, 1);
    EXPECT_EQ(got.completions(), 1);
}

TEST(WhenAll, the_first_of_two_errors_is_sent) {
    pending_list first, second;
    std::string text;
    auto fail = [](const char *what) { return ex::then([what] { raise(what); }); };
    record got;
    auto operation = ex::connect(ex::when_all(pending_sender{&first} | fail("a"), pending_sender{&second} | fail("b")) |
                                     ex::upon_error([&](std::exception_ptr e) noexcept {
                                         try {
                                             std::rethrow_exception(e);
                                         } catch (const std::exception &caught) {
                                             text = caught.what();
                                         }
                                     }),
                                 recording{&got});
    ex::start(operation);
    second.complete();
    first.complete();
    EXPECT_EQ(text, "b");
    EXPECT_EQ(got.completions(), 1);
}

TEST(WhenAll, forwards_a_stop_request_of_the_receiver) {
    bool a = false, b = false;
    ex::inplace_stop_source source;
    record got;
    auto operation = ex::connect(ex::when_all(stoppable_sender{&a}, stoppable_sender{&b}),
                                 recording{&got, ex::prop{ex::get_stop_token, source.get_token()}});
    ex::start(operation);
    EXPECT_EQ(got.completions(), 0);
    source.request_stop();
    EXPECT_EQ(got.stopped, 1);
    EXPECT_EQ(got.completions(), 1);
}

/** Destroys its operation inside request_stop() of the receiver's stop source and of that of when_all. */
struct destroying {
    using receiver_concept = ex::receiver_t;
    struct holder {
        bool stopped = false;
        void (*destroy)(holder *) = nullptr;
        void *operation = nullptr;
    } * owner;
    ex::inplace_stop_token token;
    void set_value(auto &&...) &&noexcept { ADD_FAILURE(); }
    void set_stopped() &&noexcept {
        owner->stopped = true;
        owner->destroy(owner);
    }
    auto get_env() const noexcept { return ex::prop{ex::get_stop_token, token}; }
};

TEST(WhenAll, may_be_destroyed_by_its_receiver_while_it_is_stopped) {
    bool a = false, b = false;
    ex::inplace_stop_source source;
    auto sender = ex::when_all(stoppable_sender{&a}, stoppable_sender{&b});
    using operation = ex::connect_result_t<decltype(sender), destroying>;
    destroying::holder owner;
    owner.destroy = [](destroying::holder *self) { delete static_cast<operation *>(self->operation); };
    auto *made = new operation(ex::connect(std::move(sender), destroying{&owner, source.get_token()}));
    owner.operation = made;
    ex::start(*made);
    source.request_stop();
    EXPECT_TRUE(owner.stopped);
}

TEST(WhenAll, its_senders_get_the_other_queries_of_the_environment) {
    auto [same] = ex::sync_wait(ex::when_all(ex::read_env(ex::get_scheduler)) | ex::let_value([](auto &scheduler) {
                                    return ex::read_env(ex::get_scheduler) |
                                           ex::then([&](auto other) { return scheduler == other; });
                                }))
                      .value();
    EXPECT_TRUE(same);
}

TEST(WhenAll, an_lvalue_can_be_used_again) {
    auto sender = ex::when_all(ex::just(1), ex::just(2));
    for (int i = 0; i < 2; ++i) {
        auto [a, b] = ex::sync_wait(sender).value();
        EXPECT_EQ(a + b, 3);
    }
}

} // namespace
