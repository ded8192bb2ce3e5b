// SPDX-License-Identifier: BSD-3-Clause
// Waiting for notifications: what depends on the task starts when they have arrived.
#include "onesided/source.hpp"
#include "onesided/tagaspi/tagaspi.hpp"

#include <TAGASPI.h>

#include <memory>
#include <new>

namespace thence::tagaspi {

namespace {

using gaspi::process;

struct event_waiter : notification::waiter {
    thence_task owner;
};

void have_arrived(notification::waiter &waiter) noexcept {
    const std::unique_ptr<event_waiter> ended(&static_cast<event_waiter &>(waiter));
    onesided::no_longer_waits();
    lower(ended->owner, MPI_SUCCESS);
}

// Waits for one after the other, outside of a task.
void wait_here(process &self, notification::slots own_slots, unsigned first, unsigned count,
               gaspi_notification_t *values) noexcept {
    const gaspi::deadline never(GASPI_BLOCK);
    for (unsigned i = 0; i < count; ++i) {
        gaspi_notification_t value = 0;
        gaspi::wait_until(self, never, [&] { return (value = own_slots.take(first + i)) != 0; });
        if (values != nullptr) {
            values[i] = value;
        }
    }
}

gaspi_return_t await(gaspi_segment_id_t number, gaspi_notification_id_t first, gaspi_number_t count,
                     gaspi_notification_t *values) noexcept {
    THENCE_TAGASPI_SELF();
    const gaspi::own_part waited(self, number); // it stays while this call waits, and then as long as a task does
    if (!waited.exists()) {
        return GASPI_ERR_INV_SEG;
    }
    onesided::segment &at = *waited.view();
    const unsigned has = waited->notifications.count();
    if (count == 0) {
        return GASPI_SUCCESS;
    }
    if (first >= has) {
        return GASPI_ERR_INV_NOTIF_ID;
    }
    if (count > has - first) {
        return GASPI_ERR_INV_NUM;
    }
    const thence_task *const task = thence_task_with_events();
    if (task == nullptr) {
        wait_here(self, waited->notifications, first, count, values);
        return GASPI_SUCCESS;
    }
    std::unique_ptr<event_waiter> made(new (std::nothrow) event_waiter);
    if (made == nullptr || !made->prepare(count) || !at.waiting.make_room()) {
        return GASPI_ERR_MEMALLOC;
    }
    made->arrived = &have_arrived;
    made->is_callback = true;
    made->owner = *task;
    if (!raise(made->owner)) {
        return GASPI_ERROR;
    }
    using result = notification::waiters::result;
    event_waiter &waiter = *made.release();
    const result found = onesided::wait_for(at, waiter, first, count, values);
    if (found != result::waits) {
        lower(waiter.owner, MPI_SUCCESS);
        delete &waiter;
    }
    return found == result::no_such ? GASPI_ERR_INV_SEG : GASPI_SUCCESS; // another thread has deleted the part
}

} // namespace

} // namespace thence::tagaspi

using namespace thence::tagaspi;

extern "C" {

gaspi_return_t tagaspi_notify_iwait(gaspi_segment_id_t segment_id_local, gaspi_notification_id_t notification_id,
                                    gaspi_notification_t *old_notification_value) {
    return await(segment_id_local, notification_id, 1, old_notification_value);
}

gaspi_return_t tagaspi_notify_iwaitall(gaspi_segment_id_t segment_id_local, gaspi_notification_id_t notification_begin,
                                       gaspi_number_t num, gaspi_notification_t old_notification_values[]) {
    return await(segment_id_local, notification_begin, num, old_notification_values);
}

gaspi_return_t tagaspi_notify_async_wait(gaspi_segment_id_t segment_id_local, gaspi_notification_id_t notification_id,
                                         gaspi_notification_t *old_notification_value) {
    return await(segment_id_local, notification_id, 1, old_notification_value);
}

gaspi_return_t tagaspi_notify_async_waitall(gaspi_segment_id_t segment_id_local,
                                            gaspi_notification_id_t notification_begin, gaspi_number_t num,
                                            gaspi_notification_t old_notification_values[]) {
    return await(segment_id_local, notification_begin, num, old_notification_values);
}

} // extern "C"
