// SPDX-License-Identifier: BSD-3-Clause
// THENCE_REPORT: what is measured of the program's calls, and what the report says of it.
#include "observed_calls.hpp"

#include "core/base/clock.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/handles.hpp"
#include "interpose/requests/counted.hpp"
#include "interpose/requests/measured.hpp"
#include "interpose/waiting/report.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <clocale>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace thence::fake;
using namespace std::chrono_literals;
namespace progress = thence::progress;
using thence::interpose::json_of;
using thence::interpose::measured_figures;
using thence::interpose::rank_report;
using thence::interpose::read_measured;
using thence::interpose::text_of;

constexpr std::int64_t ms = 1'000'000;

class measured : public observed_calls {
protected:
    void SetUp() override {
        observed_calls::SetUp();
        thence::interpose::reset_measured();
        progress::measure_calls();
        begun_ = thence::base::read_clock();
    }
    // Since SetUp(). Threads may lose their processor at any time, so a test compares what was measured with this.
    std::int64_t elapsed() const { return thence::base::read_clock() - begun_; }
    // Waits for it, and another thread completes it meanwhile.
    static void wait_for(MPI_Request &r, std::chrono::milliseconds time) {
        const ticket t = world.ticket_of(r);
        std::thread other([&] {
            std::this_thread::sleep_for(time);
            world.complete(t);
        });
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        other.join();
    }

private:
    std::int64_t begun_ = 0;
};

TEST_P(measured, what_is_waited_after_a_computation_could_have_moved) {
    MPI_Request r = started(1000);
    std::this_thread::sleep_for(50ms);
    wait_for(r, 20ms);
    const measured_figures found = read_measured();
    EXPECT_GE(found.waiting, 10 * ms);
    EXPECT_GE(found.waiting_after_computed, 10 * ms);
    EXPECT_LE(found.waiting_after_computed, found.waiting);
    EXPECT_EQ(found.operations, 1);
    EXPECT_EQ(found.bytes, 1000);
    EXPECT_EQ(found.early_operations, 0);
    EXPECT_LE(found.starting_and_testing + found.waiting, elapsed());
    EXPECT_EQ(found.blocking, 0);
}

TEST_P(measured, no_more_could_have_moved_than_was_computed) {
    MPI_Request r = started(1000);
    std::this_thread::sleep_for(5ms);
    wait_for(r, 60ms);
    const measured_figures found = read_measured();
    EXPECT_GE(found.waiting, 40 * ms);
    EXPECT_GE(found.waiting_after_computed, 5 * ms);
    EXPECT_LE(found.waiting_after_computed, elapsed() - found.waiting) << "it has computed in the rest of the time";
    r = started(1000);
    wait_for(r, 60ms); // at once
    const measured_figures both = read_measured();
    EXPECT_GE(both.waiting, 80 * ms);
    EXPECT_LE(both.waiting_after_computed, elapsed() - both.waiting);
}

// The second thread may have the memory of the first one, which has ended.
TEST_P(measured, an_operation_of_a_thread_that_has_ended_is_not_one_of_the_next_thread) {
    MPI_Request r = MPI_REQUEST_NULL;
    std::int64_t begun = 0;
    std::thread([&] {
        MPI_Request blocked = started(1000);
        wait_for(blocked, 100ms); // a time in calls, which is no computation
        begun = thence::base::read_clock();
        r = started(1000);
    }).join();
    const measured_figures before = read_measured();
    std::thread([&] { wait_for(r, 80ms); }).join(); // at once
    const measured_figures after = read_measured();
    const std::int64_t outside = thence::base::read_clock() - begun - (after.waiting - before.waiting);
    EXPECT_LE(after.waiting_after_computed - before.waiting_after_computed, outside);
}

TEST_P(measured, what_completes_while_the_program_computes_is_early) {
    MPI_Request r = started(1000);
    std::this_thread::sleep_for(1ms);
    world.complete(r);
    int flag = 0;
    while (flag == 0) {
        MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Request persistent = MPI_REQUEST_NULL;
    char buffer[40];
    MPI_Recv_init(buffer, 40, MPI_CHAR, 0, 0, MPI_COMM_SELF, &persistent);
    for (int round = 0; round < 2; ++round) {
        MPI_Start(&persistent);
        std::this_thread::sleep_for(1ms);
        world.complete(persistent);
        MPI_Waitall(1, &persistent, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&persistent);
    const measured_figures found = read_measured();
    EXPECT_EQ(found.operations, 3);
    EXPECT_EQ(found.early_operations, 3);
    EXPECT_EQ(found.early_bytes, 1080);
    EXPECT_EQ(found.bytes, 1080);
    EXPECT_EQ(found.waiting_after_computed, 0);
}

TEST_P(measured, what_is_complete_at_once_or_freed_is_not_early) {
    MPI_Request r = started(1000);
    const ticket freed = world.ticket_of(r);
    MPI_Request_free(&r);
    std::this_thread::sleep_for(1ms);
    world.complete(freed);
    MPI_Request other = started(1000);
    world.complete(other); // without a computation
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    const measured_figures found = read_measured();
    EXPECT_EQ(found.operations, 2);
    EXPECT_LE(found.early_operations, 1) << "this thread may have lost its processor";
}

// A thread that loses its processor while it asks for the state of a request cannot know whether that was complete
// before.
TEST_P(measured, of_several_only_what_a_call_completes_counts) {
    std::int64_t early = 0;
    for (int tries = 0; tries < 20 && early == 0; ++tries) {
        MPI_Request r[] = {started(1000), MPI_REQUEST_NULL, started(1000)};
        std::this_thread::sleep_for(10ms);
        const ticket first = world.ticket_of(r[0]);
        std::thread one([&] {
            std::this_thread::sleep_for(30ms);
            world.complete(first);
        });
        int index = -1;
        MPI_Waitany(3, r, &index, MPI_STATUS_IGNORE);
        one.join();
        EXPECT_EQ(index, 0);
        EXPECT_GE(read_measured().waiting_after_computed, 10 * ms);
        EXPECT_EQ(read_measured().early_operations, 0);
        world.complete(r[2]);
        MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
        early = read_measured().early_operations;
    }
    EXPECT_EQ(early, 1) << "it is complete when the second call begins";
    EXPECT_EQ(read_measured().early_bytes, 1000);
}

// As MPI may do it on two threads: one is in the call that completes an operation when the other starts the next one,
// whose request has the same handle.
TEST_P(measured, the_next_operation_with_the_same_handle_is_another) {
    MPI_Request r = started(1000);
    const MPI_Request handle = r;
    std::this_thread::sleep_for(1ms);
    world.complete(r);
    {
        const thence::interpose::counted_completion completes("MPI_Wait", 1, &r, {});
        ASSERT_EQ(thence::mpi::table.Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        thence::interpose::know_start(handle, {.thread = 1, .at = 0, .computed = 0, .bytes = 7}, false);
    }
    EXPECT_EQ(read_measured().early_operations, 1);
    EXPECT_EQ(read_measured().early_bytes, 1000);
    EXPECT_EQ(thence::interpose::find_known(handle).start.bytes, 7) << "it is still known";
}

// MPICH gives one request to all messages that it has sent at once. The table would take each for the last one.
TEST_P(measured, messages_that_share_the_request_of_complete_ones_are_not_early) {
    if (thence::mpi::request_handles != thence::mpi::handle_kind::integer) {
        return;
    }
    const thence::interpose::timed_call sends("MPI_Isend", thence::interpose::call_kind::starts);
    const std::uint32_t bits = 0x6c000001;
    MPI_Request shared{};
    std::memcpy(&shared, &bits, sizeof bits);
    for (const std::int64_t bytes : {8, 16}) {
        EXPECT_EQ(thence::interpose::measure_start(shared, bytes, false).thread, 0U);
    }
    EXPECT_EQ(read_measured().operations, 2);
    EXPECT_EQ(read_measured().bytes, 24);
}

// MPI_Waitall may return once an operation has failed, and leave others pending.
TEST_P(measured, a_failed_call_ends_no_persistent_request_that_it_leaves_pending) {
    char buffer[40];
    MPI_Request r[2];
    MPI_Status statuses[2];
    for (MPI_Request &each : r) {
        MPI_Recv_init(buffer, 40, MPI_CHAR, 0, 0, MPI_COMM_SELF, &each);
    }
    MPI_Startall(2, r);
    world.complete(r[0], {.error = MPI_ERR_TRUNCATE});
    world.failed_waitall_leaves_pending = true;
    EXPECT_EQ(MPI_Waitall(2, r, statuses), MPI_ERR_IN_STATUS);
    world.failed_waitall_leaves_pending = false;
    EXPECT_FALSE(thence::interpose::find_known(r[0]).active);
    EXPECT_TRUE(thence::interpose::find_known(r[1]).active);
    std::this_thread::sleep_for(1ms);
    world.complete(r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    EXPECT_EQ(read_measured().early_operations, 1) << "it has completed after the failed call";
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    reported();
}

TEST_P(measured, blocking_calls_are_apart) {
    {
        const thence::interpose::blocking_call call({.name = "MPI_Recv", .where = nullptr});
        const thence::interpose::blocking_call inside({.name = "MPI_Wait", .where = nullptr});
        std::this_thread::sleep_for(20ms);
    }
    const measured_figures found = read_measured();
    EXPECT_GE(found.blocking, 20 * ms);
    EXPECT_LE(found.blocking, elapsed()) << "it counts once";
    EXPECT_EQ(found.waiting, 0);
}

TEST_P(measured, nothing_is_measured_once_the_program_uses_thence) {
    cr c;
    EXPECT_FALSE(progress::measures_calls());
    MPI_Request r = started(1000);
    world.complete(r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    EXPECT_EQ(read_measured().operations, 0);
}

rank_report rank_with(std::int64_t lasted, std::int64_t waited, bool progress_always) {
    rank_report rank{};
    rank.lasted = lasted * ms;
    rank.progress_always = progress_always ? 1 : 0;
    rank.figures.waiting = rank.figures.waiting_after_computed = waited * ms;
    rank.figures.operations = 10;
    rank.figures.bytes = 3 << 20;
    return rank;
}

bool has(const std::string &text, const std::string &part) {
    return text.find(part) != text.npos;
}

TEST(report, has_a_line_for_each_rank_and_the_sum) {
    const std::string text = text_of({rank_with(30000, 6200, false), rank_with(30000, 6200, false)});
    EXPECT_TRUE(has(text, "\n     1    30.000     0.000     6.200     6.200")) << text;
    EXPECT_TRUE(has(text, "\n   all    60.000     0.000    12.400")) << text;
    EXPECT_TRUE(has(text, "At most 12.4 s of 60.0 s were waited for operations that could have moved")) << text;
    const std::string large = text_of(std::vector<rank_report>(17, rank_with(1000, 1, false)));
    EXPECT_FALSE(has(large, "\n     0 ")) << large;
    EXPECT_TRUE(has(large, "--progress has little to gain")) << large;
    EXPECT_TRUE(has(text_of({rank_with(1000, 500, true)}), "0.5 s of 1.0 s were still waited"));
}

TEST(report, says_that_the_program_uses_thence) {
    rank_report rank = rank_with(1000, 500, false);
    EXPECT_FALSE(has(text_of({rank}), "uses Thence itself"));
    rank.uses_thence = 1;
    EXPECT_TRUE(has(text_of({rank}), "The program uses Thence itself. What came after"));
    EXPECT_TRUE(has(json_of({rank}), "\"uses_thence\":true"));
}

TEST(report, says_for_how_long_open_files_have_kept_the_helper_out) {
    rank_report rank = rank_with(1000, 500, true);
    EXPECT_FALSE(has(text_of({rank}), "files of MPI were open"));
    rank.kept_out = 300 * ms;
    const std::string text = text_of({rank, rank});
    EXPECT_TRUE(has(text, "no progress for the program during 0.6 s of these 2.0 s, in which files of MPI were open"))
        << text;
    EXPECT_TRUE(has(json_of({rank}), "\"helper_kept_out_s\":0.300000000"));
    rank.progress_always = 0;
    EXPECT_FALSE(has(text_of({rank}), "files of MPI were open")) << "there is no helper";
}

TEST(report, has_points_whatever_the_program_has_chosen) {
    const std::string before = std::setlocale(LC_NUMERIC, nullptr);
    const std::array locales{"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", "es_ES.UTF-8", "it_IT.UTF-8"};
    if (std::ranges::none_of(locales, [](auto each) { return std::setlocale(LC_NUMERIC, each) != nullptr; })) {
        GTEST_SKIP() << "no locale with a decimal comma is installed";
    }
    const std::string text = json_of({rank_with(60000, 12400, false)});
    EXPECT_TRUE(has(text, "\"lasted_s\":60.000000000,")) << text;
    EXPECT_DOUBLE_EQ(thence::interpose::without_progress_in(text)->waited, 12.4);
    std::setlocale(LC_NUMERIC, before.c_str());
}

TEST(report, is_json) {
    const std::string text = json_of({rank_with(1500, 250, true)});
    EXPECT_TRUE(has(text, "{\"report\":1,\"progress\":true,\"uses_thence\":false")) << text;
    EXPECT_TRUE(has(text, "\"lasted_s\":1.500000000")) << text;
    EXPECT_TRUE(has(text, "\"waiting_after_computed_s\":0.250000000,\"helper_kept_out_s\":0.000000000,\"operations\":"
                          "10,\"bytes\":3145728"))
        << text;
}

TEST(report, compares_with_the_run_without_progress_whose_report_the_file_had) {
    using thence::interpose::without_progress_in;
    const std::string plain = json_of({rank_with(60000, 12400, false)});
    const auto before = without_progress_in(plain);
    ASSERT_TRUE(before.has_value());
    const std::vector<rank_report> now{rank_with(50000, 1100, true)};
    const char *const sentence =
        "12.4 s of 60.0 s were waited for operations that could have moved during computation, in the "
        "run whose report the file had; with --progress 1.1 s of 50.0 s. ";
    EXPECT_TRUE(has(text_of(now, before), sentence)) << text_of(now, before);
    const std::string compared = json_of(now, before);
    EXPECT_TRUE(has(compared, sentence)) << compared;
    EXPECT_EQ(without_progress_in(compared)->waited, before->waited) << "a later run is compared with the same";
    EXPECT_FALSE(without_progress_in(json_of(now)).has_value());
    for (const std::size_t size : {std::size_t{0}, std::size_t{5}, plain.find("sum") + 20}) {
        EXPECT_FALSE(without_progress_in(plain.substr(0, size)).has_value()) << size;
    }
    EXPECT_FALSE(has(text_of(now, before), "not compared"));
    EXPECT_FALSE(has(text_of(now), "not compared"));
    EXPECT_TRUE(has(text_of({rank_with(60000, 12400, false)}), "--report=FILE in a run without it and then"));
}

TEST(report, is_not_compared_with_that_of_another_program_or_number_of_ranks) {
    using thence::interpose::without_progress_in;
    const std::string heat = "heat \"2}\"";
    const rank_report plain = rank_with(60000, 12400, false);
    const rank_report now = rank_with(50000, 1100, true);
    const auto before = without_progress_in(json_of({plain}, std::nullopt, heat));
    ASSERT_TRUE(before.has_value());
    EXPECT_EQ(before->program, heat);
    EXPECT_EQ(before->ranks, 1U);
    EXPECT_TRUE(has(text_of({now}, before, heat), "12.4 s of 60.0 s were waited"));
    const std::string other = text_of({now}, before, "amr");
    EXPECT_TRUE(has(other,
                    "This is not compared with the run whose report the file had: that was of heat \"2}\" on 1 rank, "
                    "and this one is of amr on 1 rank."))
        << other;
    EXPECT_FALSE(has(other, "12.4 s of 60.0 s")) << other;
    const std::string more = json_of({now, now}, before, heat);
    EXPECT_TRUE(has(more, "on 1 rank, and this one is of heat \\\"2}\\\" on 2 ranks.")) << more;
    EXPECT_FALSE(has(more, "\"before\":")) << more;
    EXPECT_FALSE(has(text_of({plain}, before, "amr"), "not compared")) << "a run without progress compares nothing";
}

// A rank without THENCE_REPORT never sends its figures: rank 0 waits, says so, and in the end reports its own.
TEST_P(measured, a_rank_that_sends_nothing_is_not_waited_for_for_ever) {
    static MPI_Request pending;
    auto &calls = thence::mpi::table;
    const auto before = calls;
    calls.Comm_size = [](MPI_Comm, int *size) -> int { return *size = 2, MPI_SUCCESS; };
    calls.Igather = [](const void *, int, MPI_Datatype, void *, int, MPI_Datatype, int, MPI_Comm,
                       MPI_Request *request) -> int { return *request = pending = world.start(), MPI_SUCCESS; };
    rank_report own{};
    own.lasted = 7;
    testing::internal::CaptureStderr();
    const std::vector<rank_report> alone = thence::interpose::gather_reports(own, 5 * ms, 20 * ms);
    EXPECT_TRUE(
        has(testing::internal::GetCapturedStderr(), "THENCE_REPORT: this rank waits for the figures of others"));
    ASSERT_EQ(alone.size(), 1U);
    EXPECT_EQ(alone[0].lasted, 7);
    world.complete(pending);
    MPI_Wait(&pending, MPI_STATUS_IGNORE);
    calls = before;
}

THENCE_RULES(measured);

} // namespace
