// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The statuses of an operation of N requests, if they are needed, and which of the requests were cancelled.

#include <array>
#include <cstddef>
#include <cstdint>

#include <thence/senders/callable.hpp>

namespace thence::detail {

/** A set of requests of an operation, one bit for each. */
using request_set = std::uint64_t;
static_assert(most_requests <= 64);

template <std::size_t N, bool Wanted> struct status_store {
    std::array<MPI_Status, N> statuses;
    MPI_Status *data() noexcept { return statuses.data(); }
    /** @return the requests whose statuses say that they were cancelled. */
    request_set cancelled() const noexcept {
        request_set found = 0;
        for (std::size_t i = 0; i < N; ++i) {
            int flag = 0;
            if (MPI_Test_cancelled(&statuses[i], &flag) == MPI_SUCCESS && flag) {
                found |= request_set{1} << i;
            }
        }
        return found;
    }
};
template <std::size_t N> struct status_store<N, false> {
    static MPI_Status *data() noexcept { return MPI_STATUSES_IGNORE; }
};

} // namespace thence::detail
