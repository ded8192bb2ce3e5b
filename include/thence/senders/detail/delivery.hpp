// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_SENDERS_DETAIL_DELIVERY_HPP
#define THENCE_SENDERS_DETAIL_DELIVERY_HPP
#if __cplusplus < 202002L
#error "thence/senders/detail/delivery.hpp needs C++20: compile with -std=c++20"
#else

// Where an operation of transform_mpi is issued and where its receiver is completed. A delivery is a value that the
// sender keeps; its part of an operation decides when `begin_here()` and `send_values()`, `send_error()` or
// `send_stopped()` are called, each once and in this order. This one does it where it is asked.

#include <exception>

#include <thence/senders/detail/continuation_requests.hpp>

namespace thence::detail {

/** `InCompletion`: the receiver may be completed in the middle of MPI's progress. */
template <bool InCompletion> struct inline_delivery {
    template <class Operation> struct operation_part {
        explicit operation_part(const inline_delivery &) noexcept {}
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
using default_delivery = inline_delivery<false>;

} // namespace thence::detail

#endif // C++20
#endif
