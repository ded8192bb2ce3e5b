// SPDX-License-Identifier: BSD-3-Clause
// Exactly once: whatever races there are between attaching, completing, cancelling, freeing and running, every
// continuation attached ends in one callback or one `flag == 1`, never two and never none.
//
// usage: exactly_once [--seconds=S] [--seed=N] [GoogleTest options]
#include "library.hpp"

#include "continuation/library.hpp"
#include "continuation/request.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>

namespace {

using namespace thence::fake;
using clock_type = std::chrono::steady_clock;

double seconds = 0.5; // per test and variant
unsigned seed = 0;

// One continuation's account. It must come to one.
struct account {
    std::atomic<int> ends{0};
    std::atomic<int> operations{0}; // not complete
    MPI_Status statuses[4];
    bool reposts = false;
};

// What completer threads may complete at any time.
class open_operations {
public:
    void add(ticket t) {
        std::scoped_lock guard(mutex_);
        tickets_.push_back(t);
    }
    bool take(std::mt19937 &random, ticket &t) {
        std::scoped_lock guard(mutex_);
        if (tickets_.empty()) {
            return false;
        }
        std::swap(tickets_[random() % tickets_.size()], tickets_.back());
        t = tickets_.back();
        tickets_.pop_back();
        return true;
    }

private:
    std::mutex mutex_;
    std::vector<ticket> tickets_;
};

class race {
public:
    explicit race(unsigned number) : number_(number) {}

    MPI_Request start(std::mt19937 &random) {
        const MPI_Request r = world.start(random() % 8 == 0 ? kind::collective : kind::point_to_point);
        open_.add(world.ticket_of(r));
        return r;
    }

    static int callback(int, MPI_Status *, void *data) {
        auto &a = *static_cast<account *>(data);
        a.ends.fetch_add(1);
        return MPI_SUCCESS;
    }

    // One attaching: to one or several operations, some complete already, with any CR of `crs`.
    void attach(std::mt19937 &random, MPI_Request cr, account &a) {
        const int count = random() % 3 == 0 ? static_cast<int>(2 + random() % 3) : 1;
        MPI_Request requests[4];
        for (int i = 0; i < count; ++i) {
            requests[i] = random() % 16 == 0 ? MPI_REQUEST_NULL : start(random);
        }
        int flag = -1;
        const unsigned flags = random() % 8 == 0 ? unsigned{THENCE_MAY_RUN} : 0U;
        MPI_Status *statuses = random() % 2 == 0 ? a.statuses : MPI_STATUSES_IGNORE;
        // Complete at once and failed, it returns the operation's error.
        const int code = thence_attach(count, requests, &callback, &a, flags, statuses, cr, &flag);
        if (code != MPI_SUCCESS && flag != 1) {
            ADD_FAILURE() << "attaching returned " << code;
        }
        if (flag == 1) {
            a.ends.fetch_add(1);
        }
        attached_.fetch_add(1);
    }

    // Completes whatever is open until told to stop, and then the rest.
    // `enters`: now and then this thread is in MPI's progress too.
    void complete_until(const std::atomic<bool> &stop, unsigned which, bool enters = true) {
        std::mt19937 random(number_ * 31 + which);
        ticket t;
        while (!stop) {
            if (!open_.take(random, t)) {
                std::this_thread::yield();
                continue;
            }
            result how{static_cast<int>(random() % 100)};
            how.error = random() % 16 == 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
            if (random() % 2 == 0) {
                world.complete(t, how);
            } else {
                world.complete_in_progress(t, how); // by whoever makes progress
            }
            if (enters && random() % 4 == 0) {
                world.progress();
            }
        }
    }
    void complete_rest() {
        std::mt19937 random(number_);
        for (ticket t; open_.take(random, t);) {
            world.complete(t);
        }
        world.progress();
    }

    unsigned long attached() const { return attached_; }

private:
    unsigned number_;
    open_operations open_;
    std::atomic<unsigned long> attached_{0};
};

class exactly_once : public on_fake {
protected:
    void SetUp() override {
        std::printf("seed %u\n", seed);
        std::fflush(stdout);
    }

    // The accounts of one round, all settled once `crs` are idle.
    static void expect_settled(std::deque<account> &accounts) {
        long wrong = 0;
        for (account &a : accounts) {
            wrong += a.ends != 1 ? 1 : 0;
        }
        EXPECT_EQ(wrong, 0) << "of " << accounts.size() << " continuations";
        accounts.clear();
    }
    static clock_type::time_point until() {
        return clock_type::now() + std::chrono::microseconds(static_cast<long>(seconds * 1e6));
    }
};

// Threads attach to CRs of every kind, others complete, one tests, one cancels.
TEST_P(exactly_once, attach_complete_cancel_test) {
    race r(seed);
    std::mt19937 random(seed);
    const auto end = until();
    std::atomic<bool> stop{false};
    std::vector<std::thread> completers;
    for (unsigned i = 0; i < 2; ++i) {
        completers.emplace_back([&, i] { r.complete_until(stop, i); });
    }
    while (clock_type::now() < end && !HasFailure()) {
        const unsigned flags[] = {0,
                                  THENCE_CR_POLL_ONLY,
                                  THENCE_CR_ENQUEUE_COMPLETE,
                                  THENCE_CR_ANY_THREAD,
                                  THENCE_CR_ANY_THREAD | THENCE_CR_POLL_ONLY,
                                  THENCE_CR_IN_COMPLETION,
                                  THENCE_CR_ANY_THREAD | THENCE_CR_IN_COMPLETION};
        cr c(flags[random() % std::size(flags)], random() % 4 == 0 ? 3 : -1);
        constexpr int threads = 2;
        constexpr int each = 100;
        std::deque<account> accounts(threads * each);
        std::vector<std::thread> attachers;
        const unsigned round = random();
        for (int t = 0; t < threads; ++t) {
            attachers.emplace_back([&, t] {
                std::mt19937 own(round + static_cast<unsigned>(t));
                for (int i = 0; i < each; ++i) {
                    r.attach(own, c, accounts[static_cast<std::size_t>(t * each + i)]);
                    if (own() % 16 == 0) {
                        MPI_Request handle = c;
                        thence_cancel(&handle);
                    }
                }
            });
        }
        for (int i = 0; i < 20; ++i) {
            c.test();
        }
        for (std::thread &t : attachers) {
            t.join();
        }
        EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
        expect_settled(accounts);
    }
    stop = true;
    for (std::thread &t : completers) {
        t.join();
    }
    r.complete_rest();
    reported();
    std::printf("%lu continuations, %llu recovered\n", r.attached(), stats().recovered);
}

// CRs are freed while continuations are registered, and their memory is used again at once.
TEST_P(exactly_once, free_while_registered) {
    race r(seed + 1);
    std::mt19937 random(seed + 1);
    std::deque<account> accounts;
    std::atomic<bool> stop{false};
    std::vector<std::thread> others;
    others.emplace_back([&] { r.complete_until(stop, 1); });
    others.emplace_back([&] {
        while (!stop) {
            thence_progress();
        }
    });
    for (const auto end = until(); clock_type::now() < end;) {
        const unsigned flags[] = {0, THENCE_CR_POLL_ONLY, THENCE_CR_NEEDS_START, THENCE_CR_ENQUEUE_COMPLETE,
                                  THENCE_CR_IN_COMPLETION};
        cr c(flags[random() % std::size(flags)]);
        for (unsigned i = random() % 8; i > 0; --i) {
            accounts.emplace_back();
            r.attach(random, c, accounts.back());
        }
        if (random() % 4 == 0) {
            thence_start(&c);
        }
        if (random() % 4 == 0) {
            thence_cancel(&c);
        }
    }
    EXPECT_TRUE(eventually(
        [&] { return std::all_of(accounts.begin(), accounts.end(), [](const account &a) { return a.ends != 0; }); }));
    stop = true;
    for (std::thread &t : others) {
        t.join();
    }
    r.complete_rest();
    expect_settled(accounts);
    reported();
}

// Callbacks that attach again, to their own CR, on whatever thread they run.
struct chain {
    race *r = nullptr;
    MPI_Request cr = MPI_REQUEST_NULL;
    std::atomic<int> left{0};
    std::atomic<int> ends{0};

    static int callback(int, MPI_Status *, void *data) {
        auto &c = *static_cast<chain *>(data);
        c.ends.fetch_add(1);
        c.go_on();
        return MPI_SUCCESS;
    }
    void go_on() {
        thread_local std::mt19937 random(seed + 17);
        while (left.fetch_sub(1) > 0) {
            MPI_Request request = r->start(random);
            int flag = 0;
            thence_attach(1, &request, &callback, this, 0, MPI_STATUS_IGNORE, cr, &flag);
            if (flag == 0) {
                return;
            }
            ends.fetch_add(1);
        }
    }
};

TEST_P(exactly_once, reposting_callbacks) {
    race r(seed + 2);
    std::atomic<bool> stop{false};
    std::vector<std::thread> others;
    others.emplace_back([&] { r.complete_until(stop, 2); });
    others.emplace_back([&] {
        while (!stop) {
            thence_progress();
        }
    });
    int rounds = 0;
    for (const auto end = until(); clock_type::now() < end && !HasFailure();) {
        cr c(++rounds % 2 == 0 ? unsigned{THENCE_CR_ANY_THREAD} : THENCE_CR_IN_COMPLETION);
        cr all;
        chain chains[8];
        for (chain &one : chains) {
            one.r = &r;
            one.cr = c;
            one.left = 50;
            one.go_on();
        }
        note outer;
        MPI_Request handle = c;
        const int flag = attach(handle, outer, all);
        EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(thence_wait(&all, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(outer.runs, 1 - flag);
        for (const chain &one : chains) {
            EXPECT_EQ(one.ends, 50);
        }
    }
    stop = true;
    for (std::thread &t : others) {
        t.join();
    }
    r.complete_rest();
    reported();
}

// The window that Open MPI leaves open: attaching between its look at the callback slot and its mark. Every other
// completion stands still there until the attaching is under way or over.
TEST_P(exactly_once, attaching_while_mpi_completes) {
    enum { idle, handed, window, attaching };
    std::atomic<int> state{idle};
    std::atomic<bool> stop{false};
    ticket operation;
    result how;
    bool hold = false;
    std::mt19937 random(seed + 3);
    world.at_step = [&](step where, MPI_Request) {
        if (where == step::saw_none && hold && state == handed) {
            state = window;
            while (state == window) {
                std::this_thread::yield();
            }
        }
    };
    std::thread completer([&] {
        while (!stop) {
            if (state == handed) {
                world.complete(operation, how);
                state = idle;
            } else {
                std::this_thread::yield();
            }
        }
    });
    std::deque<account> accounts;
    cr c;
    for (const auto end = until(); clock_type::now() < end;) {
        MPI_Request group[2] = {world.start(), MPI_REQUEST_NULL};
        operation = world.ticket_of(group[0]);
        how.error = random() % 64 == 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
        hold = random() % 2 == 0;
        const int count = random() % 4 == 0 ? 2 : 1;
        const unsigned pause = random() % 60;
        state = handed;
        while (hold && state == handed) {
            std::this_thread::yield();
        }
        for (unsigned i = 0; i < pause; ++i) {
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        int in_window = window;
        const bool early = random() % 2 == 0;
        if (early) { // the completion goes on while we attach
            state.compare_exchange_strong(in_window, attaching);
        }
        accounts.emplace_back();
        int flag = 0;
        thence_attach(count, group, &race::callback, &accounts.back(), 0, MPI_STATUSES_IGNORE, c, &flag);
        accounts.back().ends += flag;
        in_window = window;
        state.compare_exchange_strong(in_window, attaching);
        while (state != idle) {
            std::this_thread::yield();
        }
        if (accounts.size() % 8 == 0) {
            thence_progress();
        }
    }
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    stop = true;
    completer.join();
    std::printf("%zu continuations, %llu recovered\n", accounts.size(), stats().recovered);
    if (std::string(GetParam().engine) == "openmpi") {
        EXPECT_GT(stats().recovered, 0U) << "the window was never met";
    }
    expect_settled(accounts);
    reported();
}

THENCE_RULES(exactly_once);

// MPI_Finalize while callbacks on the helper thread attach again and MPI's transport completes: what was attached has
// ended once, or is still registered, which is what MPI_Finalize reports; and nothing runs once that has returned. Each
// round needs a process of its own, since nothing can be done with the library afterwards.
[[noreturn]] void finalize_round(const variant &v, unsigned number) {
    library l(v);
    race r(number);
    std::mt19937 random(number);
    MPI_Request c = MPI_REQUEST_NULL;
    thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &c);
    std::atomic<bool> stop{false};
    std::vector<std::thread> transport;
    for (unsigned i = 0; i < 2; ++i) {
        transport.emplace_back([&, i] { r.complete_until(stop, i, false); });
    }
    static chain chains[8];
    for (chain &one : chains) {
        one.r = &r;
        one.cr = c;
        one.left = 1000000;
        one.go_on();
    }
    std::deque<account> accounts;
    const auto end = clock_type::now() + std::chrono::microseconds(random() % 3000);
    while (clock_type::now() < end) {
        accounts.emplace_back();
        r.attach(random, c, accounts.back());
    }
    thence::continuation::finalizing();
    world.finalize();
    const auto settled = [&] {
        long ends = 0;
        for (const account &a : accounts) {
            ends += a.ends;
        }
        for (const chain &one : chains) {
            ends += one.ends;
        }
        return ends;
    };
    const long ends = settled();
    const long left = thence::continuation::continuation_request::registered_in_all();
    long attached = static_cast<long>(accounts.size());
    for (const chain &one : chains) {
        attached += 1000000 - std::max(one.left.load(), 0);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1)); // what was under way completes
    stop = true;
    for (std::thread &t : transport) {
        t.join();
    }
    r.complete_rest();
    world.progress();
    const bool twice = std::any_of(accounts.begin(), accounts.end(), [](const account &a) { return a.ends > 1; });
    const char *fault = twice                           ? "one ended twice"
                        : attached != ends + left       ? "one is neither over nor registered"
                        : settled() != ends             ? "a callback ran after MPI_Finalize"
                        : world.hooks() != 0            ? "a hook is left"
                        : ::testing::Test::HasFailure() ? "a call failed"
                                                        : nullptr;
    std::fprintf(stderr, "round %u: %s, %ld attached, %ld ended, %ld left\n", number, fault == nullptr ? "good" : fault,
                 attached, ends, left);
    std::_Exit(fault == nullptr ? 0 : 1);
}

// GoogleTest runs what is named so first, before any test has left a thread: it forks.
class finalizing_DeathTest : public ::testing::TestWithParam<variant> {};

TEST_P(finalizing_DeathTest, each_has_ended_or_is_reported) {
    std::printf("seed %u\n", seed);
    std::fflush(stdout);
    unsigned number = seed;
    const auto end = clock_type::now() + std::chrono::microseconds(static_cast<long>(seconds * 1e6));
    do {
        EXPECT_EXIT(finalize_round(GetParam(), number), ::testing::ExitedWithCode(0), "good");
        ++number;
    } while (clock_type::now() < end && !HasFailure());
}

THENCE_RULES(finalizing_DeathTest);

} // namespace

int main(int argc, char **argv) {
    ::testing::InitGoogleTest(&argc, argv);
    seed = std::random_device{}();
    for (int i = 1; i < argc; ++i) {
        if (std::sscanf(argv[i], "--seconds=%lf", &seconds) == 1 || std::sscanf(argv[i], "--seed=%u", &seed) == 1) {
            continue;
        }
        std::printf("usage: exactly_once [--seconds=S] [--seed=N] [GoogleTest options]\n"
                    "Races on the fake MPI, S seconds (0.5) for each of them and each engine, from seed N.\n");
        return std::strcmp(argv[i], "--help") == 0 ? 0 : 1;
    }
    return RUN_ALL_TESTS();
}
