// SPDX-License-Identifier: BSD-3-Clause
// Operations: what depends on the task starts when they are locally complete.
#include "onesided/gaspi/transfers.hpp"
#include "onesided/tagaspi/tagaspi.hpp"

#include <TAGASPI.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace thence::tagaspi {

namespace {

using gaspi::notice;
using gaspi::piece;
using gaspi::process;

enum class direction { write, read };

// The pieces of an operation that are under way.
struct started {
    thence_task owner{};
    process *self = nullptr;
    gaspi_rank_t rank = 0;
    std::vector<MPI_Request> requests;
    // Of a read. A reply that is too short says that the target has no such part.
    std::vector<MPI_Status> statuses;
    std::vector<gaspi_size_t> bytes;
    notification::slots here;              // what a read sets when its data are here
    notice after;                          // its value 0: nothing
    std::vector<std::atomic<long> *> uses; // of the local parts, counted down at the end

    MPI_Status *status_array() noexcept { return statuses.empty() ? MPI_STATUSES_IGNORE : statuses.data(); }
};

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
    for (std::atomic<long> *const each : ended.uses) {
        each->fetch_sub(1, std::memory_order_release);
    }
    if (error == MPI_SUCCESS && are_too_short(ended)) {
        error = MPI_ERR_OTHER;
    }
    if (error != MPI_SUCCESS) {
        ended.self->world->health_of(ended.rank).failed.store(true, std::memory_order_relaxed);
    } else if (ended.after.value != 0) {
        ended.here.set(ended.after.id, ended.after.value);
    }
    return error;
}

int finish_in_callback(int error, MPI_Status *, void *data) noexcept {
    const std::unique_ptr<started> ended(static_cast<started *>(data));
    const int code = finish(*ended, error);
    lower(ended->owner, code);
    return MPI_SUCCESS;
}

// Outside of a task.
gaspi_return_t finish_here(started &ended) noexcept {
    int error = MPI_SUCCESS;
    const gaspi::deadline never(GASPI_BLOCK);
    gaspi::wait_until(*ended.self, never, [&] {
        int flag = 0;
        error =
            MPI_Testall(static_cast<int>(ended.requests.size()), ended.requests.data(), &flag, ended.status_array());
        return error != MPI_SUCCESS || flag != 0;
    });
    return finish(ended, error) == MPI_SUCCESS ? GASPI_SUCCESS : GASPI_ERROR;
}

gaspi_return_t bind(std::unique_ptr<started> pending) noexcept {
    const thence_task *const task = thence_task_with_events();
    if (task == nullptr) {
        return finish_here(*pending);
    }
    pending->owner = *task;
    if (!raise(pending->owner)) {
        return finish_here(*pending);
    }
    int flag = 0;
    started &under_way = *pending;
    const int code =
        thence_attach(static_cast<int>(under_way.requests.size()), under_way.requests.data(), &finish_in_callback,
                      &under_way, 0, under_way.status_array(), requests_of_tasks, &flag);
    if (flag == 0 && code == MPI_SUCCESS) {
        static_cast<void>(pending.release()); // the callback has it
        return GASPI_SUCCESS;
    }
    const gaspi_return_t result = flag == 0                                ? finish_here(under_way)
                                  : finish(under_way, code) == MPI_SUCCESS ? GASPI_SUCCESS
                                                                           : GASPI_ERROR;
    lower(under_way.owner, MPI_SUCCESS); // the call itself tells of the error
    return result;
}

// What was started goes on also if a later piece could not be: then its error is returned.
gaspi_return_t transfer(direction way, std::span<const piece> pieces, gaspi_rank_t rank, const notice *after,
                        gaspi_queue_id_t queue) noexcept {
    THENCE_TAGASPI_SELF();
    std::array<MPI_Request, 4> few;
    std::unique_ptr<MPI_Request[]> many;
    const std::size_t count = std::max<std::size_t>(pieces.size(), 1);
    if (count > few.size()) {
        many.reset(new (std::nothrow) MPI_Request[count]);
        if (many == nullptr) {
            return GASPI_ERR_MEMALLOC;
        }
    }
    const std::span<MPI_Request> requests(many != nullptr ? many.get() : few.data(), count);
    std::ranges::fill(requests, MPI_REQUEST_NULL);
    const bool reads = way == direction::read;
    const gaspi_return_t code = reads ? gaspi::read(self, pieces, rank, after, queue, {0, requests.data()})
                                      : gaspi::write(self, pieces, rank, after, queue, {0, requests.data()});
    const bool sets = reads && after != nullptr && code == GASPI_SUCCESS;
    const auto under_way = static_cast<std::size_t>(
        std::ranges::count_if(requests, [](MPI_Request each) { return each != MPI_REQUEST_NULL; }));
    if (under_way == 0) [[likely]] {
        if (sets) {
            notification::slots here = gaspi::find_view(self, after->segment)->own().notifications;
            here.set(after->id, after->value);
        }
        return code;
    }
    try {
        auto pending = std::make_unique<started>();
        pending->self = &self;
        pending->rank = rank;
        for (std::size_t i = 0; i < count; ++i) {
            if (requests[i] != MPI_REQUEST_NULL) {
                pending->requests.push_back(requests[i]);
                if (reads) {
                    pending->bytes.push_back(pieces[i].bytes);
                }
                if (i < pieces.size()) {
                    pending->uses.push_back(&gaspi::find_view(self, pieces[i].local_segment)->own().uses);
                }
            }
        }
        pending->statuses.resize(pending->bytes.size());
        if (sets) {
            pending->here = gaspi::find_view(self, after->segment)->own().notifications;
            pending->after = *after;
        }
        for (std::atomic<long> *const each : pending->uses) {
            each->fetch_add(1, std::memory_order_relaxed);
        }
        const gaspi_return_t bound = bind(std::move(pending));
        return code == GASPI_SUCCESS ? bound : code;
    } catch (const std::exception &) {
        MPI_Waitall(static_cast<int>(count), requests.data(), MPI_STATUSES_IGNORE); // MPI uses the memory
        return GASPI_ERR_MEMALLOC;
    }
}

gaspi_return_t transfer_list(direction way, gaspi_number_t num, const gaspi_segment_id_t *local_segments,
                             const gaspi_offset_t *local_offsets, gaspi_rank_t rank,
                             const gaspi_segment_id_t *remote_segments, const gaspi_offset_t *remote_offsets,
                             const gaspi_size_t *sizes, const notice *after, gaspi_queue_id_t queue) noexcept {
    std::vector<piece> pieces;
    THENCE_GASPI_CHECK(
        gaspi::pieces_of(pieces, num, local_segments, local_offsets, remote_segments, remote_offsets, sizes));
    return transfer(way, pieces, rank, after, queue);
}

} // namespace

} // namespace thence::tagaspi

using namespace thence::gaspi;
using namespace thence::tagaspi;

extern "C" {

gaspi_return_t tagaspi_write(const gaspi_segment_id_t segment_id_local, const gaspi_offset_t offset_local,
                             const gaspi_rank_t rank, const gaspi_segment_id_t segment_id_remote,
                             const gaspi_offset_t offset_remote, const gaspi_size_t size,
                             const gaspi_queue_id_t queue) {
    const piece one{segment_id_local, offset_local, segment_id_remote, offset_remote, size};
    return transfer(direction::write, {&one, 1}, rank, nullptr, queue);
}

gaspi_return_t tagaspi_read(const gaspi_segment_id_t segment_id_local, const gaspi_offset_t offset_local,
                            const gaspi_rank_t rank, const gaspi_segment_id_t segment_id_remote,
                            const gaspi_offset_t offset_remote, const gaspi_size_t size, const gaspi_queue_id_t queue) {
    const piece one{segment_id_local, offset_local, segment_id_remote, offset_remote, size};
    return transfer(direction::read, {&one, 1}, rank, nullptr, queue);
}

gaspi_return_t tagaspi_notify(const gaspi_segment_id_t segment_id_remote, const gaspi_rank_t rank,
                              const gaspi_notification_id_t notification_id,
                              const gaspi_notification_t notification_value, const gaspi_queue_id_t queue) {
    const notice after{segment_id_remote, notification_id, notification_value};
    return transfer(direction::write, {}, rank, &after, queue);
}

gaspi_return_t tagaspi_write_notify(const gaspi_segment_id_t segment_id_local, const gaspi_offset_t offset_local,
                                    const gaspi_rank_t rank, const gaspi_segment_id_t segment_id_remote,
                                    const gaspi_offset_t offset_remote, const gaspi_size_t size,
                                    const gaspi_notification_id_t notification_id,
                                    const gaspi_notification_t notification_value, const gaspi_queue_id_t queue) {
    const piece one{segment_id_local, offset_local, segment_id_remote, offset_remote, size};
    const notice after{segment_id_remote, notification_id, notification_value};
    return transfer(direction::write, {&one, 1}, rank, &after, queue);
}

gaspi_return_t tagaspi_read_notify(const gaspi_segment_id_t segment_id_local, const gaspi_offset_t offset_local,
                                   const gaspi_rank_t rank, const gaspi_segment_id_t segment_id_remote,
                                   const gaspi_offset_t offset_remote, const gaspi_size_t size,
                                   const gaspi_notification_id_t notification_id, const gaspi_queue_id_t queue) {
    const piece one{segment_id_local, offset_local, segment_id_remote, offset_remote, size};
    const notice after{segment_id_local, notification_id, 1};
    return transfer(direction::read, {&one, 1}, rank, &after, queue);
}

gaspi_return_t tagaspi_write_list(const gaspi_number_t num, gaspi_segment_id_t *const segment_id_local,
                                  gaspi_offset_t *const offset_local, const gaspi_rank_t rank,
                                  gaspi_segment_id_t *const segment_id_remote, gaspi_offset_t *const offset_remote,
                                  gaspi_size_t *const size, const gaspi_queue_id_t queue) {
    return transfer_list(direction::write, num, segment_id_local, offset_local, rank, segment_id_remote, offset_remote,
                         size, nullptr, queue);
}

gaspi_return_t tagaspi_read_list(const gaspi_number_t num, gaspi_segment_id_t *const segment_id_local,
                                 gaspi_offset_t *const offset_local, const gaspi_rank_t rank,
                                 gaspi_segment_id_t *const segment_id_remote, gaspi_offset_t *const offset_remote,
                                 gaspi_size_t *const size, const gaspi_queue_id_t queue) {
    return transfer_list(direction::read, num, segment_id_local, offset_local, rank, segment_id_remote, offset_remote,
                         size, nullptr, queue);
}

gaspi_return_t tagaspi_write_list_notify(const gaspi_number_t num, gaspi_segment_id_t *const segment_id_local,
                                         gaspi_offset_t *const offset_local, const gaspi_rank_t rank,
                                         gaspi_segment_id_t *const segment_id_remote,
                                         gaspi_offset_t *const offset_remote, gaspi_size_t *const size,
                                         const gaspi_segment_id_t segment_id_notification,
                                         const gaspi_notification_id_t notification_id,
                                         const gaspi_notification_t notification_value, const gaspi_queue_id_t queue) {
    const notice after{segment_id_notification, notification_id, notification_value};
    return transfer_list(direction::write, num, segment_id_local, offset_local, rank, segment_id_remote, offset_remote,
                         size, &after, queue);
}

gaspi_return_t tagaspi_read_list_notify(const gaspi_number_t num, gaspi_segment_id_t *const segment_id_local,
                                        gaspi_offset_t *const offset_local, const gaspi_rank_t rank,
                                        gaspi_segment_id_t *const segment_id_remote,
                                        gaspi_offset_t *const offset_remote, gaspi_size_t *const size,
                                        const gaspi_segment_id_t segment_id_notification,
                                        const gaspi_notification_id_t notification_id, const gaspi_queue_id_t queue) {
    const notice after{segment_id_notification, notification_id, 1};
    return transfer_list(direction::read, num, segment_id_local, offset_local, rank, segment_id_remote, offset_remote,
                         size, &after, queue);
}

} // extern "C"
