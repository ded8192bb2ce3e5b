// SPDX-License-Identifier: BSD-3-Clause
// Exclusion of commutative accesses. Each chain has a token. A task whose accesses may all run takes the tokens of all its
// commutative accesses at once, or none; then it waits for one that is held. So there is no deadlock.
//
// Invariant: a token for which tasks wait is held. So of the tasks that wait for a token that was given back, those behind
// the one that takes it are not even looked at, and many tasks may wait. They take it in the order of their arrival.
//
// One lock for all tokens of a flow: a task may need tokens of several chains.
#pragma once

#include "core/base/spin_lock.hpp"
#include "dataflow/task.hpp"

#include <mutex>
#include <utility>

namespace thence::dataflow {

class tokens {
public:
    // @return whether the task has them all. If not, give_back() of another task returns it later.
    bool take(task &wants) noexcept {
        const std::scoped_lock guard(lock_);
        return take_locked(wants);
    }
    // Adds to `ready` the waiting tasks that have all their tokens now.
    void give_back(task &has, task_list &ready) noexcept {
        const std::scoped_lock guard(lock_);
        for_each(has, [](chain &of) { of.held = false; });
        for_each(has, [&](chain &of) {
            while (!of.held && of.first_waiting != nullptr) {
                task *const one = std::exchange(of.first_waiting, of.first_waiting->next);
                if (take_locked(*one))
                    ready.push(*one);
            }
        });
    }

private:
    template <class Visit> static void for_each(task &of, Visit &&visit) {
        for (std::uint32_t i = 0; i < of.count; ++i) {
            if (detail::exclusive(of.accesses()[i].kind))
                visit(*of.accesses()[i].of);
        }
    }
    static bool take_locked(task &wants) noexcept {
        chain *held = nullptr;
        for_each(wants, [&](chain &of) { held = of.held ? &of : held; });
        if (held != nullptr) {
            wants.next = nullptr;
            (held->first_waiting == nullptr ? held->first_waiting : held->last_waiting->next) = &wants;
            held->last_waiting = &wants;
            return false;
        }
        for_each(wants, [](chain &of) { of.held = true; });
        return true;
    }

    base::spin_lock lock_;
};

} // namespace thence::dataflow
