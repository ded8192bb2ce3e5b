// SPDX-License-Identifier: BSD-3-Clause
// Used by the measured program: a piece of work that runs between MPI_Init and MPI_Finalize, under callgrind or under
// the launcher.
//
// Invariant: a piece of work does only what a user's program would do, and does not depend on its baseline.
#pragma once

#include <map>
#include <string>
#include <type_traits>

namespace measure {

class work {
public:
    int rank() const { return rank_; }
    bool quick() const { return quick_; }
    // The value of a parameter that the judge passes as NAME=VALUE.
    long parameter(const std::string &name) const;

    // Calls `body(iterations)` with the two iteration counts of the measurement, once per repetition. Under callgrind
    // each call is counted separately; code before and after is not counted.
    template <class Body> void count(Body &&body) {
        count_calls(
            [](void *data, long iterations) { (*static_cast<std::remove_reference_t<Body> *>(data))(iterations); },
            &body);
    }
    // As above, and calls `prepare(iterations)` before each of these calls. It is not counted.
    template <class Prepare, class Body> void count(Prepare &&prepare, Body &&body) {
        struct both {
            std::remove_reference_t<Prepare> &prepare;
            std::remove_reference_t<Body> &body;
        } steps{prepare, body};
        count_calls([](void *data, long iterations) { static_cast<both *>(data)->body(iterations); }, &steps,
                    [](void *data, long iterations) { static_cast<both *>(data)->prepare(iterations); });
    }

    // Passes a number to the judge. Only rank 0 does; other ranks ignore the call.
    void result(const std::string &name, double value) const;

    // Set by measure::main.
    struct settings {
        long few = 1;
        long many = 2;
        int repeats = 1;
        bool quick = false;
        std::map<std::string, long> parameters;
    };
    work(const settings &chosen, int rank) : chosen_(chosen), rank_(rank), quick_(chosen.quick) {}

private:
    using step = void (*)(void *, long);
    void count_calls(step body, void *data, step prepare = nullptr) const;

    settings chosen_;
    int rank_;
    bool quick_;
};

} // namespace measure
