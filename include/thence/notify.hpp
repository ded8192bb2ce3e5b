// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file notify.hpp
 *  @brief One-sided communication with notifications (`notify.h`) for C++: owners of spaces and segments, and senders.
 *
 *      thence::space all(MPI_COMM_WORLD);
 *      thence::segment halo(all, bytes, 2);
 *      co_await halo.put_notify(std::span(row), below, 0, 1); // the row may be written again
 *      co_await halo.notified(0);                             // the row of the process above has arrived
 *
 *  Each operation is a member function that returns a sender, which starts it. `co_await` it, join it with `when_all`,
 *  or wait for it with thence::sync_wait(). The memory that it names exists until it is complete. A stop request has
 *  no effect. transform_mpi.hpp has the rules for errors and threads.
 *
 *  Constructors and destructors of both classes are collective, and block. Link `thence::senders`. */

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <thence/notify.h>
#include <thence/transform_mpi.hpp>

namespace thence {

namespace detail {

// A sender that starts an operation by a call whose last argument is the request.
template <class F> auto one_sided(F f) {
    return ex::just() | transform_mpi(std::move(f), uncancellable);
}

} // namespace detail

/** @brief Processes that reach memory of each other. Its destructor frees it: all processes call it, and all segments
 *         are freed before. */
class space {
public:
    /** @param comm   an intracommunicator.
     *  @param queues the number of queues.
     *  @throws thence::error as thence_space_create(). */
    explicit space(MPI_Comm comm, int queues = 1) {
        if (const int code = thence_space_create(comm, queues, &handle_); code != MPI_SUCCESS) {
            throw error("thence_space_create", code);
        }
        MPI_Comm_rank(comm, &rank_);
        MPI_Comm_size(comm, &size_);
    }
    space(space &&other) noexcept
        : handle_(std::exchange(other.handle_, nullptr)), rank_(other.rank_), size_(other.size_) {}
    space &operator=(space &&other) noexcept {
        std::swap(handle_, other.handle_);
        std::swap(rank_, other.rank_);
        std::swap(size_, other.size_);
        return *this;
    }
    ~space() {
        int finalized = 0;
        if (handle_ != nullptr && MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized) {
            thence_space_free(&handle_);
        }
    }
    /** @brief Waits until the operations of a queue are locally complete that were started without a request.
     *  @throws thence::error of an operation that has failed. */
    void flush(int queue = 0) const {
        if (const int code = thence_queue_flush(handle_, queue); code != MPI_SUCCESS) {
            throw error("thence_queue_flush", code);
        }
    }
    /** @brief As thence_put_list(). Complete when all sources may be written again. Completes with set_value_t().
     *  @param pieces what to put; the list, too, exists until the operation is complete.
     *  @param rank   the target. */
    auto put_list(std::span<const thence_piece> pieces, int rank, int queue = 0) const {
        return detail::one_sided([=](MPI_Request *request) {
            return thence_put_list(static_cast<int>(pieces.size()), pieces.data(), rank, queue, request);
        });
    }
    /** @brief As thence_get_list(). Complete when all data are here. Completes with set_value_t(). */
    auto get_list(std::span<const thence_piece> pieces, int rank, int queue = 0) const {
        return detail::one_sided([=](MPI_Request *request) {
            return thence_get_list(static_cast<int>(pieces.size()), pieces.data(), rank, queue, request);
        });
    }
    /** @return the rank of this process. */
    int rank() const noexcept { return rank_; }
    /** @return the number of processes. */
    int size() const noexcept { return size_; }
    /** @return the space, for the C API. */
    thence_space get() const noexcept { return handle_; }

private:
    thence_space handle_ = nullptr;
    int rank_ = 0;
    int size_ = 0;
};

/** @brief Memory of all processes of a space, with notifications. Its destructor frees it: all processes call it. */
class segment {
public:
    /** @brief New memory.
     *  @param owner         the space.
     *  @param bytes         of this process.
     *  @param notifications of this process.
     *  @throws thence::error as thence_segment_create(). */
    segment(const space &owner, std::size_t bytes, unsigned notifications) {
        check(thence_segment_create(owner.get(), bytes, notifications, &handle_), "thence_segment_create");
        thence_segment_info info{};
        check(thence_segment_query(handle_, owner.rank(), &info, sizeof info), "thence_segment_query");
        memory_ = {static_cast<std::byte *>(info.memory), info.bytes};
    }
    /** @brief Memory of the program.
     *  @throws thence::error as thence_segment_create_on(). */
    segment(const space &owner, std::span<std::byte> memory, unsigned notifications) {
        check(thence_segment_create_on(owner.get(), memory.data(), memory.size(), notifications, &handle_),
              "thence_segment_create_on");
        memory_ = memory;
    }
    segment(segment &&other) noexcept
        : handle_(std::exchange(other.handle_, nullptr)), memory_(std::exchange(other.memory_, {})) {}
    segment &operator=(segment &&other) noexcept {
        std::swap(handle_, other.handle_);
        std::swap(memory_, other.memory_);
        return *this;
    }
    ~segment() {
        int finalized = 0;
        if (handle_ != nullptr && MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized) {
            thence_segment_free(&handle_);
        }
    }

    /** @return the memory of this process. */
    std::span<std::byte> memory() const noexcept { return memory_; }
    /** @return the segment, for the C API. */
    thence_segment get() const noexcept { return handle_; }

    /** @brief As thence_put(). Complete when the source may be written again. Completes with set_value_t().
     *  @param from   elements that can be copied as bytes.
     *  @param rank   the target.
     *  @param offset in bytes. */
    template <class T> auto put(std::span<T> from, int rank, std::size_t offset, int queue = 0) const {
        static_assert(std::is_trivially_copyable_v<T>, "put: the elements cannot be copied as bytes");
        return detail::one_sided([=, at = handle_](MPI_Request *request) {
            return thence_put(from.data(), from.size_bytes(), rank, at, offset, queue, request);
        });
    }
    /** @brief As thence_put_notify(). Complete when the source may be written again. Completes with set_value_t(). */
    template <class T>
    auto put_notify(std::span<T> from, int rank, std::size_t offset, unsigned notification, std::uint32_t value = 1,
                    int queue = 0) const {
        static_assert(std::is_trivially_copyable_v<T>, "put_notify: the elements cannot be copied as bytes");
        return detail::one_sided([=, at = handle_](MPI_Request *request) {
            return thence_put_notify(from.data(), from.size_bytes(), rank, at, offset, notification, value, queue,
                                     request);
        });
    }
    /** @brief As thence_put_list_notify(), with a notification of this segment; space::put_list() and space::get_list()
     *         are those without. Complete when all sources may be written again. Completes with set_value_t(). */
    auto put_list_notify(std::span<const thence_piece> pieces, int rank, unsigned notification, std::uint32_t value = 1,
                         int queue = 0) const {
        return detail::one_sided([=, at = handle_](MPI_Request *request) {
            return thence_put_list_notify(static_cast<int>(pieces.size()), pieces.data(), rank, at, notification, value,
                                          queue, request);
        });
    }
    /** @brief As thence_get(). Complete when the data are here. Completes with set_value_t(). */
    template <class T> auto get(std::span<T> to, int rank, std::size_t offset, int queue = 0) const {
        static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                      "get: the elements cannot be written as bytes");
        return detail::one_sided([=, at = handle_](MPI_Request *request) {
            return thence_get(to.data(), to.size_bytes(), rank, at, offset, queue, request);
        });
    }
    /** @brief As thence_fetch_add(). Completes with set_value_t(std::uint64_t): what the word was. */
    auto fetch_add(std::uint64_t value, int rank, std::size_t offset, int queue = 0) const {
        return ex::just(std::uint64_t{0}) |
               transform_mpi(
                   [=, at = handle_](std::uint64_t &old, MPI_Request *request) {
                       return thence_fetch_add(value, rank, at, offset, &old, queue, request);
                   },
                   uncancellable);
    }
    /** @brief As thence_compare_swap(). Completes with set_value_t(std::uint64_t): what the word was. */
    auto compare_swap(std::uint64_t expected, std::uint64_t value, int rank, std::size_t offset, int queue = 0) const {
        return ex::just(std::uint64_t{0}) |
               transform_mpi(
                   [=, at = handle_](std::uint64_t &old, MPI_Request *request) {
                       return thence_compare_swap(expected, value, rank, at, offset, &old, queue, request);
                   },
                   uncancellable);
    }
    /** @brief As thence_notification_request() for one notification of this process, which is reset. Completes with
     *         set_value_t(std::uint32_t): its value. */
    auto notified(unsigned notification) const {
        return ex::just(std::uint32_t{0}) |
               transform_mpi(
                   [=, at = handle_](std::uint32_t &value, MPI_Request *request) {
                       return thence_notification_request(at, notification, 1, &value, request);
                   },
                   uncancellable);
    }
    /** @brief The same for several, beginning with `first`: complete when each has arrived. Completes with
     *         set_value_t().
     *  @param values gets the values. */
    auto notified(unsigned first, std::span<std::uint32_t> values) const {
        return detail::one_sided([=, at = handle_](MPI_Request *request) {
            return thence_notification_request(at, first, static_cast<unsigned>(values.size()), values.data(), request);
        });
    }
    /** @brief As thence_notify(), at once: no sender.
     *  @throws thence::error */
    void notify(int rank, unsigned notification, std::uint32_t value = 1, int queue = 0) const {
        check(thence_notify(rank, handle_, notification, value, queue), "thence_notify");
    }

private:
    static void check(int code, const char *call) {
        if (code != MPI_SUCCESS) {
            throw error(call, code);
        }
    }

    thence_segment handle_ = nullptr;
    std::span<std::byte> memory_;
};

} // namespace thence
