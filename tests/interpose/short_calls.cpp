// SPDX-License-Identifier: BSD-3-Clause
// Calls that neither start nor end an operation which is counted: the program does not compute in them.
#include "exposure.hpp"
#include "observed_calls.hpp"

#include "interpose/requests/measured.hpp"

#include <cstdint>

namespace {

using namespace thence::fake;
namespace progress = thence::progress;
using thence::interpose::measured_figures;

struct short_call {
    const char *name;
    void (*make)();
    bool blocks;
};

int some = 0; // buffer and output
MPI_Request pending = MPI_REQUEST_NULL;

const short_call calls[] = {
    {"MPI_Request_get_status", [] { MPI_Request_get_status(pending, &some, MPI_STATUS_IGNORE); }, false},
    {"MPI_Iprobe", [] { MPI_Iprobe(0, 0, MPI_COMM_SELF, &some, MPI_STATUS_IGNORE); }, false},
    {"MPI_Improbe",
     [] {
         MPI_Message message = MPI_MESSAGE_NULL;
         MPI_Improbe(0, 0, MPI_COMM_SELF, &some, &message, MPI_STATUS_IGNORE);
     },
     false},
    {"MPI_Bsend", [] { MPI_Bsend(&some, 1, MPI_INT, 0, 0, MPI_COMM_SELF); }, false},
#if defined(THENCE_MPI_PARTITIONED)
    {"MPI_Pready", [] { MPI_Pready(0, pending); }, false},
    {"MPI_Parrived", [] { MPI_Parrived(pending, 0, &some); }, false},
#endif
#if defined(THENCE_MPI_FILES)
    {"MPI_File_read", [] { MPI_File_read(MPI_FILE_NULL, &some, 1, MPI_INT, MPI_STATUS_IGNORE); }, true},
    {"MPI_File_write_at", [] { MPI_File_write_at(MPI_FILE_NULL, 0, &some, 1, MPI_INT, MPI_STATUS_IGNORE); }, true},
#endif
};

class short_calls : public observed_calls {
protected:
    void SetUp() override {
        observed_calls::SetUp();
        pending = world.start();
    }
    void TearDown() override {
        observed_calls::TearDown();
        world.complete(pending);
        MPI_Wait(&pending, MPI_STATUS_IGNORE);
    }
    static std::uint64_t noted() {
        std::uint64_t sum = 0;
        for (const progress::call_counts &each : progress::all_call_counts) {
            sum += each.calls.load() / progress::call_counts::one_call;
        }
        return sum;
    }
};

TEST_P(short_calls, are_seen_by_the_helper) {
    ASSERT_EQ(progress::count_operations(), nullptr);
    for (const short_call &each : calls) {
        const std::uint64_t before = noted();
        each.make();
        EXPECT_GT(noted(), before) << each.name;
        EXPECT_EQ(progress::operations_outstanding(), 0) << each.name;
    }
}

#if defined(THENCE_MPI_FILES)
// It waits for the file, and messages do not move meanwhile.
TEST_P(short_calls, the_helper_goes_on_while_one_rank_reads_a_file) {
    ASSERT_EQ(progress::count_operations(), nullptr);
    std::uint64_t blocked = 0;
    int reads = 0;
    in_file_read = [&] {
        ++reads;
        for (const progress::call_counts &each : progress::all_call_counts) {
            blocked += each.calls.load() % progress::call_counts::one_call;
        }
    };
    MPI_File_read(MPI_FILE_NULL, &some, 1, MPI_INT, MPI_STATUS_IGNORE);
    in_file_read = nullptr;
    EXPECT_EQ(reads, 1);
    EXPECT_EQ(blocked, 0U);
}
#endif

TEST_P(short_calls, are_in_the_report) {
    thence::interpose::reset_measured();
    progress::measure_calls();
    for (const short_call &each : calls) {
        const measured_figures before = thence::interpose::read_measured();
        each.make();
        const measured_figures after = thence::interpose::read_measured();
        EXPECT_EQ(after.starting_and_testing > before.starting_and_testing, !each.blocks) << each.name;
        EXPECT_EQ(after.blocking > before.blocking, each.blocks) << each.name;
    }
}

THENCE_RULES(short_calls);

} // namespace
