// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// A delivery decides on which thread an operation of transform_mpi is started, and on which its receiver is completed.
// The sender keeps a delivery as a value. Each operation has a `per_operation` of it, which calls `begin_here()`, and
// after that one of `send_values()`, `send_error()` and `send_stopped()`, each once. The delivery in this file calls
// them at once.

#include <exception>

#include <thence/senders/detail/continuation_requests.hpp>

namespace thence::detail {

/** @tparam InCompletion whether the receiver may be completed in MPI's completion path. */
template <bool InCompletion> struct inline_delivery {
    template <class Operation> struct per_operation {
        explicit per_operation(const inline_delivery &) noexcept {}
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
