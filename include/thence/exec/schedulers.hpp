// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/schedulers.hpp
 *  @brief Schedulers: handles of execution resources, such as a thread pool. The sender `schedule(scheduler)` completes
 *         on that resource.
 *
 *  Completion signatures of schedule(): set_value_t(); set_stopped_t() and errors if the scheduler has them.
 *
 *  Source: C++26 [exec.sched], [exec.schedule]. */

#include <thence/exec/queries.hpp>
#include <thence/exec/senders.hpp>

namespace thence::exec {

/** @brief The tag that a scheduler has as its member type `scheduler_concept`. */
struct scheduler_t {};
using scheduler_tag = scheduler_t;

struct schedule_t {
    template <class Scheduler> constexpr auto operator()(Scheduler &&target) const noexcept {
        static_assert(
            requires { static_cast<Scheduler &&>(target).schedule(); },
            "this is not a scheduler: it has no member schedule() that returns a sender");
        static_assert(sender<decltype(static_cast<Scheduler &&>(target).schedule())>,
                      "a scheduler's schedule() must return a sender");
        return static_cast<Scheduler &&>(target).schedule();
    }
};
inline constexpr schedule_t schedule{};

template <class T>
concept scheduler = requires {
    typename std::remove_cvref_t<T>::scheduler_concept;
}
&&std::derived_from<typename std::remove_cvref_t<T>::scheduler_concept, scheduler_t> &&
    std::copyable<std::remove_cvref_t<T>> &&std::equality_comparable<std::remove_cvref_t<T>> &&requires(T &&target) {
    { static_cast<T &&>(target).schedule() } -> sender;
};

template <class Scheduler> using schedule_result_t = decltype(schedule(std::declval<Scheduler>()));

} // namespace thence::exec
