// SPDX-License-Identifier: BSD-3-Clause
// Activation of a thread communicator in one process, from start to finish: a fixed number of threads wait for each
// other at the start, get their indices, and wait for each other again at the finish. It calls no MPI.
//
// Indices: a thread gets the index that it asks for; else the one that it had last time; else, if all threads suggest
// different ones, that (the OpenMP thread number); else the lowest that is left, in the order of arrival. All of them
// are known only when the last thread has arrived, so that thread assigns them.
//
// Invariant: `state_` goes idle -> gathering -> active -> finishing -> idle. Each arrival lies on the stack of its
// thread, which waits until `told` is set and does not read the activation before. Setting `told` is the last access to
// an arrival. So a thread that has been told at the finish, and has not returned yet, does not count in a start that
// follows. tests/model/threadcomm_activation.pml checks it. Start and finish need no memory, so no thread fails while
// others wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace thence::threadcomm {

class activation {
public:
    enum class answer { done, too_many, index_out_of_range, index_twice };

    explicit activation(int threads); // may throw std::bad_alloc
    activation &operator=(activation &&) = delete;

    int threads() const noexcept { return threads_; }
    // False between the first arrival at a start and the end of the finish. If true, no thread is inside start() or
    // finish() with an access to this object before it, so it may be destroyed.
    bool idle() const noexcept {
        const std::scoped_lock guard(mutex_); // the last thread tells the others under it
        return state_.load(std::memory_order_relaxed) == state::idle;
    }

    // Blocks until all threads have called it; only too_many and index_out_of_range are returned at once. `thread`: not
    // zero, and the same whenever this thread calls. `wanted`: an index, or -1. `suggested`: one that is taken if all
    // differ. After any answer but `done`, no thread has started. `call`: the name of the user's call, for the stall
    // report.
    answer start(const char *call, std::uint64_t thread, int wanted, int suggested, int &index) noexcept;
    // Blocks until all threads have called it. The caller has started and calls it once.
    void finish(const char *call) noexcept;

private:
    enum class state { idle, gathering, active, finishing };
    struct arrival {
        std::uint64_t thread = 0;
        int wanted = -1;
        int suggested = -1;
        int index = -1;
        answer result = answer::done;
        std::atomic<bool> told{false};
    };
    void assign() noexcept;
    void tell_all() noexcept;
    void wait_for(const char *call, const arrival &mine) const noexcept;

    const int threads_;
    std::atomic<state> state_{state::idle}; // changes under the mutex
    std::atomic<int> arrived_{0};           // the length of the list, for reports
    mutable std::mutex mutex_;
    std::vector<arrival *> arrivals_;           // has room for all threads
    std::vector<std::uint64_t> last_thread_of_; // by index
    std::vector<arrival *> owner_;              // by index, while indices are assigned
    std::vector<char> suggested_;               // the same
};

} // namespace thence::threadcomm
