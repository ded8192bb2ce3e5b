// SPDX-License-Identifier: BSD-3-Clause
// Operations on queues, with and without tags, and the queues.
#include "onesided/gaspi/process.hpp"

#include <PGASPI.h>

#include <algorithm>
#include <optional>
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

gaspi_return_t code_of(int code) noexcept { // the space knows which rank has failed
    return code == MPI_SUCCESS ? GASPI_SUCCESS : code == MPI_ERR_NO_MEM ? GASPI_ERR_MEMALLOC : GASPI_ERROR;
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

// Room for the entries of an operation in its queue. What no piece has been started with is given back.
class room {
public:
    room(process &self, gaspi_queue_id_t queue, std::uint32_t entries) noexcept
        : of_(self.world->queue_of(queue)), left_(entries),
          is_there_(of_.take_room(entries, configuration.queue_size_max)) {}
    room &operator=(room &&) = delete;
    ~room() {
        if (is_there_) {
            of_.give_room(left_);
        }
    }
    bool is_there() const noexcept { return is_there_; }
    void use(std::uint32_t entries) noexcept { left_ -= entries; }

private:
    onesided::queue &of_;
    std::uint32_t left_;
    bool is_there_;
};

// Starts operations of a queue one by one, each with its room.
template <class Start> gaspi_return_t start(room &of_all, completion how, Start call) noexcept {
    how.entries = 1;
    const int code = call(how);
    if (code == MPI_SUCCESS) {
        of_all.use(std::max(how.completions, how.entries));
    }
    return code_of(code);
}

unsigned char *local_address(process &self, const piece &each) noexcept {
    return find_view(self, each.local_segment)->own.memory + each.local_offset;
}

// The tag of the last piece is reported once more for its notification.
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
    const std::uint32_t tags = tag != GASPI_TAG_NULL ? 1 : 0;
    const auto number = static_cast<std::uint32_t>(pieces.size());
    room here(self, queue, after == nullptr ? number : std::max(number + tags, 1U));
    if (!here.is_there()) {
        return GASPI_QUEUE_FULL;
    }
    signal told;
    if (after != nullptr) {
        told = {find_view(self, after->segment), after->id, after->value};
        count(counter::notifications);
    }
    completion how;
    how.tag = tag;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const piece &each = pieces[i];
        const bool is_last = i + 1 == pieces.size();
        how.completions = is_last && after != nullptr ? 2 * tags : tags;
        const place to{find_view(self, each.remote_segment), rank, each.remote_offset};
        THENCE_GASPI_CHECK(start(here, how, [&](const completion &who) {
            return onesided::put(local_address(self, each), each.bytes, to, is_last ? told : signal{}, queue, who);
        }));
        count(counter::writes);
        count(counter::bytes_written, each.bytes);
    }
    if (pieces.empty() && after != nullptr) {
        how.completions = tags;
        return start(here, how, [&](const completion &who) { return onesided::notify(rank, told, queue, who); });
    }
    return GASPI_SUCCESS;
}

// The end of several reads: sets a notification of this process when they are complete, and all before on the queue.
class end_of_reads {
public:
    end_of_reads(onesided::queue &of, const signal &told) noexcept : of_(of), made_(onesided::pending::make()) {
        if (made_ != nullptr) {
            made_->here = told.of->own.notifications;
            made_->notification = told.number;
            made_->value = told.value;
        }
    }
    end_of_reads &operator=(end_of_reads &&) = delete;
    ~end_of_reads() { // some could not be started
        if (made_ != nullptr && made_->is_end) {
            made_->value = 0;
            of_.add(*made_);
        } else if (made_ != nullptr) {
            onesided::pending::drop(made_);
        }
    }
    onesided::pending *made() const noexcept { return made_; }
    void all_started() noexcept {
        if (!made_->is_end && of_.size() == 0) {
            made_->here.set(made_->notification, made_->value);
            return;
        }
        made_->is_end = true;
        of_.add(*std::exchange(made_, nullptr));
    }

private:
    onesided::queue &of_;
    onesided::pending *made_;
};

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
    room here(self, queue, static_cast<std::uint32_t>(pieces.size()));
    if (!here.is_there()) {
        return GASPI_QUEUE_FULL;
    }
    std::optional<end_of_reads> end;
    completion how;
    how.tag = tag;
    how.completions = tag != GASPI_TAG_NULL ? 1 : 0;
    if (after != nullptr) {
        end.emplace(self.world->queue_of(queue), signal{find_view(self, after->segment), after->id, after->value});
        how.end = end->made();
        if (how.end == nullptr) {
            return GASPI_ERR_MEMALLOC;
        }
    }
    for (const piece &each : pieces) {
        const place from{find_view(self, each.remote_segment), rank, each.remote_offset};
        THENCE_GASPI_CHECK(start(here, how, [&](const completion &who) {
            return onesided::get(local_address(self, each), each.bytes, from, queue, who);
        }));
        count(counter::reads);
        count(counter::bytes_read, each.bytes);
    }
    if (end) {
        end->all_started();
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
    from.take_tags(0, nullptr); // room of what has no tag
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
