// SPDX-License-Identifier: BSD-3-Clause
// The measured side: a piece of work that runs between MPI_Init and MPI_Finalize, under callgrind or under the
// launcher.
//
// Invariant: work knows nothing of what it is compared with; it only does what a user's program would, and reports.
#pragma once

#include <map>
#include <string>
#include <type_traits>

namespace measure {

class work {
public:
    int rank() const { return rank_; }
    bool quick() const { return quick_; }
    // A number given by the judge as NAME=VALUE.
    long parameter(const std::string &name) const;

    // Calls `body(iterations)` for the two iteration counts of the measurement, as often as it is repeated. Under
    // callgrind each call is counted by itself; what runs before and after is not.
    template <class Body> void count(Body &&body) {
        count_calls(
            [](void *data, long iterations) { (*static_cast<std::remove_reference_t<Body> *>(data))(iterations); },
            &body);
    }

    // Hands a number to the judge. Counts on rank 0 only.
    void result(const std::string &name, double value) const;

    // Set by the one who runs the work.
    struct settings {
        long few = 1;
        long many = 2;
        int repeats = 1;
        bool quick = false;
        std::map<std::string, long> parameters;
    };
    work(const settings &chosen, int rank) : chosen_(chosen), rank_(rank), quick_(chosen.quick) {}

private:
    void count_calls(void (*body)(void *, long), void *data) const;

    settings chosen_;
    int rank_;
    bool quick_;
};

} // namespace measure
