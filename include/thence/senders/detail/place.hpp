// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_SENDERS_DETAIL_PLACE_HPP
#define THENCE_SENDERS_DETAIL_PLACE_HPP
#if __cplusplus < 202002L
#error "thence/senders/detail/place.hpp needs C++20: compile with -std=c++20"
#else

// Where an operation of transform_mpi is issued and where its receiver is completed. A place is a value that the sender
// keeps; its part of an operation decides when `begin_here()` and `send_values()`, `send_error()` or `send_stopped()`
// are called, each once and in this order. This one does it where it is asked.

#include <exception>

#include <thence/senders/detail/continuation_requests.hpp>

namespace thence::detail {

/** `InCompletion`: the receiver may be completed in the middle of MPI's progress. */
template <bool InCompletion> struct here {
    template <class Operation> struct part {
        explicit part(const here &) noexcept {}
        static void begin(Operation &operation) noexcept { operation.begin_here(); }
        static int prepare() noexcept { return make_shared_requests(); }
        static MPI_Request continuation_request() noexcept {
            return InCompletion ? shared_request_in_completion() : shared_request();
        }
        static void attaching() noexcept {}
        static void succeeded(Operation &operation) noexcept { operation.send_values(); }
        static void failed(Operation &operation, std::exception_ptr error) noexcept {
            operation.send_error(static_cast<std::exception_ptr &&>(error));
        }
        static void stopped(Operation &operation) noexcept { operation.send_stopped(); }
    };
};
using in_place = here<false>;

} // namespace thence::detail

#endif // C++20
#endif
