// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file error.hpp
 *  @brief The exceptions of Thence: an MPI error, and a call while MPI is not active. */

#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <thence/detail/atomic.hpp>
#include <thence/thence.h>

namespace thence {

namespace detail {

/** Statuses with a reference count. Copies share them, since to copy an exception must not throw. The header of
 *  std::shared_ptr takes long to compile. */
class shared_statuses {
public:
    explicit shared_statuses(std::vector<MPI_Status> statuses)
        : block_(statuses.empty() ? nullptr : new block(std::move(statuses))) {}
    shared_statuses(const shared_statuses &other) noexcept : block_(other.block_) {
        if (block_ != nullptr) {
            block_->owners.fetch_add(1, detail::order::relaxed);
        }
    }
    shared_statuses &operator=(shared_statuses other) noexcept {
        std::swap(block_, other.block_);
        return *this;
    }
    ~shared_statuses() {
        if (block_ != nullptr && block_->owners.fetch_sub(1) == 1) {
            delete block_;
        }
    }
    std::span<const MPI_Status> get() const noexcept {
        return block_ == nullptr ? std::span<const MPI_Status>() : std::span<const MPI_Status>(block_->statuses);
    }

private:
    struct block {
        detail::atomic<long> owners{1};
        const std::vector<MPI_Status> statuses;
        explicit block(std::vector<MPI_Status> given) : statuses(std::move(given)) {}
    };
    block *block_;
};

} // namespace detail

/** @brief An MPI error as an exception. Copies share the statuses and do not throw. */
class error : public std::runtime_error {
public:
    /** @param what_failed the action that failed; what() begins with it.
     *  @param code        the MPI error code.
     *  @param statuses    the statuses of all operations waited for together, or empty. */
    explicit error(const std::string &what_failed, int code, std::vector<MPI_Status> statuses = {})
        : std::runtime_error(what_failed + ": " + text(code)), code_(code), class_(code),
          statuses_(std::move(statuses)) {
        if (MPI_Error_class(code, &class_) != MPI_SUCCESS) {
            class_ = MPI_ERR_UNKNOWN;
        }
    }
    /** @return the MPI error code of the first failed operation. */
    int code() const noexcept { return code_; }
    /** @return its error class, such as `MPI_ERR_TRUNCATE`. */
    int error_class() const noexcept { return class_; }
    /** @return the statuses of all operations of the group in its order, `MPI_ERROR` set; empty if no operation was
     *          involved. */
    std::span<const MPI_Status> statuses() const noexcept { return statuses_.get(); }

private:
    static std::string text(int code) {
        std::string text(MPI_MAX_ERROR_STRING, '\0');
        int length = 0;
        if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) {
            return "MPI error " + std::to_string(code);
        }
        text.resize(static_cast<std::size_t>(length));
        return text;
    }
    int code_;
    int class_;
    detail::shared_statuses statuses_;
};

/** @brief A call of Thence needs MPI, and came before `MPI_Init` or after `MPI_Finalize`. what() names the call and
 *         says what to do. */
class mpi_inactive : public std::logic_error {
public:
    using std::logic_error::logic_error;
};

/** @brief Throw thence::error unless `code` is `MPI_SUCCESS`. */
inline void check(int code, const char *what_failed) {
    if (code != MPI_SUCCESS) {
        throw error(what_failed, code);
    }
}

namespace detail {

/** The reason why a call that needs MPI fails now, as text that follows the name of the call. Null if MPI is active. */
inline const char *mpi_inactive_reason() noexcept {
    int initialized = 0;
    int finalized = 0;
    MPI_Initialized(&initialized);
    if (initialized == 0) {
        return " before MPI_Init; call MPI_Init or MPI_Init_thread first";
    }
    MPI_Finalized(&finalized);
    return finalized == 0 ? nullptr : " after MPI_Finalize; complete all work that needs MPI before MPI_Finalize";
}
/** @throws mpi_inactive unless MPI is active; its text begins with `call`. */
inline void check_mpi_is_active(const char *call) {
    if (const char *reason = mpi_inactive_reason(); reason != nullptr) [[unlikely]] {
        throw mpi_inactive(std::string(call).append(reason));
    }
}

/** @return the error of the first failed operation in `statuses`; `reported` if there is none, or if `reported` is
 *          `MPI_SUCCESS`. */
inline int first_error(int reported, std::span<const MPI_Status> statuses) noexcept {
    if (reported != MPI_SUCCESS) {
        for (const MPI_Status &status : statuses) {
            if (status.MPI_ERROR != MPI_SUCCESS) {
                return status.MPI_ERROR;
            }
        }
    }
    return reported;
}

} // namespace detail

} // namespace thence
