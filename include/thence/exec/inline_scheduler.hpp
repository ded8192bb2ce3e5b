// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/inline_scheduler.hpp
 *  @brief The scheduler whose schedule() completes at once, on the thread that starts it.
 *
 *  Completion signatures of its schedule(): set_value_t().
 *
 *  Source: C++26 [exec.inline.scheduler]. */

#include <thence/exec/connect.hpp>
#include <thence/exec/schedulers.hpp>

namespace thence::exec {

class inline_scheduler {
    template <class R> struct operation : detail::immovable {
        using operation_state_concept = operation_state_t;
        [[no_unique_address]] R receiver;

        explicit operation(R r) noexcept(std::is_nothrow_move_constructible_v<R>) : receiver(static_cast<R &&>(r)) {}
        void start() &noexcept { exec::set_value(static_cast<R &&>(receiver)); }
    };
    struct environment {
        inline_scheduler query(get_completion_scheduler_t<set_value_t>) const noexcept { return {}; }
    };
    struct sender_type {
        using sender_concept = sender_t;
        template <class, class...> static consteval auto get_completion_signatures() {
            return completion_signatures<set_value_t()>();
        }
        template <receiver R> auto connect(R r) const noexcept(std::is_nothrow_move_constructible_v<R>) {
            return operation<R>(static_cast<R &&>(r));
        }
        environment get_env() const noexcept { return {}; }
    };

public:
    using scheduler_concept = scheduler_t;
    sender_type schedule() const noexcept { return {}; }
    friend bool operator==(const inline_scheduler &, const inline_scheduler &) noexcept = default;
};

} // namespace thence::exec
