// SPDX-License-Identifier: BSD-3-Clause
// The handles of thence/notify.h, and what is wrong with arguments that several of its calls have.
#pragma once

#include "core/api/checks.hpp"
#include "onesided/operations.hpp"

#include <thence/notify.h>

namespace thence::api::reason {

inline constexpr failure null_space{MPI_ERR_ARG, "space is null"};
inline constexpr failure null_segment{MPI_ERR_ARG, "segment is null"};
inline constexpr failure no_queue{MPI_ERR_ARG, "the space has no such queue"};
inline constexpr failure no_rank{MPI_ERR_RANK, "the space has no such rank"};
inline constexpr failure no_notification{MPI_ERR_ARG, "the part of that process has no such notification"};
inline constexpr failure message_failed{MPI_ERR_OTHER, "MPI has not sent the message, or the system has not copied"};

} // namespace thence::api::reason

namespace thence::onesided {

inline space *object_of(thence_space handle) noexcept {
    return reinterpret_cast<space *>(handle);
}
inline segment *object_of(thence_segment handle) noexcept {
    return reinterpret_cast<segment *>(handle);
}

// Text null: nothing is wrong.
mpi::failure wrong_target(const segment *at, int rank, int queue) noexcept;
mpi::failure wrong_range(const segment &at, int rank, std::size_t offset, const void *local,
                         std::size_t bytes) noexcept;
mpi::failure wrong_notification(const segment &at, int rank, unsigned number, std::uint32_t value) noexcept;

// The end of a call that has started an operation.
inline int ended(const char *call, int code) noexcept {
    if (code == MPI_SUCCESS) [[likely]] {
        return MPI_SUCCESS;
    }
    return api::fail(call, code == MPI_ERR_NO_MEM ? api::reason::no_memory : api::reason::message_failed);
}

} // namespace thence::onesided
