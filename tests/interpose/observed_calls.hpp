// SPDX-License-Identifier: BSD-3-Clause
// Fixtures of tests in which the calls of an unchanged program are observed: counted, measured, listed or traced.
#pragma once

#include "library.hpp"

#include "core/progress/plain_operations.hpp"

#include <chrono>
#include <functional>
#include <thread>

namespace thence::fake {

// The test begins the observation, and it ends with the test.
class observed_calls : public on_fake {
protected:
    void TearDown() override {
        progress::stop_observing_calls();
        on_fake::TearDown();
    }

    // Operations that are pending: a receive that has been started, and a persistent one that has not.
    static MPI_Request started(int bytes = 4) {
        static char buffer[1000];
        MPI_Request r = MPI_REQUEST_NULL;
        EXPECT_EQ(MPI_Irecv(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_SELF, &r), MPI_SUCCESS);
        return r;
    }
    static MPI_Request created() {
        static char buffer[4];
        MPI_Request r = MPI_REQUEST_NULL;
        EXPECT_EQ(MPI_Recv_init(buffer, 4, MPI_CHAR, 0, 0, MPI_COMM_SELF, &r), MPI_SUCCESS);
        return r;
    }

    // This thread calls nothing meanwhile.
    static bool eventually_alone(const std::function<bool()> &done) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!done()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            if (std::chrono::steady_clock::now() > end) {
                return false;
            }
        }
        return true;
    }
    // The helper has made progress since, without a call of this thread.
    static bool helper_polls() {
        const unsigned long long before = world.progress_calls;
        return eventually_alone([&] { return world.progress_calls > before + 3; });
    }
};

// With THENCE_PROGRESS=always.
class counted_calls : public observed_calls {
protected:
    void SetUp() override {
        observed_calls::SetUp();
        ASSERT_EQ(progress::count_operations(), nullptr);
    }
};

} // namespace thence::fake
