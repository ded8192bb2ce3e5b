// SPDX-License-Identifier: BSD-3-Clause
// Exactly once: attaching, completing, cancelling, freeing and running race, and every continuation that was attached
// ends in one callback or one `flag == 1`.
//
// usage: exactly_once [--seconds=S] [--seed=N] [GoogleTest options]
#include "race.hpp"

#include <algorithm>
#include <cstdio>
#include <deque>

namespace {

using namespace thence::fake;

class exactly_once : public on_fake {
protected:
    // The records of one round, all settled once `crs` are idle.
    static void expect_settled(std::deque<record> &records) {
        long wrong = 0;
        for (record &a : records) {
            wrong += a.ends != 1 ? 1 : 0;
        }
        EXPECT_EQ(wrong, 0) << "of " << records.size() << " continuations";
        records.clear();
    }
};

// Threads attach to CRs of every kind, others complete, one tests, one cancels.
TEST_P(exactly_once, attach_complete_cancel_test) {
    race r(seed);
    std::mt19937 random(seed);
    const auto end = end_of_race();
    std::atomic<bool> stop{false};
    std::vector<std::thread> completers;
    for (unsigned i = 0; i < 2; ++i) {
        completers.emplace_back([&, i] { r.complete_until(stop, i); });
    }
    while (std::chrono::steady_clock::now() < end && !HasFailure()) {
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
        std::deque<record> records(threads * each);
        std::vector<std::thread> attachers;
        const unsigned round = random();
        for (int t = 0; t < threads; ++t) {
            attachers.emplace_back([&, t] {
                std::mt19937 own(round + static_cast<unsigned>(t));
                for (int i = 0; i < each; ++i) {
                    r.attach(own, c, records[static_cast<std::size_t>(t * each + i)]);
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
        expect_settled(records);
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
    std::deque<record> records;
    std::atomic<bool> stop{false};
    std::vector<std::thread> others;
    others.emplace_back([&] { r.complete_until(stop, 1); });
    others.emplace_back([&] {
        while (!stop) {
            thence_progress();
        }
    });
    for (const auto end = end_of_race(); std::chrono::steady_clock::now() < end;) {
        const unsigned flags[] = {0, THENCE_CR_POLL_ONLY, THENCE_CR_NEEDS_START, THENCE_CR_ENQUEUE_COMPLETE,
                                  THENCE_CR_IN_COMPLETION};
        cr c(flags[random() % std::size(flags)]);
        for (unsigned i = random() % 8; i > 0; --i) {
            records.emplace_back();
            r.attach(random, c, records.back());
        }
        if (random() % 4 == 0) {
            thence_start(&c);
        }
        if (random() % 4 == 0) {
            thence_cancel(&c);
        }
    }
    EXPECT_TRUE(eventually(
        [&] { return std::all_of(records.begin(), records.end(), [](const record &a) { return a.ends != 0; }); }));
    stop = true;
    for (std::thread &t : others) {
        t.join();
    }
    r.complete_rest();
    expect_settled(records);
    reported();
}

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
    for (const auto end = end_of_race(); std::chrono::steady_clock::now() < end && !HasFailure();) {
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

// Open MPI reads the callback slot of a request, then marks it complete: here a thread attaches between the two steps.
// Every second completion stops there until the attach has begun or ended.
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
    std::deque<record> records;
    cr c;
    for (const auto end = end_of_race(); std::chrono::steady_clock::now() < end;) {
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
        if (early) { // the completion continues during the attach
            state.compare_exchange_strong(in_window, attaching);
        }
        records.emplace_back();
        int flag = 0;
        thence_attach(count, group, &race::callback, &records.back(), 0, MPI_STATUSES_IGNORE, c, &flag);
        records.back().ends += flag;
        in_window = window;
        state.compare_exchange_strong(in_window, attaching);
        while (state != idle) {
            std::this_thread::yield();
        }
        if (records.size() % 8 == 0) {
            thence_progress();
        }
    }
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    stop = true;
    completer.join();
    std::printf("%zu continuations, %llu recovered\n", records.size(), stats().recovered);
    if (std::string(GetParam().engine) == "openmpi") {
        EXPECT_GT(stats().recovered, 0U) << "no attach was between the two steps";
    }
    expect_settled(records);
    reported();
}

THENCE_RULES(exactly_once);

} // namespace

int main(int argc, char **argv) {
    return run_from_seed(argc, argv, "--seconds=%lf", seconds,
                         "usage: exactly_once [--seconds=S] [--seed=N] [GoogleTest options]\n"
                         "Races on the fake MPI, S seconds (0.5) for each of them and each engine, from seed N.\n");
}
