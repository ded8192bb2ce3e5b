// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/starts_on.hpp
 *  @brief Starts a sender on a scheduler. That scheduler is get_scheduler in the environment of the sender.
 *
 *  Completion signatures: those of the sender; the errors and set_stopped_t() of the scheduler;
 *  set_error_t(std::exception_ptr) unless moving and connecting the sender is noexcept.
 *
 *  Source: C++26 [exec.starts.on]. */

#include <thence/exec/let.hpp>
#include <thence/exec/schedulers.hpp>

namespace thence::exec {

namespace detail {

/** A function that returns the sender that it holds, by move. */
template <class S> struct return_sender {
    S kept;
    S operator()() noexcept(std::is_nothrow_move_constructible_v<S>) { return static_cast<S &&>(kept); }
};

} // namespace detail

struct starts_on_t {
    template <class Scheduler, sender S> constexpr auto operator()(Scheduler &&target, S &&s) const {
        static_assert(scheduler<Scheduler>, "starts_on: the first argument is not a scheduler");
        return let_value(schedule(static_cast<Scheduler &&>(target)),
                         detail::return_sender<std::decay_t<S>>{static_cast<S &&>(s)});
    }
};
inline constexpr starts_on_t starts_on{};

} // namespace thence::exec
