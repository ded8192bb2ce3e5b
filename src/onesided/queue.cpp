// SPDX-License-Identifier: BSD-3-Clause
#include "onesided/queue.hpp"

#include "core/base/free_list.hpp"
#include "core/continuation/thread_state.hpp"
#include "core/mpi/calls.hpp"
#include "onesided/wire/transport.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace thence::onesided {

namespace {

constinit base::shared_free_list<pending> unused_entries;

void drop_all(base::linked_list<pending> &these) noexcept {
    while (pending *const each = these.pop()) {
        pending::drop(each);
    }
}

} // namespace

pending *pending::make() noexcept {
    pending *const made = unused_entries.take_or_make();
    if (made != nullptr) {
        *made = {};
    }
    return made;
}

void pending::drop(pending *dropped) noexcept {
    unused_entries.give(*dropped);
}

queue::~queue() {
    drop_all(list_);
    drop_all(tags_);
}

bool queue::take_room(std::uint32_t entries, std::uint32_t most) noexcept {
    if (entries == 0) {
        return true;
    }
    most = std::max(most, entries);
    std::uint32_t taken = room_.load(std::memory_order_relaxed);
    do {
        if (taken > most - entries) { // no sum: it might overflow
            return false;
        }
    } while (!room_.compare_exchange_weak(taken, taken + entries, std::memory_order_relaxed));
    return true;
}

void queue::add(pending &added) noexcept {
    const std::scoped_lock guard(lock_);
    added.number = added_++;
    list_.add(added);
    if (added.end != nullptr) {
        ++added.end->parts;
    }
    size_.fetch_add(1, std::memory_order_release);
    if (added.is_end) {
        ends_.fetch_add(1, std::memory_order_relaxed);
    }
}

void queue::add_all_of(queue &other) noexcept {
    while (pending *const each = other.list_.pop()) {
        add(*each);
    }
    other.size_.store(0, std::memory_order_release);
}

void queue::add_complete(pending &added) noexcept {
    const std::scoped_lock guard(lock_);
    tags_.add(added);
}

void queue::completed(pending &done, int error) noexcept {
    done.has_failed = error != MPI_SUCCESS;
    if (done.has_failed) {
        if (done.end != nullptr) {
            done.end->has_failed = true;
        }
        if (done.of_target != nullptr) {
            done.of_target->failed.store(true, std::memory_order_relaxed);
        }
    } else if (done.value != 0) {
        done.own_slots.set(done.notification, done.value);
    }
    if (done.local_use != nullptr) {
        done.local_use->fetch_sub(1, std::memory_order_release);
    }
    if (done.is_end) {
        ends_.fetch_sub(1, std::memory_order_relaxed);
    }
    const bool has_tag = done.completions != 0;
    {
        const std::scoped_lock guard(lock_);
        if (done.end != nullptr) {
            --done.end->parts;
        }
        if (has_tag) {
            tags_.add(done);
        } else {
            count_complete(done.entries);
            error_ = error_ == MPI_SUCCESS ? error : error_;
        }
        size_.fetch_sub(1, std::memory_order_release);
    }
    if (!has_tag) {
        pending::drop(&done);
    }
}

bool queue::is_complete(pending &each, bool is_oldest, bool makes_progress, int &error) noexcept {
    if (each.is_end) {
        error = each.has_failed ? MPI_ERR_OTHER : MPI_SUCCESS;
        // No lock: all parts were added before the end was, and only this thread finds them complete.
        return each.value != 0 ? is_oldest : each.parts == 0;
    }
    int flag = 0;
    MPI_Status status;
    error = MPI_SUCCESS;
    if (makes_progress || wire::may_be_complete(each.request)) {
        error = mpi::table.Test(&each.request, &flag, &status);
    }
    if (error == MPI_SUCCESS && flag == 0 && each.is_hopeless()) {
        if (each.is_reply() ? !wire::transport::abandon(each.request)
                            : !wire::transport::abandon_send(each.request, each.of_target->gone)) {
            each.local_use = nullptr; // MPI may use the memory, so the part stays in use
        }
        error = MPI_ERR_OTHER;
    }
    if (error != MPI_SUCCESS || flag == 0) {
        return error != MPI_SUCCESS;
    }
    int length = 0;
    if (each.is_reply() && (mpi::table.Get_count(&status, MPI_BYTE, &length) != MPI_SUCCESS ||
                            static_cast<std::uint64_t>(length) != each.expected)) {
        error = MPI_ERR_OTHER;
    }
    return true;
}

void queue::look(bool makes_progress) noexcept {
    std::unique_lock mine(looking_, std::try_to_lock);
    if (!mine.owns_lock() || size() == 0) {
        return;
    }
    const continuation::busy_scope no_callback_here; // one that waits for this queue would wait for this function
    base::linked_list<pending> looked_at;
    base::linked_list<pending> left;
    {
        const std::scoped_lock guard(lock_);
        looked_at.add_before(list_);
        oldest_looked_at_ = !looked_at.empty() ? looked_at.first()->number : UINT64_MAX;
    }
    while (pending *const each = looked_at.pop()) { // the oldest first
        int error = MPI_SUCCESS;
        if (is_complete(*each, left.empty(), makes_progress, error)) {
            completed(*each, error);
        } else {
            left.add(*each);
        }
    }
    const std::scoped_lock guard(lock_);
    list_.add_before(left);
    oldest_looked_at_ = UINT64_MAX;
}

std::uint64_t queue::added() noexcept {
    const std::scoped_lock guard(lock_);
    return added_;
}

bool queue::reached(std::uint64_t number) noexcept {
    const std::scoped_lock guard(lock_);
    return oldest_looked_at_ >= number && (list_.empty() || list_.first()->number >= number);
}

void queue::add_error(int error) noexcept {
    const std::scoped_lock guard(lock_);
    error_ = error_ == MPI_SUCCESS ? error : error_;
}

int queue::take_error() noexcept {
    const std::scoped_lock guard(lock_);
    return std::exchange(error_, int{MPI_SUCCESS});
}

unsigned queue::take_tags(unsigned most, completed_tag *to) noexcept {
    give_untold_room();
    base::linked_list<pending> told;
    unsigned number = 0;
    {
        const std::scoped_lock guard(lock_);
        while (number < most && !tags_.empty()) {
            pending &first = *tags_.first();
            to[number++] = {first.tag, first.has_failed ? int{MPI_ERR_OTHER} : int{MPI_SUCCESS}};
            if (first.entries != 0) {
                --first.entries;
                give_room(1);
            }
            if (--first.completions == 0) {
                told.add(*tags_.pop());
            }
        }
    }
    drop_all(told);
    return number;
}

void queue::give_room_of_complete() noexcept {
    give_untold_room();
    const std::scoped_lock guard(lock_);
    for (pending *each = tags_.first(); each != nullptr; each = each->next) {
        give_room(std::exchange(each->entries, 0U));
    }
}

void queue::forget_complete() noexcept {
    give_room_of_complete();
    base::linked_list<pending> forgotten;
    {
        const std::scoped_lock guard(lock_);
        forgotten.add_before(tags_);
        error_ = MPI_SUCCESS;
    }
    drop_all(forgotten);
}

} // namespace thence::onesided
