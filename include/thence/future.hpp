// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file future.hpp
 *  @brief MPI operations as `std::future`: the statuses are its value, a failure is its exception. C++20.
 *
 *  `std::future::get` and `wait` make no progress. If no other thread is inside MPI and the continuation request lacks
 *  `THENCE_CR_ANY_THREAD`, use thence::get() and thence::wait(), which make progress.
 *
 *  Source: Schuchart et al. 2021, "Callback-based completion notification using MPI Continuations", sections 2.2,
 *  3.4. */

#include <chrono>
#include <future>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <thence/adapter.hpp>

namespace thence {

namespace detail {

/** The promise of a future, and the statuses. The continuation owns it until its callback has run. */
template <class Value> struct promised {
    std::promise<Value> promise;
    std::vector<MPI_Status> statuses;

    explicit promised(std::size_t count) : statuses(count) {}

    void fulfil(int code) {
        try {
            if (code != MPI_SUCCESS) {
                const int first = first_error(code, statuses);
                promise.set_exception(std::make_exception_ptr(error("an operation of a future", first, statuses)));
            } else if constexpr (std::is_same_v<Value, MPI_Status>) {
                promise.set_value(statuses.front());
            } else {
                promise.set_value(std::move(statuses));
            }
        } catch (...) { // out of memory while making the error
            promise.set_exception(std::current_exception());
        }
    }
    static int callback(int error, MPI_Status *, void *data) noexcept {
        const std::unique_ptr<promised> self(static_cast<promised *>(data));
        self->fulfil(error);
        return MPI_SUCCESS;
    }
    static std::future<Value> attach(std::span<MPI_Request> requests, MPI_Request cr) {
        auto self = std::make_unique<promised>(requests.size());
        auto future = self->promise.get_future();
        int error = MPI_SUCCESS;
        if (detail::attach(requests, self->statuses.data(), cr, &promised::callback, self.get(), error)) {
            self->fulfil(error);
        } else {
            (void)self.release(); // the callback owns it, and may have run already
        }
        return future;
    }
};

} // namespace detail

/** @brief The completion of an operation as a future.
 *  @param request an active request of any kind, `MPI_REQUEST_NULL` on return unless persistent.
 *  @param cr      the continuation request to register with.
 *  @return a future with the status; ready at once if the operation is complete already. If the operation fails,
 *          its `get()` throws thence::error. Its destructor does not wait: the operation continues and uses its
 *          buffer.
 *  @throws thence::error if nothing could be attached: the request is unchanged then.
 *  @note Threads: any number at once, with the same `cr` too, and in callbacks. Cost: two allocations and those of
 *        `std::promise`. */
inline std::future<MPI_Status> as_future(MPI_Request &request, MPI_Request cr) {
    return detail::promised<MPI_Status>::attach(std::span<MPI_Request>(&request, 1), cr);
}

/** @brief The completion of all `requests` as one future. As as_future() for one; the value is the statuses in the
 *         order of `requests`, the exception carries them (thence::error::statuses()). */
inline std::future<std::vector<MPI_Status>> as_future(std::span<MPI_Request> requests, MPI_Request cr) {
    return detail::promised<std::vector<MPI_Status>>::attach(requests, cr);
}

/** @brief Make progress on the calling thread until the future is ready.
 *  @param future a valid `std::future` or `std::shared_future` of any type, not a deferred one.
 *  @throws thence::error if MPI reports an error from progress.
 *  @note Threads: any number at once. Not in a callback, see progress_until(). */
template <class Future> void wait(const Future &future) {
    progress_until([&] { return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
}

/** @brief As wait(), then the future's value. @throws what the future's `get()` throws. */
template <class Value> Value get(std::future<Value> &&future) {
    wait(future);
    return future.get();
}
/** @brief As get() of an rvalue; the future is not valid any more afterwards, as with `std::future::get`. */
template <class Value> Value get(std::future<Value> &future) {
    return get(std::move(future));
}

} // namespace thence
