// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/operation_state.hpp
 *  @brief Operation states: objects that hold an operation. They must not be moved, and must exist until it completes.
 *
 *  Source: C++26 [exec.opstate], [exec.opstate.start]. */

#include <thence/exec/detail/meta.hpp>

namespace thence::exec {

/** @brief The tag that an operation state has as its member type `operation_state_concept`. */
struct operation_state_t {};
using operation_state_tag = operation_state_t;

/** @brief Starts an operation. Its operation state must not be destroyed before the operation completes its
 *         receiver. */
struct start_t {
    template <class Op> constexpr void operator()(Op &operation) const noexcept {
        static_assert(
            requires { operation.start(); }, "an operation state has a member `void start() & noexcept`: add it");
        static_assert(noexcept(operation.start()), "declare the operation state's start() noexcept");
        operation.start();
    }
    template <class Op> void operator()(Op &&operation) const = delete; // an operation state is an lvalue
};
inline constexpr start_t start{};

template <class Op>
concept operation_state = requires {
    typename Op::operation_state_concept;
}
&&std::derived_from<typename Op::operation_state_concept, operation_state_t> &&
    std::is_object_v<Op> &&requires(Op &operation) {
    { operation.start() }
    noexcept;
};

} // namespace thence::exec
