// SPDX-License-Identifier: BSD-3-Clause
// The slots of notifications and who waits for them, without MPI: one process, where threads stand for the others.
#include "onesided/memory/shared_block.hpp"
#include "onesided/notification/waiters.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using thence::memory::shared_block;
using thence::notification::arrived_list;
using thence::notification::missed;
using thence::notification::slots;
using thence::notification::waiter;
using thence::notification::waiters;

struct counted : waiter {
    counted() {
        arrived = [](waiter &w) noexcept { ++static_cast<counted &>(w).times; };
    }
    int times = 0;
    std::uint32_t value = 0;
};

struct part {
    explicit part(unsigned count)
        : block(shared_block::make(slots::bytes_for(count))), own(block.data(), count), waiting(own) {
        EXPECT_TRUE(waiting.make_room());
    }
    // Looks at what is marked, and calls who has all.
    void look() {
        arrived_list ready;
        waiting.look(ready);
        call(ready);
    }
    static void call(arrived_list &ready) {
        while (waiter *const w = ready.pop()) {
            w->arrived(*w);
        }
    }
    // True if it has arrived already.
    bool wait_for(counted &w, unsigned i) {
        arrived_list others;
        const bool here = waiting.add(w, i, 1, &w.value, others) == waiters::result::all_here;
        call(others);
        return here;
    }

    shared_block block;
    slots own;
    waiters waiting;
};

TEST(notification_slots, begin_with_zero_and_are_taken_once) {
    part p(5000);
    EXPECT_EQ(p.own.find(0, 5000), 5000U);
    p.own.set(4999, 7);
    p.own.set(63, 1);
    p.own.set(63, 2);
    EXPECT_EQ(p.own.find(0, 5000), 63U);
    EXPECT_EQ(p.own.find(64, 4936), 4999U);
    EXPECT_EQ(p.own.take(63), 2U);
    EXPECT_EQ(p.own.take(63), 0U);
    EXPECT_EQ(p.own.read(4999), 7U);
}

TEST(notification_slots, are_marked_only_while_somebody_waits) {
    part p(5000);
    p.own.set(17, 1);
    EXPECT_FALSE(p.own.any_marked());
    p.own.arm();
    p.own.set(18, 1);
    p.own.set(4999, 1);
    p.own.set(18, 1);
    EXPECT_TRUE(p.own.any_marked());
    std::set<unsigned> marked;
    p.own.take_marks([&](unsigned i) { EXPECT_TRUE(marked.insert(i).second); });
    EXPECT_EQ(marked, (std::set<unsigned>{18, 4999}));
    EXPECT_FALSE(p.own.any_marked());
    p.own.disarm();
    p.own.set(19, 1);
    EXPECT_FALSE(p.own.any_marked());
}

TEST(notification_slots, are_seen_through_another_mapping) {
    part p(100);
    const shared_block other = shared_block::open(getpid(), p.block.descriptor(), p.block.bytes(), p.block.cookie());
    ASSERT_TRUE(other);
    EXPECT_NE(other.data(), p.block.data());
    slots(other.data(), 100).set(99, 12);
    EXPECT_EQ(p.own.take(99), 12U);
}

TEST(notification_waiters, memory_stays_while_somebody_waits_and_may_be_replaced_after_that) {
    part p(10);
    counted w;
    EXPECT_FALSE(p.wait_for(w, 3));
    EXPECT_FALSE(p.waiting.forget());
    p.own.set(3, 5);
    p.look();
    EXPECT_EQ(w.times, 1);
    EXPECT_TRUE(p.waiting.forget());
    p.block = {};
    EXPECT_FALSE(p.waiting.may_have_arrived());
    p.look();
    p.block = shared_block::make(slots::bytes_for(20));
    p.own = slots(p.block.data(), 20);
    p.waiting.watch(p.own);
    ASSERT_TRUE(p.waiting.make_room());
    counted last;
    EXPECT_FALSE(p.wait_for(last, 19)); // there are more than before
    p.own.set(19, 6);
    EXPECT_TRUE(p.waiting.may_have_arrived());
    p.look();
    EXPECT_EQ(last.value, 6U);
    EXPECT_EQ(last.times, 1);
}

TEST(notification_waiters, one_that_has_arrived_is_served_at_once) {
    part p(10);
    counted w;
    p.own.set(3, 5);
    EXPECT_TRUE(p.wait_for(w, 3));
    EXPECT_EQ(w.value, 5U);
    EXPECT_FALSE(p.waiting.any());
    EXPECT_EQ(p.own.read(3), 0U);
}

TEST(notification_waiters, are_served_in_the_order_in_which_they_came) {
    part p(10);
    std::array<counted, 3> all;
    for (counted &each : all) {
        EXPECT_FALSE(p.wait_for(each, 3));
    }
    for (int i = 0; i < 3; ++i) {
        p.look();
        p.own.set(3, static_cast<std::uint32_t>(i + 1));
        p.look();
        for (int k = 0; k < 3; ++k) {
            EXPECT_EQ(all[static_cast<std::size_t>(k)].times, k <= i ? 1 : 0);
        }
        EXPECT_EQ(all[static_cast<std::size_t>(i)].value, static_cast<std::uint32_t>(i + 1));
    }
    EXPECT_FALSE(p.waiting.any());
}

TEST(notification_waiters, a_range_needs_each_of_its_notifications) {
    part p(300);
    counted w;
    w.many = std::make_unique<missed[]>(200);
    std::array<std::uint32_t, 200> values{};
    arrived_list others;
    p.own.set(60, 61); // has arrived before
    EXPECT_EQ(p.waiting.add(w, 50, 200, values.data(), others), waiters::result::waits);
    EXPECT_EQ(p.own.read(60), 0U);
    for (unsigned i = 249; i >= 50; --i) {
        if (i != 60) {
            p.own.set(i, i + 1);
            p.own.set(249, 1); // again: counts once
            p.look();
        }
        EXPECT_EQ(w.times, i == 50 ? 1 : 0);
    }
    for (unsigned i = 0; i < 199; ++i) {
        EXPECT_EQ(values[i], 51 + i);
    }
    EXPECT_EQ(p.own.read(249), 1U) << "the second arrival is for the next";
}

TEST(notification_waiters, a_later_one_can_be_served_by_what_an_older_one_left) {
    part p(10);
    counted first;
    counted second;
    EXPECT_FALSE(p.wait_for(first, 1));
    p.own.set(1, 5);
    // The arrival is the first's, though nobody has looked yet.
    EXPECT_FALSE(p.wait_for(second, 1));
    EXPECT_EQ(first.times, 1);
    EXPECT_EQ(second.times, 0);
    p.own.set(1, 6);
    p.look();
    EXPECT_EQ(second.value, 6U);
}

// Other threads set notifications, each with its own numbers; it sets one again when it has been served.
TEST(notification_waiters, no_arrival_is_lost_under_stress) {
    constexpr unsigned writers = 3;
    constexpr unsigned each = 50;
    constexpr int times = 100;
    part p(writers * each);
    std::array<std::atomic<int>, writers * each> served{};
    std::atomic<bool> wrong{false};
    std::vector<std::thread> running;
    for (unsigned t = 0; t < writers; ++t) {
        running.emplace_back([&, t] {
            for (int round = 1; round <= times; ++round) {
                for (unsigned k = 0; k < each; ++k) {
                    const unsigned i = t + writers * ((k * 7) % each);
                    while (served[i].load() != round - 1) {
                        std::this_thread::yield();
                    }
                    p.own.set(i, static_cast<std::uint32_t>(round));
                }
            }
        });
    }
    struct again : waiter {
        std::uint32_t value = 0;
        unsigned number = 0;
    };
    std::deque<again> all(writers * each);
    std::mt19937 random(1);
    long left = static_cast<long>(writers) * each * times;
    std::vector<unsigned> to_wait(writers * each);
    for (unsigned i = 0; i < writers * each; ++i) {
        all[i].number = i;
        to_wait[i] = i;
    }
    const auto take = [&](again &w) {
        wrong = wrong || w.value != static_cast<std::uint32_t>(served[w.number].load() + 1);
        --left;
        to_wait.push_back(w.number);
        served[w.number].fetch_add(1);
    };
    while (left != 0) {
        // Some of those that do not wait do so now; so the part is armed and disarmed.
        for (std::size_t n = to_wait.empty() ? 0 : random() % to_wait.size() + 1; n != 0; --n) {
            again &w = all[to_wait.back()];
            to_wait.pop_back();
            arrived_list others;
            if (p.waiting.add(w, w.number, 1, &w.value, others) == waiters::result::all_here) {
                take(w);
            }
        }
        arrived_list ready;
        p.waiting.look(ready);
        while (waiter *const w = ready.pop()) {
            take(static_cast<again &>(*w));
        }
    }
    for (std::thread &t : running) {
        t.join();
    }
    EXPECT_FALSE(wrong);
    EXPECT_EQ(p.own.find(0, writers * each), writers * each);
}

// Another thread has deleted the part since the caller has looked how many notifications it has.
TEST(notifications, nobody_waits_for_those_of_a_part_that_is_gone) {
    part p(100);
    counted w;
    arrived_list others;
    ASSERT_TRUE(p.waiting.forget());
    EXPECT_EQ(p.waiting.add(w, 50, 1, &w.value, others), waiters::result::no_such);
    part few(10);
    p.waiting.watch(few.own);
    ASSERT_TRUE(p.waiting.make_room());
    EXPECT_EQ(p.waiting.add(w, 10, 1, &w.value, others), waiters::result::no_such);
    EXPECT_EQ(p.waiting.add(w, 11, ~0U, &w.value, others), waiters::result::no_such);
    EXPECT_FALSE(p.waiting.any());
    EXPECT_EQ(p.waiting.add(w, 9, 1, &w.value, others), waiters::result::waits);
    few.own.set(9, 5);
    p.look();
    EXPECT_EQ(w.times, 1);
    EXPECT_EQ(w.value, 5U);
}

} // namespace
