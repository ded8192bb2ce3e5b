// SPDX-License-Identifier: BSD-3-Clause
// THENCE_PROGRESS=always: what interposed calls count, and when the helper thread makes progress for the program.
#include "exposure.hpp"
#include "observed_calls.hpp"

#include "core/base/settings.hpp"
#include "core/progress/progress.hpp"
#include "interpose/requests/counted.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace thence::fake;
using namespace std::chrono_literals;
namespace progress = thence::progress;

class plain_operations : public counted_calls {
protected:
    static long outstanding() { return progress::operations_outstanding(); }

    // It may be about to poll, and have lost its processor: then it does so once more.
    static bool helper_stays_away() {
        for (int i = 0; i < 5; ++i) {
            const unsigned long long before = world.progress_calls;
            std::this_thread::sleep_for(50ms);
            if (world.progress_calls == before) {
                return true;
            }
        }
        return false;
    }
};

using completing = void (*)(MPI_Request *one);
const completing ways[] = {
    [](MPI_Request *r) { MPI_Wait(r, MPI_STATUS_IGNORE); },
    [](MPI_Request *r) { MPI_Waitall(1, r, MPI_STATUSES_IGNORE); },
    [](MPI_Request *r) {
        int index = -1;
        MPI_Waitany(1, r, &index, MPI_STATUS_IGNORE);
    },
    [](MPI_Request *r) {
        int found = 0;
        int index = -1;
        MPI_Waitsome(1, r, &found, &index, MPI_STATUSES_IGNORE);
    },
    [](MPI_Request *r) {
        for (int flag = 0; flag == 0;) {
            MPI_Test(r, &flag, MPI_STATUS_IGNORE);
        }
    },
    [](MPI_Request *r) {
        for (int flag = 0; flag == 0;) {
            MPI_Testall(1, r, &flag, MPI_STATUSES_IGNORE);
        }
    },
    [](MPI_Request *r) {
        int index = -1;
        for (int flag = 0; flag == 0;) {
            MPI_Testany(1, r, &index, &flag, MPI_STATUS_IGNORE);
        }
    },
    [](MPI_Request *r) {
        int index = -1;
        for (int found = 0; found == 0;) {
            MPI_Testsome(1, r, &found, &index, MPI_STATUSES_IGNORE);
        }
    },
};

TEST_P(plain_operations, end_when_a_call_completes_them) {
    for (const completing &complete : ways) {
        MPI_Request r = started();
        EXPECT_EQ(outstanding(), 1);
        int flag = 0;
        MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
        EXPECT_EQ(outstanding(), 1) << "it is pending";
        world.complete(r);
        complete(&r);
        EXPECT_EQ(r, MPI_REQUEST_NULL);
        EXPECT_EQ(outstanding(), 0) << "way " << &complete - ways;
        complete(&r);
        EXPECT_EQ(outstanding(), 0) << "a null request";
    }
}

TEST_P(plain_operations, of_several_each_ends_once) {
    MPI_Request r[] = {started(), MPI_REQUEST_NULL, started(), started()};
    EXPECT_EQ(outstanding(), 3);
    world.complete(r[2]);
    int found = 0;
    int indices[4];
    while (found == 0) {
        MPI_Testsome(4, r, &found, indices, MPI_STATUSES_IGNORE);
    }
    EXPECT_EQ(outstanding(), 2);
    world.complete(r[0]);
    world.complete(r[3]);
    MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    EXPECT_EQ(outstanding(), 0);
}

TEST_P(plain_operations, persistent_ones_are_outstanding_while_they_are_active) {
    for (const completing &complete : ways) {
        MPI_Request r = created();
        EXPECT_EQ(outstanding(), 0);
        for (int round = 0; round < 2; ++round) {
            MPI_Start(&r);
            EXPECT_EQ(outstanding(), 1);
            int flag = 0;
            MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
            EXPECT_EQ(outstanding(), 1) << "it is pending";
            world.complete(r);
            complete(&r);
            EXPECT_EQ(outstanding(), 0) << "way " << &complete - ways;
        }
        MPI_Request_free(&r);
        EXPECT_EQ(outstanding(), 0) << "it was not active";
    }
    MPI_Request two[] = {created(), created()};
    MPI_Startall(2, two);
    EXPECT_EQ(outstanding(), 2);
    world.complete(two[0]);
    world.complete(two[1]);
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
    EXPECT_EQ(outstanding(), 0);
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
    EXPECT_EQ(outstanding(), 0) << "they are inactive";
    MPI_Request_free(&two[0]);
    MPI_Request_free(&two[1]);
}

// MPI_Waitall may return once an operation has failed, and leave others pending.
TEST_P(plain_operations, persistent_ones_that_a_failed_call_leaves_pending_are_outstanding) {
    for (const bool only_counted : {true, false}) {
        if (!only_counted) {
            progress::add_way_to_wait();
        }
        MPI_Request r[] = {created(), created(), created()};
        MPI_Status statuses[3];
        MPI_Startall(3, r);
        EXPECT_EQ(progress::calls_only_count(), only_counted);
        EXPECT_EQ(outstanding(), 3);
        world.complete(r[0]);
        world.complete(r[1], {.error = MPI_ERR_TRUNCATE});
        world.failed_waitall_leaves_pending = true;
        EXPECT_EQ(MPI_Waitall(3, r, statuses), MPI_ERR_IN_STATUS);
        world.failed_waitall_leaves_pending = false;
        EXPECT_EQ(outstanding(), 1) << "one has ended, one has failed, one is pending";
        world.complete(r[2]);
        EXPECT_EQ(MPI_Waitall(3, r, statuses), MPI_SUCCESS);
        EXPECT_EQ(outstanding(), 0);
        for (MPI_Request &each : r) {
            MPI_Request_free(&each);
        }
        reported();
    }
    progress::remove_way_to_wait();
}

TEST_P(plain_operations, what_was_not_counted_hides_nothing) {
    MPI_Request foreign = world.start(); // by a call that is not interposed
    world.complete(foreign);
    MPI_Wait(&foreign, MPI_STATUS_IGNORE);
    MPI_Request r = started();
    EXPECT_TRUE(progress::any_plain_operation());
    world.complete(r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    EXPECT_FALSE(progress::any_plain_operation());
}

TEST_P(plain_operations, that_mpi_has_refused_to_start_are_not_outstanding) {
    char buffer[4];
    MPI_Request r = MPI_REQUEST_NULL;
    ASSERT_TRUE(progress::calls_only_count());
    for (const bool only_counted : {true, false}) {
        if (!only_counted) {
            progress::add_way_to_wait();
        }
        world.refuses_receives = MPI_ERR_RANK;
        EXPECT_EQ(MPI_Irecv(buffer, 4, MPI_CHAR, 7, 0, MPI_COMM_SELF, &r), MPI_ERR_RANK);
        world.refuses_receives = MPI_SUCCESS;
        EXPECT_EQ(outstanding(), 0) << (only_counted ? "calls only count" : "calls do more");
        r = MPI_Request{}; // a value that MPI has not given
        world.refuses_receives = MPI_ERR_RANK;
        world.hides_refusals = true;
        EXPECT_EQ(MPI_Irecv(buffer, 4, MPI_CHAR, 7, 0, MPI_COMM_SELF, &r), MPI_SUCCESS);
        world.hides_refusals = false;
        world.refuses_receives = MPI_SUCCESS;
        EXPECT_EQ(outstanding(), 0) << (only_counted ? "calls only count" : "calls do more");
    }
    progress::remove_way_to_wait();
    r = started();
    EXPECT_EQ(outstanding(), 1);
    world.complete(r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

TEST_P(plain_operations, end_on_any_thread) {
    std::vector<MPI_Request> r;
    for (int i = 0; i < 64; ++i) {
        std::thread([&] { r.push_back(started()); }).join();
    }
    EXPECT_EQ(outstanding(), 64);
    for (MPI_Request &each : r) {
        world.complete(each);
        std::thread([&] { MPI_Wait(&each, MPI_STATUS_IGNORE); }).join();
    }
    EXPECT_EQ(outstanding(), 0);
}

TEST_P(plain_operations, of_many_threads_are_counted_exactly) {
    std::vector<std::thread> threads;
    std::atomic<long> uncounted{0};
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            for (int k = 0; k < 20'000; ++k) {
                progress::operation_started();
                progress::note_call();
                const progress::blocking_call blocks;
                progress::operations_ended(1);
                if (k % 100 == i) { // of another thread, perhaps, which waits for the next
                    progress::operations_ended(1);
                    ++uncounted;
                }
            }
        });
    }
    for (std::thread &each : threads) {
        each.join();
    }
    EXPECT_EQ(outstanding(), 0) << uncounted << " ends of operations that were not counted";
    for (const progress::call_counts &each : progress::all_call_counts) {
        EXPECT_EQ(each.ended.load(), each.all_begun());
        EXPECT_EQ(each.calls.load() & progress::call_counts::blocked_mask, 0U) << "no thread is in MPI";
    }
}

// While it is so, calls do little more than count.
TEST_P(plain_operations, are_all_that_calls_ask_for) {
    EXPECT_TRUE(progress::calls_only_count());
    {
        thence::progress::add_way_to_wait();
        EXPECT_FALSE(progress::calls_only_count());
        thence::progress::remove_way_to_wait();
    }
    EXPECT_TRUE(progress::calls_only_count());
    MPI_Request r = created();
    EXPECT_TRUE(progress::calls_only_count());
    MPI_Request_free(&r);
    progress::stop_observing_calls();
    EXPECT_FALSE(progress::calls_only_count());
    MPI_Request other = started();
    world.complete(other);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    EXPECT_EQ(outstanding(), 0);
}

// As MPI may do it on two threads: one is in MPI_Request_free when the other creates a request with the same handle.
TEST_P(plain_operations, of_a_new_request_with_the_handle_of_one_that_is_being_freed_are_others) {
    MPI_Request r = created();
    const MPI_Request handle = r;
    {
        const thence::interpose::counted_free frees(&r);
        r = MPI_REQUEST_NULL;
        thence::interpose::count_created(handle, 0);
        thence::interpose::count_start(handle, handle);
    }
    EXPECT_EQ(outstanding(), 1);
    r = handle; // MPI has not started it, so it is complete
    { const thence::interpose::counted_completion completes("MPI_Wait", 1, &r, {}); }
    EXPECT_EQ(outstanding(), 0) << "it is known that it is persistent";
    thence::interpose::count_start(handle, handle);
    { const thence::interpose::counted_free refused(&r); }
    EXPECT_EQ(outstanding(), 1) << "MPI has not freed it";
    MPI_Request_free(&r);
    EXPECT_EQ(outstanding(), 0);
}

TEST_P(plain_operations, are_not_counted_once_the_program_uses_thence) {
    MPI_Request r = started();
    {
        cr c;
        EXPECT_FALSE(progress::counts_operations());
        EXPECT_FALSE(progress::any_plain_operation());
        note n;
        const ticket t = world.ticket_of(r);
        attach(r, n, c);
        world.complete(t);
        EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    }
    EXPECT_EQ(outstanding(), 0);
}

TEST_P(plain_operations, are_looked_for_by_the_helper_once_the_program_uses_thence) {
    { cr used; }
    EXPECT_TRUE(progress::looks_for_operations());
    for (int round = 0; round < 3; ++round) {
        MPI_Request r = started();
        EXPECT_EQ(outstanding(), 0) << "nothing is counted";
        EXPECT_TRUE(helper_polls());
        {
            const progress::blocking_call in_mpi;
            EXPECT_TRUE(helper_stays_away()) << "a thread is in MPI";
        }
        world.complete(r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
    EXPECT_TRUE(helper_polls()) << "another rank may want something";
    EXPECT_FALSE(progress::plain.helper_rests.load());
    progress::stop_observing_calls();
    EXPECT_FALSE(progress::looks_for_operations());
}

TEST_P(plain_operations, complete_beside_continuations) {
    cr c(THENCE_CR_ANY_THREAD);
    note n;
    const ticket attached = attach_pending(n, c);
    MPI_Request r = started();
    world.complete_in_progress(r);
    world.complete_in_progress(attached);
    EXPECT_TRUE(eventually_alone([&] { return n.runs == 1; })) << "the helper runs it, and has completed both";
    int flag = 0;
    MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE);
    EXPECT_EQ(flag, 1);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

TEST_P(plain_operations, a_call_that_mpi_refuses_reads_no_index) {
    MPI_Request both[] = {created(), created()};
    MPI_Startall(2, both);
    EXPECT_EQ(outstanding(), 2);
    int found = 1'000'000'000; // as a variable that nobody has set
    const int indices[2] = {7, -7};
    {
        const thence::interpose::counted_completion refused("MPI_Testsome", 2, both,
                                                            {.found = &found, .indices = indices});
    }
    EXPECT_EQ(outstanding(), 2);
    const int left_from_before[2] = {0, 1};
    {
        const thence::interpose::counted_completion refused("MPI_Testsome", 2, both,
                                                            {.found = &found, .indices = left_from_before});
    }
    EXPECT_EQ(outstanding(), 2);
    world.complete(both[0]);
    world.complete(both[1]);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    MPI_Request_free(&both[0]);
    MPI_Request_free(&both[1]);
    EXPECT_EQ(outstanding(), 0);
}

TEST_P(plain_operations, the_helper_makes_progress_while_the_program_computes) {
    EXPECT_TRUE(helper_stays_away()) << "nothing is outstanding";
    for (int round = 0; round < 3; ++round) {
        MPI_Request r = started();
        EXPECT_TRUE(helper_polls());
        {
            const progress::blocking_call in_mpi;
            EXPECT_TRUE(helper_stays_away()) << "a thread is in MPI";
        }
        EXPECT_TRUE(helper_polls());
        world.complete(r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        EXPECT_TRUE(helper_stays_away()) << "nothing is outstanding";
    }
}

// THENCE_WAIT: the helper makes progress while a call sleeps, and keeps away from one that only MPI itself can do.
TEST_P(plain_operations, the_helper_makes_progress_beside_calls_that_sleep_only) {
    progress::plain.in_mpi.store(false);
    progress::add_way_to_wait();
    MPI_Request r = started();
    {
        const progress::blocking_call sleeps;
        EXPECT_TRUE(helper_polls());
    }
    bool stayed_away = false;
    in_win_flush = [&] { stayed_away = helper_stays_away(); };
    EXPECT_EQ(MPI_Win_flush(0, MPI_WIN_NULL), MPI_SUCCESS);
    in_win_flush = nullptr;
    EXPECT_TRUE(stayed_away);
    EXPECT_TRUE(helper_polls()) << "the program computes again";
    world.complete(r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    progress::remove_way_to_wait();
    progress::plain.in_mpi.store(true);
}

TEST_P(plain_operations, the_helper_rests_beside_a_call_that_blocks_and_waits_for_nothing_else) {
    MPI_Request r = started();
    const progress::blocking_call in_mpi;
    world.complete(r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    EXPECT_TRUE(eventually_alone([] { return progress::plain.helper_rests.load(); }));
}

TEST_P(plain_operations, the_helper_rests_afterwards_and_is_woken) {
    for (int round = 0; round < 20; ++round) {
        const unsigned long long woken = progress::helper_wakeups();
        ASSERT_TRUE(eventually_alone([] { return progress::plain.helper_rests.load(); })) << "round " << round;
        MPI_Request r = started();
        EXPECT_TRUE(eventually_alone([&] { return progress::helper_wakeups() > woken; }));
        world.complete(r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
}

// The wake-up is not lost, however the helper goes to rest meanwhile.
TEST_P(plain_operations, every_start_is_seen) {
    for (int round = 0; round < 300; ++round) {
        if (round % 3 != 0) {
            std::this_thread::sleep_for(std::chrono::microseconds(9500 + round * 5)); // about when it goes to rest
        }
        MPI_Request r = started();
        ASSERT_TRUE(helper_polls()) << "round " << round;
        world.complete(r);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    }
}

// What /proc says of a thread of this process with this name.
std::string status_of_thread(const std::string &name) {
    for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream file(task.path() / "status");
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        if (text.find("Name:\t" + name + "\n") != text.npos) {
            return text;
        }
    }
    return {};
}

class where_the_helper_runs : public observed_calls {
protected:
    void SetUp() override {
        observed_calls::SetUp();
        cpu_set_t allowed;
        ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
        while (!CPU_ISSET(first_, &allowed)) {
            ++first_;
        }
    }
    void TearDown() override {
        observed_calls::TearDown();
        unsetenv("THENCE_PROGRESS_CPU");
        thence::base::read_settings();
    }
    // Starts the helper with this setting. @return whether it is bound to this list, as the kernel writes it.
    static bool is_bound(const std::string &setting, const std::string &list) {
        setenv("THENCE_PROGRESS_CPU", setting.c_str(), 1);
        thence::base::read_settings();
        EXPECT_EQ(progress::count_operations(), nullptr);
        const std::string line = "Cpus_allowed_list:\t" + list + "\n";
        for (const auto end = std::chrono::steady_clock::now() + 5s; std::chrono::steady_clock::now() < end;) {
            if (status_of_thread("thence-helper").find(line) != std::string::npos) {
                return true;
            }
            std::this_thread::sleep_for(1ms);
        }
        return false;
    }

    int first_ = 0;
};

TEST_P(where_the_helper_runs, is_the_processor_of_the_setting) {
    const std::string first = std::to_string(first_);
    EXPECT_TRUE(is_bound(first + "," + first, first));
}

TEST_P(where_the_helper_runs, a_processor_that_is_not_there_is_reported) {
    ::testing::internal::CaptureStderr();
    setenv("THENCE_PROGRESS_CPU", "1023", 1);
    thence::base::read_settings();
    EXPECT_EQ(progress::count_operations(), nullptr);
    while (!progress::plain.helper_rests.load()) { // it has begun
        std::this_thread::sleep_for(1ms);
    }
    EXPECT_NE(::testing::internal::GetCapturedStderr().find(
                  "THENCE_PROGRESS_CPU=1023: the helper thread cannot be bound to it: Invalid argument"),
              std::string::npos);
}

THENCE_RULES(where_the_helper_runs);
THENCE_RULES(plain_operations);

} // namespace
