// SPDX-License-Identifier: BSD-3-Clause
// Races between threads, each repeated many times: completion and stop request, registration and completion, join and
// the end of the last work. Also run with ThreadSanitizer.
#include <atomic>
#include <memory>
#include <optional>

#include "support.hpp"

namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int rounds = 8000;
#else
constexpr int rounds = 20000;
#endif

/** Runs two functions at the same time, repeatedly. Neither begins before both threads are ready. */
class rendezvous {
public:
    template <class F>
    explicit rendezvous(F f)
        : other_([this, f]() mutable {
              for (int turn = 1;; ++turn) {
                  while (turn_.load(std::memory_order_acquire) != turn) {
                      if (turn_.load(std::memory_order_acquire) < 0) {
                          return;
                      }
                      std::this_thread::yield();
                  }
                  f();
                  done_.store(turn, std::memory_order_release);
              }
          }) {}
    ~rendezvous() {
        turn_.store(-1, std::memory_order_release);
        other_.join();
    }
    template <class F> void run(F f) {
        const int turn = turn_.load(std::memory_order_relaxed) + 1;
        turn_.store(turn, std::memory_order_release);
        f();
        while (done_.load(std::memory_order_acquire) != turn) {
            std::this_thread::yield();
        }
    }

private:
    std::atomic<int> turn_{0}, done_{0};
    std::thread other_;
};

TEST(StopSourceStress, a_callback_runs_or_is_removed_and_never_both) {
    std::unique_ptr<ex::inplace_stop_source> source;
    rendezvous other([&] { source->request_stop(); });
    int ran = 0;
    for (int i = 0; i < rounds; ++i) {
        source = std::make_unique<ex::inplace_stop_source>();
        // One object each, since the two callbacks may run on different threads at the same time.
        auto a = std::make_unique<int>(0), b = std::make_unique<int>(0);
        auto add_a = [&] {
            std::this_thread::yield(); // long enough for the other thread to interfere
            ++*a;
        };
        auto add_b = [&] {
            std::this_thread::yield();
            ++*b;
        };
        other.run([&] {
            std::optional<ex::inplace_stop_callback<decltype(add_a)>> first(std::in_place, source->get_token(), add_a);
            std::optional<ex::inplace_stop_callback<decltype(add_b)>> second(std::in_place, source->get_token(), add_b);
            first.reset();
            second.reset();
            ASSERT_LE(*a, 1);
            ASSERT_LE(*b, 1);
            ran += *a + *b;
            a.reset(); // a callback that still runs would access freed memory
            b.reset();
        });
    }
    EXPECT_LE(ran, 2 * rounds);
}

TEST(WhenAllStress, completes_once_when_it_is_stopped_and_completed_at_once) {
    loop_thread a, b;
    std::optional<ex::inplace_stop_source> source;
    rendezvous stopper([&] { source->request_stop(); });
    int values = 0, stops = 0;
    for (int i = 0; i < rounds / 4; ++i) {
        source.emplace();
        stopper.run([&] {
            auto work =
                ex::when_all(ex::schedule(a.scheduler()), ex::schedule(b.scheduler()), ex::schedule(a.scheduler()));
            const auto result =
                ex::sync_wait(ex::write_env(std::move(work), ex::prop{ex::get_stop_token, source->get_token()}));
            ++(result.has_value() ? values : stops);
        });
    }
    EXPECT_EQ(values + stops, rounds / 4);
}

TEST(WhenAllStress, the_first_of_two_errors_is_sent_once) {
    loop_thread a, b;
    int caught = 0;
    for (int i = 0; i < rounds / 4; ++i) {
        auto fails = [](auto scheduler) { return ex::schedule(scheduler) | ex::then([] { raise("race"); }); };
        try {
            ex::sync_wait(ex::when_all(fails(a.scheduler()), fails(b.scheduler())));
        } catch (const std::runtime_error &) {
            ++caught;
        }
    }
    EXPECT_EQ(caught, rounds / 4);
}

TEST(RunLoopStress, work_from_many_threads_runs_once) {
    ex::run_loop loop;
    std::vector<std::thread> workers;
#if THENCE_EXECUTION_IS_THENCE
    constexpr int running = 2;
#else
    constexpr int running = 1; // C++26 guarantees no more
#endif
    for (int i = 0; i < running; ++i) {
        workers.emplace_back([&] { loop.run(); });
    }
    std::atomic<int> done{0};
    std::vector<std::thread> users;
    for (int t = 0; t < 3; ++t) {
        users.emplace_back([&] {
            for (int i = 0; i < rounds / 10; ++i) {
                ex::sync_wait(ex::schedule(loop.get_scheduler()) | ex::then([&] { ++done; }));
            }
        });
    }
    for (auto &user : users) {
        user.join();
    }
    loop.finish();
    for (auto &worker : workers) {
        worker.join();
    }
    EXPECT_EQ(done.load(), 3 * (rounds / 10));
}

TEST(RunLoopStress, a_loop_may_be_destroyed_as_soon_as_run_returns) {
    std::optional<ex::run_loop> loop;
    rendezvous other([&] { loop->finish(); });
    for (int i = 0; i < rounds; ++i) {
        loop.emplace();
        // The loop is destroyed while the other thread may still be leaving finish().
        other.run([&] {
            loop->run();
            loop.reset();
        });
    }
}

TEST(TaskStress, continues_once_if_the_awaited_sender_completes_while_it_suspends) {
    loop_thread a, b;
    auto hop = [](auto first, auto second, int n) -> ex::task<int> {
        int sum = 0;
        for (int i = 0; i < n; ++i) {
            co_await ex::schedule(first);
            co_await ex::schedule(second);
            ++sum;
        }
        co_return sum;
    };
    auto [sum, other] = ex::sync_wait(ex::when_all(hop(a.scheduler(), b.scheduler(), rounds / 2),
                                                   hop(b.scheduler(), a.scheduler(), rounds / 2)))
                            .value();
    EXPECT_EQ(sum + other, rounds / 2 * 2);
}

#if !THENCE_EXECUTION_IS_STDEXEC // there, removing a stop callback can block for ever
TEST(TaskStress, a_stop_request_meets_a_task_that_completes) {
    loop_thread a;
    std::optional<ex::inplace_stop_source> source;
    rendezvous stopper([&] { source->request_stop(); });
    auto body = [](auto scheduler) -> ex::task<int> {
        co_await ex::schedule(scheduler);
        co_await ex::when_all(ex::schedule(scheduler), ex::schedule(scheduler));
        co_return 1;
    };
    int values = 0, stops = 0;
    for (int i = 0; i < rounds / 4; ++i) {
        source.emplace();
        stopper.run([&] {
            // The token goes through a when_all, which has a stop source of its own.
            const auto result = ex::sync_wait(
                ex::write_env(ex::when_all(body(a.scheduler())), ex::prop{ex::get_stop_token, source->get_token()}));
            ++(result.has_value() ? values : stops);
        });
    }
    EXPECT_EQ(values + stops, rounds / 4);
}
#endif

TEST(ScopeStress, join_meets_the_last_piece_of_work) {
    loop_thread a, b;
    for (int i = 0; i < rounds / 4; ++i) {
        std::atomic<int> ran{0};
        ex::counting_scope scope;
        for (int k = 0; k < 4; ++k) {
            ex::spawn(ex::schedule(k % 2 ? a.scheduler() : b.scheduler()) | ex::then([&]() noexcept { ++ran; }),
                      scope.get_token());
        }
        ex::sync_wait(scope.join());
        ASSERT_EQ(ran.load(), 4);
    }
}

TEST(ScopeStress, a_stop_request_meets_work_that_completes) {
    loop_thread a;
    std::optional<ex::counting_scope> scope;
    rendezvous stopper([&] { scope->request_stop(); });
    std::atomic<int> ended{0};
    for (int i = 0; i < rounds / 4; ++i) {
        scope.emplace();
        stopper.run([&] {
            for (int k = 0; k < 2; ++k) {
                ex::spawn(ex::schedule(a.scheduler()) | ex::then([&]() noexcept { ++ended; }) |
                              ex::upon_stopped([&]() noexcept { ++ended; }),
                          scope->get_token());
            }
        });
        ex::sync_wait(scope->join());
    }
    EXPECT_EQ(ended.load(), rounds / 4 * 2);
}

TEST(FutureStress, is_started_or_destroyed_while_its_work_completes) {
    loop_thread a;
    int taken = 0;
    for (int i = 0; i < rounds / 4; ++i) {
        ex::counting_scope scope;
        auto future =
            ex::spawn_future(ex::schedule(a.scheduler()) | ex::then([] { return move_only(1); }), scope.get_token());
        { auto dropped = ex::spawn_future(ex::schedule(a.scheduler()), scope.get_token()); }
        taken += ex::sync_wait(std::move(future)).has_value() ? 1 : 0;
        ex::sync_wait(scope.join());
    }
    EXPECT_EQ(taken, rounds / 4);
}

#if THENCE_EXECUTION_IS_THENCE
TEST(SplitStress, is_started_and_completed_from_several_threads) {
    loop_thread a, b;
    std::atomic<int> runs{0};
    for (int i = 0; i < rounds / 4; ++i) {
        auto shared = ex::split(ex::schedule(a.scheduler()) | ex::then([&] { return ++runs; }));
        auto [x, y, z] = ex::sync_wait(ex::when_all(ex::starts_on(a.scheduler(), shared),
                                                    ex::starts_on(b.scheduler(), shared), shared))
                             .value();
        ASSERT_EQ(x, i + 1);
        ASSERT_EQ(y, i + 1);
        ASSERT_EQ(z, i + 1);
    }
}

TEST(SplitStress, a_stop_request_of_one_meets_the_completion_for_all) {
    loop_thread a;
    std::optional<ex::inplace_stop_source> source;
    rendezvous stopper([&] { source->request_stop(); });
    int ended = 0;
    for (int i = 0; i < rounds / 4; ++i) {
        source.emplace();
        stopper.run([&] {
            auto shared = ex::split(ex::schedule(a.scheduler()));
            auto one = ex::write_env(shared, ex::prop{ex::get_stop_token, source->get_token()});
            (void)ex::sync_wait(ex::when_all(one | ex::upon_stopped([] {}), shared | ex::upon_stopped([] {})));
            ++ended;
        });
    }
    EXPECT_EQ(ended, rounds / 4);
}
#endif

} // namespace
