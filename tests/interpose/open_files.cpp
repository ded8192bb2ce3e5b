// SPDX-License-Identifier: BSD-3-Clause
// THENCE_PROGRESS=always on an MPI that allows no second thread while a file is open, as Open MPI.
#include "library.hpp"

#include "core/base/clock.hpp"
#include "core/base/processors.hpp"
#include "core/progress/plain_operations.hpp"
#include "core/progress/progress.hpp"

#include <chrono>
#include <thread>

namespace {

using namespace thence::fake;
using namespace std::chrono_literals;
namespace progress = thence::progress;

class open_files : public on_fake {
protected:
    void SetUp() override {
        on_fake::SetUp();
        thence::base::scripted_processors = []() noexcept { return false; }; // a helper that waits for something spins
        ASSERT_EQ(progress::count_operations(), nullptr);
    }
    void TearDown() override {
        progress::stop_observing_calls();
        thence::base::scripted_processors = nullptr;
        on_fake::TearDown();
    }
    static MPI_Request started() {
        static char buffer[4];
        MPI_Request r = MPI_REQUEST_NULL;
        EXPECT_EQ(MPI_Irecv(buffer, 4, MPI_CHAR, 0, 0, MPI_COMM_SELF, &r), MPI_SUCCESS);
        return r;
    }
    static bool helper_polls() {
        const unsigned long long before = world.progress_calls;
        for (const auto end = std::chrono::steady_clock::now() + 20s; world.progress_calls <= before + 3;) {
            std::this_thread::sleep_for(1ms);
            if (std::chrono::steady_clock::now() > end) {
                return false;
            }
        }
        return true;
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
    const auto used = progress::helper_processor_time();
    const auto begun = thence::base::read_clock();
    std::this_thread::sleep_for(200ms);
    EXPECT_EQ(world.progress_calls, polls);
    EXPECT_LT(progress::helper_processor_time() - used, (thence::base::read_clock() - begun) / 10)
        << "there is nothing that it could do";
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
