// SPDX-License-Identifier: BSD-3-Clause
// Active messages on the real MPI.
#include <thence/am.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace {

struct told {
    std::mutex mutex;
    std::vector<std::string> texts;
    static void note(const thence_am_failure *f, void *data) {
        told &t = *static_cast<told *>(data);
        const std::scoped_lock guard(t.mutex);
        t.texts.emplace_back(f->what);
    }
};

class active_messages : public ::testing::Test {
protected:
    void SetUp() override {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    }
    void begin(thence_am_options options = {}) {
        options.failed = &told::note;
        options.failed_data = &failures;
        ASSERT_EQ(thence_am_create(MPI_COMM_WORLD, &options, sizeof options, &am), MPI_SUCCESS);
    }
    void on(int number, thence_am_handler *handler, void *data, unsigned flags = 0) {
        ASSERT_EQ(thence_am_register(am, number, handler, data, flags), MPI_SUCCESS);
    }
    void TearDown() override {
        if (am != nullptr) {
            EXPECT_EQ(thence_am_free(&am), MPI_SUCCESS);
            EXPECT_EQ(am, nullptr);
        }
        EXPECT_EQ(failures.texts.size(), expected_failures);
    }
    static bool several_threads_may_call_mpi() {
        int level = 0;
        MPI_Query_thread(&level);
        return level == MPI_THREAD_MULTIPLE;
    }
    int rank = 0;
    int size = 1;
    thence_am am = nullptr;
    told failures;
    std::size_t expected_failures = 0;
};

int add(const thence_am_message *m, void *data) {
    long value = 0;
    std::memcpy(&value, m->payload, sizeof value);
    static_cast<std::atomic<long> *>(data)->fetch_add(value);
    return MPI_SUCCESS;
}

TEST_F(active_messages, each_is_handled_once) {
    begin();
    std::atomic<long> sum{0};
    std::atomic<long> short_sum{0};
    on(3, &add, &sum);
    on(4, &add, &short_sum, THENCE_AM_SHORT);
    constexpr long count = 2000;
    for (long i = 1; i <= count; ++i) {
        for (int to = 0; to < size; ++to) {
            ASSERT_EQ(thence_am_send(am, to, 3, &i, sizeof i), MPI_SUCCESS);
            ASSERT_EQ(thence_am_send(am, to, 4, &i, sizeof i), MPI_SUCCESS);
        }
    }
    ASSERT_EQ(thence_am_quiesce(am), MPI_SUCCESS);
    EXPECT_EQ(sum, size * count * (count + 1) / 2);
    EXPECT_EQ(short_sum, size * count * (count + 1) / 2);
}

struct relay {
    std::atomic<long> handled{0};
    int size = 1;
    static int pass_on(const thence_am_message *m, void *data) {
        relay &r = *static_cast<relay *>(data);
        ++r.handled;
        int left = 0;
        std::memcpy(&left, m->payload, sizeof left);
        EXPECT_EQ(m->bytes, sizeof left);
        --left;
        for (int i = 0; left >= 0 && i < 2; ++i) {
            EXPECT_EQ(thence_am_send(m->am, (m->source + i + 1) % r.size, m->number, &left, sizeof left), MPI_SUCCESS);
        }
        return MPI_SUCCESS;
    }
};

TEST_F(active_messages, quiescence_waits_for_what_handlers_send) {
    for (const unsigned flags : {0U, THENCE_AM_SHORT}) {
        begin();
        relay r;
        r.size = size;
        on(0, &relay::pass_on, &r, flags);
        constexpr int rounds = 5;
        for (int round = 0; round < rounds; ++round) {
            const int depth = 10;
            if (rank == 0) {
                ASSERT_EQ(thence_am_send(am, size - 1, 0, &depth, sizeof depth), MPI_SUCCESS);
            }
            ASSERT_EQ(thence_am_quiesce(am), MPI_SUCCESS);
            long mine = r.handled;
            long all = 0;
            MPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
            EXPECT_GE(all, (round + 1) * (2 * (1L << depth) - 1)); // others may have begun the next round
        }
        ASSERT_EQ(thence_am_free(&am), MPI_SUCCESS);
    }
}

struct landing {
    std::atomic<int> arrived{0};
    std::vector<double> memory;
    static int check(const thence_am_message *m, void *data) {
        landing &l = *static_cast<landing *>(data);
        int first = 0;
        std::memcpy(&first, m->payload, sizeof first);
        const auto *values = static_cast<const double *>(m->data);
        const std::size_t count = m->data_bytes / sizeof(double);
        EXPECT_GE(values, l.memory.data());
        for (std::size_t i = 0; i < count; ++i) {
            EXPECT_EQ(values[i], first + static_cast<double>(i));
        }
        ++l.arrived;
        return MPI_SUCCESS;
    }
};

TEST_F(active_messages, data_are_put_and_fetched) {
    for (const unsigned flags : {0U, THENCE_AM_SHORT}) {
        for (const unsigned mode : {0U, THENCE_AM_ONE_THREAD, THENCE_AM_HELPER}) {
            if (mode == THENCE_AM_HELPER && !several_threads_may_call_mpi()) {
                continue;
            }
            thence_am_options options{};
            options.max_outgoing = 2;
            options.flags = mode;
            begin(options);
            constexpr std::size_t block = 20000;
            const auto ranks = static_cast<std::size_t>(size);
            landing l;
            l.memory.assign(block * ranks, -1.0);
            on(7, &landing::check, &l, flags);
            thence_am_memory mine{};
            ASSERT_EQ(thence_am_memory_register(am, l.memory.data(), l.memory.size() * sizeof(double), &mine),
                      MPI_SUCCESS);
            std::vector<thence_am_memory> all(ranks);
            MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
            std::vector<double> from(block);
            for (std::size_t i = 0; i < block; ++i) {
                from[i] = rank + static_cast<double>(i);
            }
            std::atomic<int> left{0};
            const auto done = [](int error, void *data) {
                EXPECT_EQ(error, MPI_SUCCESS);
                ++*static_cast<std::atomic<int> *>(data);
            };
            for (const thence_am_memory &to : all) {
                ASSERT_EQ(thence_am_put(am, from.data(), block * sizeof(double), &to,
                                        static_cast<std::size_t>(rank) * block * sizeof(double), 7, &rank, sizeof rank,
                                        done, &left),
                          MPI_SUCCESS);
            }
            ASSERT_EQ(thence_am_quiesce(am), MPI_SUCCESS);
            EXPECT_EQ(l.arrived, size);
            EXPECT_EQ(left, size);
            std::vector<double> back(block * ranks);
            for (std::size_t i = 0; i < ranks; ++i) {
                ASSERT_EQ(thence_am_get(am, back.data() + i * block, block * sizeof(double), &all[i],
                                        static_cast<std::size_t>(rank) * block * sizeof(double), done, &left),
                          MPI_SUCCESS);
            }
            ASSERT_EQ(thence_am_quiesce(am), MPI_SUCCESS);
            EXPECT_EQ(left, 2 * size);
            for (std::size_t i = 0; i < ranks; ++i) {
                EXPECT_TRUE(std::ranges::equal(from, std::span(back).subspan(i * block, block)));
            }
            EXPECT_EQ(thence_am_memory_forget(am, &mine), MPI_SUCCESS);
            ASSERT_EQ(thence_am_free(&am), MPI_SUCCESS);
        }
    }
}

TEST_F(active_messages, who_waits_for_their_end_is_told_before_the_engine_is_freed) {
    begin();
    std::atomic<long> sum{0};
    on(0, &add, &sum);
    const long one = 1;
    ASSERT_EQ(thence_am_send(am, (rank + 1) % size, 0, &one, sizeof one), MPI_SUCCESS);
    long told_at = -1;
    struct both {
        std::atomic<long> &sum;
        long &told_at;
    } seen{sum, told_at};
    const auto done = [](int error, void *data) {
        EXPECT_EQ(error, MPI_SUCCESS);
        auto &s = *static_cast<both *>(data);
        s.told_at = s.sum;
    };
    ASSERT_EQ(thence_am_quiesce_then(am, done, &seen), MPI_SUCCESS);
    ASSERT_EQ(thence_am_free(&am), MPI_SUCCESS);
    EXPECT_EQ(am, nullptr);
    EXPECT_EQ(told_at, 1);
}

// The last rank gets messages that nobody handles there, until a message which rank 0 sends in its quiesce() registers
// the handler.
TEST_F(active_messages, wait_for_a_handler_that_a_message_registers_while_all_processes_wait) {
    begin();
    const int last = size - 1;
    std::atomic<long> sum{0};
    if (rank == 0 && size > 1) { // it only sends to it
        on(1, &add, &sum);
    }
    on(
        0, [](const thence_am_message *m, void *data) -> int { return thence_am_register(m->am, 1, &add, data, 0); },
        &sum);
    on(
        2, [](const thence_am_message *m, void *) -> int { return thence_am_send(m->am, m->source, 0, nullptr, 0); },
        nullptr);
    constexpr long count = 1000; // more than the window has room for
    for (long i = 1; rank == 0 && size > 1 && i <= count; ++i) {
        ASSERT_EQ(thence_am_send(am, last, 1, &i, sizeof i), MPI_SUCCESS);
    }
    if (rank == last) {
        ASSERT_EQ(thence_am_send(am, 0, 2, nullptr, 0), MPI_SUCCESS);
    }
    ASSERT_EQ(thence_am_quiesce(am), MPI_SUCCESS);
    EXPECT_EQ(sum, rank == last && size > 1 ? count * (count + 1) / 2 : 0);
}

// No error handler is called there, and no text is made: both are calls of MPI.
TEST_F(active_messages, a_thread_that_may_not_call_mpi_is_told_the_class_of_an_error) {
    thence_am_options options{};
    options.flags = THENCE_AM_ONE_THREAD;
    begin(options);
    int codes[4] = {};
    std::thread([&] {
        thence_am freed = am;
        codes[0] = thence_am_send(am, 0, 999, nullptr, 0);
        codes[1] = thence_am_release(am);
        codes[2] = thence_am_progress(am, nullptr);
        codes[3] = thence_am_free(&freed);
    }).join();
    EXPECT_EQ(codes[0], MPI_ERR_ARG);
    EXPECT_EQ(codes[1], MPI_ERR_ARG);
    EXPECT_EQ(codes[2], MPI_ERR_OTHER);
    EXPECT_EQ(codes[3], MPI_ERR_OTHER);
    ASSERT_EQ(thence_am_free(&am), MPI_SUCCESS);
}

TEST_F(active_messages, handlers_run_on_the_one_thread_though_others_are_inside_mpi) {
    if (!several_threads_may_call_mpi()) {
        GTEST_SKIP() << "only one thread may call MPI";
    }
    thence_am_options options{};
    options.flags = THENCE_AM_ONE_THREAD;
    begin(options);
    std::atomic<long> sum{0};
    on(1, &add, &sum, THENCE_AM_SHORT);
    const long one = 1;
    ASSERT_EQ(thence_am_send(am, rank, 1, &one, sizeof one), MPI_SUCCESS);
    std::thread([] {
        for (int i = 0; i < 200; ++i) {
            thence_progress();
        }
    }).join();
    EXPECT_EQ(sum, 0);
    ASSERT_EQ(thence_am_quiesce(am), MPI_SUCCESS);
    EXPECT_EQ(sum, 1);
    ASSERT_EQ(thence_am_free(&am), MPI_SUCCESS);
}

TEST_F(active_messages, the_helper_handles_short_messages_while_the_program_computes) {
    using namespace std::chrono;
    if (!several_threads_may_call_mpi() || size == 1) {
        GTEST_SKIP() << "only one thread may call MPI, or there is no other process";
    }
    thence_am_options options{};
    options.flags = THENCE_AM_HELPER;
    begin(options);
    std::atomic<long> sum{0};
    on(1, &add, &sum, THENCE_AM_SHORT);
    const long one = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1) { // for 100 ms, and longer where there are fewer processors than threads
        const auto begun = steady_clock::now();
        while (steady_clock::now() < begun + milliseconds(100) ||
               (sum == 0 && steady_clock::now() < begun + seconds(20))) {
        }
        EXPECT_EQ(sum, 1);
    } else if (rank == 0) {
        std::this_thread::sleep_for(milliseconds(20)); // it computes now
        ASSERT_EQ(thence_am_send(am, size - 1, 1, &one, sizeof one), MPI_SUCCESS);
    }
    ASSERT_EQ(thence_am_quiesce(am), MPI_SUCCESS);
    ASSERT_EQ(thence_am_free(&am), MPI_SUCCESS);
}

TEST_F(active_messages, other_threads_send_while_one_communicates) {
    for (const unsigned mode : {0U, THENCE_AM_ONE_THREAD}) {
        thence_am_options options{};
        options.flags = mode;
        options.max_queued = 4096; // they wait for room
        begin(options);
        std::atomic<long> sum{0};
        on(1, &add, &sum);
        constexpr int threads = 3;
        constexpr long count = 1000;
        std::vector<std::thread> all;
        ASSERT_EQ(thence_am_hold(am), MPI_SUCCESS);
        std::atomic<int> running{threads};
        for (int t = 0; t < threads; ++t) {
            all.emplace_back([&] {
                const long one = 1;
                for (long i = 0; i < count; ++i) {
                    for (int to = 0; to < size; ++to) {
                        EXPECT_EQ(thence_am_send(am, to, 1, &one, sizeof one), MPI_SUCCESS);
                    }
                }
                if (--running == 0) {
                    EXPECT_EQ(thence_am_release(am), MPI_SUCCESS);
                }
            });
        }
        ASSERT_EQ(thence_am_quiesce(am), MPI_SUCCESS);
        for (std::thread &each : all) {
            each.join();
        }
        EXPECT_EQ(sum, threads * count * size);
        ASSERT_EQ(thence_am_free(&am), MPI_SUCCESS);
    }
}

} // namespace
