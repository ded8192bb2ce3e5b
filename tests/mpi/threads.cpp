// SPDX-License-Identifier: BSD-3-Clause
// Threads that register and complete at once, and the helper thread. Every continuation ends exactly once.
#include "support.hpp"

#include <cstdlib>
#include <random>
#include <string>

namespace {

class threads : public mpi_test {
protected:
    static constexpr int workers = 4;

    // Each worker exchanges `rounds` messages of random size with the rank itself, all on `on`, until all have ended.
    struct tally {
        std::atomic<long> calls{0};
        std::atomic<long> at_once{0};
        std::atomic<long> wrong{0};
    };
    struct exchange {
        tally *sum;
        std::vector<char> data;
        char expected = 0;
        MPI_Status statuses[2];
        void check() {
            int n = -1;
            MPI_Get_count(&statuses[0], MPI_CHAR, &n);
            if (n != static_cast<int>(data.size()) || data.front() != expected || data.back() != expected) {
                ++sum->wrong;
            }
        }
        static int callback(int error, MPI_Status *, void *d) {
            auto *self = static_cast<exchange *>(d);
            self->sum->wrong += error == MPI_SUCCESS ? 0 : 1;
            self->check();
            ++self->sum->calls;
            delete self;
            return MPI_SUCCESS;
        }
    };
    void work(int worker, int rounds, MPI_Request on, tally &sum) {
        std::mt19937 random(static_cast<unsigned>(worker + 10 * rank));
        const int sizes[] = {1, 16, 300, 5000, 70000};
        std::vector<std::vector<char>> sent;
        for (int i = 0; i < rounds; ++i) {
            const int n = sizes[random() % 5];
            const int tag = worker * 1000 + i;
            const char value = static_cast<char>(1 + random() % 100);
            auto *one = new exchange{&sum, std::vector<char>(static_cast<std::size_t>(n)), value, {}};
            sent.emplace_back(static_cast<std::size_t>(n), value);
            MPI_Request both[2];
            MPI_Irecv(one->data.data(), n, MPI_CHAR, rank, tag, comm, &both[0]);
            const bool early = random() % 2 == 0;
            if (early) {
                MPI_Isend(sent.back().data(), n, MPI_CHAR, rank, tag, comm, &both[1]);
            }
            int flag = 0;
            MPI_Request later = MPI_REQUEST_NULL;
            if (thence_attach(early ? 2 : 1, both, &exchange::callback, one, 0, one->statuses, on, &flag) !=
                MPI_SUCCESS) {
                ++sum.wrong;
            }
            if (flag != 0) {
                one->check();
                ++sum.at_once;
                delete one;
            }
            if (!early) {
                MPI_Isend(sent.back().data(), n, MPI_CHAR, rank, tag, comm, &later);
                MPI_Wait(&later, MPI_STATUS_IGNORE);
            }
        }
        // The buffers must outlive the sends.
        while (sum.calls + sum.at_once < long{workers} * rounds) {
            thence_progress();
            std::this_thread::yield();
        }
    }
};

TEST_F(threads, four_register_with_one_cr_while_one_waits) {
    constexpr int rounds = 150;
    tally sum;
    std::atomic<bool> stop{false};
    std::vector<std::thread> all;
    for (int i = 0; i < workers; ++i) {
        all.emplace_back([&, i] { work(i, rounds, cr, sum); });
    }
    std::thread waiter([&] {
        while (!stop.load()) {
            EXPECT_EQ(MPI_SUCCESS, MPI_Wait(&cr, MPI_STATUS_IGNORE));
            std::this_thread::yield();
        }
    });
    for (std::thread &one : all) {
        one.join();
    }
    stop = true;
    waiter.join();
    EXPECT_EQ(long{workers} * rounds, sum.calls + sum.at_once);
    EXPECT_EQ(0, sum.wrong.load());
    wait();
}

TEST_F(threads, four_with_a_cr_each) {
    constexpr int rounds = 100;
    tally sum;
    std::vector<std::thread> all;
    std::vector<MPI_Request> crs(workers);
    for (int i = 0; i < workers; ++i) {
        auto &own = crs[static_cast<std::size_t>(i)];
        thence_cr_create(i % 2 == 0 ? 0U : THENCE_CR_ENQUEUE_COMPLETE, -1, MPI_INFO_NULL, &own);
        all.emplace_back([&, i] {
            work(i, rounds, own, sum);
            EXPECT_EQ(MPI_SUCCESS, MPI_Wait(&own, MPI_STATUS_IGNORE));
            EXPECT_EQ(MPI_SUCCESS, MPI_Request_free(&own));
        });
    }
    for (std::thread &one : all) {
        one.join();
    }
    EXPECT_EQ(long{workers} * rounds, sum.calls + sum.at_once);
    EXPECT_EQ(0, sum.wrong.load());
}

TEST_F(threads, cancel_races_with_running_and_each_ends_once) {
    // This thread sends and cancels, another runs what completes: no MPI has to match and cancel at once.
    constexpr std::size_t n = 100;
    for (int turn = 0; turn < 20; ++turn) {
        std::vector<outcome> seen(n);
        std::vector<int> values(n, -1);
        std::vector<MPI_Request> sends(n, MPI_REQUEST_NULL);
        std::atomic<bool> over{false};
        for (std::size_t i = 0; i < n; ++i) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(&values[i], 1, MPI_INT, rank, static_cast<int>(i), comm, &request);
            seen[i].attach(request, cr);
        }
        std::thread runner([&] {
            while (!over) {
                thence_progress();
            }
        });
        for (std::size_t i = 0; i < n; i += 2) {
            MPI_Isend(&rank, 1, MPI_INT, rank, static_cast<int>(i), comm, &sends[i]);
        }
        EXPECT_EQ(MPI_SUCCESS, thence_cancel(&cr));
        wait();
        over = true;
        runner.join();
        for (std::size_t i = 0; i < n; ++i) {
            ASSERT_EQ(1, seen[i].ended());
            ASSERT_EQ(seen[i].cancelled() ? -1 : rank, values[i]) << "cancelled or received, never both or neither";
            if (i % 2 == 0 && seen[i].cancelled()) {
                int late = 0;
                MPI_Recv(&late, 1, MPI_INT, rank, static_cast<int>(i), comm, MPI_STATUS_IGNORE);
            }
        }
        MPI_Waitall(static_cast<int>(n), sends.data(), MPI_STATUSES_IGNORE);
    }
}

TEST_F(threads, cancel_races_with_completion_and_each_ends_once) {
#if defined(OPEN_MPI)
    GTEST_SKIP() << "MPI_Cancel of Open MPI fails when another thread matches the receive meanwhile";
#endif
    constexpr std::size_t n = 100;
    for (int turn = 0; turn < 10; ++turn) {
        std::vector<outcome> seen(n);
        std::vector<int> values(n, -1);
        for (std::size_t i = 0; i < n; ++i) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(&values[i], 1, MPI_INT, rank, static_cast<int>(i), comm, &request);
            seen[i].attach(request, cr);
        }
        std::vector<MPI_Request> sends(n);
        std::thread sender([&] {
            for (std::size_t i = 0; i < n; ++i) {
                MPI_Isend(&rank, 1, MPI_INT, rank, static_cast<int>(i), comm, &sends[i]);
            }
        });
        EXPECT_EQ(MPI_SUCCESS, MPI_Cancel(&cr));
        wait();
        sender.join();
        for (std::size_t i = 0; i < n; ++i) {
            ASSERT_EQ(1, seen[i].ended());
            ASSERT_EQ(seen[i].cancelled() ? -1 : rank, values[i]) << "cancelled or received, never both or neither";
            if (seen[i].cancelled()) { // its message has not been received
                int late = 0;
                MPI_Recv(&late, 1, MPI_INT, rank, static_cast<int>(i), comm, MPI_STATUS_IGNORE);
            }
        }
        MPI_Waitall(static_cast<int>(n), sends.data(), MPI_STATUSES_IGNORE);
    }
}

TEST_F(threads, blocked_in_recv_runs_continuations_of_other_threads) {
    // One thread is blocked in MPI_Recv, and no thread tests `cr`.
    int never = 0;
    std::atomic<bool> receiving{false};
    std::thread receiver([&] {
        receiving = true;
        receiving.notify_one();
        MPI_Recv(&never, 1, MPI_INT, rank, 999, comm, MPI_STATUS_IGNORE);
    });
    receiving.wait(false);
    sleep_ms(10); // so that most times the thread is blocked before the first continuation is attached
    for (int i = 0; i < 20; ++i) {
        int value = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        outcome seen;
        MPI_Irecv(&value, 1, MPI_INT, rank, 1, comm, &request);
        seen.attach(request, cr);
        MPI_Request send = MPI_REQUEST_NULL;
        MPI_Isend(&rank, 1, MPI_INT, rank, 1, comm, &send);
        while (seen.ended() == 0) {
            sleep_ms(1); // not in MPI
        }
        EXPECT_EQ(1, seen.ended());
        MPI_Wait(&send, MPI_STATUS_IGNORE);
    }
    MPI_Send(&rank, 1, MPI_INT, rank, 999, comm);
    receiver.join();
    wait();
}

// With --progress=thread these hold for a CR without options too.
class helper : public mpi_test {
protected:
    static bool by_setting() {
        const char *setting = std::getenv("THENCE_PROGRESS");
        return setting != nullptr && std::string(setting) == "thread";
    }
    // A message to self, a continuation on it, and then no call to MPI at all until it has run.
    void runs_while_nobody_is_in_mpi(MPI_Request on, int n) {
        std::vector<char> in(static_cast<std::size_t>(n)), out(static_cast<std::size_t>(n), 'x');
        MPI_Request both[2];
        outcome seen;
        MPI_Irecv(in.data(), n, MPI_CHAR, (rank + size - 1) % size, 1, comm, &both[0]);
        seen.attach(both[0], on);
        MPI_Isend(out.data(), n, MPI_CHAR, (rank + 1) % size, 1, comm, &both[1]);
        outcome sent;
        sent.attach(both[1], on);
        for (int i = 0; i < 20000 && (seen.ended() == 0 || sent.ended() == 0); ++i) {
            sleep_ms(1);
        }
        EXPECT_EQ(1, seen.ended());
        EXPECT_EQ(1, sent.ended());
        EXPECT_EQ('x', in.back());
    }
};

TEST_F(helper, runs_callbacks_of_thread_any) {
    MPI_Request any = create_with_thread("any");
    for (int i = 0; i < 5; ++i) {
        runs_while_nobody_is_in_mpi(any, 10);
        runs_while_nobody_is_in_mpi(any, 1 << 20);
    }
    MPI_Request_free(&any);
}

TEST_F(helper, runs_no_callbacks_of_thread_application) {
    MPI_Request application = create_with_thread("application");
    struct where {
        std::thread::id id;
        std::atomic<int> calls{0};
    } seen;
    int value = 0;
    int flag = 1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&value, 1, MPI_INT, rank, 1, comm, &request);
    thence_attach(
        1, &request,
        [](int, MPI_Status *, void *d) -> int {
            auto &self = *static_cast<where *>(d);
            self.id = std::this_thread::get_id();
            ++self.calls;
            return MPI_SUCCESS;
        },
        &seen, 0, MPI_STATUS_IGNORE, application, &flag);
    ASSERT_EQ(0, flag);
    MPI_Send(&rank, 1, MPI_INT, rank, 1, comm);
    sleep_ms(50);
    MPI_Wait(&application, MPI_STATUS_IGNORE);
    EXPECT_EQ(1, seen.calls.load());
    EXPECT_EQ(std::this_thread::get_id(), seen.id);
    MPI_Request_free(&application);
}

// One rank sends while the other cancels. If there is a helper there, it runs the callbacks. Half of the
// receives have a continuation.
TEST_F(helper, cancel_races_with_messages_of_another_rank) {
    constexpr int n = 200;
    if (size != 2) {
        GTEST_SKIP() << "needs two ranks";
    }
    for (int turn = 0; turn < 200; ++turn) {
        if (turn % 2 != rank) {
            std::vector<MPI_Request> sends(n);
            MPI_Barrier(comm);
            for (int i = 0; i < n; ++i) {
                MPI_Isend(&rank, 1, MPI_INT, 1 - rank, i, comm, &sends[static_cast<std::size_t>(i)]);
            }
            MPI_Waitall(n, sends.data(), MPI_STATUSES_IGNORE);
            MPI_Barrier(comm);
            continue;
        }
        std::vector<outcome> seen(n / 2);
        std::vector<MPI_Request> plain(n / 2);
        std::vector<MPI_Status> statuses(n / 2);
        std::vector<int> values(n, -1);
        for (int i = 0; i < n; ++i) {
            const auto at = static_cast<std::size_t>(i / 2);
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(&values[static_cast<std::size_t>(i)], 1, MPI_INT, 1 - rank, i, comm, &request);
            if (i % 2 == 0) {
                seen[at].attach(request, cr);
            } else {
                plain[at] = request;
            }
        }
        MPI_Barrier(comm);
        const auto begin = std::chrono::steady_clock::now() + std::chrono::microseconds(turn / 2);
        while (std::chrono::steady_clock::now() < begin) {
        }
        for (std::size_t i = plain.size(); i-- > 0;) {
            MPI_Cancel(&plain[i]);
        }
        EXPECT_EQ(MPI_SUCCESS, MPI_Cancel(&cr));
        wait();
        MPI_Waitall(n / 2, plain.data(), statuses.data());
        for (int i = 0; i < n; ++i) {
            const auto at = static_cast<std::size_t>(i / 2);
            int cancelled = 0;
            MPI_Test_cancelled(i % 2 == 0 ? seen[at].statuses.data() : &statuses[at], &cancelled);
            ASSERT_EQ(cancelled != 0 ? -1 : 1 - rank, values[static_cast<std::size_t>(i)]);
            if (cancelled != 0) {
                int late = 0;
                MPI_Recv(&late, 1, MPI_INT, 1 - rank, i, comm, MPI_STATUS_IGNORE);
            }
        }
        for (const outcome &each : seen) {
            ASSERT_EQ(1, each.ended());
        }
        MPI_Barrier(comm);
    }
}

TEST_F(helper, by_setting_runs_callbacks_of_any_cr) {
    if (!by_setting()) {
        GTEST_SKIP() << "THENCE_PROGRESS=thread is not set";
    }
    for (int i = 0; i < 5; ++i) {
        runs_while_nobody_is_in_mpi(cr, 10);
        runs_while_nobody_is_in_mpi(cr, 1 << 20);
    }
}

} // namespace
