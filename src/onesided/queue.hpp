// SPDX-License-Identifier: BSD-3-Clause
// The operations of one queue that are not locally complete: requests of MPI that nobody else has. A null request is
// complete when those before it are.
//
// Invariant: a request is in the list of the queue, or in that of the one thread that tests requests of this queue. The
// thread that finds it complete is the only one that reports it.
#pragma once

#include "core/base/spin_lock.hpp"
#include "core/base/visibility.hpp"
#include "onesided/notification/slots.hpp"

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace thence::onesided {

// What an operation that was started leaves behind.
struct pending {
    MPI_Request request = MPI_REQUEST_NULL;
    std::uint64_t number = 0;      // in the order of the queue
    std::uint64_t expected = 0;    // bytes of a reply; fewer: the target has no such segment
    std::uint64_t tag = 0;         // of a user of the space (gaspi)
    std::uint32_t completions = 0; // how often the tag is reported; 0: not
    std::uint32_t value = 0;       // a notification here that is set at completion; 0: none
    unsigned notification = 0;
    notification::slots here;
};

struct completed_tag {
    std::uint64_t tag;
    int error;
};

class THENCE_INTERNAL queue {
public:
    queue() noexcept = default;
    queue(queue &&) noexcept {} // before it is used
    queue &operator=(queue &&) = delete;

    // `added` has no number. False if memory is exhausted.
    void add(pending added) noexcept;
    // An operation that was complete at once: its tag is reported.
    void add_complete(std::uint64_t tag, std::uint32_t completions) noexcept;

    // Tests the requests.
    void look() noexcept;
    int size() const noexcept { return size_.load(std::memory_order_acquire); }
    // How many were added. reached() tells whether the first so many are complete.
    std::uint64_t added() noexcept;
    bool reached(std::uint64_t number) noexcept;
    // The error of an operation that has failed since the last call.
    int take_error() noexcept;
    // Takes up to `most` tags. Returns how many.
    unsigned take_tags(unsigned most, completed_tag *to) noexcept;

private:
    void completed(const pending &done, int error) noexcept;

    base::spin_lock looking_; // only tried
    std::vector<pending> looked_at_;
    base::spin_lock lock_; // guards what follows. MPI is not called under it
    std::vector<pending> list_;
    std::uint64_t added_ = 0;
    std::uint64_t oldest_looked_at_ = UINT64_MAX; // the lowest number of those that a thread tests now
    std::vector<completed_tag> tags_;
    std::size_t taken_tags_ = 0;
    int error_ = MPI_SUCCESS;
    std::atomic<int> size_{0};
};

} // namespace thence::onesided
