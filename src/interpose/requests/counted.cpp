// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/requests/counted.hpp"

#include "core/continuation/handle.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

namespace thence::interpose {

using continuation::is_cr_handle;

namespace {

struct persistent_request {
    bool active = false;
    std::int64_t bytes = 0; // that each of its operations transfers, for the report
};

// Those of the program.
std::mutex mutex;
std::unordered_map<std::uintptr_t, persistent_request> &persistent() {
    static auto &all = *new std::unordered_map<std::uintptr_t, persistent_request>; // used until the process ends
    return all;
}
std::atomic<bool> any_persistent{false}; // there has been one

std::uintptr_t key_of(MPI_Request request) noexcept {
    return mpi::bits(request);
}

} // namespace

void count_created(MPI_Request request, std::int64_t bytes) noexcept {
    try {
        const std::scoped_lock guard(mutex);
        any_persistent.store(true, std::memory_order_relaxed);
        persistent()[key_of(request)] = {false, bytes};
    } catch (const std::bad_alloc &) { // it counts as a request that is not persistent
    }
}

void count_start(MPI_Request before, MPI_Request after) noexcept {
    if (after == MPI_REQUEST_NULL) {
        return;
    }
    persistent_request known;
    bool was_active = false;
    try {
        const std::scoped_lock guard(mutex);
        any_persistent.store(true, std::memory_order_relaxed);
        if (const auto at = persistent().find(key_of(before)); at != persistent().end()) {
            known = at->second;
            persistent().erase(at);
        }
        was_active = std::exchange(known.active, true);
        persistent()[key_of(after)] = known;
    } catch (const std::bad_alloc &) { // it counts as a request that is not persistent
    }
    if (!was_active) {
        progress::operation_started();
        if (measures_calls()) {
            measure_start(after, known.bytes);
        }
    }
}

void count_freed(MPI_Request request) noexcept {
    if (request == MPI_REQUEST_NULL || is_cr_handle(request)) {
        return;
    }
    bool active = true;
    if (any_persistent.load(std::memory_order_relaxed)) {
        const std::scoped_lock guard(mutex);
        if (const auto at = persistent().find(key_of(request)); at != persistent().end()) {
            active = at->second.active;
            persistent().erase(at);
        }
    }
    if (measures_calls()) {
        measure_freed(request);
    }
    progress::operations_ended(active ? 1 : 0);
}

long counted_completion::active_ones() const noexcept {
    const auto is_own = [](MPI_Request each) { return each != MPI_REQUEST_NULL && !is_cr_handle(each); };
    if (!any_persistent.load(std::memory_order_relaxed)) {
        return std::count_if(requests_, requests_ + size_, is_own);
    }
    const std::scoped_lock guard(mutex);
    return std::count_if(requests_, requests_ + size_, [&](MPI_Request each) {
        return is_own(each) && persistent().find(key_of(each)) == persistent().end();
    });
}

void counted_completion::end() noexcept {
    long ended = std::max(before_ - active_ones(), 0L);
    if (any_persistent.load(std::memory_order_relaxed)) {
        const std::scoped_lock guard(mutex);
        const auto complete = [&](int i) {
            const auto at = i >= 0 && i < size_ ? persistent().find(key_of(requests_[i])) : persistent().end();
            if (at != persistent().end()) {
                ended += at->second.active ? 1 : 0;
                at->second.active = false;
                if (measured_ != nullptr) {
                    measured_->ended(i);
                }
            }
        };
        if (indices_ != nullptr) {
            const int found = found_ != nullptr ? std::clamp(*found_, 0, size_) : 1;
            for (int i = 0; i < found; ++i) {
                complete(indices_[i]);
            }
        } else if (flag_ == nullptr || *flag_ != 0) {
            for (int i = 0; i < size_; ++i) {
                complete(i);
            }
        }
    }
    if (measured_ != nullptr) {
        measured_->end(requests_);
    }
    if (ended != 0) {
        progress::operations_ended(ended);
    }
}

} // namespace thence::interpose
