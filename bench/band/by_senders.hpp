// SPDX-License-Identifier: BSD-3-Clause
// The sweeps with one coroutine per station, which awaits each message. The thread that waits for all of them runs
// those whose message has arrived.
#pragma once

#include "ranks.hpp"

#include <exception>
#include <thence/pools.hpp>

namespace band {

namespace ex = thence::ex;

class by_senders {
    // MPI's error handler ends the program on an error of MPI; any other one ends it here.
    static constexpr auto terminate = [](const std::exception_ptr &error) noexcept { std::rethrow_exception(error); };

    auto send(const double *from, std::size_t count, int to, int tag) {
        return ex::just(from, static_cast<int>(count), MPI_DOUBLE, ranks_.owner(to), tag, ranks_.comm()) |
               pools_.transform_mpi(MPI_Isend, mode_) | ex::then([](auto &&...) noexcept {});
    }
    auto receive(double *into, std::size_t count, int from, int tag) {
        return ex::just(into, static_cast<int>(count), MPI_DOUBLE, ranks_.owner(from), tag, ranks_.comm()) |
               pools_.transform_mpi(MPI_Irecv, mode_) | ex::then([](auto &&...) noexcept {});
    }

public:
    by_senders(const ranks &over, thence::pools &pools, thence::completion_mode how)
        : ranks_(over), problem_(over.problem()), pools_(pools), mode_(how) {}

    // The result is on rank 0.
    tridiagonal run() {
        auto stations = ranks_.stations();
        ex::simple_counting_scope scope;
        for (auto &each : stations) {
            ex::spawn(ex::starts_on(pools_.workers(), sweep_by_sweep(*each)) | ex::upon_error(terminate),
                      scope.get_token());
        }
        pools_.sync_wait(scope.join());
        return ranks_.rank() == 0 ? stations.front()->finish() : tridiagonal();
    }

private:
    ex::task<> sweep_by_sweep(station &at) {
        const int number = at.number();
        for (int sweep = 0; sweep < problem_.sweeps() && problem_.active(sweep, number); ++sweep) {
            if (number == 0) {
                at.begin(sweep);
            } else {
                co_await receive(at.reflector().data(), at.reflector().size(), number - 1,
                                 ranks::reflector_tag(number));
            }
            const int steps = at.steps(sweep);
            for (int t = 0; t < steps; ++t) {
                if (t == steps - 1 && problem_.takes(sweep, number)) {
                    co_await receive(at.incoming(sweep), at.column_size(), number + 1, ranks::column_tag(number));
                }
                at.step(sweep, t);
                if (t == 0 && number == 0) {
                    at.keep_outgoing(sweep);
                } else if (t == 0) {
                    co_await send(at.outgoing(sweep), at.column_size(), number - 1, ranks::column_tag(number - 1));
                }
            }
            if (problem_.active(sweep, number + 1)) {
                co_await send(at.reflector().data(), at.reflector().size(), number + 1,
                              ranks::reflector_tag(number + 1));
            }
        }
    }

    const ranks &ranks_;
    band::problem problem_;
    thence::pools &pools_;
    thence::completion_mode mode_;
};

} // namespace band
