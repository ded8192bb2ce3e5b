// SPDX-License-Identifier: BSD-3-Clause
#include "am/outgoing_data.hpp"

#include <mutex>
#include <new>

namespace thence::am {

transfer *make_transfer(std::size_t payload_bytes) noexcept {
    void *const memory = ::operator new(sizeof(transfer) + payload_bytes, std::nothrow);
    if (memory == nullptr) {
        return nullptr;
    }
    auto *const made = new (memory) transfer;
    made->payload_bytes = payload_bytes;
    return made;
}

void delete_transfer(transfer *t) noexcept {
    ::operator delete(t);
}

outgoing_data::~outgoing_data() {
    while (transfer *const t = queue_.pop()) {
        delete_transfer(t);
    }
}

void outgoing_data::add(transfer &t) noexcept {
    lock_.lock();
    queue_.add(t);
    waiting_.fetch_add(1, std::memory_order_relaxed);
    lock_.unlock();
    if (by_.may_call()) {
        start_waiting();
    }
}

transfer *outgoing_data::take() noexcept {
    const std::scoped_lock guard(lock_);
    if (queue_.empty() || under_way_ >= most_) {
        return nullptr;
    }
    transfer *const t = queue_.pop();
    ++under_way_;
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    return t;
}

void outgoing_data::end(transfer &t, int error) noexcept {
    lock_.lock();
    --under_way_;
    lock_.unlock();
    const bool is_told = error == MPI_SUCCESS || by_.send_no_data(t.rank, t.tag) == MPI_SUCCESS;
    owner_.has_left(t, error, is_told);
}

void outgoing_data::left(transfer &t, int error) noexcept {
    end(t, error);
    start_waiting();
    forget(); // the last access: the engine may be freed now
}

namespace {

// On this thread some outgoing data are being started: what is added meanwhile is started by that loop, so that calls
// do not nest.
constinit thread_local const outgoing_data *starting = nullptr;

} // namespace

void outgoing_data::start_waiting() noexcept {
    if (starting == this) {
        return;
    }
    const outgoing_data *const outer = starting;
    starting = this;
    while (transfer *const t = take()) {
        int error = MPI_ERR_OTHER;
        if (!owner_.may_leave(*t) || by_.send_data(*t, error)) {
            end(*t, error);
            forget();
        }
    }
    starting = outer;
}

} // namespace thence::am
