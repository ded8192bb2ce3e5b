// SPDX-License-Identifier: BSD-3-Clause
// Tasks that move between ranks (thence/offload.hpp), on the real MPI: results, wrong types, late and lost results.
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <string>
#include <thence/offload.hpp>
#include <thread>

namespace {

int rank() {
    int number = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &number);
    return number;
}

void busy_for(std::chrono::microseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
    }
}

// Results: the input plus `add`, its sum, and nothing.
struct add_to {
    struct metadata {
        int values, add, microseconds;
    };
    static std::size_t input_bytes(const metadata &m) { return static_cast<std::size_t>(m.values) * sizeof(int); }
    static std::array<std::size_t, 3> result_bytes(const metadata &m) { return {input_bytes(m), sizeof(long), 0}; }
    static void run(const metadata &m, std::span<const std::byte> input,
                    const std::array<std::span<std::byte>, 3> &results) noexcept {
        long sum = 0;
        for (std::size_t at = 0; at < input.size(); at += sizeof(int)) {
            int value = 0;
            std::memcpy(&value, &input[at], sizeof value);
            value += m.add, sum += value;
            std::memcpy(&results[0][at], &value, sizeof value);
        }
        std::memcpy(results[1].data(), &sum, sizeof sum);
        busy_for(std::chrono::microseconds(m.microseconds));
    }
};
// Has no input, one result.
struct whose {
    struct metadata {
        char from;
    };
    static std::size_t input_bytes(const metadata &) { return 0; }
    static std::array<std::size_t, 1> result_bytes(const metadata &) { return {2 * sizeof(int)}; }
    static void run(const metadata &m, std::span<const std::byte>,
                    const std::array<std::span<std::byte>, 1> &results) noexcept {
        const int text[] = {m.from, rank()};
        std::memcpy(results[0].data(), text, sizeof text);
    }
};

struct one_task {
    std::vector<int> input, output;
    long sum = 0;
    explicit one_task(int values) : input(static_cast<std::size_t>(values)), output(input.size()) {
        std::iota(input.begin(), input.end(), rank());
    }
    template <class Offloader> void submit(Offloader &to, int add, int microseconds) {
        to.template submit<add_to>(
            {static_cast<int>(input.size()), add, microseconds}, std::as_bytes(std::span(input)),
            {std::as_writable_bytes(std::span(output)), std::as_writable_bytes(std::span(&sum, 1)), {}});
    }
    void expect(int add) {
        long expected = 0;
        for (std::size_t i = 0; i < input.size(); ++i) {
            ASSERT_EQ(output[i], input[i] + add);
            expected += output[i];
        }
        ASSERT_EQ(sum, expected);
    }
};

// Runs steps in which rank 0 alone has work, until some tasks were offloaded: when that is depends on measured times.
template <class Offloader, class Other>
int steps_until_offloaded(Offloader &tasks, std::vector<one_task> &all, Other in_between) {
    for (int step = 1; step <= 200; ++step) {
        for (std::size_t i = 0; rank() == 0 && i < all.size(); ++i) {
            all[i].submit(tasks, step + static_cast<int>(i), 300);
        }
        in_between();
        const int here = tasks.finish_step().offloaded;
        for (std::size_t i = 0; rank() == 0 && i < all.size(); ++i) {
            all[i].expect(step + static_cast<int>(i));
        }
        int anywhere = 0;
        MPI_Allreduce(&here, &anywhere, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (anywhere > 0) {
            return step;
        }
    }
    return -1;
}

// Small messages, and some that MPI does not send before their receive is posted.
std::vector<one_task> twenty() {
    std::vector<one_task> all;
    for (int i = 0; i < 20; ++i) {
        all.emplace_back(i % 2 == 0 ? 10 : 50'000);
    }
    return all;
}

TEST(Offload, tasks_move_to_ranks_that_wait_and_their_results_are_right) {
    std::vector<one_task> all = twenty();
    thence::offloader tasks(MPI_COMM_WORLD);
    tasks.add<add_to>();
    tasks.begin();
    for (int i = 0; i < 5; ++i) {
        ASSERT_GT(steps_until_offloaded(tasks, all, [] {}), 0);
    }
}

bool several_threads_may_call_mpi() {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    return level == MPI_THREAD_MULTIPLE;
}

TEST(Offload, several_threads_work) {
    if (!several_threads_may_call_mpi()) {
        GTEST_SKIP() << "only one thread may call MPI";
    }
    std::vector<one_task> all = twenty();
    thence::offload_settings settings;
    settings.workers = 3;
    thence::offloader tasks(MPI_COMM_WORLD, settings);
    tasks.add<whose>();
    tasks.add<add_to>();
    tasks.begin();
    thence::detail::atomic<bool> ends{false};
    std::vector<std::thread> workers;
    for (int i = 0; i < 2; ++i) {
        workers.emplace_back([&] {
            while (!ends.load()) {
                if (!tasks.work()) {
                    std::this_thread::yield();
                }
            }
        });
    }
    EXPECT_GT(steps_until_offloaded(tasks, all, [] {}), 0);
    ends.store(true);
    for (std::thread &each : workers) {
        each.join();
    }
}

// Its one task ends a while after it was told to.
struct long_task {
    struct metadata {
        int milliseconds;
    };
    static std::size_t input_bytes(const metadata &) { return 0; }
    static std::array<std::size_t, 1> result_bytes(const metadata &) { return {0}; }
    static void run(const metadata &m, std::span<const std::byte>,
                    const std::array<std::span<std::byte>, 1> &) noexcept {
        has_begun.store(true);
        std::this_thread::sleep_for(std::chrono::milliseconds(m.milliseconds));
    }
    static inline thence::detail::atomic<bool> has_begun{false};
};

TEST(Offload, several_workers_are_refused_where_only_one_thread_may_call_mpi) {
    if (several_threads_may_call_mpi()) {
        GTEST_SKIP() << "any thread may call MPI";
    }
    thence::offload_settings settings;
    settings.workers = 2;
    try {
        const thence::offloader tasks(MPI_COMM_WORLD, settings);
        ADD_FAILURE() << "not refused";
    } catch (const std::invalid_argument &refused) {
        EXPECT_STREQ(refused.what(), "offload: several workers call MPI at once: initialize MPI with "
                                     "MPI_THREAD_MULTIPLE, or set workers to 1");
    }
}

TEST(Offload, a_task_that_takes_long_on_another_worker_is_not_lost) {
    if (!several_threads_may_call_mpi()) {
        GTEST_SKIP() << "only one thread may call MPI";
    }
    thence::offload_settings settings;
    settings.workers = 2, settings.lost_after = 0.05;
    thence::offloader tasks(MPI_COMM_WORLD, settings);
    tasks.add<long_task>();
    tasks.begin();
    tasks.submit<long_task>({300}, {}, {});
    std::thread worker([&] { EXPECT_TRUE(tasks.work()); });
    while (!long_task::has_begun.load()) {
        std::this_thread::yield();
    }
    EXPECT_EQ(tasks.finish_step().own, 1);
    worker.join();
}

TEST(Offload, few_slots_keep_the_other_tasks_at_home) {
    std::vector<one_task> all = twenty();
    thence::offload_settings settings;
    settings.in_flight = 1, settings.receives = 1;
    thence::offloader tasks(MPI_COMM_WORLD, settings);
    tasks.add<add_to>();
    tasks.begin();
    for (int i = 0; i < 3; ++i) {
        ASSERT_GT(steps_until_offloaded(tasks, all, [] {}), 0);
    }
}

TEST(Offload, a_step_without_tasks_ends) {
    thence::offloader tasks(MPI_COMM_WORLD);
    tasks.add<whose>();
    tasks.begin();
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(tasks.finish_step().own, 0);
    }
    int text[2] = {};
    tasks.submit<whose>({'x'}, {}, {std::as_writable_bytes(std::span(text))});
    EXPECT_EQ(tasks.finish_step().own, 1);
    EXPECT_EQ(text[0], 'x');
    EXPECT_EQ(text[1], rank());
}

TEST(Offload, results_that_come_late_are_an_emergency) {
    std::vector<one_task> all = twenty();
    thence::offload_settings settings;
    settings.late = 0.01;
    thence::offloader tasks(MPI_COMM_WORLD, settings);
    tasks.add<add_to>();
    tasks.begin();
    int emergencies = 0;
    for (int round = 0; round < 20 && emergencies == 0; ++round) {
        ASSERT_GT(steps_until_offloaded(tasks, all, [] {}), 0);
        // Tasks are offloaded in the next step, too; but the other ranks do something else.
        for (std::size_t i = 0; rank() == 0 && i < all.size(); ++i) {
            all[i].submit(tasks, round, 300);
        }
        if (rank() != 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds(40));
        }
        int here = tasks.finish_step().emergencies;
        for (std::size_t i = 0; rank() == 0 && i < all.size(); ++i) {
            all[i].expect(round);
        }
        MPI_Allreduce(&here, &emergencies, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    EXPECT_GT(emergencies, 0);
}

TEST(Offload, wrong_settings_types_and_sizes_are_refused_and_nothing_is_submitted) {
    for (const auto wrong :
         {&thence::offload_settings::workers, &thence::offload_settings::receives, &thence::offload_settings::in_flight,
          &thence::offload_settings::emergencies, &thence::offload_settings::pause_steps}) {
        thence::offload_settings settings;
        settings.*wrong = 0;
        EXPECT_THROW(thence::offloader(MPI_COMM_WORLD, settings), std::invalid_argument);
    }
    thence::offload_settings small;
    small.metadata_bytes = 4;
    thence::offloader tasks(MPI_COMM_WORLD, small);
    EXPECT_THROW(tasks.add<add_to>(), std::invalid_argument);
    int text[2] = {};
    const auto result = std::as_writable_bytes(std::span(text));
    EXPECT_THROW(tasks.submit<whose>({'x'}, {}, {result}), std::logic_error);
    EXPECT_THROW(tasks.finish_step(), std::logic_error);
    tasks.add<whose>();
    tasks.begin();
    EXPECT_THROW(tasks.add<whose>(), std::logic_error);
    EXPECT_THROW(tasks.begin(), std::logic_error);
    one_task other(1);
    EXPECT_THROW(other.submit(tasks, 1, 0), std::invalid_argument) << "a type that was not added";
    EXPECT_THROW(tasks.submit<whose>({'x'}, std::as_bytes(result), {result}), std::invalid_argument);
    EXPECT_THROW(tasks.submit<whose>({'x'}, {}, {result.first(3)}), std::invalid_argument);
    EXPECT_EQ(tasks.finish_step().own, 0);
}

TEST(Offload, ranks_that_add_different_types_are_told_so) {
    thence::offloader tasks(MPI_COMM_WORLD);
    if (rank() == 0) {
        tasks.add<whose>();
    }
    tasks.add<add_to>();
    EXPECT_THROW(tasks.begin(), std::invalid_argument);
}

struct of_equal_size : whose {
    static void run(const metadata &, std::span<const std::byte>,
                    const std::array<std::span<std::byte>, 1> &) noexcept {}
};

TEST(Offload, ranks_that_add_types_of_equal_size_in_another_order_are_told_so) {
    thence::offloader tasks(MPI_COMM_WORLD);
    if (rank() == 0) {
        tasks.add<whose>();
        tasks.add<of_equal_size>();
    } else {
        tasks.add<of_equal_size>();
        tasks.add<whose>();
    }
    EXPECT_THROW(tasks.begin(), std::invalid_argument);
}

// Where the continuation of metadata runs on another thread, the last step may be over once the input of the task has
// come.
class Ordered : public thence::detail::offload_continuations {
public:
    using offload_continuations::offload_continuations;
    int attach(int count, MPI_Request requests[], thence_callback *done, void *data, MPI_Status *statuses,
               bool persistent) {
        if (persistent) {
            if (metadata_came == nullptr) { // not written while callbacks read it
                metadata_came = done;
            }
            is_pending = true;
            return offload_continuations::attach(count, requests, &came, data, statuses, persistent);
        }
        inputs.fetch_add(is_in_callback ? 1 : 0);
        too_early.fetch_add(is_in_callback && !is_pending ? 1 : 0);
        return offload_continuations::attach(count, requests, done, data, statuses, persistent);
    }
    static inline thence::detail::atomic<int> inputs{0}, too_early{0};

private:
    static int came(int code, MPI_Status *statuses, void *data) {
        is_in_callback = true, is_pending = false;
        metadata_came(code, statuses, data);
        is_in_callback = false;
        return MPI_SUCCESS;
    }
    static inline thence_callback *metadata_came = nullptr; // the same for all
    static inline thread_local bool is_in_callback = false, is_pending = false;
};

TEST(Offload, a_receive_for_metadata_is_pending_again_before_the_input_of_the_task_can_come) {
    std::vector<one_task> all = twenty();
    thence::basic_offloader<Ordered> tasks(MPI_COMM_WORLD);
    tasks.add<add_to>();
    tasks.begin();
    EXPECT_GT(steps_until_offloaded(tasks, all, [] {}), 0);
    int inputs = Ordered::inputs.load();
    MPI_Allreduce(MPI_IN_PLACE, &inputs, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_GT(inputs, 0);
    EXPECT_EQ(Ordered::too_early.load(), 0);
}

bool ends_within(MPI_Request &request, double seconds) {
    int ended = 0;
    for (const double until = MPI_Wtime() + seconds; ended == 0 && MPI_Wtime() < until;) {
        MPI_Test(&request, &ended, MPI_STATUS_IGNORE);
    }
    return ended != 0;
}

// Last: what is lost stays behind. No rank works while rank 0 waits for its tasks. Those beyond rank 1 come later, to a
// step that cannot end.
TEST(Offload, tasks_on_a_rank_that_does_nothing_any_more_are_lost_and_all_are_told) {
    auto &all = *new std::vector<one_task>(20, one_task(10)); // its buffers must stay
    thence::offload_settings settings;
    settings.lost_after = 0.3, settings.late = 100;
    auto tasks = std::make_unique<thence::offloader>(MPI_COMM_WORLD, settings);
    tasks->add<add_to>();
    tasks->begin();
    // Usually the step after one that offloads does so, too. If it does not, it ends only when the others finish it as
    // well: they came late, so that rank 0 has to be seen as the late one again. The library's thread takes the
    // messages of the others, or whoever waits for the news does.
    for (int told = 0; told == 0;) {
        ASSERT_GT(steps_until_offloaded(*tasks, all, [] {}), 0);
        if (rank() == 0) {
            for (one_task &each : all) {
                each.submit(*tasks, 1, 300);
            }
            try {
                tasks->finish_step();
            } catch (const thence::lost_tasks &lost) {
                EXPECT_NE(std::string(lost.what()).find("tasks on rank "), std::string::npos) << lost.what();
                EXPECT_THROW(tasks->work(), thence::error);
                told = 1;
            }
        }
        MPI_Request news;
        MPI_Ibcast(&told, 1, MPI_INT, 0, MPI_COMM_WORLD, &news);
        if (rank() != 0 && !ends_within(news, 2)) {
            try {
                tasks->finish_step();
            } catch (const thence::error &) { // rank 0 was told late
            }
        }
        MPI_Wait(&news, MPI_STATUS_IGNORE);
    }
    if (rank() == 1) {
        static_cast<void>(tasks.release());
    } else if (rank() > 1) {
        EXPECT_THROW(tasks->finish_step(), thence::error) << "rank 1 never comes";
    }
    tasks.reset();
    MPI_Barrier(MPI_COMM_WORLD);
}

} // namespace
