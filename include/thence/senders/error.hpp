// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file senders/error.hpp
 *  @brief The errors of senders over MPI, which complete with them as a `std::exception_ptr`: an error that MPI has
 *         reported, and a stop request that cancelled only some operations of a group. */

#include <exception>

#include <thence/error.hpp>

namespace thence {

/** @brief An error of an MPI operation: code(), error_class() and what() as thence::error, and which call reported
 *         it. */
class mpi_error : public error {
public:
    /** What reported it: the call that starts the operation, or its completion. */
    enum class origin { call, completion };

    explicit mpi_error(origin where, int code, std::vector<MPI_Status> statuses = {})
        : error(where == origin::call ? "the MPI call that starts an operation failed" : "an MPI operation failed",
                code, std::move(statuses)),
          where_(where) {}
    origin where() const noexcept { return where_; }

private:
    origin where_;
};

/** @brief A stop request has cancelled some operations of a group (see transform_mpi()). Others were complete before,
 *         so messages have been received or sent. `MPI_Test_cancelled` on statuses() says which were cancelled. */
class partly_stopped : public std::runtime_error {
public:
    explicit partly_stopped(std::span<const MPI_Status> statuses)
        : std::runtime_error("some operations of a group were cancelled by a stop request, and others were complete "
                             "already; statuses() tells which"),
          statuses_(std::vector<MPI_Status>(statuses.begin(), statuses.end())) {}
    /** @return the statuses of all operations of the group in its order. */
    std::span<const MPI_Status> statuses() const noexcept { return statuses_.get(); }

private:
    detail::shared_statuses statuses_;
};

namespace detail {

/** Does not throw. If memory is exhausted, it returns that exception. */
inline std::exception_ptr make_mpi_error(mpi_error::origin where, int code,
                                         std::span<const MPI_Status> statuses = {}) noexcept {
    try {
        return std::make_exception_ptr(
            mpi_error(where, code, std::vector<MPI_Status>(statuses.begin(), statuses.end())));
    } catch (...) {
        return std::current_exception();
    }
}
/** @return the error of an operation that could not be started: thence::mpi_inactive, or a thence::mpi_error with
 *          `code`. */
inline std::exception_ptr make_start_error(int code) noexcept {
    try {
        check_mpi_is_active("thence::transform_mpi: an operation was started");
        return make_mpi_error(mpi_error::origin::call, code);
    } catch (...) {
        return std::current_exception();
    }
}
inline std::exception_ptr make_partly_stopped(std::span<const MPI_Status> statuses) noexcept {
    try {
        return std::make_exception_ptr(partly_stopped(statuses));
    } catch (...) {
        return std::current_exception();
    }
}

} // namespace detail

} // namespace thence
