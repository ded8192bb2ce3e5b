// SPDX-License-Identifier: BSD-3-Clause
// The helper thread: which continuations it runs, and when it sleeps.
#include "library.hpp"

#include "core/base/processors.hpp"
#include "core/continuation/request.hpp"
#include "core/progress/helper_pauses.hpp"
#include "core/progress/progress.hpp"
#include "core/progress/source.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <deque>
#include <fstream>
#include <vector>

namespace {

using namespace thence::fake;
using namespace std::chrono_literals;
using thence::progress::help_while_idle;
using thence::progress::idle_help;

std::atomic<bool> processors_are_taken{false};

class helper : public on_fake {
protected:
    // Without any MPI call of this thread.
    static bool soon(const std::function<bool()> &done) {
        const auto end = std::chrono::steady_clock::now() + 20s;
        while (!done()) {
            std::this_thread::sleep_for(1ms);
            if (std::chrono::steady_clock::now() > end) {
                return false;
            }
        }
        return true;
    }
    // The worker that calls `help` runs the continuation, since the helper pauses after a poll of a worker.
    void expect_work_is_left_to(bool (*help)() noexcept) {
        EXPECT_FALSE(help()) << "there is no helper";
        cr c(THENCE_CR_ANY_THREAD);
        EXPECT_FALSE(help()) << "nothing is outstanding";
        bool by_this_thread = false;
        for (int round = 0; round < 1000 && !by_this_thread; ++round) {
            note n;
            const ticket t = attach_pending(n, c);
            EXPECT_TRUE(help());
            world.complete(t);
            while (n.runs == 0) {
                help();
            }
            by_this_thread = n.thread == std::this_thread::get_id();
            EXPECT_TRUE(soon([&] { return c.registered() == 0; }));
        }
        EXPECT_TRUE(by_this_thread);
    }
    static std::chrono::nanoseconds processor_time() {
        timespec used{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
        return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
    }
};

TEST_P(helper, runs_any_thread_crs_without_an_mpi_call_of_the_application) {
    cr c(THENCE_CR_ANY_THREAD);
    for (int round = 1; round <= 5; ++round) {
        note n;
        const ticket t = attach_pending(n, c);
        world.complete(t);
        EXPECT_TRUE(soon([&] { return n.runs == 1; }));
        EXPECT_NE(n.thread, std::this_thread::get_id());
        EXPECT_TRUE(soon([&] { return c.registered() == 0; }));
    }
}

TEST_P(helper, leaves_its_work_to_workers_that_poll_between_tasks) {
    expect_work_is_left_to(&thence::progress::help_between_tasks);
}

TEST_P(helper, leaves_its_work_to_idle_workers) {
    for (const bool taken : {false, true}) { // how long the helper sleeps depends on it
        processors_are_taken = taken;
        thence::base::scripted_processors = []() noexcept { return processors_are_taken.load(); };
        expect_work_is_left_to([]() noexcept { return help_while_idle() != idle_help::ended; });
        cr c(THENCE_CR_ANY_THREAD);
        note n;
        const ticket t = attach_pending(n, c);
        EXPECT_EQ(help_while_idle(), taken ? idle_help::goes_on : idle_help::may_last);
        world.complete(t);
        EXPECT_TRUE(soon([&] { return n.runs == 1; }));
        thence::base::scripted_processors = nullptr;
    }
}

TEST_P(helper, no_worker_helps_after_mpi_finalize_has_begun) {
    cr c(THENCE_CR_ANY_THREAD);
    note n;
    attach_pending(n, c);
    std::atomic<bool> ends{false};
    std::thread worker([&] {
        while (!ends) {
            help_while_idle();
        }
    });
    EXPECT_TRUE(soon([] { return world.progress_calls > 10; }));
    thence::progress::helper_tear_down();
    const unsigned long long before = world.progress_calls;
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(world.progress_calls, before);
    ends = true;
    worker.join();
    EXPECT_EQ(thence_cancel(&c), MPI_SUCCESS);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
}

// Open MPI would crash if it matched a receive that is being cancelled.
TEST_P(helper, and_workers_make_no_progress_while_another_thread_cancels) {
    cr c(THENCE_CR_ANY_THREAD);
    note n;
    attach_pending(n, c);
    const unsigned long long at_first = world.progress_calls;
    EXPECT_TRUE(soon([&] { return world.progress_calls > at_first + 10; })) << "it makes progress";
    EXPECT_TRUE(thence::progress::help_between_tasks());
    int cancels = 0;
    world.while_cancelling = [&] {
        const unsigned long long before = world.progress_calls;
        std::thread([] {
            EXPECT_TRUE(thence::progress::help_between_tasks());
            EXPECT_NE(help_while_idle(), idle_help::ended);
        }).join();
        std::this_thread::sleep_for(20ms);
        EXPECT_EQ(world.progress_calls, before);
        ++cancels;
    };
    EXPECT_EQ(thence_cancel(&c), MPI_SUCCESS);
    EXPECT_EQ(cancels, 1);
    EXPECT_TRUE(soon([&] { return n.runs == 1; }));
    world.while_cancelling = nullptr;
}

// As the cancel function of a generalized request may.
TEST_P(helper, is_kept_out_by_a_cancel_inside_of_another_one) {
    MPI_Request outer = world.start();
    MPI_Request inner = world.start();
    int cancels = 0;
    world.while_cancelling = [&] {
        if (++cancels == 1) {
            EXPECT_EQ(MPI_Cancel(&inner), MPI_SUCCESS);
        }
    };
    EXPECT_EQ(MPI_Cancel(&outer), MPI_SUCCESS);
    EXPECT_EQ(cancels, 2);
    world.while_cancelling = nullptr;
    MPI_Request both[] = {outer, inner};
    EXPECT_EQ(MPI_Waitall(2, both, MPI_STATUSES_IGNORE), MPI_SUCCESS);
}

// With mpi_yield_when_idle Open MPI gives the processor away in a poll that finds nothing. A worker may get it, and
// computes for a whole time slice before the helper leaves that poll.
TEST_P(helper, holds_up_no_worker_while_it_is_inside_of_a_poll) {
    static std::atomic<bool> is_inside{false};
    static std::atomic<bool> leaves{false};
    static std::atomic<int> polls_of_others{0};
    is_inside = leaves = false;
    static constexpr thence::progress::source blocks{"test", []() noexcept { return !leaves.load(); },
                                                     [](thence::progress::polled_from where) noexcept {
                                                         if (where == thence::progress::polled_from::outside &&
                                                             !is_inside.exchange(true)) {
                                                             leaves.wait(false);
                                                         } else {
                                                             ++polls_of_others;
                                                         }
                                                         return false;
                                                     },
                                                     [](long) noexcept { return 0L; }};
    const cr c(THENCE_CR_ANY_THREAD); // starts the helper
    ASSERT_TRUE(thence::progress::add_source(blocks));
    thence::progress::engage();
    EXPECT_TRUE(soon([] { return is_inside.load(); }));
    int before = polls_of_others;
    EXPECT_TRUE(thence::progress::help_between_tasks());
    EXPECT_GT(polls_of_others, before);
    before = polls_of_others;
    EXPECT_NE(help_while_idle(), idle_help::ended);
    EXPECT_GT(polls_of_others, before);
    leaves = true;
    leaves.notify_all();
    thence::progress::remove_source(blocks);
}

// There the helper shares a lock that thence_cancel() wants alone.
TEST_P(helper, runs_no_callback_inside_mpis_progress) {
    cr any(THENCE_CR_ANY_THREAD | THENCE_CR_IN_COMPLETION);
    cr application(THENCE_CR_IN_COMPLETION);
    note before; // so that the helper has run a callback already
    world.complete(attach_pending(before, any));
    EXPECT_TRUE(soon([&] { return before.runs == 1; }));
    note a;
    note b;
    a.inside = [&] {
        MPI_Request handle = any;
        EXPECT_EQ(thence_cancel(&handle), MPI_SUCCESS);
    };
    const ticket second = attach_pending(b, application);
    const ticket first = attach_pending(a, any);
    world.complete_in_progress(second);
    world.complete_in_progress(first);
    EXPECT_TRUE(soon([&] { return a.runs == 1; }));
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(b.runs, 0);
    let_run();
    EXPECT_EQ(b.runs, 1);
    EXPECT_EQ(b.thread, std::this_thread::get_id());
}

TEST_P(helper, helper_thread_runs_only_any_thread_crs) {
    cr any(THENCE_CR_ANY_THREAD);
    cr application;
    cr polled(THENCE_CR_ANY_THREAD | THENCE_CR_POLL_ONLY);
    note a;
    note b;
    note p;
    const ticket second = attach_pending(b, application);
    const ticket third = attach_pending(p, polled);
    const ticket first = attach_pending(a, any);
    world.complete(second);
    world.complete(third);
    world.complete(first);
    EXPECT_TRUE(soon([&] { return a.runs == 1; }));
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(b.runs, 0);
    EXPECT_EQ(p.runs, 0);
    let_run();
    EXPECT_EQ(b.runs, 1);
    EXPECT_EQ(b.thread, std::this_thread::get_id());
    EXPECT_EQ(p.runs, 0);
    EXPECT_TRUE(polled.test());
    EXPECT_EQ(p.thread, std::this_thread::get_id());
}

TEST_P(helper, application_threads_may_run_any_thread_crs_too) {
    cr c(THENCE_CR_ANY_THREAD);
    std::vector<note> notes(200); // two may be written at once
    for (note &each : notes) {
        world.complete(attach_pending(each, c));
        let_run();
    }
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(std::all_of(notes.begin(), notes.end(), [](const note &each) { return each.runs == 1; }));
}

TEST_P(helper, helper_sleeps_when_idle) {
    cr c(THENCE_CR_ANY_THREAD);
    note n;
    world.complete(attach_pending(n, c));
    ASSERT_TRUE(soon([&] { return n.runs == 1 && c.registered() == 0; }));
    // It notices that in its next round. From then on it makes no MPI call and is not woken.
    const auto rests = [&] {
        const unsigned long long calls = world.progress_calls;
        const unsigned long long woken = stats().helper_wakeups;
        std::this_thread::sleep_for(100ms);
        return world.progress_calls == calls && stats().helper_wakeups == woken;
    };
    EXPECT_TRUE(soon(rests));
    const unsigned long long woken = stats().helper_wakeups;
    world.complete(attach_pending(n, c));
    EXPECT_TRUE(soon([&] { return n.runs == 2; })) << "the next one wakes it";
    EXPECT_GT(stats().helper_wakeups, woken);
}

TEST_P(helper, the_wakeup_is_never_lost) {
    cr c(THENCE_CR_ANY_THREAD);
    note n;
    for (int i = 1; i <= 300; ++i) {
        world.complete(attach_pending(n, c));
        ASSERT_TRUE(soon([&] { return n.runs == i; })) << "round " << i;
        if (i % 3 == 0) {
            std::this_thread::sleep_for(200us); // long enough to fall asleep, or nearly
        }
    }
}

TEST_P(helper, runs_only_if_required) {
    cr c;
    note n;
    const unsigned long long woken = stats().helper_wakeups;
    world.complete(attach_pending(n, c));
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(n.runs, 0);
    EXPECT_EQ(stats().helper_wakeups, woken);
    int threads = 0;
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        if (word == "Threads:") {
            status >> threads;
        }
    }
    let_run();
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) // these have a thread of their own
    EXPECT_EQ(threads, 1);
#endif
}

// The system refuses threads whose stack is larger than its memory.
class no_more_threads {
public:
    no_more_threads() {
        pthread_attr_t huge;
        pthread_attr_init(&huge);
        pthread_getattr_default_np(&before_);
        EXPECT_EQ(pthread_attr_setstacksize(&huge, std::size_t{1} << 46), 0);
        EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
        pthread_attr_destroy(&huge);
    }
    no_more_threads(const no_more_threads &) = delete;
    no_more_threads &operator=(const no_more_threads &) = delete;
    ~no_more_threads() {
        pthread_setattr_default_np(&before_);
        pthread_attr_destroy(&before_);
    }

private:
    pthread_attr_t before_{};
};

TEST_P(helper, says_so_if_the_system_refuses_the_thread_and_starts_later) {
    const auto state = [] {
        thence_info info{};
        EXPECT_EQ(thence_query(&info, sizeof info), MPI_SUCCESS);
        return std::string(info.helper);
    };
    EXPECT_EQ(state(), "not started");
    MPI_Request c = MPI_REQUEST_NULL;
    {
        const no_more_threads while_it_lasts;
        EXPECT_EQ(thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &c), MPI_ERR_UNSUPPORTED_OPERATION);
    }
    EXPECT_EQ(reported(), codes{MPI_ERR_UNSUPPORTED_OPERATION});
    EXPECT_EQ(c, MPI_REQUEST_NULL);
    EXPECT_EQ(state(), "not started: the system has refused one more thread");
    const cr later(THENCE_CR_ANY_THREAD);
    EXPECT_EQ(state(), "running");
}

class hook : public helper {};

TEST_P(hook, unregisters_itself_when_nothing_is_outstanding) {
    cr c;
    EXPECT_EQ(world.hooks(), 0U) << "nothing was attached yet";
    note n;
    for (int round = 1; round <= 2; ++round) {
        const ticket t = attach_pending(n, c);
        EXPECT_EQ(world.hooks(), 1U);
        for (int i = 0; i < 5000; ++i) {
            world.progress();
        }
        EXPECT_EQ(world.hooks(), 1U) << "something is outstanding";
        world.complete(t);
        world.progress();
        if (!GetParam().hook) {
            let_run();
        }
        EXPECT_EQ(n.runs, round);
        for (int i = 0; i < 5000; ++i) {
            world.progress();
        }
        EXPECT_EQ(world.hooks(), 0U);
    }
}

TEST_P(hook, unregisters_itself_also_where_there_is_a_helper) {
    cr c(THENCE_CR_ANY_THREAD);
    note n;
    for (int round = 1; round <= 3; ++round) {
        const ticket t = attach_pending(n, c);
        EXPECT_EQ(world.hooks(), 1U);
        world.complete(t);
        ASSERT_TRUE(soon([&] { return n.runs == round && c.registered() == 0; }));
        for (int i = 0; i < 5000; ++i) {
            world.progress();
        }
        EXPECT_EQ(world.hooks(), 0U);
    }
}

// Attaches while the hook unregisters itself.
TEST_P(hook, is_registered_whenever_something_is_outstanding) {
    for (const unsigned flags : {0U, THENCE_CR_ANY_THREAD}) {
        cr c(flags);
        note n;
        std::atomic<bool> stop{false};
        std::atomic<unsigned> turns{0};
        std::thread other([&] {
            while (!stop.load(std::memory_order_relaxed)) {
                world.progress();
                turns.fetch_add(1, std::memory_order_relaxed);
            }
        });
        const auto end = std::chrono::steady_clock::now() + 1s;
        for (int i = 1; std::chrono::steady_clock::now() < end && !HasFailure(); ++i) {
            const ticket t = attach_pending(n, c);
            const unsigned before = turns;
            while (turns - before < 3) {
                std::this_thread::yield();
            }
            EXPECT_EQ(world.hooks(), 1U) << "round " << i;
            world.complete(t);
            EXPECT_TRUE(eventually([&] { return n.runs == i && c.registered() == 0; }));
            while (thence::progress::awake.load()) {
            }
        }
        stop = true;
        other.join();
    }
}

// In MPICH, the one that returns `done` ends, not one that was started with the same function meanwhile.
TEST_P(hook, of_the_fake_may_be_started_again_before_it_has_ended) {
    constexpr int done = 1;
    static int calls;
    struct again {
        static int poll(void *) {
            if (++calls == 1) {
                world.add_async(&poll, nullptr);
            }
            return done;
        }
    };
    calls = 0;
    const std::size_t before = world.hooks();
    world.add_async(&again::poll, nullptr);
    world.progress();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(world.hooks(), before + 1) << "the second one";
    world.progress();
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(world.hooks(), before);
}

// The helper and the hook check this in every round.
TEST_P(helper, checking_whether_anything_is_outstanding_costs_the_same_for_many_crs) {
    constexpr int many = 20000;
    constexpr int asked = 2000;
    using thence::continuation::continuation_request;
    const auto cost = [&] { // processor time, so that other processes do not count; the minimum of some tries
        auto least = std::chrono::nanoseconds::max();
        for (int tries = 0; tries < 5; ++tries) {
            const auto begin = processor_time();
            for (int i = 0; i < asked; ++i) {
                EXPECT_TRUE(continuation_request::any_registered());
            }
            least = std::min(least, processor_time() - begin);
        }
        return least;
    };
    note n;
    std::deque<cr> crs;
    crs.emplace_back();
    const ticket first = attach_pending(n, crs.front());
    const auto one = cost();
    for (int i = 1; i < many; ++i) {
        crs.emplace_back();
    }
    const ticket last = attach_pending(n, crs.back());
    world.complete(first);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    EXPECT_LT(cost(), 100 * one + 1ms) << "looking at each CR each time takes " << many << " times as long";
    world.complete(last);
    EXPECT_TRUE(eventually([&] { return n.runs == 2; }));
    EXPECT_FALSE(continuation_request::any_registered());
}

THENCE_RULES(helper);
THENCE_RULES_WHERE(hook, [](const variant &v) { return v.has_hook(); });

// If MPI allows only one thread, there is no helper.
class single_threaded_mpi : public ::testing::Test {
protected:
    static variant serialized() {
        variant v = all_variants().back();
        v.offers.thread_level = MPI_THREAD_SERIALIZED;
        return v;
    }
    library library_{serialized()};
};

TEST_F(single_threaded_mpi, any_thread_is_refused) {
    MPI_Request c = MPI_REQUEST_NULL;
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &c), MPI_ERR_UNSUPPORTED_OPERATION);
    EXPECT_NE(::testing::internal::GetCapturedStderr().find("MPI_THREAD_MULTIPLE"), std::string::npos);
    EXPECT_EQ(reported(), codes{MPI_ERR_UNSUPPORTED_OPERATION});
    EXPECT_EQ(c, MPI_REQUEST_NULL);
}

// The paper allows any thread to run them, also threads of the application.
TEST_F(single_threaded_mpi, the_info_key_any_is_a_hint) {
    cr c(0, -1, world.info({{"mpi_continue_thread", "any"}}));
    thence_cr_info in_force{};
    EXPECT_EQ(thence_cr_query(c, &in_force, sizeof in_force), MPI_SUCCESS);
    EXPECT_EQ(in_force.flags, 0U);
    note n;
    const ticket t = attach_pending(n, c);
    world.complete(t);
    let_run();
    EXPECT_EQ(n.runs, 1);
    EXPECT_EQ(n.thread, std::this_thread::get_id());
}

TEST_F(single_threaded_mpi, the_info_key_application_wins_over_the_flag) {
    const cr c(THENCE_CR_ANY_THREAD, -1, world.info({{"mpi_continue_thread", "application"}}));
    EXPECT_EQ(thence_is_cr(c), 1);
}

} // namespace
