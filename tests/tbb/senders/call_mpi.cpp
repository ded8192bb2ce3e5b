// SPDX-License-Identifier: BSD-3-Clause
// With thence::without_values an operation keeps the values of its predecessor, and does not send them.
#include "support.hpp"

#include <memory>
#include <string>

namespace {

using namespace sender_tests;

class call_mpi : public senders {};

template <class S, class Env, class... Sigs> constexpr bool completes_with() {
    return std::is_same_v<ex::completion_signatures_of_t<S, Env>, ex::completion_signatures<Sigs...>>;
}
using environment = receiver<>::environment;
using one_value = decltype(ex::just(1) | thence::call_mpi([](int, MPI_Request *) {}));
using status_alone = decltype(ex::just(1) | thence::call_mpi([](int, MPI_Request *) {}, thence::with_status));
using statuses_alone = decltype(thence::call_mpi(
    ex::just(1), [](int, thence::requests<2>) {}, thence::with_status));
static_assert(completes_with<one_value, environment, ex::set_value_t(), ex::set_error_t(std::exception_ptr)>());
static_assert(
    completes_with<status_alone, environment, ex::set_value_t(MPI_Status), ex::set_error_t(std::exception_ptr)>());
static_assert(completes_with<statuses_alone, environment, ex::set_value_t(std::array<MPI_Status, 2>),
                             ex::set_error_t(std::exception_ptr)>());

TEST_P(call_mpi, the_work_that_follows_takes_no_values) {
    for (const bool at_once : {false, true}) {
        ticket t;
        int seen = 0;
        bool followed = false;
        ending end;
        auto operation =
            ex::connect(ex::just(7, std::string("x")) | thence::call_mpi([&](int &i, std::string &, MPI_Request *r) {
                            seen = i;
                            start_one{&t}(r);
                            if (at_once) {
                                world.complete(t);
                            }
                        }) | ex::then([&] { followed = true; }),
                        receiver{&end});
        ex::start(operation);
        if (!at_once) {
            let_run();
            EXPECT_FALSE(followed);
            world.complete(t);
        }
        EXPECT_TRUE(eventually([&] { return end.values == 1; }));
        EXPECT_TRUE(followed);
        EXPECT_EQ(seen, 7);
    }
}

TEST_P(call_mpi, the_values_exist_until_completion) {
    ticket t;
    std::weak_ptr<int> watched;
    ending end;
    auto buffer = std::make_shared<int>(1);
    watched = buffer;
    auto operation =
        ex::connect(ex::just(std::move(buffer)) | thence::call_mpi([&](std::shared_ptr<int> &, MPI_Request *r) {
                        return start_one{&t}(r);
                    }) | ex::then([&] { EXPECT_FALSE(watched.expired()); }),
                    receiver{&end});
    ex::start(operation);
    let_run();
    EXPECT_FALSE(watched.expired());
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return end.values == 1; }));
}

TEST_P(call_mpi, the_status_is_sent_alone) {
    ticket t;
    int source = -1;
    ending end;
    auto operation =
        ex::connect(thence::call_mpi(
                        ex::just(7), [&](int, MPI_Request *r) { return start_one{&t}(r); }, thence::with_status) |
                        ex::then([&](MPI_Status status) { source = status.MPI_SOURCE; }),
                    receiver{&end});
    ex::start(operation);
    world.complete(t, {5});
    EXPECT_TRUE(eventually([&] { return end.values == 1; }));
    EXPECT_EQ(source, 5);
}

TEST_P(call_mpi, a_failed_call_is_an_error) {
    ending end;
    auto operation =
        ex::connect(ex::just(1) | thence::call_mpi([](int, MPI_Request *) { return MPI_ERR_RANK; }), receiver{&end});
    ex::start(operation);
    EXPECT_EQ(end.call_error(), MPI_ERR_RANK);
    EXPECT_EQ(end.all(), 1);
}

TEST_P(call_mpi, co_await_gives_nothing_or_the_status) {
    ticket t;
    ticket u;
    int source = -1;
    ending end;
    auto body = [](ticket &first, ticket &second, int &result) -> ex::task<> {
        static_assert(
            std::is_void_v<decltype(ex::as_awaitable(ex::just(1, 2) | thence::call_mpi([](int, int, MPI_Request *) {}),
                                                     std::declval<ex::task<>::promise_type &>())
                                        .await_resume())>);
        co_await (ex::just(1, 2) | thence::call_mpi([&](int, int, MPI_Request *r) { return start_one{&first}(r); }));
        MPI_Status status =
            co_await (ex::just(1, 2) | thence::call_mpi([&](int, int, MPI_Request *r) { return start_one{&second}(r); },
                                                        thence::with_status));
        result = status.MPI_SOURCE;
    };
    auto operation = ex::connect(body(t, u, source), receiver{&end});
    ex::start(operation);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return u.q != nullptr; }));
    world.complete(u, {30});
    EXPECT_TRUE(eventually([&] { return end.values == 1; }));
    EXPECT_EQ(source, 30);
}

THENCE_RULES(call_mpi);

} // namespace
