// SPDX-License-Identifier: BSD-3-Clause
// The calls that post operations, with and without tags, and those that take tags.
#include "onesided/gaspi/reads_and_writes.hpp"

#include <PGASPI.h>

#include <algorithm>

using namespace thence;
using namespace thence::gaspi;

extern "C" {

gaspi_return_t pgaspi_operation_submit(gaspi_operation_t operation, gaspi_tag_t tag,
                                       gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local,
                                       gaspi_rank_t rank, gaspi_segment_id_t segment_id_remote,
                                       gaspi_offset_t offset_remote, gaspi_size_t size,
                                       gaspi_notification_id_t notification_id, gaspi_notification_t notification_value,
                                       gaspi_queue_id_t queue, gaspi_timeout_t timeout_ms) {
    THENCE_GASPI_SELF();
    const completion_target who{.tag = tag, .timeout_ms = timeout_ms};
    const piece one{segment_id_local, offset_local, segment_id_remote, offset_remote, size};
    const notice after{segment_id_remote, notification_id, notification_value};
    switch (operation) {
    case GASPI_OP_WRITE:
        return write(self, {&one, 1}, rank, nullptr, queue, who);
    case GASPI_OP_WRITE_NOTIFY:
        return write(self, {&one, 1}, rank, &after, queue, who);
    case GASPI_OP_NOTIFY:
        return write(self, {}, rank, &after, queue, who);
    case GASPI_OP_READ:
        return read(self, {&one, 1}, rank, nullptr, queue, who);
    default:
        return GASPI_ERROR;
    }
}

gaspi_return_t pgaspi_operation_list_submit(gaspi_operation_t operation, gaspi_tag_t tag, gaspi_number_t num,
                                            gaspi_segment_id_t *segment_id_local, gaspi_offset_t *offset_local,
                                            gaspi_rank_t rank, gaspi_segment_id_t *segment_id_remote,
                                            gaspi_offset_t *offset_remote, gaspi_size_t *size,
                                            gaspi_segment_id_t segment_id_notification,
                                            gaspi_notification_id_t notification_id,
                                            gaspi_notification_t notification_value, gaspi_queue_id_t queue,
                                            gaspi_timeout_t timeout_ms) {
    THENCE_GASPI_SELF();
    const completion_target who{.tag = tag, .timeout_ms = timeout_ms};
    std::vector<piece> pieces;
    THENCE_GASPI_CHECK(pieces_of(pieces, num, segment_id_local, offset_local, segment_id_remote, offset_remote, size));
    const notice after{segment_id_notification, notification_id, notification_value};
    switch (operation) {
    case GASPI_OP_WRITE_LIST:
        return write(self, pieces, rank, nullptr, queue, who);
    case GASPI_OP_WRITE_LIST_NOTIFY:
        return write(self, pieces, rank, &after, queue, who);
    case GASPI_OP_READ_LIST:
        return read(self, pieces, rank, nullptr, queue, who);
    default:
        return GASPI_ERROR;
    }
}

gaspi_return_t pgaspi_operation_get_num_requests(gaspi_operation_t operation, gaspi_number_t num,
                                                 gaspi_number_t *num_requests) {
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

gaspi_return_t pgaspi_request_wait(gaspi_queue_id_t queue, gaspi_number_t max_reqs, gaspi_number_t *completed_reqs,
                                   gaspi_tag_t array_of_tags[], gaspi_status_t array_of_statuses[],
                                   gaspi_timeout_t timeout_ms) {
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
    from.take_tags(0, nullptr); // room of what has no tag
    *completed_reqs = found;
    return all ? GASPI_SUCCESS : GASPI_TIMEOUT;
}

gaspi_return_t pgaspi_write(gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local, gaspi_rank_t rank,
                            gaspi_segment_id_t segment_id_remote, gaspi_offset_t offset_remote, gaspi_size_t size,
                            gaspi_queue_id_t queue, gaspi_timeout_t timeout_ms) {
    return pgaspi_operation_submit(GASPI_OP_WRITE, GASPI_TAG_NULL, segment_id_local, offset_local, rank,
                                   segment_id_remote, offset_remote, size, 0, 0, queue, timeout_ms);
}

gaspi_return_t pgaspi_read(gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local, gaspi_rank_t rank,
                           gaspi_segment_id_t segment_id_remote, gaspi_offset_t offset_remote, gaspi_size_t size,
                           gaspi_queue_id_t queue, gaspi_timeout_t timeout_ms) {
    return pgaspi_operation_submit(GASPI_OP_READ, GASPI_TAG_NULL, segment_id_local, offset_local, rank,
                                   segment_id_remote, offset_remote, size, 0, 0, queue, timeout_ms);
}

gaspi_return_t pgaspi_notify(gaspi_segment_id_t segment_id_remote, gaspi_rank_t rank,
                             gaspi_notification_id_t notification_id, gaspi_notification_t notification_value,
                             gaspi_queue_id_t queue, gaspi_timeout_t timeout_ms) {
    return pgaspi_operation_submit(GASPI_OP_NOTIFY, GASPI_TAG_NULL, 0, 0, rank, segment_id_remote, 0, 0,
                                   notification_id, notification_value, queue, timeout_ms);
}

gaspi_return_t pgaspi_write_notify(gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local, gaspi_rank_t rank,
                                   gaspi_segment_id_t segment_id_remote, gaspi_offset_t offset_remote,
                                   gaspi_size_t size, gaspi_notification_id_t notification_id,
                                   gaspi_notification_t notification_value, gaspi_queue_id_t queue,
                                   gaspi_timeout_t timeout_ms) {
    return pgaspi_operation_submit(GASPI_OP_WRITE_NOTIFY, GASPI_TAG_NULL, segment_id_local, offset_local, rank,
                                   segment_id_remote, offset_remote, size, notification_id, notification_value, queue,
                                   timeout_ms);
}

gaspi_return_t pgaspi_read_notify(gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local, gaspi_rank_t rank,
                                  gaspi_segment_id_t segment_id_remote, gaspi_offset_t offset_remote, gaspi_size_t size,
                                  gaspi_notification_id_t notification_id, gaspi_queue_id_t queue,
                                  gaspi_timeout_t timeout_ms) {
    THENCE_GASPI_SELF();
    const piece one{segment_id_local, offset_local, segment_id_remote, offset_remote, size};
    const notice after{segment_id_local, notification_id, 1};
    return read(self, {&one, 1}, rank, &after, queue, {.timeout_ms = timeout_ms});
}

gaspi_return_t pgaspi_write_list(gaspi_number_t num, gaspi_segment_id_t *segment_id_local, gaspi_offset_t *offset_local,
                                 gaspi_rank_t rank, gaspi_segment_id_t *segment_id_remote,
                                 gaspi_offset_t *offset_remote, gaspi_size_t *size, gaspi_queue_id_t queue,
                                 gaspi_timeout_t timeout_ms) {
    return pgaspi_operation_list_submit(GASPI_OP_WRITE_LIST, GASPI_TAG_NULL, num, segment_id_local, offset_local, rank,
                                        segment_id_remote, offset_remote, size, 0, 0, 0, queue, timeout_ms);
}

gaspi_return_t pgaspi_read_list(gaspi_number_t num, gaspi_segment_id_t *segment_id_local, gaspi_offset_t *offset_local,
                                gaspi_rank_t rank, gaspi_segment_id_t *segment_id_remote, gaspi_offset_t *offset_remote,
                                gaspi_size_t *size, gaspi_queue_id_t queue, gaspi_timeout_t timeout_ms) {
    return pgaspi_operation_list_submit(GASPI_OP_READ_LIST, GASPI_TAG_NULL, num, segment_id_local, offset_local, rank,
                                        segment_id_remote, offset_remote, size, 0, 0, 0, queue, timeout_ms);
}

gaspi_return_t pgaspi_write_list_notify(gaspi_number_t num, gaspi_segment_id_t *segment_id_local,
                                        gaspi_offset_t *offset_local, gaspi_rank_t rank,
                                        gaspi_segment_id_t *segment_id_remote, gaspi_offset_t *offset_remote,
                                        gaspi_size_t *size, gaspi_segment_id_t segment_id_notification,
                                        gaspi_notification_id_t notification_id,
                                        gaspi_notification_t notification_value, gaspi_queue_id_t queue,
                                        gaspi_timeout_t timeout_ms) {
    return pgaspi_operation_list_submit(GASPI_OP_WRITE_LIST_NOTIFY, GASPI_TAG_NULL, num, segment_id_local, offset_local,
                                        rank, segment_id_remote, offset_remote, size, segment_id_notification,
                                        notification_id, notification_value, queue, timeout_ms);
}

gaspi_return_t pgaspi_read_list_notify(gaspi_number_t num, gaspi_segment_id_t *segment_id_local,
                                       gaspi_offset_t *offset_local, gaspi_rank_t rank,
                                       gaspi_segment_id_t *segment_id_remote, gaspi_offset_t *offset_remote,
                                       gaspi_size_t *size, gaspi_segment_id_t segment_id_notification,
                                       gaspi_notification_id_t notification_id, gaspi_queue_id_t queue,
                                       gaspi_timeout_t timeout_ms) {
    THENCE_GASPI_SELF();
    std::vector<piece> pieces;
    THENCE_GASPI_CHECK(pieces_of(pieces, num, segment_id_local, offset_local, segment_id_remote, offset_remote, size));
    const notice after{segment_id_notification, notification_id, 1};
    return read(self, pieces, rank, &after, queue, {.timeout_ms = timeout_ms});
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
