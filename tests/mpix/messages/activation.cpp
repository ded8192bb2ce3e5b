// SPDX-License-Identifier: BSD-3-Clause
// Start and finish of a thread communicator in one process: who gets which index.
#include "mpix/threadcomm/activation.hpp"

#include "../../tasks/standard_error.hpp"
#include "core/base/settings.hpp"
#include "fake_mpi.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using thence::threadcomm::activation;
using answer = activation::answer;

struct caller {
    std::uint64_t thread;
    int wanted = -1;
    int suggested = -1;
    int index = -1;
    answer result = answer::done;
};

class activations : public ::testing::Test {
protected:
    activations() { thence::fake::world.begin({}); }
    ~activations() override { thence::fake::world.end(); }
    // All start, in any order, and finish if they could.
    static void run(activation &r, std::vector<caller> &all) {
        std::vector<std::thread> threads;
        for (caller &each : all) {
            threads.emplace_back([&r, &each] {
                each.result = r.start("start", each.thread, each.wanted, each.suggested, each.index);
                if (each.result == answer::done) {
                    r.finish("finish");
                }
            });
        }
        for (std::thread &each : threads) {
            each.join();
        }
    }
    static std::vector<int> indices(const std::vector<caller> &all) {
        std::vector<int> result;
        for (const caller &each : all) {
            result.push_back(each.index);
        }
        return result;
    }
};

} // namespace

TEST_F(activations, indices_are_kept_by_threads_that_come_again) {
    activation r(3);
    std::vector<caller> all{{11}, {12}, {13}};
    run(r, all);
    const auto first = indices(all);
    for (int round = 0; round < 20; ++round) {
        run(r, all);
        EXPECT_EQ(indices(all), first);
    }
    EXPECT_TRUE(r.idle());
    // A new thread gets the index that is left.
    std::vector<caller> others{{99}, {13}, {11}};
    run(r, others);
    EXPECT_EQ(others[0].index, first[1]);
    EXPECT_EQ(others[1].index, first[2]);
}

TEST_F(activations, a_wanted_index_goes_before_a_kept_one) {
    activation r(2);
    std::vector<caller> all{{1, 0}, {2, 1}};
    run(r, all);
    all = {{1}, {2, 0}};
    run(r, all);
    EXPECT_EQ(indices(all), (std::vector<int>{1, 0}));
}

TEST_F(activations, suggestions_are_taken_if_they_differ) {
    activation r(3);
    std::vector<caller> all{{1, -1, 2}, {2, -1, 0}, {3, -1, 1}};
    run(r, all);
    EXPECT_EQ(indices(all), (std::vector<int>{2, 0, 1}));
    activation other(3);
    all = {{1, -1, 0}, {2, -1, 0}, {3, -1, 0}};
    run(other, all);
    auto found = indices(all);
    std::ranges::sort(found);
    EXPECT_EQ(found, (std::vector<int>{0, 1, 2}));
}

TEST_F(activations, none_starts_if_two_want_one_index) {
    activation r(3);
    std::vector<caller> all{{1, 1}, {2}, {3, 1}};
    run(r, all);
    for (const caller &each : all) {
        EXPECT_EQ(each.result, answer::index_twice);
    }
    EXPECT_TRUE(r.idle());
    all = {{1}, {2}, {3}};
    run(r, all);
    EXPECT_EQ(all[0].result, answer::done);
}

TEST_F(activations, one_thread_too_many_is_refused_at_once) {
    activation r(1);
    int index = -1;
    ASSERT_EQ(r.start("start", 1, -1, -1, index), answer::done);
    EXPECT_FALSE(r.idle());
    EXPECT_EQ(r.start("start", 2, -1, -1, index), answer::too_many);
    EXPECT_EQ(r.start("start", 2, 1, -1, index), answer::index_out_of_range);
    r.finish("finish");
    EXPECT_TRUE(r.idle());
    activation none(0);
    EXPECT_EQ(none.start("start", 1, -1, -1, index), answer::too_many);
}

// Threads that are missing are reported after THENCE_STALL, once for each thread that waits.
class stalled_regions : public activations {
protected:
    stalled_regions() { set_stall("50ms"); }
    ~stalled_regions() override { set_stall("0"); }
    static void set_stall(const char *value) {
        setenv("THENCE_STALL", value, 1);
        thence::base::read_settings();
    }
    // After all threads have ended: how often `words` have been printed.
    int times_printed(const std::string &words) {
        std::fputs("the end\n", stderr);
        const std::string text = printed_.read_until("the end");
        int times = 0;
        for (auto at = text.find(words); at != text.npos; at = text.find(words, at + 1)) {
            ++times;
        }
        return times;
    }

    standard_error printed_;
};

TEST_F(stalled_regions, a_start_that_lasts_is_reported_once_with_how_many_are_missing) {
    const std::string expected = "the_start: 1 of 2 threads have called it";
    activation r(2);
    std::thread first([&] {
        int index = -1;
        EXPECT_EQ(r.start("the_start", 1, -1, -1, index), answer::done);
        r.finish("the_finish");
    });
    printed_.read_until(expected);
    int index = -1;
    EXPECT_EQ(r.start("the_start", 2, -1, -1, index), answer::done);
    r.finish("the_finish");
    first.join();
    EXPECT_EQ(times_printed(expected), 1);
}

TEST_F(stalled_regions, a_thread_that_ends_without_the_finish_is_reported_as_missing) {
    const std::string expected = "the_finish: 1 of 2 threads have called it";
    activation r(2);
    std::thread first([&] {
        int index = -1;
        EXPECT_EQ(r.start("the_start", 1, -1, -1, index), answer::done);
        r.finish("the_finish");
    });
    std::thread leaves([&] {
        int index = -1;
        EXPECT_EQ(r.start("the_start", 2, -1, -1, index), answer::done);
    });
    leaves.join();
    printed_.read_until(expected);
    EXPECT_FALSE(r.idle());
    r.finish("the_finish"); // in its place, so that the test ends
    first.join();
    EXPECT_TRUE(r.idle());
    EXPECT_EQ(times_printed(expected), 1);
}

// The last thread of a finish tells the others under the mutex of the region; idle() waits until it has given it up.
TEST_F(activations, a_region_is_destroyed_as_soon_as_it_is_idle) {
    for (int round = 0; round < 200; ++round) {
        auto r = std::make_unique<activation>(2);
        std::atomic<int> started{0};
        const auto enter = [&started](activation &entered, std::uint64_t number) {
            int index = -1;
            ASSERT_EQ(entered.start("start", number, -1, -1, index), answer::done);
            ++started;
            entered.finish("finish");
        };
        std::thread other([&enter, entered = r.get()] { enter(*entered, 2); });
        enter(*r, 1);
        EXPECT_TRUE(r->idle());
        r.reset(); // the other thread may not have returned
        other.join();
        EXPECT_EQ(started, 2);
    }
}
