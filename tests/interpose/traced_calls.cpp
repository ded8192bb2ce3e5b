// SPDX-License-Identifier: BSD-3-Clause
// THENCE_TRACE in an unchanged program: what is recorded of its calls.
#include "observed_calls.hpp"

#include "core/diagnose/trace_events.hpp"
#include "core/diagnose/traced_calls.hpp"
#include "core/progress/helper_log.hpp"
#include "interpose/requests/counted.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

namespace {

using namespace thence::fake;
namespace diagnose = thence::diagnose;
namespace progress = thence::progress;
using thence::interpose::blocking_call;
using thence::interpose::call_kind;
using thence::interpose::described_call;
using thence::interpose::timed_call;

class traced_calls : public observed_calls {
protected:
    void SetUp() override {
        observed_calls::SetUp();
        limit(1000);
        since_ = static_cast<std::int64_t>(diagnose::now_ns());
        progress::trace_calls();
    }
    // So many more than were recorded by other tests.
    static void limit(std::size_t calls) { diagnose::set_call_limit(write_to(nullptr, 0).calls + calls); }
    std::string written() {
        std::string text;
        write_to(&text, since_);
        return text;
    }
    std::size_t count() const { return write_to(nullptr, since_).calls; }
    static std::size_t dropped() { return write_to(nullptr, 0).dropped; }

private:
    static diagnose::written_calls write_to(std::string *text, std::int64_t since) {
        std::FILE *const file = std::tmpfile();
        diagnose::event_writer out(file);
        const diagnose::written_calls result = diagnose::write_calls(out, since);
        std::fseek(file, 0, SEEK_SET);
        std::array<char, 4096> part{};
        while (const std::size_t read = std::fread(part.data(), 1, part.size(), file)) {
            if (text != nullptr) {
                text->append(part.data(), read);
            }
        }
        std::fclose(file);
        return result;
    }
    std::int64_t since_ = 0;
};

TEST_P(traced_calls, say_what_they_do) {
    { const blocking_call one({"MPI_Recv", this, MPI_COMM_WORLD, described_call::about::receives_from, 3, 7}); }
    { const timed_call other("MPI_Isend", call_kind::starts); }
    const std::string text = written();
    EXPECT_NE(text.find(R"("name":"MPI_Recv from rank 3, tag 7, on MPI_COMM_WORLD")"), text.npos) << text;
    EXPECT_NE(text.find("called_at"), text.npos) << text;
    EXPECT_NE(text.find(R"("name":"MPI_Isend")"), text.npos) << text;
}

TEST_P(traced_calls, of_nested_ones_the_outermost_counts_with_what_it_waits_for) {
    {
        const timed_call outer("MPI_Waitall", call_kind::tests);
        const blocking_call inner({"MPI_Waitall", nullptr, MPI_COMM_NULL, described_call::about::requests, 2});
        const timed_call third("MPI_Isend", call_kind::starts);
    }
    EXPECT_EQ(count(), 1U);
    EXPECT_NE(written().find("MPI_Waitall for 2 requests"), std::string::npos) << written();
}

TEST_P(traced_calls, of_a_loop_are_one_record) {
    constexpr int calls = 100;
    const std::int64_t now = static_cast<std::int64_t>(diagnose::now_ns());
    for (int i = 0; i < calls; ++i) {
        diagnose::trace_call({.name = "MPI_Test", .where = nullptr}, now + i * 1000, now + i * 1000 + 500, 1);
    }
    EXPECT_EQ(count(), 1U);
    EXPECT_NE(written().find(R"("calls":100)"), std::string::npos) << written();
    // Another thread, another call, and one after a computation.
    std::thread([&] {
        diagnose::trace_call({.name = "MPI_Test", .where = nullptr}, now + 100'000, now + 100'500, 1);
    }).join();
    EXPECT_EQ(count(), 2U);
    diagnose::trace_call({.name = "MPI_Test", .where = nullptr}, now + 1'000'000, now + 1'000'500, 1);
    EXPECT_EQ(count(), 3U);
    diagnose::trace_call({.name = "MPI_Iprobe", .where = nullptr}, now + 1'001'000, now + 1'001'500, 1);
    EXPECT_EQ(count(), 4U);
    while (static_cast<std::int64_t>(diagnose::now_ns()) <= now + 1'001'500) { // later tests count later calls
    }
}

// Of a counter that changes often, the values that last are written.
TEST(counter_samples, have_each_value_that_lasts) {
    constexpr std::uint64_t second = 1'000'000'000;
    diagnose::counter_samples samples(0, 1000 * second);
    int written = 0;
    for (std::uint64_t burst = 0; burst < 1000; ++burst) {
        for (std::uint64_t i = 0; i < 100; ++i) {
            const bool lasts = i == 99;
            const std::uint64_t at = burst * second + i;
            const bool wanted = samples.wants(at, lasts ? (burst + 1) * second : at + 1);
            written += wanted ? 1 : 0;
            EXPECT_TRUE(wanted || !lasts) << burst << ", " << i;
        }
    }
    EXPECT_LE(written, 2000);
}

TEST_P(traced_calls, have_a_limit) {
    limit(1);
    for (int i = 0; i < 3; ++i) {
        const blocking_call one({"MPI_Barrier", this, MPI_COMM_WORLD});
    }
    EXPECT_EQ(count(), 1U);
    EXPECT_EQ(dropped(), 2U);
}

TEST_P(traced_calls, are_recorded_while_the_program_does_not_use_thence) {
    progress::program_uses_thence();
    { const blocking_call one({"MPI_Barrier", this, MPI_COMM_WORLD}); }
    progress::log_help(1);
    EXPECT_EQ(count(), 0U);
    EXPECT_EQ(written().find("progress for the program"), std::string::npos) << written();
}

TEST_P(traced_calls, come_with_what_the_helper_did) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5)); // not the interval of another test
    const std::int64_t now = static_cast<std::int64_t>(diagnose::now_ns());
    progress::log_help(now);
    progress::log_help(now); // the same interval, since the pause between was short
    const std::string text = written();
    const std::size_t first = text.find("progress for the program");
    ASSERT_NE(first, text.npos) << text;
    EXPECT_EQ(text.find("progress for the program", first + 1), text.npos) << text;
}

THENCE_RULES(traced_calls);

} // namespace
