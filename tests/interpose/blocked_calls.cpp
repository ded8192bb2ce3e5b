// SPDX-License-Identifier: BSD-3-Clause
// THENCE_STALL in an unchanged program: which calls its threads wait in.
#include "observed_calls.hpp"

#include "core/diagnose/blocked_calls.hpp"
#include "interpose/requests/counted.hpp"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace thence::fake;
namespace diagnose = thence::diagnose;
namespace progress = thence::progress;
using thence::interpose::blocking_call;
using thence::interpose::described_call;

class blocked_calls : public observed_calls {
protected:
    void SetUp() override {
        observed_calls::SetUp();
        progress::list_calls();
    }
    void TearDown() override {
        observed_calls::TearDown();
        EXPECT_EQ(diagnose::find_blocked_calls(false).count, 0);
    }
    static bool has(const std::string &part) {
        const std::string text = diagnose::find_blocked_calls(true).text;
        return text.find(part) != text.npos;
    }
};

TEST_P(blocked_calls, are_described) {
    using about = described_call::about;
    {
        const blocking_call one({"MPI_Recv", nullptr, MPI_COMM_WORLD, about::receives_from, 3, 7});
        EXPECT_TRUE(has("  MPI_Recv from rank 3, tag 7, on MPI_COMM_WORLD, for 0.0 s, called at "));
        const blocking_call inside({"MPI_Wait", nullptr, MPI_COMM_NULL, about::requests, 1});
        EXPECT_FALSE(has("MPI_Wait")) << "the outermost is listed";
        EXPECT_EQ(diagnose::find_blocked_calls(false).count, 1);
    }
    {
        const blocking_call one(
            {"MPI_Recv", nullptr, MPI_COMM_SELF, about::receives_from, MPI_ANY_SOURCE, MPI_ANY_TAG});
        EXPECT_TRUE(has("  MPI_Recv from any rank, any tag, on MPI_COMM_SELF, for"));
    }
    {
        const blocking_call one({"MPI_Ssend", nullptr, MPI_COMM_WORLD, about::sends_to, 1, 2});
        EXPECT_TRUE(has("  MPI_Ssend to rank 1, tag 2, on MPI_COMM_WORLD, for"));
    }
    {
        const blocking_call one({"MPI_Waitall", nullptr, MPI_COMM_NULL, about::requests, 2});
        EXPECT_TRUE(has("  MPI_Waitall for 2 requests, for"));
    }
}

TEST_P(blocked_calls, of_each_thread_are_listed_and_the_oldest_changes) {
    const blocking_call first({.name = "MPI_Barrier", .where = nullptr});
    const std::uint64_t oldest = diagnose::find_blocked_calls(false).oldest;
    std::thread([&] {
        const blocking_call other({.name = "MPI_Probe", .where = nullptr});
        EXPECT_EQ(diagnose::find_blocked_calls(false).count, 2);
        EXPECT_EQ(diagnose::find_blocked_calls(false).oldest, oldest);
    }).join();
    EXPECT_EQ(diagnose::find_blocked_calls(false).count, 1);
}

TEST_P(blocked_calls, are_not_listed_once_the_program_uses_thence) {
    { cr used; }
    EXPECT_FALSE(progress::lists_calls());
    const blocking_call one({.name = "MPI_Barrier", .where = nullptr});
    EXPECT_EQ(diagnose::find_blocked_calls(false).count, 0);
}

// What is read is one call, however fast calls follow each other.
TEST(call_slot, is_read_whole) {
    diagnose::call_slot slot;
    std::atomic<bool> stop{false};
    std::thread writer([&] {
        for (int i = 0; !stop; ++i) {
            EXPECT_TRUE(slot.begin({.name = "MPI_Send", .where = nullptr, .number = i, .tag = -i}));
            slot.end();
        }
    });
    long seen = 0;
    for (long i = 0; i < 2'000'000 || (seen == 0 && i < 200'000'000); ++i) {
        described_call call{};
        std::int64_t since = 0;
        if (slot.read(call, since) != 0) {
            ++seen;
            ASSERT_EQ(call.number, -call.tag);
            ASSERT_NE(since, 0);
        }
    }
    stop = true;
    writer.join();
    EXPECT_GT(seen, 0);
}

THENCE_RULES(blocked_calls);

} // namespace
