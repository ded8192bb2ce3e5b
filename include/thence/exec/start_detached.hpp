// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/start_detached.hpp
 *  @brief Starts a sender for which no code waits. Prefer spawn() in a counting_scope, which can be joined: see
 *         thence/exec/spawn.hpp.
 *
 *  An error ends the program. Values and stopped are ignored. The operation state is the only allocation, with
 *  get_allocator of the given environment or of the sender's.
 *
 *  Completion signatures that it accepts: any.
 *
 *  Source: P2300R10 [exec.start.detached]. */

#include <thence/exec/connect.hpp>
#include <thence/exec/detail/allocate.hpp>

namespace thence::exec {

namespace detail {

template <class S, class Env, class Allocator> struct detached_operation : immovable {
    struct detached_receiver {
        using receiver_concept = receiver_t;
        detached_operation *self;

        void set_value(auto &&...) &&noexcept { self->destroy(); }
        [[noreturn]] void set_error(auto &&) &&noexcept { std::terminate(); }
        void set_stopped() &&noexcept { self->destroy(); }
        const Env &get_env() const noexcept { return self->environment; }
    };

    [[no_unique_address]] Env environment;
    [[no_unique_address]] Allocator allocator;
    connect_result_t<S, detached_receiver> operation;

    detached_operation(S &&s, Env e, Allocator a)
        : environment(static_cast<Env &&>(e)), allocator(a),
          operation(exec::connect(static_cast<S &&>(s), detached_receiver{this})) {}
    void destroy() noexcept { deallocate(allocator, this); }
};

} // namespace detail

struct start_detached_t {
    template <sender S, class Env = env<>> void operator()(S &&s, Env environment = {}) const {
        auto chosen = detail::allocator_of(env(environment, exec::get_env(s)));
        using operation = detail::detached_operation<S, Env, decltype(chosen)>;
        operation *made = detail::allocate_from<operation>(
            chosen, [&] { return operation(static_cast<S &&>(s), static_cast<Env &&>(environment), chosen); });
        start(made->operation);
    }
};
inline constexpr start_detached_t start_detached{};

} // namespace thence::exec
