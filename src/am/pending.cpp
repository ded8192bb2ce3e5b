// SPDX-License-Identifier: BSD-3-Clause
#include "am/pending.hpp"

#include <mutex>

namespace thence::am {

pending_operation *&pending_operations::list_of(pending_operation::use used_for) noexcept {
    return first_[static_cast<unsigned>(used_for)];
}

void pending_operations::link(pending_operation &o, pending_operation::use used_for) noexcept {
    pending_operation *&first = list_of(used_for);
    o.before = nullptr;
    o.after = first;
    if (first != nullptr) {
        first->before = &o;
    }
    first = &o;
    o.used_for = used_for;
}

void pending_operations::unlink(pending_operation &o) noexcept {
    (o.before != nullptr ? o.before->after : list_of(o.used_for)) = o.after;
    if (o.after != nullptr) {
        o.after->before = o.before;
    }
}

void pending_operations::close() noexcept {
    const std::scoped_lock guard(lock_);
    are_closed_ = true;
}

bool pending_operations::add(pending_operation &o) noexcept {
    const std::scoped_lock guard(lock_);
    if (are_closed_) {
        return false;
    }
    link(o, pending_operation::use::nothing);
    o.is_pending = true;
    return true;
}

bool pending_operations::begin(pending_operation &o, pending_operation::use used_for) noexcept {
    const std::scoped_lock guard(lock_);
    if (!o.is_pending || are_closed_) {
        return false;
    }
    unlink(o);
    link(o, used_for);
    return true;
}

bool pending_operations::take(pending_operation &o) noexcept {
    const std::scoped_lock guard(lock_);
    if (!o.is_pending) {
        return false;
    }
    unlink(o);
    o.is_pending = false;
    return true;
}

bool pending_operations::take_any(pending_operation::use used_for, thence_am_done *&done, void *&done_data) noexcept {
    const std::scoped_lock guard(lock_);
    pending_operation *const o = list_of(used_for);
    if (o == nullptr) {
        return false;
    }
    unlink(*o);
    o->is_pending = false;
    done = o->done;
    done_data = o->done_data;
    return true;
}

bool pending_operations::any_used() noexcept {
    const std::scoped_lock guard(lock_);
    return list_of(pending_operation::use::reads) != nullptr || list_of(pending_operation::use::writes) != nullptr;
}

} // namespace thence::am
