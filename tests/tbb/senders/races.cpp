// SPDX-License-Identifier: BSD-3-Clause
// Races between starting, stopping and completing an operation: it completes its receiver once, and is stopped if and
// only if it was cancelled before it was complete.
//
// In each round one thread starts an operation, a second completes it, and a third requests stop.
#include "support.hpp"

#include <thence/timeout.hpp>

#include <barrier>
#include <chrono>
#include <random>

namespace {

using namespace sender_tests;

class races : public senders {};

void idle(unsigned turns) {
    for (unsigned i = 0; i < turns; ++i) {
        std::atomic_signal_fence(std::memory_order_seq_cst); // so that the compiler keeps the loop
    }
}

TEST_P(races, stop_against_completion) {
    const auto end_time = std::chrono::steady_clock::now() + std::chrono::milliseconds(400);
    long stopped = 0;
    long completed = 0;
    unsigned number = 0;
    std::atomic<bool> over{false};
    std::barrier gate(3);
    ex::inplace_stop_source *source = nullptr;
    std::atomic<bool> started{false};
    std::atomic<bool> stop_asked{false};
    ending *done = nullptr;
    // On a busy machine one side may win all races. So in some rounds the test decides the order.
    enum { any, stop_first, completion_first } order = any;
    ticket t;

    std::thread completer([&] {
        std::mt19937 random(1);
        for (;;) {
            gate.arrive_and_wait();
            if (over) {
                return;
            }
            while (!started.load(std::memory_order_acquire)) {
                std::this_thread::yield();
            }
            while (order == stop_first && !stop_asked.load(std::memory_order_acquire)) {
                std::this_thread::yield();
            }
            idle(random() % 400);
            world.complete(t, {3}); // false if it was cancelled first
            thence_progress();
            gate.arrive_and_wait();
        }
    });
    std::thread stopper([&] {
        std::mt19937 random(2);
        for (;;) {
            gate.arrive_and_wait();
            if (over) {
                return;
            }
            while (random() % 8 != 0 && !started.load(std::memory_order_acquire)) {
                std::this_thread::yield();
            }
            while (order == completion_first && done->all() == 0) {
                std::this_thread::yield();
            }
            idle(random() % 400);
            source->request_stop();
            stop_asked.store(true, std::memory_order_release);
            gate.arrive_and_wait();
        }
    });
    while (std::chrono::steady_clock::now() < end_time) {
        ++number;
        ex::inplace_stop_source stop;
        source = &stop;
        started = false;
        stop_asked = false;
        ending end;
        done = &end;
        order = number % 8 == 0 ? stop_first : number % 8 == 1 ? completion_first : any;
        int from = -1;
        auto operation = ex::connect(ex::just() |
                                         thence::transform_mpi(
                                             [&](MPI_Request *r) {
                                                 start_one{&t}(r);
                                                 started.store(true, std::memory_order_release);
                                             },
                                             thence::with_status) |
                                         ex::then([&](MPI_Status status) { from = status.MPI_SOURCE; }),
                                     receiver{&end, stop.get_token()});
        gate.arrive_and_wait();
        ex::start(operation);
        if (!started) { // stopped before the call
            EXPECT_EQ(end.stops, 1);
            MPI_Request r = world.start();
            t = world.ticket_of(r);
            started.store(true, std::memory_order_release);
            gate.arrive_and_wait();
            thence::mpi::table.Wait(&r, MPI_STATUS_IGNORE);
            continue;
        }
        ASSERT_TRUE(eventually([&] { return end.all() != 0; }));
        gate.arrive_and_wait();
        let_run();
        ASSERT_EQ(end.all(), 1) << "round " << number;
        ASSERT_EQ(end.errors, 0);
        ASSERT_EQ(end.values == 1, from == 3);
        (end.stops == 1 ? stopped : completed) += 1;
    }
    over = true;
    gate.arrive_and_wait();
    completer.join();
    stopper.join();
    EXPECT_GT(stopped, 0);
    EXPECT_GT(completed, 0);
    std::printf("%u rounds: %ld stopped, %ld complete\n", number, stopped, completed);
}

// Several threads start and complete many operations at once and stop some. The operations reuse continuation requests.
TEST_P(races, a_stop_request_reaches_only_its_own_operation) {
    const auto end_time = std::chrono::steady_clock::now() + std::chrono::milliseconds(400);
    std::atomic<long> wrong{0};
    std::vector<std::thread> threads;
    for (unsigned seed = 0; seed < 3; ++seed) {
        threads.emplace_back([&, seed] {
            std::mt19937 random(seed);
            while (std::chrono::steady_clock::now() < end_time) {
                ex::inplace_stop_source stop;
                ending end;
                ticket t;
                const bool stops = random() % 2 == 0;
                auto operation = ex::connect(one(t), receiver{&end, stop.get_token()});
                ex::start(operation);
                idle(random() % 100);
                if (stops) {
                    stop.request_stop();
                } else {
                    world.complete(t);
                }
                if (!eventually([&] { return end.all() != 0; })) {
                    ++wrong;
                    world.complete(t);
                    return;
                }
                if (end.all() != 1 || (end.stops == 1) != stops) {
                    ++wrong;
                }
            }
        });
    }
    for (std::thread &t : threads) {
        t.join();
    }
    EXPECT_EQ(wrong, 0);
}

// A deadline, a stop request of the receiver, the completion and the start, each on a thread of its own.
TEST_P(races, deadline_against_stop_against_completion) {
    const auto end_time = std::chrono::steady_clock::now() + std::chrono::milliseconds(600);
    std::array<long, 3> seen{}; // values, deadlines, stops
    std::atomic<bool> over{false};
    std::barrier gate(4);
    ex::inplace_stop_source *source = nullptr;
    std::atomic<bool> started{false};
    ticket t;
    const auto helper = [&](unsigned seed, auto what) {
        return std::thread([&, seed, what] {
            std::mt19937 random(seed);
            for (;;) {
                gate.arrive_and_wait();
                if (over) {
                    return;
                }
                idle(random() % 300);
                what(random);
                gate.arrive_and_wait();
            }
        });
    };
    std::thread completer = helper(1, [&](std::mt19937 &random) {
        while (!started.load(std::memory_order_acquire)) {
            std::this_thread::yield();
        }
        idle(random() % 600);
        if (random() % 4 != 0) {
            world.complete(t, {3});
        }
        thence_progress();
    });
    std::thread stopper = helper(2, [&](std::mt19937 &random) {
        if (random() % 2 != 0) {
            source->request_stop();
        }
    });
    std::thread clock = helper(3, [&](std::mt19937 &) {
        for (int i = 0; i < 20; ++i) {
            thence::run_timers();
        }
    });
    std::mt19937 random(4);
    unsigned number = 0;
    while (std::chrono::steady_clock::now() < end_time) {
        ++number;
        ex::inplace_stop_source stop;
        source = &stop;
        started = false;
        ending end;
        int from = -1;
        auto operation = ex::connect(ex::just() |
                                         thence::transform_mpi(
                                             [&](MPI_Request *r) {
                                                 start_one{&t}(r);
                                                 started.store(true, std::memory_order_release);
                                             },
                                             thence::with_status) |
                                         thence::timeout(std::chrono::nanoseconds(random() % 20000)) |
                                         ex::then([&](MPI_Status status) { from = status.MPI_SOURCE; }),
                                     receiver{&end, stop.get_token()});
        gate.arrive_and_wait();
        ex::start(operation);
        if (!started) { // stopped before the call
            MPI_Request r = world.start();
            t = world.ticket_of(r);
            started.store(true, std::memory_order_release);
            gate.arrive_and_wait();
            world.complete(t);
            thence::mpi::table.Wait(&r, MPI_STATUS_IGNORE);
        } else {
            gate.arrive_and_wait();
        }
        ASSERT_TRUE(eventually([&] {
            thence::run_timers();
            return end.all() != 0;
        })) << "round "
            << number;
        let_run();
        EXPECT_FALSE(thence::run_timers());
        ASSERT_EQ(end.all(), 1) << "round " << number;
        ASSERT_EQ(end.values == 1, from == 3);
        if (end.errors == 1) {
            ASSERT_THROW(std::rethrow_exception(end.error), thence::timed_out);
        }
        ++seen[end.values == 1 ? 0 : end.errors == 1 ? 1 : 2];
    }
    over = true;
    gate.arrive_and_wait();
    completer.join();
    stopper.join();
    clock.join();
    std::printf("%u rounds: %ld complete, %ld timed out, %ld stopped\n", number, seen[0], seen[1], seen[2]);
    for (const long count : seen) {
        EXPECT_GT(count, 0);
    }
}

THENCE_RULES(races);

} // namespace
