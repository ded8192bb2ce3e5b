// SPDX-License-Identifier: BSD-3-Clause
// What `thence doctor` advises, from figures that are given.
#include "doctor/findings.hpp"
#include "measure/session.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace {

using doctor::advise;
using doctor::findings;
using doctor::overlap;

overlap measured(const std::string &operation, long bytes, const std::vector<double> &plain,
                 const std::vector<double> &with_progress) {
    overlap result;
    result.operation = operation;
    result.bytes = bytes;
    result.alone = result.computation = 10;
    doctor::set_runs(result, plain, with_progress);
    return result;
}
overlap measured(const std::string &operation, long bytes, double plain, double with_progress) {
    return measured(operation, bytes, std::vector<double>{plain}, std::vector<double>{with_progress});
}

bool says(const findings &found, const std::string &part) {
    for (const std::string &each : advise(found).sentences) {
        if (each.find(part) != each.npos) {
            return true;
        }
    }
    return false;
}

TEST(doctor, progress_pays_for_the_operations_of_which_two_sizes_gain) {
    findings found;
    found.overlaps = {measured("Isend/Irecv", 64 << 10, 20, 19.9), measured("Isend/Irecv", 256 << 10, 20, 15),
                      measured("Isend/Irecv", 1 << 20, 20, 12)};
    EXPECT_TRUE(says(found,
                     "--progress pays for Isend/Irecv of 256 KiB and 1 MiB beside computation that takes as long: a "
                     "step is 1.33 to 1.67 times as fast. With 1 MiB it takes 12.0 ms in place of 20.0."));
    EXPECT_FALSE(says(found, "slower"));
    overlap short_one = measured("Rget", 1 << 20, 0.04, 0.03); // microseconds are noise
    short_one.alone = short_one.computation = 0.02;
    found.overlaps.push_back(short_one);
    EXPECT_TRUE(says(found, "--progress gains nothing for Rget here."));
    ASSERT_EQ(advise(found).switches.size(), 1U);
    EXPECT_EQ(advise(found).switches[0], "--progress, for Isend/Irecv (1.33 to 1.67 times as fast)");
    found.overlaps.push_back(measured("Ialltoall", 64 << 10, 20, 16));
    found.overlaps.push_back(measured("Ialltoall", 1 << 20, 30, 24));
    EXPECT_EQ(advise(found).switches[0],
              "--progress, for Isend/Irecv (1.33 to 1.67 times as fast) and Ialltoall (1.25 times as fast)");
    EXPECT_DOUBLE_EQ(found.overlaps[2].hidden(found.overlaps[2].with_progress), 0.8);
}

TEST(doctor, one_size_that_gains_is_too_little_for_advice) {
    findings found;
    for (const char *operation : {"Isend/Irecv", "Ialltoall"}) { // two sizes, but of different operations
        found.overlaps.push_back(measured(operation, 256 << 10, 20, 20));
        found.overlaps.push_back(measured(operation, 1 << 20, 20, 16));
    }
    EXPECT_TRUE(says(found,
                     "With --progress Ialltoall of 1 MiB is faster, 16.0 ms in place of 20.0, and no other size is: "
                     "one size is too little to advise it."));
    EXPECT_TRUE(advise(found).switches.empty());
}

TEST(doctor, one_run_that_differs_from_the_others_changes_nothing) {
    findings found;
    for (const long bytes : {256L << 10, 1L << 20}) {
        found.overlaps.push_back(measured("Isend/Irecv", bytes, {20, 20, 31}, {12, 20, 20.1}));
    }
    EXPECT_TRUE(says(found, "--progress gains nothing for Isend/Irecv here."));
    EXPECT_TRUE(advise(found).switches.empty());
    for (overlap &each : found.overlaps) {
        doctor::set_runs(each, {20, 20, 31}, {12, 12.1, 40});
    }
    EXPECT_EQ(advise(found).switches.size(), 1U);
    const nlohmann::json written = found;
    EXPECT_EQ(written["overlap"][0]["with_progress_ms"], 12.1);
    EXPECT_EQ(written["overlap"][0]["plain_runs_ms"], (std::vector<double>{20, 20, 31}));
}

TEST(doctor, says_that_the_helper_shares_the_one_processor_of_its_rank) {
    const char *const sentence =
        "The launcher lets each rank run on one processor only, so the helper thread of --progress "
        "shares it with the computation";
    findings found;
    found.processors = 8;
    EXPECT_FALSE(says(found, sentence)) << "it is not known";
    found.of_a_rank = 1;
    EXPECT_TRUE(says(found, sentence));
    EXPECT_TRUE(says(found, "--bind-to none"));
    EXPECT_EQ(nlohmann::json(found)["processors_of_a_rank"], 1);
    found.of_a_rank = 2;
    EXPECT_FALSE(says(found, sentence));
    found.processors = found.of_a_rank = 1;
    EXPECT_FALSE(says(found, sentence)) << "there is no other";
}

TEST(doctor, what_mpi_hides_by_itself_needs_no_switch) {
    findings found;
    found.overlaps = {measured("Rget", 1 << 20, 11, 11), measured("Ialltoall", 1 << 20, 20, 19.5),
                      measured("Ialltoall", 64 << 10, 20, 22)};
    EXPECT_TRUE(says(found, "This MPI hides Rget by itself."));
    EXPECT_TRUE(says(found, "--progress gains nothing for Ialltoall here."));
    EXPECT_TRUE(says(found, "It makes Ialltoall of 64 KiB slower: 22.0 ms in place of 20.0."));
    EXPECT_TRUE(advise(found).switches.empty());
}

TEST(doctor, says_nothing_of_what_was_not_measured) {
    findings found;
    found.overlaps = {measured("Rget", 1 << 20, 20, 10)};
    found.overlaps[0].failed = "the run failed";
    EXPECT_TRUE(advise(found).sentences.empty());
    EXPECT_TRUE(advise(found).switches.empty());
    const nlohmann::json written = found;
    EXPECT_EQ(written["overlap"][0]["not_measured"], "the run failed");
    EXPECT_FALSE(written["overlap"][0].contains("plain_ms"));
    EXPECT_TRUE(written["barrier_us"].is_null());
}

TEST(doctor, what_fails_with_progress_only_is_told) {
    findings found;
    found.overlaps = {measured("Isend/Irecv", 1 << 20, 20, 12), measured("Rget", 64 << 10, 20, 0),
                      measured("Rget", 1 << 20, 20, 0)};
    for (int i : {1, 2}) {
        found.overlaps[static_cast<std::size_t>(i)].failed = "the run failed";
        found.overlaps[static_cast<std::size_t>(i)].fails_with_progress = true;
    }
    EXPECT_TRUE(says(found, "With --progress Rget fails here, and works without."));
    EXPECT_FALSE(says(found, "With --progress Isend/Irecv fails"));
    EXPECT_EQ(advise(found).sentences.size(), 2U) << "once for all sizes";
    found.overlaps[1].why_with_progress = doctor::said_by_thence(
        "[host] *** An error occurred\nthence[1]: MPI_Win_create has failed\nthence[0]: other\n");
    EXPECT_TRUE(says(found, "works without. Thence says: MPI_Win_create has failed."));
    EXPECT_EQ(doctor::said_by_thence("nothing\n"), "");
    const nlohmann::json written = found;
    EXPECT_EQ(written["overlap"][1]["fails_with_progress"], true);
}

// A limit says nothing of whether it would end.
TEST(doctor, what_takes_too_long_with_progress_is_not_said_to_fail) {
    measure::report unused;
    findings found;
    found.overlaps = {measured("Rget", 1 << 20, 20, 0), measured("Ialltoall", 1 << 20, 20, 0)};
    for (overlap &each : found.overlaps) {
        const bool is_late = each.operation == "Rget";
        each.failed = "the run failed";
        measure::session session({false, {"sh", "-c", is_late ? "exec sleep 60" : "exit 5"}, {}, {}, "true"}, unused);
        try {
            session.together(2, {.limit = std::chrono::seconds(1)});
            FAIL() << "no error";
        } catch (const std::runtime_error &error) {
            doctor::failed_with_progress(each, error);
            EXPECT_NE(std::string(error.what()).find(is_late ? "still running after 1 s: sh" : "exit code 5 from sh"),
                      std::string::npos)
                << error.what();
        }
    }
    EXPECT_TRUE(says(found, "With --progress Rget of 1 MiB was still running after 1 s here, which is the limit, and "
                            "ends without."));
    EXPECT_TRUE(says(found, "With --progress Ialltoall fails here, and works without."));
    const nlohmann::json written = found;
    EXPECT_EQ(written["overlap"][0]["still_running_with_progress_after_s"], 1);
    EXPECT_FALSE(written["overlap"][1].contains("still_running_with_progress_after_s"));
}

TEST(doctor, sleeping_pays_if_a_barrier_is_much_faster) {
    findings found;
    found.processors = 2;
    found.oversubscribed_ranks = 4;
    found.barrier_us = {8660, 10.9};
    EXPECT_TRUE(says(found, "--wait=sleep pays where ranks are more than processors: a barrier of 4 ranks on 2 "
                            "processors takes 10.9 us in place of 8660."));
    EXPECT_EQ(advise(found).switches.size(), 1U);
    found.hosts = 2;
    found.oversubscribed_ranks = 8;
    EXPECT_TRUE(says(found, "a barrier of 8 ranks on 4 processors takes"));
    found.barrier_us = {5, 5.5};
    EXPECT_TRUE(says(found, "--wait=sleep gains nothing"));
    EXPECT_TRUE(advise(found).switches.empty());
}

TEST(doctor, says_what_messages_cost_and_where_the_ranks_ran) {
    findings found;
    found.round_trip_us = {0.5, 0.6};
    found.message_us = {0.1, 0.2};
    found.multiple_us = {0.5, 0.55};
    EXPECT_TRUE(says(found, "a round trip of 8 bytes 0.6 us in place of 0.5"));
    EXPECT_TRUE(says(found, "MPI_THREAD_MULTIPLE alone takes 0.55 us"));
    EXPECT_FALSE(says(found, "on one host"));
    found.hosts = 1;
    EXPECT_TRUE(says(found, "Both ranks ran on one host."));
    found.hosts = 2;
    EXPECT_FALSE(says(found, "on one host"));
}

// Two hosts have no common clock, so how late a rank knows of a message is not measured there.
TEST(doctor, says_how_late_a_waiting_rank_is_only_if_that_was_measured) {
    findings found;
    found.hosts = 2;
    found.waiting_share = {100, 2};
    EXPECT_TRUE(says(found, "a rank that waits uses 2 % of a processor in place of 100."));
    EXPECT_FALSE(says(found, "knows of a message"));
    EXPECT_TRUE(nlohmann::json(found)["late_us"].is_null());
    found.hosts = 1;
    found.late_us = {1, 50};
    EXPECT_TRUE(says(found, "in place of 100, and knows of a message after 50.0 us in place of 1."));
}

} // namespace
