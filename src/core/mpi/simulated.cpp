// SPDX-License-Identifier: BSD-3-Clause
// On SimGrid's SMPI: a rank that polls in vain waits in simulated time.
//
// A loop of MPI_Testsome costs much when it is simulated, as each call is an event of the simulator. SMPI's settings
// choose between two faults: with `smpi/test` above 0 each test takes that time, so a message is found late; with 0
// simulated time stands still, and the loop never ends. Here `smpi/test:0` becomes exact: if the same requests are
// tested `spins` times in a row without a result and without any simulated time in between, then the rank does nothing
// but wait (it has one thread, and neither computes nor communicates), and MPI_Waitsome replaces the next test. With
// `smpi/test` above 0 time passes in each test, so nothing is replaced.
#include "core/mpi/simulated.hpp"

#if defined(SMPI_H)
#include <simgrid/actor.h>
#include <simgrid/engine.h>

namespace thence::mpi {
namespace {

constexpr int spins = 16;
constexpr int full_window = 64;    // polled_set::tested_per_poll: there may be more requests than these
constexpr double pause_s = 1e-6;   // between two rounds over more requests, and of single tests
constexpr int single_tests = 1000; // in vain at one time before a pause

// Counts calls in vain at one simulated time. Each rank has its own, since SMPI loads a copy of the program for each.
class vain_calls {
public:
    int count(int requests) noexcept {
        const double now = simgrid_get_clock();
        calls_ = now == time_ && requests == requests_ ? calls_ + 1 : 1;
        time_ = now;
        requests_ = requests;
        return calls_;
    }
    void reset() noexcept { calls_ = 0; }

private:
    double time_ = -1;
    int requests_ = 0;
    int calls_ = 0;
};
constinit vain_calls of_testsome;
constinit vain_calls of_test;
constinit vain_calls of_probe;

int testsome(int count, MPI_Request requests[], int *completed, int indices[], MPI_Status statuses[]) {
    const int code = PMPI_Testsome(count, requests, completed, indices, statuses);
    if (code != MPI_SUCCESS || *completed != 0) {
        of_testsome.reset();
        return code;
    }
    if (of_testsome.count(count) < spins) {
        return code;
    }
    of_testsome.reset();
    if (count < full_window) {
        return PMPI_Waitsome(count, requests, completed, indices, statuses);
    }
    sg_actor_sleep_for(pause_s);
    return code;
}

int test(MPI_Request *request, int *flag, MPI_Status *status) {
    const int code = PMPI_Test(request, flag, status);
    if (code != MPI_SUCCESS || *flag != 0) {
        of_test.reset();
    } else if (of_test.count(1) >= single_tests) {
        of_test.reset();
        sg_actor_sleep_for(pause_s);
    }
    return code;
}

} // namespace

bool may_probe_in_simulated_time() noexcept {
    if (of_probe.count(0) < spins) {
        return false;
    }
    of_probe.reset();
    return true;
}

void wait_in_simulated_time() noexcept {
    table.Testsome = &testsome;
    table.Test = &test;
}

} // namespace thence::mpi
#endif
