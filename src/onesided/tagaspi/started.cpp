// SPDX-License-Identifier: BSD-3-Clause
// An event of a task for an operation under way: a continuation of its requests lowers it. If its target is gone these
// may never complete: then a poll finds the operation in a list, and the event is lowered with an error.
//
// Invariant: an operation is in the list until one of the two, the continuation or the poll, takes it out. That one
// lowers the event. The object stays until the continuation has run too, since MPI writes statuses to it; the parts of
// this process that MPI moves data to or from are in use until then.
#include "onesided/tagaspi/started.hpp"

#include "onesided/source.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <vector>

namespace thence::tagaspi {

namespace {

using gaspi::left_piece;
using gaspi::notice;
using gaspi::piece;
using gaspi::process;

struct started : notification::waiter {
    thence_task owner{};
    process *self = nullptr;
    gaspi_rank_t rank = 0;
    std::vector<MPI_Request> requests;
    std::vector<std::uint32_t> serials;
    // Of a read. A reply that is too short says that the target has no such part.
    std::vector<MPI_Status> statuses;
    std::vector<gaspi_size_t> bytes;
    notification::slots own_slots;         // what a read sets when its data are here
    notice after;                          // its value 0: nothing
    std::vector<std::atomic<long> *> uses; // of the local parts, counted down at the end

    // In the list. Then one of the two has taken it out.
    started *before = nullptr;
    started *behind = nullptr;
    bool is_listed = false;
    bool was_told = false;  // of the failure, and the continuation has not run
    bool has_ended = false; // the continuation has run, and the failure was not told

    MPI_Status *status_array() noexcept { return statuses.empty() ? MPI_STATUSES_IGNORE : statuses.data(); }
    onesided::health &target() const noexcept { return self->world->health_of(rank); }
    bool is_hopeless() const noexcept {
        return std::ranges::any_of(serials, [&](std::uint32_t each) { return target().will_not_answer(each); });
    }
};

std::mutex mutex; // guards the list, and the flags of those that were in it. MPI is not called under it
started *first_started = nullptr;

void add_to_list(started &added) noexcept {
    const std::scoped_lock guard(mutex);
    added.is_listed = true;
    added.behind = first_started;
    if (first_started != nullptr) {
        first_started->before = &added;
    }
    first_started = &added;
}

// With the mutex. False: it is not in the list.
bool take_out(started &taken) noexcept {
    if (!taken.is_listed) {
        return false;
    }
    taken.is_listed = false;
    (taken.before != nullptr ? taken.before->behind : first_started) = taken.behind;
    if (taken.behind != nullptr) {
        taken.behind->before = taken.before;
    }
    return true;
}

bool take_out_of_list(started &taken) noexcept {
    const std::scoped_lock guard(mutex);
    return take_out(taken);
}

bool are_too_short(const started &ended) noexcept {
    for (std::size_t i = 0; i < ended.bytes.size(); ++i) {
        int length = 0;
        if (MPI_Get_count(&ended.statuses[i], MPI_BYTE, &length) != MPI_SUCCESS ||
            static_cast<gaspi_size_t>(length) != ended.bytes[i]) {
            return true;
        }
    }
    return false;
}

// All pieces are complete. Returns an error of MPI.
int finish(started &ended, int error) noexcept {
    if (error == MPI_SUCCESS && are_too_short(ended)) {
        error = MPI_ERR_OTHER;
    }
    if (error != MPI_SUCCESS) {
        ended.target().failed.store(true, std::memory_order_relaxed);
    } else if (ended.after.value != 0) {
        ended.own_slots.set(ended.after.id, ended.after.value);
    }
    for (std::atomic<long> *const each : ended.uses) { // last: then another thread may delete the parts
        each->fetch_sub(1, std::memory_order_release);
    }
    return error;
}

int finish_in_callback(int error, MPI_Status *, void *data) noexcept {
    started &ended = *static_cast<started *>(data);
    const bool is_first = take_out_of_list(ended);
    const int code = finish(ended, is_first ? error : int{MPI_ERR_OTHER});
    if (is_first) {
        lower(ended.owner, code);
    } else {
        const std::scoped_lock guard(mutex);
        if (!ended.was_told) {
            ended.has_ended = true; // who tells of the failure deletes it
            return MPI_SUCCESS;
        }
    }
    delete &ended;
    return MPI_SUCCESS;
}

void tell_of_failure(notification::waiter &waiter) noexcept {
    started &failed = static_cast<started &>(waiter);
    onesided::no_longer_waits();
    failed.target().failed.store(true, std::memory_order_relaxed);
    lower(failed.owner, MPI_ERR_OTHER);
    bool has_ended = false;
    {
        const std::scoped_lock guard(mutex);
        failed.was_told = true;
        has_ended = failed.has_ended;
    }
    if (has_ended) {
        delete &failed;
    }
}

// Outside of a task.
gaspi_return_t finish_here(started &ended) noexcept {
    int error = MPI_SUCCESS;
    int flag = 0;
    const gaspi::deadline never(GASPI_BLOCK);
    gaspi::wait_until(*ended.self, never, [&] {
        error =
            MPI_Testall(static_cast<int>(ended.requests.size()), ended.requests.data(), &flag, ended.status_array());
        return error != MPI_SUCCESS || flag != 0 || ended.is_hopeless();
    });
    if (error == MPI_SUCCESS && flag == 0) { // the parts stay in use: MPI has the requests
        ended.target().failed.store(true, std::memory_order_relaxed);
        return GASPI_ERROR;
    }
    return finish(ended, error) == MPI_SUCCESS ? GASPI_SUCCESS : GASPI_ERROR;
}

gaspi_return_t bind_to_task(std::unique_ptr<started> pending) noexcept {
    const thence_task *const task = thence_task_with_events();
    if (task == nullptr) {
        return finish_here(*pending);
    }
    pending->owner = *task;
    pending->arrived = &tell_of_failure;
    if (!raise(pending->owner)) {
        return finish_here(*pending);
    }
    int flag = 0;
    started &under_way = *pending.release(); // the callback may have it, and a poll
    add_to_list(under_way);
    const int code =
        thence_attach(static_cast<int>(under_way.requests.size()), under_way.requests.data(), &finish_in_callback,
                      &under_way, 0, under_way.status_array(), requests_of_tasks, &flag);
    if (flag == 0 && code == MPI_SUCCESS) {
        return GASPI_SUCCESS;
    }
    if (!take_out_of_list(under_way)) { // a poll tells of a failure
        if (flag != 0) {
            finish_in_callback(code, nullptr, &under_way);
        }
        return GASPI_SUCCESS;
    }
    pending.reset(&under_way);
    const gaspi_return_t result = flag == 0                                ? finish_here(under_way)
                                  : finish(under_way, code) == MPI_SUCCESS ? GASPI_SUCCESS
                                                                           : GASPI_ERROR;
    lower(under_way.owner, MPI_SUCCESS); // the call itself tells of the error
    return result;
}

} // namespace

void fail_lost_operations(onesided::space &) noexcept {
    const std::scoped_lock guard(mutex);
    for (started *each = first_started; each != nullptr;) {
        started &looked_at = *each;
        each = each->behind;
        if (looked_at.is_hopeless()) {
            take_out(looked_at);
            onesided::call_later(looked_at);
        }
    }
}

gaspi_return_t bind(process &self, gaspi_rank_t rank, std::span<const piece> pieces, std::span<left_piece> left,
                    bool reads, const notice *sets) noexcept {
    try {
        auto pending = std::make_unique<started>();
        pending->self = &self;
        pending->rank = rank;
        for (std::size_t i = 0; i < left.size(); ++i) {
            if (left[i].request != MPI_REQUEST_NULL) {
                pending->requests.push_back(left[i].request);
                pending->serials.push_back(left[i].serial);
                if (reads) {
                    pending->bytes.push_back(pieces[i].bytes);
                }
                if (i < pieces.size()) {
                    pending->uses.push_back(&gaspi::find_view(self, pieces[i].local_segment)->own().uses);
                }
            }
        }
        pending->statuses.resize(pending->bytes.size());
        if (sets != nullptr) {
            const auto &told = gaspi::find_view(self, sets->segment)->own();
            pending->uses.push_back(&told.uses);
            pending->own_slots = told.notifications;
            pending->after = *sets;
        }
        for (std::atomic<long> *const each : pending->uses) {
            each->fetch_add(1, std::memory_order_relaxed);
        }
        return bind_to_task(std::move(pending));
    } catch (const std::exception &) {
        const gaspi::deadline never(GASPI_BLOCK);
        for (std::size_t i = 0; i < left.size(); ++i) { // MPI uses the memory
            left_piece &each = left[i];
            bool has_ended = false;
            gaspi::wait_until(self, never, [&] {
                int flag = 0;
                has_ended = MPI_Test(&each.request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag != 0;
                return has_ended || self.world->health_of(rank).will_not_answer(each.serial);
            });
            if (!has_ended && i < pieces.size()) { // the part stays in use: MPI has the request
                gaspi::find_view(self, pieces[i].local_segment)->own().uses.fetch_add(1, std::memory_order_relaxed);
            }
        }
        return GASPI_ERR_MEMALLOC;
    }
}

} // namespace thence::tagaspi
