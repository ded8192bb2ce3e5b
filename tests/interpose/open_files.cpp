// SPDX-License-Identifier: BSD-3-Clause
// THENCE_PROGRESS=always on an MPI that allows no second thread while a file is open, as Open MPI.
#include "observed_calls.hpp"

#include "core/base/clock.hpp"
#include "core/base/processors.hpp"
#include "core/progress/progress.hpp"

#include <chrono>
#include <thread>

namespace {

using namespace thence::fake;
using namespace std::chrono_literals;
namespace progress = thence::progress;

class open_files : public counted_calls {
protected:
    void SetUp() override {
        thence::base::scripted_processors = []() noexcept { return false; }; // a helper that waits for something spins
        counted_calls::SetUp();
    }
    void TearDown() override {
        counted_calls::TearDown();
        thence::base::scripted_processors = nullptr;
    }
};

TEST_P(open_files, keep_the_helper_out_of_mpi_and_off_the_processor) {
    const auto kept_out_before = progress::helper_was_kept_out();
    MPI_Request r = started();
    EXPECT_TRUE(helper_polls());
    progress::keep_helper_out();
    progress::keep_helper_out();
    progress::let_helper_in();
    const unsigned long long polls = world.progress_calls;
    bool off_the_processor = false; // a virtual machine may make single sleeps dear for a while
    for (int round = 0; round < 5 && !off_the_processor; ++round) {
        const auto used = progress::helper_processor_time();
        const auto begun = thence::base::read_clock();
        std::this_thread::sleep_for(200ms);
        off_the_processor = progress::helper_processor_time() - used < (thence::base::read_clock() - begun) / 10;
    }
    EXPECT_EQ(world.progress_calls, polls);
    EXPECT_TRUE(off_the_processor) << "there is nothing that it could do";
    EXPECT_GE(progress::helper_was_kept_out() - kept_out_before, 200'000'000) << "and still is";
    progress::let_helper_in();
    EXPECT_TRUE(helper_polls());
    const auto kept_out = progress::helper_was_kept_out();
    world.complete(r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    EXPECT_EQ(progress::helper_was_kept_out(), kept_out);
}

THENCE_RULES(open_files);

} // namespace
