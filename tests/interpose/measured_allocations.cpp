// SPDX-License-Identifier: BSD-3-Clause
// With THENCE_REPORT calls allocate nothing, once there have been as many operations before. This program replaces the
// allocation functions by ones that count.
#include "observed_calls.hpp"

#include "measure/count_allocations.hpp"

#include "interpose/requests/measured.hpp"

namespace {

using namespace thence::fake;
namespace progress = thence::progress;

class measured_calls : public observed_calls {
protected:
    // One of each form, on requests of both kinds.
    static void rounds(MPI_Request &persistent) {
        for (int round = 0; round < 20; ++round) {
            MPI_Request r = started();
            world.complete(r);
            EXPECT_EQ(MPI_Wait(&r, MPI_STATUS_IGNORE), MPI_SUCCESS);
            r = started();
            int flag = 0;
            MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
            world.complete(r);
            MPI_Test(&r, &flag, MPI_STATUS_IGNORE);
            EXPECT_EQ(r, MPI_REQUEST_NULL);
            MPI_Start(&persistent);
            MPI_Request several[] = {persistent, started(), MPI_REQUEST_NULL, started()};
            for (const int each : {0, 1, 3}) {
                world.complete(several[each]);
            }
            EXPECT_EQ(MPI_Waitall(4, several, MPI_STATUSES_IGNORE), MPI_SUCCESS);
        }
    }
    static long allocated_in_rounds(MPI_Request &persistent) {
        rounds(persistent);
        const long before = measure::allocations;
        rounds(persistent);
        return measure::allocations - before;
    }
};

TEST_P(measured_calls, allocate_nothing_in_the_steady_state) {
    thence::interpose::reset_measured();
    progress::measure_calls();
    MPI_Request persistent = created();
    EXPECT_LT(allocated_in_rounds(persistent), 10) << "of 20 rounds, in which the fake allocates, too";
    MPI_Request_free(&persistent);
    EXPECT_EQ(thence::interpose::read_measured().operations, 200) << "they were measured";
}

THENCE_RULES(measured_calls);

} // namespace
