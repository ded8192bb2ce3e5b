// SPDX-License-Identifier: BSD-3-Clause
// Queues, notifications of this process, and atomic operations.
#include "onesided/gaspi/process.hpp"

#include <PGASPI.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <optional>

namespace thence::gaspi {

namespace {

// Takes one with the same arguments into an empty list. False: there is none.
bool take_unfinished(process &self, const unfinished &same, std::list<unfinished> &taken) noexcept {
    const std::scoped_lock guard(self.unfinished_mutex);
    std::list<unfinished> &all = self.unfinished_atomics;
    const auto found = std::ranges::find_if(all, [&](const unfinished &each) { return each.has_arguments_of(same); });
    if (found == all.end()) {
        return false;
    }
    taken.splice(taken.end(), all, found);
    return true;
}

void keep_unfinished(process &self, std::list<unfinished> &one) noexcept {
    const std::scoped_lock guard(self.unfinished_mutex);
    self.unfinished_atomics.splice(self.unfinished_atomics.end(), one);
}

// MPI may still write to what is in it, so it is never destroyed.
void keep_for_ever(std::list<unfinished> &one) noexcept {
    static std::mutex mutex; // guards the list
    static auto *const all = new std::list<unfinished>;
    const std::scoped_lock guard(mutex);
    all->splice(all->end(), one);
}

enum class end_of_atomic { none, success, failure };

// Of the operation in a list of one, which is empty afterwards if MPI still uses its memory.
end_of_atomic test(process &self, std::list<unfinished> &one) noexcept {
    unfinished &started = one.front();
    int flag = 0;
    MPI_Status status;
    const bool is_direct = started.request == MPI_REQUEST_NULL;
    if (MPI_Test(&started.request, &flag, &status) != MPI_SUCCESS) {
        return end_of_atomic::failure;
    }
    if (flag != 0) {
        int bytes = sizeof started.old;
        if (!is_direct) {
            MPI_Get_count(&status, MPI_BYTE, &bytes);
        }
        return bytes == sizeof started.old ? end_of_atomic::success : end_of_atomic::failure; // it has no such part
    }
    if (self.world->health_of(started.rank).will_not_answer(started.serial)) {
        if (!wire::transport::abandon(started.request)) {
            keep_for_ever(one);
        }
        return end_of_atomic::failure;
    }
    return end_of_atomic::none;
}

// Checks the arguments, and begins the operation if `one` is given, an empty list. It has room at its target.
gaspi_return_t begin_atomic(process &self, const unfinished &asked, std::list<unfinished> *one) noexcept {
    const onesided::space::use in_use(*self.world);
    std::optional<own_part> own;
    if (asked.rank == self.rank) {
        own.emplace(self, asked.segment);
    }
    constexpr std::size_t bytes = sizeof(gaspi_atomic_value_t);
    THENCE_GASPI_CHECK(wrong_remote(self, asked.segment, asked.rank, asked.offset, bytes));
    onesided::segment *const view = find_view(self, asked.segment);
    if (asked.offset % bytes != 0 || view->part_of(asked.rank).address % bytes != 0) {
        return GASPI_ERR_UNALIGN_OFF;
    }
    if (one == nullptr) {
        return GASPI_SUCCESS;
    }
    try {
        one->push_back(asked);
    } catch (const std::exception &) {
        return GASPI_ERR_MEMALLOC;
    }
    unfinished &begun = one->front();
    std::atomic<long> kept{0};
    onesided::completion how;
    how.request = &begun.request;
    how.serial = &begun.serial;
    how.local_use = &kept;
    how.has_room = true;
    const int code =
        onesided::atomic(asked.what, asked.operands, {view, asked.rank, asked.offset}, &begun.old, own_queue, how);
    if (kept != 0) { // it has failed, and MPI has a receive for the old value
        keep_for_ever(*one);
    }
    return code == MPI_SUCCESS ? GASPI_SUCCESS : GASPI_ERROR;
}

gaspi_return_t atomic(const unfinished &asked, gaspi_atomic_value_t *old, gaspi_timeout_t timeout_ms) noexcept {
    THENCE_GASPI_SELF();
    THENCE_GASPI_NOT_NULL(old);
    THENCE_GASPI_CHECK(begin_atomic(self, asked, nullptr));
    const gaspi_rank_t rank = asked.rank;
    const deadline end(timeout_ms);
    std::list<unfinished> one;
    if (!take_unfinished(self, asked, one)) {
        if (!wait_until(self, end, [&] { return self.world->has_room_for(rank) || self.world->is_gone(rank); })) {
            return GASPI_TIMEOUT; // nothing is begun
        }
        THENCE_GASPI_CHECK(begin_atomic(self, asked, &one)); // another thread may have deleted the part meanwhile
        count(counter::atomics);
    }
    end_of_atomic found = end_of_atomic::none;
    if (!wait_until(self, end, [&] { return (found = test(self, one)) != end_of_atomic::none; })) {
        keep_unfinished(self, one);
        return GASPI_TIMEOUT;
    }
    if (found == end_of_atomic::failure) {
        self.world->health_of(rank).failed.store(true, std::memory_order_relaxed);
        return GASPI_ERROR;
    }
    *old = one.front().old;
    return GASPI_SUCCESS;
}

gaspi_return_t wait(gaspi_queue_id_t number, gaspi_timeout_t timeout_ms, bool forgets_errors) noexcept {
    THENCE_GASPI_SELF();
    THENCE_GASPI_CHECK(wrong_queue(self, number));
    onesided::queue &waited = self.world->queue_of(number);
    const std::uint64_t before = waited.added();
    const deadline end(timeout_ms);
    const bool reached = wait_until(self, end, [&] {
        if (waited.size() == 0) {
            return true;
        }
        waited.look();
        return waited.reached(before);
    });
    if (!reached) {
        return GASPI_TIMEOUT;
    }
    waited.give_room_of_complete();
    return waited.take_error() == MPI_SUCCESS || forgets_errors ? GASPI_SUCCESS : GASPI_ERROR;
}

} // namespace

bool finish_atomics(process &self, const deadline &end) noexcept {
    for (;;) {
        std::list<unfinished> one;
        {
            const std::scoped_lock guard(self.unfinished_mutex);
            if (self.unfinished_atomics.empty()) {
                return true;
            }
            one.splice(one.end(), self.unfinished_atomics, self.unfinished_atomics.begin());
        }
        if (!wait_until(self, end, [&] { return test(self, one) != end_of_atomic::none; })) {
            keep_unfinished(self, one);
            return false;
        }
    }
}

} // namespace thence::gaspi

using namespace thence;
using namespace thence::gaspi;

extern "C" {

gaspi_return_t pgaspi_wait(gaspi_queue_id_t queue, gaspi_timeout_t timeout_ms) {
    return wait(queue, timeout_ms, false);
}

gaspi_return_t pgaspi_queue_purge(gaspi_queue_id_t queue, gaspi_timeout_t timeout_ms) {
    return wait(queue, timeout_ms, true);
}

gaspi_return_t pgaspi_queue_size(gaspi_queue_id_t queue, gaspi_number_t *queue_size) {
    THENCE_GASPI_NOT_NULL(queue_size);
    THENCE_GASPI_SELF();
    THENCE_GASPI_CHECK(wrong_queue(self, queue));
    // What nobody was told of counts, although it may be complete: GPI-2 counts so, and programs compare.
    *queue_size = self.world->queue_of(queue).room_taken();
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_queue_num(gaspi_number_t *queue_num) {
    THENCE_GASPI_NOT_NULL(queue_num);
    THENCE_GASPI_SELF();
    const std::scoped_lock guard(self.mutex);
    *queue_num = static_cast<gaspi_number_t>(std::count(self.has_queue.begin(), self.has_queue.end(), true));
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_queue_create(gaspi_queue_id_t *queue, gaspi_timeout_t) {
    THENCE_GASPI_NOT_NULL(queue);
    THENCE_GASPI_SELF();
    const std::scoped_lock guard(self.mutex);
    for (std::size_t i = 0; i < most_queues; ++i) {
        if (!self.has_queue[i]) {
            self.has_queue[i] = true;
            *queue = static_cast<gaspi_queue_id_t>(i);
            return GASPI_SUCCESS;
        }
    }
    return GASPI_ERROR;
}

gaspi_return_t pgaspi_queue_delete(gaspi_queue_id_t queue) {
    THENCE_GASPI_SELF();
    THENCE_GASPI_CHECK(wrong_queue(self, queue));
    onesided::queue &deleted = self.world->queue_of(queue);
    deleted.look();
    if (deleted.size() != 0) {
        return GASPI_ERROR; // its operations are not complete
    }
    deleted.forget_complete();
    const std::scoped_lock guard(self.mutex);
    self.has_queue[queue] = false;
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_notify_waitsome(gaspi_segment_id_t segment_id_local, gaspi_notification_id_t notification_begin,
                                      gaspi_number_t num, gaspi_notification_id_t *first_id,
                                      gaspi_timeout_t timeout_ms) {
    THENCE_GASPI_SELF();
    const own_part waited(self, segment_id_local); // it stays while this call waits
    if (!waited.exists()) {
        return GASPI_ERR_INV_SEG;
    }
    const notification::slots own_slots = waited->notifications;
    if (num == 0) {
        return GASPI_SUCCESS;
    }
    THENCE_GASPI_NOT_NULL(first_id);
    if (notification_begin >= own_slots.count()) {
        return GASPI_ERR_INV_NOTIF_ID;
    }
    if (num > own_slots.count() - notification_begin) {
        return GASPI_ERR_INV_NUM;
    }
    const unsigned behind = notification_begin + num;
    unsigned found = behind;
    const deadline end(timeout_ms);
    if (!wait_until(self, end, [&] { return (found = own_slots.find(notification_begin, num)) != behind; })) {
        return GASPI_TIMEOUT;
    }
    *first_id = found;
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_notify_reset(gaspi_segment_id_t segment_id_local, gaspi_notification_id_t notification_id,
                                   gaspi_notification_t *old_notification_val) {
    THENCE_GASPI_SELF();
    const own_part own(self, segment_id_local);
    if (!own.exists()) {
        return GASPI_ERR_INV_SEG;
    }
    notification::slots own_slots = own->notifications;
    if (notification_id >= own_slots.count()) {
        return GASPI_ERR_INV_NOTIF_ID;
    }
    std::uint32_t old = own_slots.take(notification_id);
    if (old == 0) { // a program may test by this call alone
        make_progress(self);
        old = own_slots.take(notification_id);
    }
    if (old_notification_val != nullptr) {
        *old_notification_val = old;
    }
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_atomic_fetch_add(gaspi_segment_id_t segment_id, gaspi_offset_t offset, gaspi_rank_t rank,
                                       gaspi_atomic_value_t val_add, gaspi_atomic_value_t *val_old,
                                       gaspi_timeout_t timeout_ms) {
    return atomic({wire::kind::fetch_add, segment_id, offset, rank, {val_add, 0}}, val_old, timeout_ms);
}

gaspi_return_t pgaspi_atomic_compare_swap(gaspi_segment_id_t segment_id, gaspi_offset_t offset, gaspi_rank_t rank,
                                          gaspi_atomic_value_t comparator, gaspi_atomic_value_t val_new,
                                          gaspi_atomic_value_t *val_old, gaspi_timeout_t timeout_ms) {
    return atomic({wire::kind::compare_swap, segment_id, offset, rank, {comparator, val_new}}, val_old, timeout_ms);
}

THENCE_GASPI_ALIAS(wait);
THENCE_GASPI_ALIAS(notify_waitsome);
THENCE_GASPI_ALIAS(notify_reset);
THENCE_GASPI_ALIAS(queue_size);
THENCE_GASPI_ALIAS(queue_num);
THENCE_GASPI_ALIAS(queue_create);
THENCE_GASPI_ALIAS(queue_delete);
THENCE_GASPI_ALIAS(queue_purge);
THENCE_GASPI_ALIAS(atomic_fetch_add);
THENCE_GASPI_ALIAS(atomic_compare_swap);

} // extern "C"
