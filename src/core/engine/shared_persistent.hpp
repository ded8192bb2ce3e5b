// SPDX-License-Identifier: BSD-3-Clause
// Persistent requests with continuations. The user's calls and our polls share them: either may find one complete, and
// the other must get the result, too. This is how the user's calls, which libthence interposes, do their part.
#pragma once

#include "core/engine/engine.hpp"
#include "core/engine/persistent_requests.hpp"

#include <mutex>

namespace thence::engine {

// Exclusive access: while an object exists, no poll tests any persistent request. The user's thread calls MPI's
// completion call meanwhile. The cost of each function does not depend on the number of persistent requests.
class shared_persistent {
public:
    shared_persistent() noexcept : set_(current->polled_), guard_(set_.lock_) { set_.empty_inbox(); }

    // True if operations wait for `request`, or a poll completed it and its user has not asked yet.
    bool knows(MPI_Request request) const noexcept {
        return may_be_known(request) && set_.persistent_.find(request) != nullptr;
    }
    // True if operations wait for `request`.
    bool is_waited_for(MPI_Request request) const noexcept {
        const auto *known = set_.persistent_.find(request);
        return known != nullptr && known->is_waited_for();
    }
    // The user's call of MPI has just returned that `request` is complete, with `code` and `status`. If MPI found it
    // inactive because a poll had completed it, this returns the code that the poll got and sets `status` to the poll's
    // status, once. All operations that wait for the request become complete.
    int completed_by_user(MPI_Request request, int code, MPI_Status &status) noexcept {
        return set_.completed_by_user(request, code, status);
    }
    // The code and status that the poll got. They are kept. `status` is unchanged if MPI did not find the request
    // inactive.
    int copy_answer(MPI_Request request, MPI_Status &status) const noexcept {
        return set_.copy_answer(request, status);
    }
    // The request was started again or freed, so its answer is dropped.
    void forget_answer(MPI_Request request) noexcept { set_.forget_answer(request); }
    // The user freed `request`, for which operations wait. MPI_Request_free is called after the last of them.
    void release_after(MPI_Request request) noexcept { set_.persistent_.find(request)->freed = true; }

    // What follows takes no lock, and is correct on a thread that may use the requests now.

    // True if operations wait for some persistent request.
    static bool any_waited_for() noexcept { return current->polled_.any_waited_for(); }
    // True if a poll has completed some persistent request, and its user has not asked yet.
    static bool any_answers() noexcept { return current->polled_.has_answers(); }

private:
    polled_set &set_;
    std::scoped_lock<base::spin_lock> guard_;
};

} // namespace thence::engine
