// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mutex>
#include <shared_mutex>

namespace thence::progress {

// A lock for std::shared_lock and std::scoped_lock. Threads that let MPI make progress share it, so none of them waits
// for another one, which may have lost its processor meanwhile: with mpi_yield_when_idle Open MPI gives it away in each
// poll.
//
// Invariant: who waits to have it alone holds `next_`, and nobody joins those who share it meanwhile. So that wait ends
// as soon as the polls end that are under way.
class gate {
public:
    void lock() {
        const std::scoped_lock guard(next_);
        shared_.lock();
    }
    void unlock() { shared_.unlock(); }

    void lock_shared() {
        const std::scoped_lock guard(next_);
        shared_.lock_shared();
    }
    // False also if another thread takes it at this moment.
    bool try_lock_shared() {
        const std::unique_lock guard(next_, std::try_to_lock);
        return guard.owns_lock() && shared_.try_lock_shared();
    }
    void unlock_shared() { shared_.unlock_shared(); }

private:
    std::mutex next_;
    std::shared_mutex shared_;
};

} // namespace thence::progress
