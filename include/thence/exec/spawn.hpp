// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/spawn.hpp
 *  @brief Starts a sender in a scope. The scope's join() waits for it.
 *
 *  The sender may complete only with set_value_t() and set_stopped_t(). If the scope refuses it, it is not started. The
 *  operation state is the only allocation, with get_allocator of the given environment or of the sender's.
 *
 *  Source: C++26 [exec.spawn]; P3149. */

// Invariant: the state is destroyed before its association. So when the scope is joined, the state is destroyed.

#include <thence/exec/detail/allocate.hpp>
#include <thence/exec/scope.hpp>
#include <thence/exec/write_env.hpp>

namespace thence::exec {

namespace detail {

template <class> inline constexpr bool spawnable_signature = false;
template <> inline constexpr bool spawnable_signature<set_value_t()> = true;
template <> inline constexpr bool spawnable_signature<set_stopped_t()> = true;
template <class> inline constexpr bool spawnable = false;
template <class... Sigs>
inline constexpr bool spawnable<completion_signatures<Sigs...>> = (spawnable_signature<Sigs> && ...);

template <class S, class Association, class Allocator> struct spawned : immovable {
    struct spawned_receiver {
        using receiver_concept = receiver_t;
        spawned *self;
        void set_value() &&noexcept { self->end(); }
        void set_stopped() &&noexcept { self->end(); }
    };
    [[no_unique_address]] Allocator allocator;
    Association association;
    connect_result_t<S, spawned_receiver> operation;

    spawned(S &&s, Allocator a, Association held)
        : allocator(a), association(static_cast<Association &&>(held)),
          operation(exec::connect(static_cast<S &&>(s), spawned_receiver{this})) {}
    void end() noexcept {
        const Association last = static_cast<Association &&>(association);
        deallocate(allocator, this);
    }
};

} // namespace detail

struct spawn_t {
    template <sender S, scope_token Token, class Env = env<>>
    void operator()(S &&s, Token token, Env environment = {}) const {
        auto chosen = detail::allocator_of(env(environment, exec::get_env(s)));
        auto wrapped = write_env(token.wrap(static_cast<S &&>(s)), static_cast<Env &&>(environment));
        using sender_type = decltype(wrapped);
        static_assert(sender_in<sender_type, env<>>,
                      "spawn: how the sender completes is not known; answer its queries with spawn's third argument, "
                      "an environment");
        if constexpr (sender_in<sender_type, env<>>) {
            constexpr bool fitting = detail::spawnable<completion_signatures_of_t<sender_type, env<>>>;
            static_assert(fitting,
                          "spawn: values and errors of a spawned sender are not delivered; drop values with "
                          "then([](auto &&...) noexcept {}) and handle errors with upon_error(), or use spawn_future");
            if constexpr (fitting) {
                auto association = token.try_associate();
                if (!association) {
                    return;
                }
                using state = detail::spawned<sender_type, decltype(association), decltype(chosen)>;
                state *made = detail::allocate_from<state>(chosen, [&] {
                    return state(static_cast<sender_type &&>(wrapped), chosen,
                                 static_cast<decltype(association) &&>(association));
                });
                start(made->operation);
            } // NOLINT(clang-analyzer-cplusplus.NewDeleteLeaks): it deletes itself
        }
    }
};
inline constexpr spawn_t spawn{};

} // namespace thence::exec
