// SPDX-License-Identifier: BSD-3-Clause
// Operations on queues, with and without tags, and the queues.
#include "onesided/gaspi/process.hpp"

#include <PGASPI.h>

#include <algorithm>
#include <span>

namespace thence::gaspi {

namespace {

using onesided::completion;
using onesided::place;
using onesided::signal;

// One piece.
struct piece {
    gaspi_segment_id_t local_segment;
    gaspi_offset_t local_offset;
    gaspi_segment_id_t remote_segment;
    gaspi_offset_t remote_offset;
    gaspi_size_t bytes;
};

// What an operation does after its data.
struct notice {
    gaspi_segment_id_t segment = 0;
    gaspi_notification_id_t id = 0;
    gaspi_notification_t value = 0; // 0: none
};

gaspi_return_t code_of(process &self, int rank, int code) noexcept {
    if (code == MPI_SUCCESS) [[likely]] {
        return GASPI_SUCCESS;
    }
    if (code == MPI_ERR_NO_MEM) {
        return GASPI_ERR_MEMALLOC;
    }
    const std::scoped_lock guard(self.mutex);
    self.states[static_cast<std::size_t>(rank)] = GASPI_STATE_CORRUPT;
    return GASPI_ERROR;
}

gaspi_return_t wrong_piece(process &self, const piece &each, gaspi_rank_t rank) noexcept {
    if (each.bytes > configuration.transfer_size_max) {
        return GASPI_ERR_INV_SIZE;
    }
    THENCE_GASPI_CHECK(wrong_local(self, each.local_segment, each.local_offset, each.bytes));
    return wrong_remote(self, each.remote_segment, rank, each.remote_offset, each.bytes);
}

gaspi_return_t wrong_notice(process &self, const notice &after, int rank) noexcept {
    if (after.value == 0) {
        return GASPI_ERR_INV_NOTIF_VAL;
    }
    THENCE_GASPI_CHECK(wrong_remote(self, after.segment, static_cast<gaspi_rank_t>(rank), 0, 0));
    return after.id >= find_view(self, after.segment)->parts[static_cast<std::size_t>(rank)].notifications
               ? GASPI_ERR_INV_NOTIF_ID
               : GASPI_SUCCESS;
}

// Takes room for so many operations in the queue.
gaspi_return_t take_room(process &self, gaspi_queue_id_t queue, std::size_t more) noexcept {
    std::atomic<unsigned> &posted = self.posted[queue];
    const auto number = static_cast<unsigned>(more);
    if (posted.fetch_add(number, std::memory_order_relaxed) + number > std::max(configuration.queue_size_max, number)) {
        posted.fetch_sub(number, std::memory_order_relaxed);
        return GASPI_QUEUE_FULL;
    }
    return GASPI_SUCCESS;
}

unsigned char *local_address(process &self, const piece &each) noexcept {
    return find_view(self, each.local_segment)->own.memory + each.local_offset;
}

// `twice`: the tag of the last piece is reported twice.
gaspi_return_t write(process &self, std::span<const piece> pieces, gaspi_rank_t rank, const notice *after,
                     gaspi_queue_id_t queue, gaspi_tag_t tag) noexcept {
    THENCE_GASPI_CHECK(wrong_queue(self, queue));
    for (const piece &each : pieces) {
        THENCE_GASPI_CHECK(wrong_piece(self, each, rank));
    }
    if (after != nullptr) {
        if (rank >= self.size) {
            return GASPI_ERR_INV_RANK;
        }
        THENCE_GASPI_CHECK(wrong_notice(self, *after, rank));
    }
    THENCE_GASPI_CHECK(take_room(self, queue,
                                 tag != GASPI_TAG_NULL ? pieces.size() + (after != nullptr ? 1 : 0)
                                                       : std::max<std::size_t>(pieces.size(), 1)));
    signal told;
    if (after != nullptr) {
        told = {find_view(self, after->segment), after->id, after->value};
        count(counter::notifications);
    }
    const std::uint32_t tags = tag != GASPI_TAG_NULL ? 1 : 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const piece &each = pieces[i];
        const bool is_last = i + 1 == pieces.size();
        const completion how{nullptr, tag, is_last && after != nullptr ? 2 * tags : tags};
        const place to{find_view(self, each.remote_segment), rank, each.remote_offset};
        const int code =
            onesided::put(local_address(self, each), each.bytes, to, is_last ? told : signal{}, queue, how);
        THENCE_GASPI_CHECK(code_of(self, rank, code));
        count(counter::writes);
        count(counter::bytes_written, each.bytes);
    }
    if (pieces.empty() && after != nullptr) {
        return code_of(self, rank, onesided::notify(rank, told, queue, {nullptr, tag, tags}));
    }
    return GASPI_SUCCESS;
}

// `after`: a notification of this process.
gaspi_return_t read(process &self, std::span<const piece> pieces, gaspi_rank_t rank, const notice *after,
                    gaspi_queue_id_t queue, gaspi_tag_t tag) noexcept {
    THENCE_GASPI_CHECK(wrong_queue(self, queue));
    for (const piece &each : pieces) {
        THENCE_GASPI_CHECK(wrong_piece(self, each, rank));
    }
    if (after != nullptr) {
        THENCE_GASPI_CHECK(wrong_notice(self, *after, self.rank));
    }
    THENCE_GASPI_CHECK(take_room(self, queue, pieces.size()));
    for (const piece &each : pieces) {
        const place from{find_view(self, each.remote_segment), rank, each.remote_offset};
        const int code = onesided::get(local_address(self, each), each.bytes, from, {}, queue,
                                       {nullptr, tag, tag != GASPI_TAG_NULL ? 1U : 0U});
        THENCE_GASPI_CHECK(code_of(self, rank, code));
        count(counter::reads);
        count(counter::bytes_read, each.bytes);
    }
    if (after != nullptr) {
        notification::slots here = find_view(self, after->segment)->own.notifications;
        onesided::queue &behind = self.world->queue_of(queue);
        if (behind.size() == 0) {
            here.set(after->id, after->value);
        } else { // when all before are complete
            onesided::pending last;
            last.value = after->value;
            last.notification = after->id;
            last.here = here;
            behind.add(last);
        }
    }
    return GASPI_SUCCESS;
}

// The pieces of a list, if it is none that is too long.
gaspi_return_t pieces_of(std::vector<piece> &pieces, gaspi_number_t num, const gaspi_segment_id_t *local_segments,
                         const gaspi_offset_t *local_offsets, const gaspi_segment_id_t *remote_segments,
                         const gaspi_offset_t *remote_offsets, const gaspi_size_t *sizes) noexcept {
    if (num == 0 || num > configuration.rw_list_elem_max) {
        return GASPI_ERR_INV_NUM;
    }
    THENCE_GASPI_NOT_NULL(local_segments);
    THENCE_GASPI_NOT_NULL(local_offsets);
    THENCE_GASPI_NOT_NULL(remote_segments);
    THENCE_GASPI_NOT_NULL(remote_offsets);
    THENCE_GASPI_NOT_NULL(sizes);
    try {
        for (gaspi_number_t i = 0; i < num; ++i) {
            pieces.push_back({local_segments[i], local_offsets[i], remote_segments[i], remote_offsets[i], sizes[i]});
        }
        return GASPI_SUCCESS;
    } catch (const std::exception &) {
        return GASPI_ERR_MEMALLOC;
    }
}

} // namespace

gaspi_return_t wrong_queue(process &self, gaspi_queue_id_t queue) noexcept {
    const std::scoped_lock guard(self.mutex);
    return queue < most_queues && self.has_queue[queue] ? GASPI_SUCCESS : GASPI_ERR_INV_QUEUE;
}

} // namespace thence::gaspi

using namespace thence;
using namespace thence::gaspi;

extern "C" {

gaspi_return_t pgaspi_operation_submit(const gaspi_operation_t operation, const gaspi_tag_t tag,
                                       const gaspi_segment_id_t segment_id_local, const gaspi_offset_t offset_local,
                                       const gaspi_rank_t rank, const gaspi_segment_id_t segment_id_remote,
                                       const gaspi_offset_t offset_remote, const gaspi_size_t size,
                                       const gaspi_notification_id_t notification_id,
                                       const gaspi_notification_t notification_value, const gaspi_queue_id_t queue,
                                       const gaspi_timeout_t) {
    THENCE_GASPI_SELF();
    const piece one{segment_id_local, offset_local, segment_id_remote, offset_remote, size};
    const notice after{segment_id_remote, notification_id, notification_value};
    switch (operation) {
    case GASPI_OP_WRITE:
        return write(self, {&one, 1}, rank, nullptr, queue, tag);
    case GASPI_OP_WRITE_NOTIFY:
        return write(self, {&one, 1}, rank, &after, queue, tag);
    case GASPI_OP_NOTIFY:
        return write(self, {}, rank, &after, queue, tag);
    case GASPI_OP_READ:
        return read(self, {&one, 1}, rank, nullptr, queue, tag);
    default:
        return GASPI_ERROR;
    }
}

gaspi_return_t pgaspi_operation_list_submit(
    const gaspi_operation_t operation, const gaspi_tag_t tag, const gaspi_number_t num,
    gaspi_segment_id_t *const segment_id_local, gaspi_offset_t *const offset_local, const gaspi_rank_t rank,
    gaspi_segment_id_t *const segment_id_remote, gaspi_offset_t *const offset_remote, gaspi_size_t *const size,
    const gaspi_segment_id_t segment_id_notification, const gaspi_notification_id_t notification_id,
    const gaspi_notification_t notification_value, const gaspi_queue_id_t queue, const gaspi_timeout_t) {
    THENCE_GASPI_SELF();
    std::vector<piece> pieces;
    THENCE_GASPI_CHECK(pieces_of(pieces, num, segment_id_local, offset_local, segment_id_remote, offset_remote, size));
    const notice after{segment_id_notification, notification_id, notification_value};
    switch (operation) {
    case GASPI_OP_WRITE_LIST:
        return write(self, pieces, rank, nullptr, queue, tag);
    case GASPI_OP_WRITE_LIST_NOTIFY:
        return write(self, pieces, rank, &after, queue, tag);
    case GASPI_OP_READ_LIST:
        return read(self, pieces, rank, nullptr, queue, tag);
    default:
        return GASPI_ERROR;
    }
}

gaspi_return_t pgaspi_operation_get_num_requests(const gaspi_operation_t operation, const gaspi_number_t num,
                                                 gaspi_number_t *const num_requests) {
    THENCE_GASPI_NOT_NULL(num_requests);
    switch (operation) {
    case GASPI_OP_READ:
    case GASPI_OP_WRITE:
    case GASPI_OP_NOTIFY:
        *num_requests = 1;
        return GASPI_SUCCESS;
    case GASPI_OP_WRITE_NOTIFY:
        *num_requests = 2;
        return GASPI_SUCCESS;
    case GASPI_OP_READ_LIST:
    case GASPI_OP_WRITE_LIST:
        *num_requests = num;
        return GASPI_SUCCESS;
    case GASPI_OP_WRITE_LIST_NOTIFY:
        *num_requests = num + 1;
        return GASPI_SUCCESS;
    default:
        return GASPI_ERROR;
    }
}

gaspi_return_t pgaspi_request_wait(const gaspi_queue_id_t queue, const gaspi_number_t max_reqs,
                                   gaspi_number_t *const completed_reqs, gaspi_tag_t array_of_tags[],
                                   gaspi_status_t array_of_statuses[], const gaspi_timeout_t timeout_ms) {
    THENCE_GASPI_SELF();
    THENCE_GASPI_NOT_NULL(completed_reqs);
    THENCE_GASPI_CHECK(wrong_queue(self, queue));
    if (max_reqs != 0 && (array_of_tags == nullptr || array_of_statuses == nullptr)) {
        return GASPI_ERR_NULLPTR;
    }
    onesided::queue &from = self.world->queue_of(queue);
    const deadline end(timeout_ms);
    gaspi_number_t found = 0;
    const bool all = wait_until(self, end, [&] {
        from.look();
        onesided::completed_tag taken[64];
        while (found < max_reqs) {
            const unsigned number = from.take_tags(std::min<gaspi_number_t>(max_reqs - found, std::size(taken)), taken);
            for (unsigned i = 0; i < number; ++i) {
                array_of_tags[found] = taken[i].tag;
                array_of_statuses[found++].error = taken[i].error == MPI_SUCCESS ? GASPI_SUCCESS : GASPI_ERROR;
            }
            if (number == 0) {
                return false;
            }
        }
        return true;
    });
    self.posted[queue].fetch_sub(found, std::memory_order_relaxed);
    *completed_reqs = found;
    return all ? GASPI_SUCCESS : GASPI_TIMEOUT;
}

gaspi_return_t pgaspi_write(const gaspi_segment_id_t segment_id_local, const gaspi_offset_t offset_local,
                            const gaspi_rank_t rank, const gaspi_segment_id_t segment_id_remote,
                            const gaspi_offset_t offset_remote, const gaspi_size_t size, const gaspi_queue_id_t queue,
                            const gaspi_timeout_t timeout_ms) {
    return pgaspi_operation_submit(GASPI_OP_WRITE, GASPI_TAG_NULL, segment_id_local, offset_local, rank,
                                   segment_id_remote, offset_remote, size, 0, 0, queue, timeout_ms);
}

gaspi_return_t pgaspi_read(const gaspi_segment_id_t segment_id_local, const gaspi_offset_t offset_local,
                           const gaspi_rank_t rank, const gaspi_segment_id_t segment_id_remote,
                           const gaspi_offset_t offset_remote, const gaspi_size_t size, const gaspi_queue_id_t queue,
                           const gaspi_timeout_t timeout_ms) {
    return pgaspi_operation_submit(GASPI_OP_READ, GASPI_TAG_NULL, segment_id_local, offset_local, rank,
                                   segment_id_remote, offset_remote, size, 0, 0, queue, timeout_ms);
}

gaspi_return_t pgaspi_notify(const gaspi_segment_id_t segment_id_remote, const gaspi_rank_t rank,
                             const gaspi_notification_id_t notification_id,
                             const gaspi_notification_t notification_value, const gaspi_queue_id_t queue,
                             const gaspi_timeout_t timeout_ms) {
    return pgaspi_operation_submit(GASPI_OP_NOTIFY, GASPI_TAG_NULL, 0, 0, rank, segment_id_remote, 0, 0,
                                   notification_id, notification_value, queue, timeout_ms);
}

gaspi_return_t pgaspi_write_notify(const gaspi_segment_id_t segment_id_local, const gaspi_offset_t offset_local,
                                   const gaspi_rank_t rank, const gaspi_segment_id_t segment_id_remote,
                                   const gaspi_offset_t offset_remote, const gaspi_size_t size,
                                   const gaspi_notification_id_t notification_id,
                                   const gaspi_notification_t notification_value, const gaspi_queue_id_t queue,
                                   const gaspi_timeout_t timeout_ms) {
    return pgaspi_operation_submit(GASPI_OP_WRITE_NOTIFY, GASPI_TAG_NULL, segment_id_local, offset_local, rank,
                                   segment_id_remote, offset_remote, size, notification_id, notification_value, queue,
                                   timeout_ms);
}

gaspi_return_t pgaspi_read_notify(const gaspi_segment_id_t segment_id_local, const gaspi_offset_t offset_local,
                                  const gaspi_rank_t rank, const gaspi_segment_id_t segment_id_remote,
                                  const gaspi_offset_t offset_remote, const gaspi_size_t size,
                                  const gaspi_notification_id_t notification_id, const gaspi_queue_id_t queue,
                                  const gaspi_timeout_t) {
    THENCE_GASPI_SELF();
    const piece one{segment_id_local, offset_local, segment_id_remote, offset_remote, size};
    const notice after{segment_id_local, notification_id, 1};
    return read(self, {&one, 1}, rank, &after, queue, GASPI_TAG_NULL);
}

gaspi_return_t pgaspi_write_list(const gaspi_number_t num, gaspi_segment_id_t *const segment_id_local,
                                 gaspi_offset_t *const offset_local, const gaspi_rank_t rank,
                                 gaspi_segment_id_t *const segment_id_remote, gaspi_offset_t *const offset_remote,
                                 gaspi_size_t *const size, const gaspi_queue_id_t queue,
                                 const gaspi_timeout_t timeout_ms) {
    return pgaspi_operation_list_submit(GASPI_OP_WRITE_LIST, GASPI_TAG_NULL, num, segment_id_local, offset_local, rank,
                                        segment_id_remote, offset_remote, size, 0, 0, 0, queue, timeout_ms);
}

gaspi_return_t pgaspi_read_list(const gaspi_number_t num, gaspi_segment_id_t *const segment_id_local,
                                gaspi_offset_t *const offset_local, const gaspi_rank_t rank,
                                gaspi_segment_id_t *const segment_id_remote, gaspi_offset_t *const offset_remote,
                                gaspi_size_t *const size, const gaspi_queue_id_t queue,
                                const gaspi_timeout_t timeout_ms) {
    return pgaspi_operation_list_submit(GASPI_OP_READ_LIST, GASPI_TAG_NULL, num, segment_id_local, offset_local, rank,
                                        segment_id_remote, offset_remote, size, 0, 0, 0, queue, timeout_ms);
}

gaspi_return_t pgaspi_write_list_notify(const gaspi_number_t num, gaspi_segment_id_t *const segment_id_local,
                                        gaspi_offset_t *const offset_local, const gaspi_rank_t rank,
                                        gaspi_segment_id_t *const segment_id_remote,
                                        gaspi_offset_t *const offset_remote, gaspi_size_t *const size,
                                        const gaspi_segment_id_t segment_id_notification,
                                        const gaspi_notification_id_t notification_id,
                                        const gaspi_notification_t notification_value, const gaspi_queue_id_t queue,
                                        const gaspi_timeout_t timeout_ms) {
    return pgaspi_operation_list_submit(GASPI_OP_WRITE_LIST_NOTIFY, GASPI_TAG_NULL, num, segment_id_local, offset_local,
                                        rank, segment_id_remote, offset_remote, size, segment_id_notification,
                                        notification_id, notification_value, queue, timeout_ms);
}

gaspi_return_t pgaspi_read_list_notify(const gaspi_number_t num, gaspi_segment_id_t *const segment_id_local,
                                       gaspi_offset_t *const offset_local, const gaspi_rank_t rank,
                                       gaspi_segment_id_t *const segment_id_remote, gaspi_offset_t *const offset_remote,
                                       gaspi_size_t *const size, const gaspi_segment_id_t segment_id_notification,
                                       const gaspi_notification_id_t notification_id, const gaspi_queue_id_t queue,
                                       const gaspi_timeout_t) {
    THENCE_GASPI_SELF();
    std::vector<piece> pieces;
    THENCE_GASPI_CHECK(pieces_of(pieces, num, segment_id_local, offset_local, segment_id_remote, offset_remote, size));
    const notice after{segment_id_notification, notification_id, 1};
    return read(self, pieces, rank, &after, queue, GASPI_TAG_NULL);
}

THENCE_GASPI_ALIAS(write);
THENCE_GASPI_ALIAS(read);
THENCE_GASPI_ALIAS(write_list);
THENCE_GASPI_ALIAS(read_list);
THENCE_GASPI_ALIAS(notify);
THENCE_GASPI_ALIAS(write_notify);
THENCE_GASPI_ALIAS(write_list_notify);
THENCE_GASPI_ALIAS(read_notify);
THENCE_GASPI_ALIAS(read_list_notify);
THENCE_GASPI_ALIAS(operation_submit);
THENCE_GASPI_ALIAS(operation_list_submit);
THENCE_GASPI_ALIAS(operation_get_num_requests);
THENCE_GASPI_ALIAS(request_wait);

} // extern "C"
