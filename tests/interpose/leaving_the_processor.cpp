// SPDX-License-Identifier: BSD-3-Clause
// THENCE_WAIT: blocking calls test, and pause in a way that leaves the processor.
#include "exposure.hpp"
#include "library.hpp"

#include "core/base/settings.hpp"
#include "core/mpi/calls.hpp"
#include "core/progress/interposed.hpp"
#include "interpose/waiting/unchanged.hpp"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

using namespace thence::fake;
using namespace std::chrono_literals;
namespace interpose = thence::interpose;

class leaving_the_processor : public on_fake {
protected:
    void SetUp() override {
        on_fake::SetUp();
        interpose::waits_leave_the_processor = true;
        thence::progress::add_way_to_wait();
    }
    void TearDown() override {
        thence::progress::remove_way_to_wait();
        interpose::waits_leave_the_processor = false;
        on_fake::TearDown();
    }
};

// A call that spun would test a million times.
TEST_P(leaving_the_processor, a_call_that_waits_long_tests_rarely) {
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    const unsigned long long before = world.progress_calls;
    std::thread other([&] {
        std::this_thread::sleep_for(300ms);
        world.complete(t);
    });
    EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
    other.join();
    EXPECT_EQ(r, MPI_REQUEST_NULL);
    EXPECT_LT(world.progress_calls - before, 50'000ULL);
}

TEST_P(leaving_the_processor, a_wait_for_accesses_of_a_window_tests_rarely) {
    unsigned tests = 0;
    const auto end = std::chrono::steady_clock::now() + 300ms;
    exposure_ends = [&] {
        ++tests;
        return std::chrono::steady_clock::now() >= end;
    };
    EXPECT_EQ(MPI_Win_wait(MPI_WIN_NULL), MPI_SUCCESS);
    EXPECT_GE(std::chrono::steady_clock::now(), end);
    EXPECT_LT(tests, 50'000U);
    exposure_ends = nullptr;
}

TEST_P(leaving_the_processor, all_forms_of_wait_end) {
    for (int form = 0; form < 4; ++form) {
        MPI_Request r[] = {world.start(), MPI_REQUEST_NULL};
        const ticket t = world.ticket_of(r[0]);
        std::thread other([&] {
            std::this_thread::sleep_for(2ms);
            world.complete(t, {4});
        });
        MPI_Status status[2]{};
        int index = -1;
        int found = -1;
        switch (form) {
        case 0:
            EXPECT_EQ(MPI_Wait(&r[0], status), MPI_SUCCESS);
            break;
        case 1:
            EXPECT_EQ(MPI_Waitall(2, r, status), MPI_SUCCESS);
            break;
        case 2:
            EXPECT_EQ(MPI_Waitany(2, r, &index, status), MPI_SUCCESS);
            EXPECT_EQ(index, 0);
            break;
        default:
            EXPECT_EQ(MPI_Waitsome(2, r, &found, &index, status), MPI_SUCCESS);
            EXPECT_EQ(found, 1);
        }
        other.join();
        EXPECT_EQ(status[0].MPI_SOURCE, 4) << "form " << form;
        EXPECT_EQ(r[0], MPI_REQUEST_NULL);
    }
}

TEST_P(leaving_the_processor, a_failed_operation_ends_the_call_with_its_error) {
    MPI_Request r = world.start();
    world.complete(r, {.error = MPI_ERR_TRUNCATE});
    EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    reported();
}

TEST_P(leaving_the_processor, continuations_run_meanwhile_and_may_wait) {
    cr c;
    note n;
    const ticket t = attach_pending(n, c);
    MPI_Request own = world.start();
    const ticket ends = world.ticket_of(own);
    n.inside = [&] {
        MPI_Request r = world.start();
        world.complete_in_progress(r);
        EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
        world.complete(ends);
    };
    world.complete(t);
    EXPECT_EQ(MPI_Wait(&own, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(n.runs, 1);
    MPI_Request handle = c;
    EXPECT_EQ(MPI_Wait(&handle, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

// One without THENCE_WAIT, or without libthence, never answers.
TEST_P(leaving_the_processor, ranks_that_do_not_tell_how_they_wait_are_not_waited_for_for_ever) {
    constexpr std::int64_t ms = 1'000'000;
    static MPI_Request pending;
    static int aborted;
    aborted = 0;
    auto &calls = thence::mpi::table;
    const auto before = calls;
    calls.Comm_size = [](MPI_Comm, int *size) -> int { return *size = 2, MPI_SUCCESS; };
    calls.Iallreduce = [](const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *request) -> int {
        return *request = pending = world.start(), MPI_SUCCESS;
    };
    calls.Abort = [](MPI_Comm comm, int code) -> int {
        aborted += comm == MPI_COMM_WORLD && code != 0 ? 1 : 0;
        return MPI_SUCCESS;
    };
    testing::internal::CaptureStderr();
    EXPECT_FALSE(interpose::unchanged::ask_all_ranks(true, 5 * ms, 20 * ms));
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_NE(text.find("THENCE_WAIT: this rank waits in MPI_Init for others"), text.npos) << text;
    EXPECT_NE(text.find("THENCE_WAIT: some ranks have not told how they wait"), text.npos) << text;
    EXPECT_EQ(aborted, 1);
    calls = before;
    world.complete(pending);
    MPI_Wait(&pending, MPI_STATUS_IGNORE);
}

// Settings begin with MPI_Init.
TEST_P(leaving_the_processor, a_program_that_has_only_sessions_is_told_that_settings_have_no_effect) {
    auto &calls = thence::mpi::table;
    const auto before = calls;
    const auto at_end = [] {
        testing::internal::CaptureStderr();
        interpose::unchanged::process_ends();
        return testing::internal::GetCapturedStderr();
    };
    calls.Initialized = [](int *flag) -> int { return *flag = 0, MPI_SUCCESS; };
    interpose::unchanged::session_began();
    EXPECT_EQ(at_end(), "") << "nothing is set";
    for (const char *name : {"THENCE_WAIT=sleep", "THENCE_PROGRESS=always"}) {
        const std::string setting = name;
        const std::string variable = setting.substr(0, setting.find('='));
        setenv(variable.c_str(), setting.substr(variable.size() + 1).c_str(), 1);
        thence::base::read_settings();
        EXPECT_NE(at_end().find("the program has used MPI by sessions only"), std::string::npos) << name;
        unsetenv(variable.c_str());
    }
    thence::base::read_settings();
    calls = before;
}

THENCE_RULES(leaving_the_processor);

} // namespace
