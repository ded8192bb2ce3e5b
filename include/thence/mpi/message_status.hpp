// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file mpi/message_status.hpp
 *  @brief The status of a receive: source, tag, and size of the message. */

#include <thence/error.hpp>
#include <thence/mpi/element.hpp>

namespace thence {

/** @brief The status of a receive. Any thread may use a copy. */
class message_status {
public:
    explicit message_status(const MPI_Status &status) noexcept : status_(status) {}
    /** @return the rank of the sender; `MPI_PROC_NULL` if the receive was from `MPI_PROC_NULL`. */
    int source() const noexcept { return status_.MPI_SOURCE; }
    int tag() const noexcept { return status_.MPI_TAG; }
    /** @return the number of bytes that were received. */
    std::size_t bytes() const noexcept {
        MPI_Count found = 0;
        MPI_Status status = status_; // SimGrid's SMPI takes no pointer to const
        const int code = MPI_Get_elements_x(&status, MPI_BYTE, &found);
        return code == MPI_SUCCESS && found > 0 ? static_cast<std::size_t>(found) : 0;
    }
    /** @return the number of elements of type T that were received.
     *  @throws thence::error of class `MPI_ERR_TYPE` if the message is not a whole number of elements of this type: the
     *          elements of the sender have another type. bytes() works in that case too. */
    template <class T> std::size_t count() const {
        static_assert(detail::sendable<T>(), "no message has elements of this type");
        const std::size_t found = bytes();
        if (found % sizeof(T) != 0) [[unlikely]] {
            throw error("a message of " + std::to_string(found) + " bytes is not a whole number of elements of " +
                            std::to_string(sizeof(T)) + " bytes each; the sender's elements have another type",
                        MPI_ERR_TYPE);
        }
        return found / sizeof(T);
    }
    /** @return MPI's own status. */
    const MPI_Status &get() const noexcept { return status_; }

private:
    MPI_Status status_;
};

} // namespace thence
