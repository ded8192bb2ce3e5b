// SPDX-License-Identifier: BSD-3-Clause
#include "core/engine/persistent_requests.hpp"

#include <algorithm>
#include <utility>

namespace thence::engine {

handle_filter<MPI_Request> known_requests;

#if defined(OPEN_MPI)
bool can_read_requests = false;
#endif

namespace {

// Most arrays hold no known request, so several requests are checked together: on Open MPI that saves 10 of 16
// instructions per request of MPI_Waitall (`persistent_rounds`, requests not tested). Each function returns how many it
// has passed.

bool may_be_persistent_or_null(MPI_Request request) noexcept {
    return request == MPI_Request{} || may_be_persistent(request);
}

int pass_by_kind(int count, const MPI_Request requests[]) noexcept {
    int i = 0;
    while (i + 4 <= count && !may_be_persistent_or_null(requests[i]) && !may_be_persistent_or_null(requests[i + 1]) &&
           !may_be_persistent_or_null(requests[i + 2]) && !may_be_persistent_or_null(requests[i + 3])) {
        i += 4;
    }
    return i;
}

int pass_by_filter(int count, const MPI_Request requests[]) noexcept {
    constexpr int per_check = handle_filter<MPI_Request>::per_check;
    int i = 0;
    while (i + per_check <= count && !known_requests.may_hold_any(requests + i)) {
        i += per_check;
    }
    return i;
}

} // namespace

int first_that_may_be_known(int count, const MPI_Request requests[]) noexcept {
    int i = 0;
    do {
        i += can_read_requests ? pass_by_kind(count - i, requests + i) : pass_by_filter(count - i, requests + i);
        if (i < count && may_be_known(requests[i])) {
            return i;
        }
    } while (++i < count);
    return count;
}

persistent_requests::~persistent_requests() {
    for (const auto &[request, known] : entries_) {
        known_requests.remove(request);
    }
}

persistent_requests::entry &persistent_requests::make(MPI_Request request) {
    entry *made = nullptr;
    if (spare_.empty()) {
        if (spare_.capacity() <= nodes_) {
            spare_.reserve(std::max<std::size_t>(64, 2 * nodes_));
        }
        made = &entries_.try_emplace(request).first->second;
        ++nodes_;
    } else {
        map::node_type node = std::move(spare_.back());
        spare_.pop_back();
        node.key() = request;
        made = &entries_.insert(std::move(node)).position->second;
    }
    made->request = request;
    known_requests.add(request);
    return *made;
}

void persistent_requests::erase(entry &gone) noexcept {
    known_requests.remove(gone.request);
    gone.freed = false;
    spare_.push_back(entries_.extract(gone.request));
}

void persistent_requests::leave_waiting(entry &known) noexcept {
    entry *const last = waiting_.back();
    waiting_[static_cast<std::size_t>(known.index)] = last;
    last->index = known.index;
    waiting_.pop_back();
    known.index = -1;
    known.first = nullptr;
}

void persistent_requests::wait_for(operation &op) {
    entry *known = find(op.request);
    if (known == nullptr) {
        known = &make(op.request);
    }
    if (known->is_waited_for()) {
        known->others.push_back(&op);
        return;
    }
    waiting_.push_back(known);
    known->index = static_cast<int>(waiting_.size()) - 1;
    known->first = &op;
}

bool persistent_requests::remove(const operation &op) noexcept {
    entry *known = find(op.request);
    if (known == nullptr || !known->is_waited_for()) {
        return false;
    }
    const auto other = std::find(known->others.begin(), known->others.end(), &op);
    if (other != known->others.end()) {
        known->others.erase(other);
        return true;
    }
    if (known->first != &op) {
        return false;
    }
    if (known->others.empty()) {
        leave_waiting(*known);
        erase(*known);
    } else {
        known->first = known->others.front();
        known->others.erase(known->others.begin());
    }
    return true;
}

void persistent_requests::keep_answer(MPI_Request request, const MPI_Status &status, int error) {
    entry *known = find(request);
    if (known == nullptr) {
        known = &make(request);
    }
    known->status = status;
    known->error = error;
}

void persistent_requests::forget_answer(MPI_Request request) noexcept {
    if (entry *known = find(request); known != nullptr && !known->is_waited_for()) {
        erase(*known);
    }
}

} // namespace thence::engine
