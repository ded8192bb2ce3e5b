// SPDX-License-Identifier: BSD-3-Clause
// split and start_detached [P2300R10]
#include <memory>

#include "support.hpp"

namespace {

TEST(Split, runs_once_for_all_receivers) {
    int runs = 0;
    auto shared = ex::split(ex::just(1) | ex::then([&](int i) {
                                ++runs;
                                return i + 1;
                            }));
    auto [a, b] = ex::sync_wait(ex::when_all(shared, shared)).value();
    auto [later] = ex::sync_wait(shared).value();
    EXPECT_EQ(a + b + later, 6);
    EXPECT_EQ(runs, 1);
}

TEST(Split, its_result_is_const_and_exists_as_long_as_a_copy) {
    {
        auto shared = ex::split(ex::just(counted()));
        ex::sync_wait(shared | ex::then([](auto &value) {
                          static_assert(std::is_const_v<std::remove_reference_t<decltype(value)>>);
                      }));
        auto copy = shared;
        EXPECT_GE(counted::alive, 1);
    }
    EXPECT_EQ(counted::alive, 0);
}

TEST(Split, all_receivers_get_an_error) {
    auto shared = ex::split(ex::just() | ex::then([] { raise("once"); }));
    for (int i = 0; i < 2; ++i) {
        EXPECT_THROW(ex::sync_wait(shared), std::runtime_error); // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks)
    }
}

TEST(Split, all_waiting_receivers_are_completed) {
    pending_list list;
    auto shared = ex::split(pending_sender{&list});
    record got[3];
    auto a = ex::connect(shared, recording{&got[0]});
    auto b = ex::connect(shared, recording{&got[1]});
    auto c = ex::connect(std::move(shared), recording{&got[2]});
    ex::start(a);
    ex::start(b);
    EXPECT_EQ(list.size(), 1u);
    list.complete();
    EXPECT_EQ(got[0].values + got[1].values, 2);
    ex::start(c);
    EXPECT_EQ(got[2].values, 1);
}

TEST(Split, does_not_run_if_no_copy_is_started) {
    bool ran = false;
    {
        auto shared = ex::split(ex::just(counted()) | ex::then([&](const counted &) { ran = true; }));
        record got;
        auto never_started = ex::connect(shared, recording{&got});
    }
    EXPECT_FALSE(ran);
    EXPECT_EQ(counted::alive, 0);
}

TEST(Split, an_operation_may_end_after_all_copies_are_destroyed) {
    pending_list list;
    record got;
    auto operation = ex::connect(ex::split(pending_sender{&list}), recording{&got});
    ex::start(operation);
    list.stop();
    EXPECT_EQ(got.stopped, 1);
}

TEST(StartDetached, runs_and_cleans_up) {
    pending_list list;
    bool ran = false;
    ex::start_detached(pending_sender{&list} | ex::let_value([] { return ex::just(counted()); }) |
                       ex::then([&](const counted &) { ran = true; }) | ex::upon_error([](auto &&) {}));
    EXPECT_FALSE(ran);
    list.complete();
    EXPECT_TRUE(ran);
    EXPECT_EQ(counted::alive, 0);
}

} // namespace
