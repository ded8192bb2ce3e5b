// SPDX-License-Identifier: BSD-3-Clause
// The C++ form of host queues, and their scheduler.
#include "support.hpp"

#include <thence/host_queue.hpp>

namespace {

namespace ex = thence::ex;

TEST(host_queue_scheduler, runs_work_in_the_order_of_the_queue) {
    thence::host_queue queue;
    std::vector<int> order;
    std::thread::id of_queue;
    queue.enqueue([&] {
        sleep_ms(20);
        order.push_back(1);
    });
    const std::thread::id here = std::this_thread::get_id();
    auto got = ex::sync_wait(ex::schedule(queue.get_scheduler()) | ex::then([&] {
                                 order.push_back(2);
                                 of_queue = std::this_thread::get_id();
                                 return 42;
                             }));
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(std::get<0>(*got), 42);
    EXPECT_NE(of_queue, here);
    queue.synchronize();
    EXPECT_EQ(order, (std::vector<int>{1, 2}));
    EXPECT_TRUE(queue.get_scheduler() == queue.get_scheduler());
    thence::host_queue other;
    EXPECT_FALSE(queue.get_scheduler() == other.get_scheduler());
}

TEST(host_queue_scheduler, continues_work_of_another_queue) {
    thence::host_queue first;
    thence::host_queue second;
    int value = 0;
    ex::sync_wait(ex::schedule(first.get_scheduler()) | ex::then([] { return 20; }) |
                  ex::continues_on(second.get_scheduler()) | ex::then([&](int v) { value = v + 1; }));
    EXPECT_EQ(value, 21);
}

TEST(host_queue_scheduler, functions_keep_their_state_until_they_have_run) {
    std::weak_ptr<int> watched;
    {
        thence::host_queue queue;
        auto state = std::make_shared<int>(7);
        watched = state;
        queue.enqueue([kept = std::move(state)] { EXPECT_EQ(*kept, 7); });
    }
    EXPECT_TRUE(watched.expired());
}

} // namespace
