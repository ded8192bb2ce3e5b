// SPDX-License-Identifier: BSD-3-Clause
// The calls of <thence/notify.h> that look at notifications, wait for them, and continue them.
#include "onesided/checks.hpp"

#include "core/continuation/run.hpp"
#include "core/progress/backoff.hpp"
#include "core/progress/catch_up.hpp"
#include "onesided/own_request.hpp"
#include "onesided/source.hpp"

#include <memory>
#include <new>

using namespace thence;
using api::fail;
namespace reason = api::reason;
using onesided::object_of;
using result = notification::waiters::result; // a segment of this interface has its part until it is freed

namespace {

// A waiter that calls a function.
struct callback_waiter : notification::waiter {
    thence_notification_callback *callback;
    void *data;
};

void call_function(notification::waiter &arrived) noexcept {
    const std::unique_ptr<callback_waiter> owned(&static_cast<callback_waiter &>(arrived));
    onesided::no_longer_waits();
    owned->callback(owned->data);
}

mpi::failure wrong_notifications(thence_segment segment, unsigned first, unsigned count) noexcept {
    if (segment == nullptr) {
        return reason::null_segment;
    }
    const unsigned has = object_of(segment)->own().notifications.count();
    return first > has || count > has - first ? reason::no_notification : mpi::failure{};
}

constexpr api::failure none_to_wait_for{MPI_ERR_ARG, "count is 0: there is no notification to wait for"};

void look_once(const onesided::segment &at) noexcept {
    if (at.in.has_messages()) {
        continuation::make_progress();
    }
}

} // namespace

extern "C" {

int thence_notification_test(thence_segment segment, unsigned first, unsigned count, int *flag,
                             unsigned *notification) {
    constexpr const char *call = "thence_notification_test";
    if (const mpi::failure why = wrong_notifications(segment, first, count)) {
        return fail(call, why);
    }
    if (flag == nullptr) {
        return fail(call, reason::null_flag);
    }
    const onesided::segment &at = *object_of(segment);
    unsigned found = at.own().notifications.find(first, count);
    if (found == first + count) {
        look_once(at);
        found = at.own().notifications.find(first, count);
    }
    *flag = found != first + count ? 1 : 0;
    if (*flag != 0 && notification != nullptr) {
        *notification = found;
    }
    return MPI_SUCCESS;
}

int thence_notification_wait(thence_segment segment, unsigned first, unsigned count, unsigned *notification) {
    constexpr const char *call = "thence_notification_wait";
    if (const mpi::failure why = wrong_notifications(segment, first, count)) {
        return fail(call, why);
    }
    if (count == 0) {
        return fail(call, none_to_wait_for);
    }
    const onesided::segment &at = *object_of(segment);
    // Memory is looked at often, and all else now and then: that costs more, and may be idle.
    constexpr unsigned looks = 64;
    thence_backoff backoff = progress::backoff_of_short_wait();
    unsigned found = at.own().notifications.find(first, count);
    for (unsigned turn = 1; found == first + count; ++turn) {
        if (at.in.has_messages() || (turn % looks == 0 && onesided::must_poll())) {
            continuation::make_progress();
        }
        if (found = at.own().notifications.find(first, count); found == first + count) {
            progress::pause_and_catch_up(backoff);
        }
    }
    if (notification != nullptr) {
        *notification = found;
    }
    return MPI_SUCCESS;
}

int thence_notification_reset(thence_segment segment, unsigned notification, uint32_t *value) {
    constexpr const char *call = "thence_notification_reset";
    if (const mpi::failure why = wrong_notifications(segment, notification, 1)) {
        return fail(call, why);
    }
    if (value == nullptr) {
        return fail(call, {MPI_ERR_ARG, "value is null"});
    }
    onesided::segment &at = *object_of(segment);
    notification::slots own_slots = at.own().notifications;
    *value = own_slots.take(notification);
    if (*value == 0) {
        look_once(at);
        *value = own_slots.take(notification);
    }
    return MPI_SUCCESS;
}

int thence_notification_request(thence_segment segment, unsigned first, unsigned count, uint32_t values[],
                                MPI_Request *request) {
    constexpr const char *call = "thence_notification_request";
    if (const mpi::failure why = wrong_notifications(segment, first, count)) {
        return fail(call, why);
    }
    if (count == 0 || request == nullptr) {
        return fail(call, count == 0 ? none_to_wait_for : reason::null_request);
    }
    std::unique_ptr<onesided::own_request> made(new (std::nothrow) onesided::own_request);
    if (made == nullptr || !made->prepare(count)) {
        return fail(call, reason::no_memory);
    }
    if (const int code = made->start(); code != MPI_SUCCESS) {
        return code;
    }
    onesided::own_request &waiter = *made.release();
    *request = waiter.request;
    if (onesided::wait_for(*object_of(segment), waiter, first, count, values) != result::waits) {
        waiter.complete();
        mpi::table.Wait(request, MPI_STATUS_IGNORE); // complete: it becomes null
    }
    return MPI_SUCCESS;
}

int thence_notification_continue(thence_segment segment, unsigned first, unsigned count, uint32_t values[],
                                 thence_notification_callback *callback, void *data, int *flag) {
    constexpr const char *call = "thence_notification_continue";
    if (const mpi::failure why = wrong_notifications(segment, first, count)) {
        return fail(call, why);
    }
    if (count == 0 || callback == nullptr) {
        return fail(call, count == 0 ? none_to_wait_for : api::failure{MPI_ERR_ARG, "callback is null"});
    }
    if (flag == nullptr) {
        return fail(call, reason::null_flag);
    }
    std::unique_ptr<callback_waiter> made(new (std::nothrow) callback_waiter);
    if (made == nullptr || !made->prepare(count)) {
        return fail(call, reason::no_memory);
    }
    made->arrived = &call_function;
    made->is_callback = true;
    made->callback = callback;
    made->data = data;
    *flag = 0;
    callback_waiter &waiter = *made.release();
    if (onesided::wait_for(*object_of(segment), waiter, first, count, values) != result::waits) {
        delete &waiter;
        *flag = 1;
    }
    return MPI_SUCCESS;
}

} // extern "C"
