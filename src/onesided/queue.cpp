// SPDX-License-Identifier: BSD-3-Clause
#include "onesided/queue.hpp"

#include "core/mpi/calls.hpp"

#include <algorithm>
#include <mutex>

namespace thence::onesided {

void queue::add(pending added) noexcept {
    const std::scoped_lock guard(lock_);
    added.number = added_++;
    list_.push_back(added);
    size_.fetch_add(1, std::memory_order_release);
}

void queue::add_complete(std::uint64_t tag, std::uint32_t completions) noexcept {
    const std::scoped_lock guard(lock_);
    for (std::uint32_t i = 0; i < completions; ++i) {
        tags_.push_back({tag, MPI_SUCCESS});
    }
}

void queue::completed(const pending &done, int error) noexcept {
    if (error == MPI_SUCCESS && done.value != 0) {
        notification::slots(done.here).set(done.notification, done.value);
    }
    const std::scoped_lock guard(lock_);
    for (std::uint32_t i = 0; i < done.completions; ++i) {
        tags_.push_back({done.tag, error});
    }
    if (error_ == MPI_SUCCESS && done.completions == 0) {
        error_ = error;
    }
    size_.fetch_sub(1, std::memory_order_release);
}

void queue::look() noexcept {
    std::unique_lock mine(looking_, std::try_to_lock);
    if (!mine.owns_lock() || size() == 0) {
        return;
    }
    {
        const std::scoped_lock guard(lock_);
        looked_at_.swap(list_);
        oldest_looked_at_ = UINT64_MAX;
        for (const pending &each : looked_at_) {
            oldest_looked_at_ = std::min(oldest_looked_at_, each.number);
        }
    }
    std::size_t left = 0;
    for (pending &each : looked_at_) {      // oldest first
        if (each.value != 0 && left != 0) { // its notification comes after all that is older
            looked_at_[left++] = each;
            continue;
        }
        int flag = 0;
        MPI_Status status;
        int code = mpi::table.Test(&each.request, &flag, &status);
        if (code == MPI_SUCCESS && flag == 0) {
            looked_at_[left++] = each;
            continue;
        }
        int length = 0;
        if (code == MPI_SUCCESS && each.expected != 0 &&
            (mpi::table.Get_count(&status, MPI_BYTE, &length) != MPI_SUCCESS ||
             static_cast<std::uint64_t>(length) != each.expected)) {
            code = MPI_ERR_OTHER;
        }
        completed(each, code);
    }
    const std::scoped_lock guard(lock_);
    list_.insert(list_.begin(), looked_at_.begin(), looked_at_.begin() + static_cast<std::ptrdiff_t>(left));
    looked_at_.clear();
    oldest_looked_at_ = UINT64_MAX;
}

std::uint64_t queue::added() noexcept {
    const std::scoped_lock guard(lock_);
    return added_;
}

bool queue::reached(std::uint64_t number) noexcept {
    const std::scoped_lock guard(lock_);
    return oldest_looked_at_ >= number &&
           std::ranges::none_of(list_, [number](const pending &each) { return each.number < number; });
}

int queue::take_error() noexcept {
    const std::scoped_lock guard(lock_);
    const int error = error_;
    error_ = MPI_SUCCESS;
    return error;
}

unsigned queue::take_tags(unsigned most, completed_tag *to) noexcept {
    const std::scoped_lock guard(lock_);
    const auto number = static_cast<unsigned>(std::min<std::size_t>(most, tags_.size() - taken_tags_));
    std::copy_n(tags_.begin() + static_cast<std::ptrdiff_t>(taken_tags_), number, to);
    taken_tags_ += number;
    if (taken_tags_ == tags_.size()) {
        tags_.clear();
        taken_tags_ = 0;
    }
    return number;
}

} // namespace thence::onesided
