// SPDX-License-Identifier: BSD-3-Clause
// One operation: it completes once, with the values, the status or the error, when MPI completes it.
#include "measure/count_allocations.hpp"
#include "support.hpp"

#include <memory>

namespace {

using namespace sender_tests;

class transform : public senders {};

TEST_P(transform, completes_when_mpi_does) {
    ticket t;
    ending end;
    auto operation = ex::connect(one(t), receiver{&end});
    EXPECT_EQ(t.q, nullptr) << "no operation is started before start()";
    ex::start(operation);
    let_run();
    EXPECT_EQ(end.all(), 0);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return end.all() == 1; }));
    EXPECT_EQ(end.values, 1);
}

TEST_P(transform, completes_in_start_if_the_operation_is_complete) {
    ending end;
    auto operation = ex::connect(ex::just() | thence::transform_mpi([](MPI_Request *request) {
                                     *request = world.start();
                                     world.complete(*request);
                                     return MPI_SUCCESS;
                                 }),
                                 receiver{&end});
    ex::start(operation);
    EXPECT_TRUE(eventually([&] { return end.all() == 1; }));
    EXPECT_EQ(end.values, 1);
}

TEST_P(transform, a_call_that_starts_no_operation_is_complete) {
    ending end;
    auto operation = ex::connect(ex::just() | thence::transform_mpi([](MPI_Request *) {}), receiver{&end});
    ex::start(operation);
    EXPECT_EQ(end.values, 1);
}

TEST_P(transform, in_completion_runs_the_work_before_mpi_completes_the_next_operation) {
    ticket first;
    ticket second;
    bool next_is_complete = true;
    const bool native =
        std::string(GetParam().engine) == "openmpi"; // on other engines the operation may be complete already
    ending end;
    auto before = ex::connect(
        ex::just(42) |
            thence::transform_mpi([&](int, MPI_Request *r) { return start_one{&first}(r); }, thence::in_completion) |
            ex::then([&](int value) {
                EXPECT_EQ(value, 42);
                next_is_complete = !native || is_done(*second.q);
            }),
        receiver{&end});
    auto after =
        ex::connect(ex::just() | thence::transform_mpi(start_one{&second}, thence::in_completion), receiver{&end});
    ex::start(before);
    ex::start(after);
    const ticket next_started = second;
    world.complete_in_progress(first);
    world.complete_in_progress(next_started);
    EXPECT_TRUE(eventually([&] { return end.values == 2; }));
    EXPECT_EQ(next_is_complete, !native);
}

TEST_P(transform, passes_the_values_on) {
    ticket t;
    int sum = 0;
    ending end;
    auto operation =
        ex::connect(ex::just(1, std::string("x")) | thence::transform_mpi([&](int &i, std::string &s, MPI_Request *r) {
                        i += 40;
                        s += "y";
                        return start_one{&t}(r);
                    }) | ex::then([&](int i, std::string s) { sum = i + static_cast<int>(s.size() - 1); }),
                    receiver{&end});
    ex::start(operation);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return end.values == 1; }));
    EXPECT_EQ(sum, 42);
}

TEST_P(transform, buffers_that_are_moved_in_exist_until_completion) {
    ticket t;
    std::weak_ptr<int> watched;
    ending end;
    {
        auto buffer = std::make_shared<int>(1);
        watched = buffer;
        auto operation = ex::connect(
            ex::just(std::move(buffer)) | thence::transform_mpi([&](std::shared_ptr<int> &, MPI_Request *r) {
                return start_one{&t}(r);
            }) | ex::then([](std::shared_ptr<int>) {}), // destroys the buffer
            receiver{&end});
        ex::start(operation);
        let_run();
        EXPECT_FALSE(watched.expired());
        world.complete(t);
        EXPECT_TRUE(eventually([&] { return end.values == 1; }));
        EXPECT_TRUE(watched.expired());
    }
}

TEST_P(transform, sends_the_status_with_the_option) {
    for (const bool at_once : {false, true}) {
        ticket t;
        int source = -1;
        ending end;
        auto operation = ex::connect(ex::just(7) |
                                         thence::transform_mpi(
                                             [&](int, MPI_Request *r) {
                                                 start_one{&t}(r);
                                                 if (at_once) {
                                                     world.complete(t, {5});
                                                 }
                                             },
                                             thence::with_status) |
                                         ex::then([&](int, MPI_Status status) { source = status.MPI_SOURCE; }),
                                     receiver{&end});
        ex::start(operation);
        if (!at_once) {
            world.complete(t, {5});
        }
        EXPECT_TRUE(eventually([&] { return end.values == 1; }));
        EXPECT_EQ(source, 5);
    }
}

// Another implementation completed the receiver with the error and then with a value.
TEST_P(transform, a_failed_call_completes_once) {
    ending end;
    auto operation =
        ex::connect(ex::just() | thence::transform_mpi([](MPI_Request *) { return MPI_ERR_RANK; }), receiver{&end});
    ex::start(operation);
    let_run();
    EXPECT_EQ(end.errors, 1);
    EXPECT_EQ(end.all(), 1);
    EXPECT_EQ(end.call_error(), MPI_ERR_RANK);
}

TEST_P(transform, an_error_has_the_text_of_mpi) {
    ending end;
    auto operation =
        ex::connect(ex::just() | thence::transform_mpi([](MPI_Request *) { return MPI_ERR_RANK; }), receiver{&end});
    ex::start(operation);
    try {
        std::rethrow_exception(end.error);
    } catch (const thence::error &e) {
        EXPECT_EQ(e.code(), MPI_ERR_RANK);
        EXPECT_NE(std::string(e.what()).find("of the fake"), std::string::npos) << e.what();
    }
}

TEST_P(transform, a_callable_that_throws_completes_with_its_exception) {
    ending end;
    auto operation =
        ex::connect(ex::just() | thence::transform_mpi([](MPI_Request *) -> int { throw 3; }), receiver{&end});
    ex::start(operation);
    EXPECT_EQ(end.errors, 1);
    EXPECT_THROW(std::rethrow_exception(end.error), int);
}

// The last operation of a type decides only whether the request of the next one is tested first.
TEST_P(transform, each_operation_of_a_type_completes_with_its_own_result) {
    enum class how { at_once, failed_at_once, later, failed_later, nothing, known };
    MPI_Request complete = MPI_REQUEST_NULL; // a request that is complete
#if defined(OPEN_MPI)
    if (std::string(GetParam().engine) == "openmpi") {
        complete = world.start();
        world.complete(world.ticket_of(complete));
        thence::mpi::table.ompi_request_empty = complete;
    }
#endif
    using enum how;
    for (const how each : {at_once, at_once, failed_at_once, at_once, later, at_once, failed_later, nothing, at_once,
                           nothing, known, known, later, later, known, known, failed_at_once, known}) {
        ticket t;
        ending end;
        auto operation =
            ex::connect(ex::just() | thence::transform_mpi([&](MPI_Request *r) {
                            if (each == known) {
                                *r = complete;
                            } else if (each != nothing) {
                                start_one{&t}(r);
                            }
                            if (each == at_once || each == failed_at_once) {
                                world.complete(t, {.error = each == at_once ? MPI_SUCCESS : MPI_ERR_OTHER});
                            }
                        }),
                        receiver{&end});
        ex::start(operation);
        if (each == later || each == failed_later) {
            let_run();
            EXPECT_EQ(end.all(), 0);
            world.complete(t, {.error = each == later ? MPI_SUCCESS : MPI_ERR_OTHER});
        }
        EXPECT_TRUE(eventually([&] { return end.all() == 1; }));
        const bool fails = each == failed_at_once || each == failed_later;
        EXPECT_EQ(end.errors, fails ? 1 : 0);
        reported();
    }
#if defined(OPEN_MPI)
    thence::mpi::table.ompi_request_empty = nullptr;
#endif
    if (complete != MPI_REQUEST_NULL) {
        int flag = 0;
        EXPECT_EQ(thence::mpi::table.Test(&complete, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(flag, 1) << "the request was not released";
    }
}

// In another implementation an error that the first test found became a value.
TEST_P(transform, truncation_that_is_found_at_once_is_an_error) {
    for (const bool before : {true, false}) {
        ticket t;
        ending end;
        auto operation = ex::connect(ex::just() | thence::transform_mpi([&](MPI_Request *r) {
                                         start_one{&t}(r);
                                         if (before) {
                                             world.complete(t, {.error = MPI_ERR_TRUNCATE});
                                         }
                                     }),
                                     receiver{&end});
        ex::start(operation);
        if (!before) {
            world.complete(t, {.error = MPI_ERR_TRUNCATE});
        }
        EXPECT_TRUE(eventually([&] { return end.all() == 1; }));
        EXPECT_EQ(end.errors, 1);
        EXPECT_EQ(end.completion_error(), MPI_ERR_TRUNCATE);
        reported();
    }
}

TEST_P(transform, errors_of_the_predecessor_are_forwarded) {
    ticket t;
    ending end;
    auto operation =
        ex::connect(ex::just() | ex::then([] { throw 1; }) | thence::transform_mpi(start_one{&t}), receiver{&end});
    ex::start(operation);
    EXPECT_EQ(end.errors, 1);
    EXPECT_THROW(std::rethrow_exception(end.error), int);
    EXPECT_EQ(t.q, nullptr) << "no operation was started";
}

TEST_P(transform, a_stop_of_the_predecessor_is_forwarded) {
    ticket first;
    ticket second;
    ending end;
    ex::inplace_stop_source stop;
    auto operation =
        ex::connect(one(first) | thence::transform_mpi(start_one{&second}), receiver{&end, stop.get_token()});
    ex::start(operation);
    stop.request_stop();
    EXPECT_TRUE(eventually([&] { return end.all() == 1; }));
    EXPECT_EQ(end.stops, 1);
    EXPECT_EQ(second.q, nullptr) << "no other operation was started";
}

class transform_without_testsome : public transform {}; // the MPI_Testsome of the fake allocates

TEST_P(transform_without_testsome, allocates_nothing) {
    ticket t;
    const auto round = [&] {
        ending end;
        auto operation = ex::connect(
            ex::just(1) | thence::transform_mpi([&](int, MPI_Request *r) { start_one{&t}(r); }), receiver{&end});
        ex::inplace_stop_source stop;
        ending other;
        ticket u;
        auto cancellable = ex::connect(one(u), receiver{&other, stop.get_token()});
        const long before = measure::allocations;
        ex::start(operation);
        ex::start(cancellable);
        const long allocated = measure::allocations - before;
        world.complete(t);
        world.complete(u);
        EXPECT_TRUE(eventually([&] { return end.values == 1 && other.values == 1; }));
        return allocated;
    };
    for (int i = 0; i < 20; ++i) {
        round(); // the library allocates its objects in the first rounds
    }
    EXPECT_EQ(round(), 0);
}

TEST_P(transform, a_completion_may_start_the_next_operation) {
    ticket first;
    ticket second;
    ending end;
    auto operation = ex::connect(one(first) | ex::let_value([&] { return one(second); }), receiver{&end});
    ex::start(operation);
    world.complete(first);
    EXPECT_TRUE(eventually([&] { return second.q != nullptr; }));
    EXPECT_EQ(end.all(), 0);
    world.complete(second);
    EXPECT_TRUE(eventually([&] { return end.values == 1; }));
}

TEST_P(transform, a_sender_may_be_connected_again) {
    ticket t;
    const auto sender = one(t);
    for (int i = 0; i < 2; ++i) {
        ending end;
        auto operation = ex::connect(sender, receiver{&end});
        ex::start(operation);
        world.complete(t);
        EXPECT_TRUE(eventually([&] { return end.values == 1; }));
    }
}

template <class S, class Env, class... Sigs> constexpr bool completes_with() {
    return std::is_same_v<ex::completion_signatures_of_t<S, Env>, ex::completion_signatures<Sigs...>>;
}
using unstoppable_env = receiver<>::environment;
using stoppable_env = receiver<stoppable>::environment;
using plain = decltype(ex::just(1) | thence::transform_mpi([](int, MPI_Request *) {}));
using with_status = decltype(ex::just(1) | thence::transform_mpi([](int, MPI_Request *) {}, thence::with_status));
using left_alone = decltype(ex::just(1) | thence::transform_mpi([](int, MPI_Request *) {}, thence::uncancellable));
static_assert(completes_with<plain, unstoppable_env, ex::set_value_t(int), ex::set_error_t(std::exception_ptr)>());
static_assert(completes_with<plain, stoppable_env, ex::set_value_t(int), ex::set_error_t(std::exception_ptr),
                             ex::set_stopped_t()>());
static_assert(completes_with<with_status, unstoppable_env, ex::set_value_t(int, MPI_Status),
                             ex::set_error_t(std::exception_ptr)>());
static_assert(completes_with<left_alone, stoppable_env, ex::set_value_t(int), ex::set_error_t(std::exception_ptr)>());

THENCE_RULES(transform);
THENCE_RULES_WHERE(transform_without_testsome, [](const variant &v) { return v.engine != std::string("testsome"); });

} // namespace
