// SPDX-License-Identifier: BSD-3-Clause
// THENCE_PROGRESS=always and windows: what is outstanding, and that a rank which computes serves others.
#include "observed_calls.hpp"

#include "core/mpi/handles.hpp"
#include "core/progress/helper_pauses.hpp"
#include "core/progress/progress.hpp"
#include "interpose/requests/counted_windows.hpp"

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

namespace {

using namespace thence::fake;
using namespace std::chrono_literals;
using namespace thence::interpose;
namespace progress = thence::progress;

// A handle that MPI never sees.
MPI_Win window(int number) {
    MPI_Win made{};
    const auto bits = static_cast<std::uintptr_t>(0x1000 + 64 * number);
    std::memcpy(&made, &bits, sizeof made);
    return made;
}

class counted_windows : public counted_calls {
protected:
    void TearDown() override {
        for (int i = 0; i < 3; ++i) {
            free_window(i);
        }
        counted_calls::TearDown();
    }
    static void free_window(int number) {
        MPI_Win freed = window(number);
        const counted_window_free frees(&freed);
        freed = MPI_WIN_NULL;
    }
    static long outstanding() { return progress::operations_outstanding(); }
};

TEST_P(counted_windows, accesses_are_outstanding_until_a_call_completes_them_at_their_target) {
    count_window(window(0), MPI_INFO_NULL);
    count_window(window(1), MPI_INFO_NULL);
    count_access(window(0), 3, access::writes);
    count_access(window(0), 3, access::writes);
    for (const int nobody : {int{MPI_PROC_NULL}, -1, -2}) { // which of them is MPI_PROC_NULL depends on the MPI
        count_access(window(0), nobody, access::writes);
        end_accesses(window(0), nobody);
        end_reads(window(0), nobody);
    }
    EXPECT_EQ(outstanding(), 1);
    count_access(window(0), 4, access::writes);
    count_access(window(1), 3, access::writes);
    EXPECT_EQ(outstanding(), 3);
    end_accesses(window(0), 3);
    end_accesses(window(0), 3);
    end_accesses(window(0), 5);
    EXPECT_EQ(outstanding(), 2);
    end_accesses(window(0));
    EXPECT_EQ(outstanding(), 1);
    end_accesses(window(2));
    free_window(1);
    EXPECT_EQ(outstanding(), 0);
}

TEST_P(counted_windows, a_read_ends_when_it_is_complete_at_its_origin) {
    for (const int target : {3, 4}) {
        count_access(window(0), target, access::reads);
        count_access(window(0), target, access::reads);
        count_access(window(0), target, access::writes);
    }
    EXPECT_EQ(outstanding(), 4);
    end_reads(window(0), 3); // MPI_Win_flush_local
    end_reads(window(0), 3);
    EXPECT_EQ(outstanding(), 3) << "the write to 3 is not complete at its target";
    end_reads(window(0));
    EXPECT_EQ(outstanding(), 2);
    count_access(window(0), 3, access::reads);
    end_accesses(window(0), 3);
    EXPECT_EQ(outstanding(), 1);
    count_access(window(0), 3, access::reads);
    end_accesses(window(0));
    EXPECT_EQ(outstanding(), 0);
    count_access(window(0), 3, access::reads);
    free_window(0);
    EXPECT_EQ(outstanding(), 0);
}

// As in a loop of MPI_Get and MPI_Win_flush_local between MPI_Win_lock_all and MPI_Win_unlock_all.
TEST_P(counted_windows, nothing_is_outstanding_between_a_local_flush_and_the_next_read) {
    int value = 0;
    for (int i = 0; i < 3; ++i) {
        MPI_Get(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, window(0));
        MPI_Fetch_and_op(&value, &value, MPI_INT, 2, 0, MPI_SUM, window(0));
        EXPECT_EQ(outstanding(), 2);
        MPI_Win_flush_local(1, window(0));
        EXPECT_EQ(outstanding(), 1);
        MPI_Win_flush_local_all(window(0));
        EXPECT_EQ(outstanding(), 0);
    }
    MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, window(0));
    MPI_Win_flush_local(1, window(0));
    EXPECT_EQ(outstanding(), 1) << "it may not have reached its target";
    MPI_Win_flush(1, window(0));
    EXPECT_EQ(outstanding(), 0);
}

TEST_P(counted_windows, accesses_of_several_threads_are_counted_exactly) {
    count_window(window(0), MPI_INFO_NULL);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([i] {
            for (int k = 0; k < 20'000; ++k) {
                count_access(window(0), (k * (i + 1)) % 100, k % 2 == 0 ? access::reads : access::writes);
                end_accesses(window(0), (k * (i + 3)) % 100);
            }
        });
    }
    for (std::thread &each : threads) {
        each.join();
    }
    end_accesses(window(0));
    EXPECT_EQ(outstanding(), 0);
}

TEST_P(counted_windows, exposure_is_outstanding_until_it_ends) {
    count_window(window(0), MPI_INFO_NULL);
    count_exposure(window(0));
    count_exposure(window(0));
    EXPECT_EQ(outstanding(), 1);
    end_exposure(window(0));
    end_exposure(window(0));
    EXPECT_EQ(outstanding(), 0);
    count_exposure(window(0));
    count_access(window(0), 1, access::writes);
    free_window(0);
    EXPECT_EQ(outstanding(), 0);
}

TEST_P(counted_windows, the_helper_looks_while_other_ranks_may_access_a_window) {
    for (int round = 0; round < 3; ++round) {
        count_window(window(0), MPI_INFO_NULL);
        EXPECT_TRUE(progress::must_look());
        EXPECT_TRUE(helper_polls()) << "nothing is outstanding, but a window exists";
        EXPECT_FALSE(progress::plain.helper_rests.load());
        free_window(0);
        EXPECT_FALSE(progress::must_look());
        free_window(0);
        std::this_thread::sleep_for(20ms);
        const unsigned long long before = world.progress_calls;
        std::this_thread::sleep_for(30ms);
        EXPECT_EQ(world.progress_calls, before) << "no window exists";
    }
}

// As MPI may do it on two threads: one is in MPI_Win_free when the other creates a window with the same handle.
TEST_P(counted_windows, a_new_one_with_the_handle_of_one_that_is_being_freed_is_another) {
    count_window(window(0), MPI_INFO_NULL);
    count_access(window(0), 1, access::writes);
    {
        MPI_Win freed = window(0);
        const counted_window_free frees(&freed);
        freed = MPI_WIN_NULL;
        count_window(window(0), MPI_INFO_NULL);
        count_access(window(0), 2, access::writes);
        EXPECT_EQ(outstanding(), 2);
    }
    EXPECT_EQ(outstanding(), 1);
    EXPECT_TRUE(progress::must_look());
    {
        MPI_Win refused = window(0);
        const counted_window_free frees(&refused);
    }
    EXPECT_EQ(outstanding(), 1) << "MPI has not freed it";
    free_window(0);
    EXPECT_EQ(outstanding(), 0);
    EXPECT_FALSE(progress::must_look());
}

TEST_P(counted_windows, between_two_fences_other_ranks_may_access_a_window_that_forbids_locks) {
    count_fence(window(0), 0);
    EXPECT_TRUE(progress::must_look());
    EXPECT_TRUE(helper_polls());
    count_fence(window(0), MPI_MODE_NOPRECEDE);
    EXPECT_TRUE(progress::must_look());
    count_fence(window(0), MPI_MODE_NOSUCCEED);
    EXPECT_FALSE(progress::must_look());
    count_fence(window(0), 0);
    count_exposure(window(0));
    EXPECT_FALSE(progress::must_look()) << "an epoch of another kind has begun";
    EXPECT_EQ(outstanding(), 1);
    end_exposure(window(0));
    count_fence(window(0), 0);
    end_fence(window(0)); // MPI_Win_start
    EXPECT_FALSE(progress::must_look());
    count_fence(window(0), 0);
    free_window(0);
    EXPECT_FALSE(progress::must_look());
    count_window(window(1), MPI_INFO_NULL);
    count_fence(window(1), MPI_MODE_NOSUCCEED);
    EXPECT_TRUE(progress::must_look()) << "any rank may lock it";
}

THENCE_RULES(counted_windows);

// The length of the sleep after a poll; 0: it spins.
TEST(access_pauses, a_poll_that_lasts_longer_ends_the_sleeps) {
    progress::access_pauses pauses;
    progress::nanoseconds sleep = 0;
    for (int i = 0; i < 100; ++i) {
        sleep = pauses.next(500, 500, sleep != 0);
        EXPECT_GE(sleep, 40'000);
        EXPECT_LE(sleep, progress::access_pauses::longest);
    }
    EXPECT_EQ(pauses.next(20'000, 20'000, true), 0) << "it looks again";
    EXPECT_EQ(pauses.next(20'000, 20'000, false), 0) << "something has come";
    std::this_thread::sleep_for(1ms);
    EXPECT_EQ(pauses.next(500, 500, false), 40'000) << "the first sleep is short";
    EXPECT_GE(pauses.next(500, 500, true), 40'000);
}

// As on an MPI whose progress asks the kernel for many connections.
TEST(access_pauses, a_poll_that_costs_much_is_made_rarely) {
    constexpr progress::nanoseconds cost = 400'000;
    progress::access_pauses pauses;
    progress::nanoseconds paused = 0;
    progress::nanoseconds used = 0;
    const auto processor_time = [] { return thence::base::read_clock(CLOCK_THREAD_CPUTIME_ID); };
    for (int i = 0; i < 60; ++i) {
        const progress::nanoseconds before = processor_time();
        while (processor_time() - before < cost) {
        }
        const progress::nanoseconds pause = pauses.next(cost, cost, true);
        EXPECT_LE(pauses.left(), pause);
        if (i >= 30) { // it knows the cost by then
            paused += pause;
            used += processor_time() - before;
        }
    }
    EXPECT_GT(paused, 50 * used) << "a fiftieth of a processor at most";
    EXPECT_GT(pauses.left(), progress::access_pauses::longest_sleep);
}

// There all polls work longer, and the ones that follow, too.
TEST(access_pauses, a_processor_that_others_want_is_not_spun_on) {
    progress::access_pauses pauses;
    for (int i = 0; i < 10; ++i) {
        pauses.next(500, 500, true);
    }
    EXPECT_GE(pauses.next(20'000, 1'000'000, true), 40'000);
    EXPECT_GE(pauses.next(20'000, 20'000, true), 40'000) << "it was lost a short time ago";
    EXPECT_GE(pauses.next(20'000, 20'000, false), 40'000);
    std::this_thread::sleep_for(50ms);
    EXPECT_EQ(pauses.next(20'000, 20'000, true), 0);
}

} // namespace
