// SPDX-License-Identifier: BSD-3-Clause
// How long the helper thread pauses, and how it sees that other threads want a processor.
#include "core/progress/helper_pauses.hpp"
#include "core/base/processors.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <sched.h>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

// The helper polls every 50 us while it waits for something. The application that it relies on must still poll.
TEST(application_polls, are_often_if_there_are_several_in_a_row_until_they_end) {
    constexpr thence::progress::nanoseconds us = 1000, ms = 1000 * us;
    thence::progress::application_polls polls;
    auto now = 1000000 * ms;
    const auto look_until = [&](auto end, auto between) {
        auto next = now;
        for (; now < end; now += 50 * us) {
            polls.look(now >= next, now);
            next = now >= next ? now + between : next;
        }
    };
    polls.look(true, now);
    EXPECT_FALSE(polls.often(now)) << "one poll";
    look_until(now + 20 * ms, 2 * ms);
    EXPECT_TRUE(polls.often(now));
    polls.look(false, now += 3 * ms);
    EXPECT_TRUE(polls.often(now)) << "the next is late";
    polls.look(false, now += 3 * ms);
    EXPECT_FALSE(polls.often(now)) << "there is no next one";
    look_until(now + 20 * ms, 2 * ms);
    EXPECT_TRUE(polls.often(now));
    look_until(now + 100 * ms, 8 * ms);
    EXPECT_FALSE(polls.often(now)) << "too rarely";
}

// A thread that loses its processor for half a millisecond has seen another thread.
TEST(helper_pauses, spins_while_alone_and_sleeps_beside_another_thread) {
    using clock = std::chrono::steady_clock;
    std::atomic<bool> not_polled{true};
    thence::base::scripted_processors = []() noexcept { return false; };
    static bool waited = true;
    thence::base::scripted_wait_for_processor = []() noexcept { return waited; };
    bool undisturbed = false;
    for (int round = 0; round < 100 && !undisturbed; ++round) {
        thence::progress::helper_pauses pauses;
        bool slept = false;
        clock::duration longest{};
        const auto begun = clock::now();
        for (auto before = begun; before < begun + 5ms;) {
            slept = pauses.next(not_polled) > 0 || slept;
            const auto now = clock::now();
            longest = std::max(longest, now - before);
            before = now;
        }
        undisturbed = longest < 400us;
        if (undisturbed) {
            EXPECT_FALSE(slept);
        }
        std::this_thread::sleep_for(1ms); // as if another thread had run
        waited = false;
        const auto at_once = pauses.next(not_polled);
        EXPECT_TRUE(at_once == 0 || !undisturbed) << "the processor alone was late";
        std::this_thread::sleep_for(1ms);
        waited = true;
        EXPECT_GE(pauses.next(not_polled), 20000);
    }
    thence::base::scripted_processors = nullptr;
    thence::base::scripted_wait_for_processor = nullptr;
    EXPECT_TRUE(undisturbed);
}

// A helper that displaces other threads is not late itself.
TEST(helper_pauses, uses_a_small_part_of_a_processor_where_none_is_free) {
    const auto share_of_processor = [](std::atomic<bool> &not_polled, bool polls) {
        thence::progress::helper_pauses pauses;
        const auto used = thence::base::read_clock(CLOCK_THREAD_CPUTIME_ID);
        const auto begun = thence::base::read_clock();
        while (thence::base::read_clock() - begun < 100000000) {
            not_polled = !polls;
            if (const auto time = pauses.next(not_polled); time > 0) {
                std::this_thread::sleep_for(std::chrono::nanoseconds(time));
            }
        }
        return static_cast<double>(thence::base::read_clock(CLOCK_THREAD_CPUTIME_ID) - used) /
               static_cast<double>(thence::base::read_clock() - begun);
    };
    std::atomic<bool> not_polled{true};
    thence::base::scripted_processors = []() noexcept { return true; };
    const double beside_others = share_of_processor(not_polled, false);
    const double with_application = share_of_processor(not_polled, true);
    thence::base::scripted_processors = nullptr;
    EXPECT_LT(beside_others, 0.2);
    EXPECT_LT(with_application, 0.08);
}

constexpr auto millisecond = thence::progress::helper_pauses::longest_with_application;

// A helper where others want the processor, of which 40 polls have found nothing.
struct beside_others {
    thence::progress::helper_pauses pauses;
    std::atomic<bool> not_polled{true};

    explicit beside_others(bool application_polls) {
        thence::base::scripted_processors = []() noexcept { return true; };
        pauses.found(); // polls of workers are counted from here
        for (int i = 0; i < 40; ++i) {
            sleep(next(application_polls));
        }
    }
    ~beside_others() { thence::base::scripted_processors = nullptr; }
    static void sleep(thence::progress::nanoseconds time) {
        std::this_thread::sleep_for(std::chrono::nanoseconds(time));
    }
    // The next sleep.
    thence::progress::nanoseconds next(bool application_polls) {
        thence::progress::nanoseconds time = 0;
        do {
            not_polled = !application_polls;
            time = pauses.next(not_polled);
        } while (time <= 0);
        return time;
    }
    // Whether it spins after it has found something.
    bool spins_after(long polls_of_workers) {
        pauses.found(polls_of_workers);
        return pauses.next(not_polled) <= 0;
    }
};

// To spin after it has found something would take the processor from workers, which find the next completion.
TEST(helper_pauses, have_no_spinning_beside_workers_that_poll_very_often_where_no_processor_is_free) {
    beside_others helper(true);
    bool spins_after_the_second = true;
    for (bool in_a_row = false; !in_a_row;) {
        const auto begun = thence::base::read_clock();
        EXPECT_FALSE(helper.spins_after(1000000));
        spins_after_the_second = helper.spins_after(0); // no worker has polled between
        in_a_row = thence::base::read_clock() - begun < millisecond / 2;
    }
    EXPECT_FALSE(spins_after_the_second);
    EXPECT_EQ(helper.next(true), millisecond);
    beside_others::sleep(2 * millisecond);
    EXPECT_TRUE(helper.spins_after(8)) << "each 250 us: not so often";
    thence::base::scripted_processors = []() noexcept { return false; };
    thence::progress::helper_pauses alone;
    alone.found(1000000);
    std::atomic<bool> not_polled{true};
    EXPECT_LE(alone.next(not_polled), 0) << "a processor is free";
}

// An idle worker polls for a short time, and nobody polls after that.
TEST(helper_pauses, are_short_after_idle_workers_have_polled) {
    beside_others helper(true);
    EXPECT_EQ(helper.next(true), millisecond);
    beside_others::sleep(helper.pauses.beside_idle_workers());
    EXPECT_LE(helper.next(false), thence::progress::helper_pauses::longest_if_taken);
    EXPECT_EQ(helper.next(true), millisecond) << "workers poll between tasks again";
}

void use_processor(thence::base::nanoseconds time) {
    const auto end = thence::base::read_clock(CLOCK_THREAD_CPUTIME_ID) + time;
    while (thence::base::read_clock(CLOCK_THREAD_CPUTIME_ID) < end) {
    }
}

TEST(helper_pauses, looks_rarely_at_a_program_that_has_needed_no_help_for_many_looks) {
    using pauses = thence::progress::helper_pauses;
    pauses program;
    bool counts = true;
    const auto look = [&] {
        use_processor(200'000); // more than either share allows
        return program.next_look(false, counts);
    };
    const auto look_in_vain = [&] {
        look();
        for (int i = 1; i < pauses::many_looks; ++i) {
            EXPECT_EQ(look(), pauses::longest_with_application) << i;
        }
        EXPECT_EQ(look(), pauses::factor_after_many * pauses::longest_with_application);
    };
    look_in_vain();
    program.program_needs_help();
    look_in_vain();
    counts = false; // the program uses Thence itself
    EXPECT_EQ(look(), pauses::longest_with_application);
}

TEST(helper_pauses, looks_again_soon_once_if_the_program_may_have_begun_to_compute) {
    thence::progress::helper_pauses pauses;
    pauses.next_look(false, true);
    use_processor(1'000'000); // looks cost much
    EXPECT_EQ(pauses.next_look(true, true), thence::progress::sleep_adjustment::longest);
    EXPECT_EQ(pauses.next_look(true, true), thence::progress::helper_pauses::longest_with_application);
    EXPECT_EQ(pauses.next_look(true, true), thence::progress::sleep_adjustment::longest);
}

TEST(processors, a_thread_that_shares_one_has_waited_for_it) {
    if (std::string cpu, waits; !(std::ifstream("/proc/thread-self/schedstat") >> cpu >> waits) || cpu == "0") {
        GTEST_SKIP() << "the system does not count it";
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
    std::atomic<bool> stop{false};
    bool waited = false;
    std::thread sharing([&] {
        sched_setaffinity(0, sizeof one, &one);
        std::thread busy([&] { // inherits the affinity
            while (!stop) {
            }
        });
        thence::base::waits_for_processor seen;
        const auto waits = [&] {
            const auto begun = thence::base::read_clock();
            while (thence::base::read_clock() - begun < 50'000'000) {
            }
            return seen.was_one(thence::base::read_clock());
        };
        for (int tries = 0; tries < 100 && !waited; ++tries) {
            waited = waits();
        }
        bool at_once = true;
        for (int tries = 0; tries < 100 && at_once; ++tries) { // others may run between two looks
            at_once = seen.was_one(thence::base::read_clock());
        }
        EXPECT_FALSE(at_once);
        stop = true;
        busy.join();
    });
    sharing.join();
    EXPECT_TRUE(waited);
}

TEST(processors, are_taken_while_more_threads_run_than_there_are) {
    std::atomic<bool> stop{false};
    std::vector<std::thread> busy;
    for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i) {
        busy.emplace_back([&] {
            while (!stop.load(std::memory_order_relaxed)) {
            }
        });
    }
    bool are_taken = false;
    for (int tries = 0; !are_taken && tries < 10000; ++tries) {
        std::this_thread::sleep_for(1ms); // an answer is used for so long
        are_taken = thence::base::processors_are_taken(thence::base::read_clock());
    }
    EXPECT_TRUE(are_taken) << "all run beside this thread";
    stop = true;
    for (std::thread &each : busy) {
        each.join();
    }
}

} // namespace
