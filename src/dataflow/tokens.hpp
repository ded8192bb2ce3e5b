// SPDX-License-Identifier: BSD-3-Clause
// Mutual exclusion of commutative accesses. Each chain has a token. A task whose accesses may all run takes the tokens
// of all its commutative accesses at once. If one is held, the task takes none and waits for that one. So there is no
// deadlock.
//
// Invariant: a token for which tasks wait is held. They take it in the order of their arrival.
//
// All tokens of a flow have one lock, since a task may need tokens of several chains.
#pragma once

#include "core/base/spin_lock.hpp"
#include "dataflow/task.hpp"

#include <mutex>
#include <utility>

namespace thence::dataflow {

class tokens {
public:
    // @return whether the task has all its tokens. If not, a later give_back() adds it to the ready tasks.
    bool take(task &wants) noexcept {
        const std::scoped_lock guard(lock_);
        return take_locked(wants);
    }
    // Adds the tasks that get all their tokens by this to `ready`.
    void give_back(task &has, task_list &ready) noexcept {
        const std::scoped_lock guard(lock_);
        for_each(has, [](access_chain &chain) { chain.held = false; });
        for_each(has, [&](access_chain &chain) {
            while (!chain.held && chain.first_waiting != nullptr) {
                task *const one = std::exchange(chain.first_waiting, chain.first_waiting->next);
                if (take_locked(*one)) {
                    ready.push(*one);
                }
            }
        });
    }

private:
    template <class Visit> static void for_each(task &user, Visit &&visit) {
        for (std::uint32_t i = 0; i < user.count; ++i) {
            if (detail::exclusive(user.accesses()[i].kind)) {
                visit(*user.accesses()[i].chain);
            }
        }
    }
    static bool take_locked(task &wants) noexcept {
        access_chain *held = nullptr;
        for_each(wants, [&](access_chain &chain) { held = chain.held ? &chain : held; });
        if (held != nullptr) {
            wants.next = nullptr;
            (held->first_waiting == nullptr ? held->first_waiting : held->last_waiting->next) = &wants;
            held->last_waiting = &wants;
            return false;
        }
        for_each(wants, [](access_chain &chain) { chain.held = true; });
        return true;
    }

    base::spin_lock lock_;
};

} // namespace thence::dataflow
