// SPDX-License-Identifier: BSD-3-Clause
// Operations: what depends on the task starts when they are locally complete (started.cpp).
#include "onesided/tagaspi/started.hpp"

#include <TAGASPI.h>

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <new>
#include <vector>

namespace thence::tagaspi {

namespace {

using gaspi::left_piece;
using gaspi::notice;
using gaspi::piece;

enum class direction { write, read };

// What was started goes on also if a later piece could not be: then its error is returned.
gaspi_return_t transfer_pieces(gaspi::process &self, direction way, std::span<const piece> pieces, gaspi_rank_t rank,
                               const notice *after, gaspi_queue_id_t queue) noexcept {
    std::array<left_piece, 4> few;
    std::unique_ptr<left_piece[]> many;
    const std::size_t count = std::max<std::size_t>(pieces.size(), 1);
    if (count > few.size()) {
        many.reset(new (std::nothrow) left_piece[count]);
        if (many == nullptr) {
            return GASPI_ERR_MEMALLOC;
        }
    }
    const std::span<left_piece> left(many != nullptr ? many.get() : few.data(), count);
    const bool reads = way == direction::read;
    const gaspi::used_parts own_parts(self, pieces, rank, after, reads); // until bind() has counted what is left
    if (!own_parts.are_known()) {
        return GASPI_ERR_INV_SEG;
    }
    const gaspi_return_t code = reads ? gaspi::read(self, pieces, rank, after, queue, {0, left.data()})
                                      : gaspi::write(self, pieces, rank, after, queue, {0, left.data()});
    const notice *const sets = reads && code == GASPI_SUCCESS ? after : nullptr;
    if (std::ranges::all_of(left, [](const left_piece &each) { return each.request == MPI_REQUEST_NULL; })) [[likely]] {
        if (sets != nullptr) {
            notification::slots own_slots = gaspi::find_view(self, after->segment)->own().notifications;
            own_slots.set(after->id, after->value);
        }
        return code;
    }
    const gaspi_return_t bound = bind(self, rank, pieces, left, reads, sets);
    return code == GASPI_SUCCESS ? bound : code;
}

// One message moves a piece, so it is as long as a message at most. The requests tell of all.
gaspi_return_t transfer_in_messages(gaspi::process &self, direction way, std::span<const piece> pieces,
                                    gaspi_rank_t rank, const notice *after, gaspi_queue_id_t queue) noexcept {
    gaspi_size_t most = 0;
    THENCE_GASPI_CHECK(gaspi_transfer_size_max(&most));
    try {
        std::vector<piece> cut;
        for (piece each : pieces) {
            if (each.bytes > most) {
                return GASPI_ERR_INV_SIZE;
            }
            gaspi_size_t left = each.bytes;
            do {
                each.bytes = std::min(left, onesided::most_in_message);
                cut.push_back(each);
                left -= each.bytes;
                each.local_offset += each.bytes;
                each.remote_offset += each.bytes;
            } while (left != 0);
        }
        return transfer_pieces(self, way, cut, rank, after, queue);
    } catch (const std::exception &) {
        return GASPI_ERR_MEMALLOC;
    }
}

gaspi_return_t transfer(direction way, std::span<const piece> pieces, gaspi_rank_t rank, const notice *after,
                        gaspi_queue_id_t queue) noexcept {
    THENCE_TAGASPI_SELF();
    if (std::ranges::any_of(pieces, [](const piece &each) { return each.bytes > onesided::most_in_message; })) {
        return transfer_in_messages(self, way, pieces, rank, after, queue);
    }
    return transfer_pieces(self, way, pieces, rank, after, queue);
}

gaspi_return_t transfer_list(direction way, gaspi_number_t num, const gaspi_segment_id_t *local_segments,
                             const gaspi_offset_t *local_offsets, gaspi_rank_t rank,
                             const gaspi_segment_id_t *remote_segments, const gaspi_offset_t *remote_offsets,
                             const gaspi_size_t *sizes, const notice *after, gaspi_queue_id_t queue) noexcept {
    THENCE_TAGASPI_RUNNING()
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

gaspi_return_t tagaspi_write(gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local, gaspi_rank_t rank,
                             gaspi_segment_id_t segment_id_remote, gaspi_offset_t offset_remote, gaspi_size_t size,
                             gaspi_queue_id_t queue) {
    const piece one{segment_id_local, offset_local, segment_id_remote, offset_remote, size};
    return transfer(direction::write, {&one, 1}, rank, nullptr, queue);
}

gaspi_return_t tagaspi_read(gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local, gaspi_rank_t rank,
                            gaspi_segment_id_t segment_id_remote, gaspi_offset_t offset_remote, gaspi_size_t size,
                            gaspi_queue_id_t queue) {
    const piece one{segment_id_local, offset_local, segment_id_remote, offset_remote, size};
    return transfer(direction::read, {&one, 1}, rank, nullptr, queue);
}

gaspi_return_t tagaspi_notify(gaspi_segment_id_t segment_id_remote, gaspi_rank_t rank,
                              gaspi_notification_id_t notification_id, gaspi_notification_t notification_value,
                              gaspi_queue_id_t queue) {
    const notice after{segment_id_remote, notification_id, notification_value};
    return transfer(direction::write, {}, rank, &after, queue);
}

gaspi_return_t tagaspi_write_notify(gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local, gaspi_rank_t rank,
                                    gaspi_segment_id_t segment_id_remote, gaspi_offset_t offset_remote,
                                    gaspi_size_t size, gaspi_notification_id_t notification_id,
                                    gaspi_notification_t notification_value, gaspi_queue_id_t queue) {
    const piece one{segment_id_local, offset_local, segment_id_remote, offset_remote, size};
    const notice after{segment_id_remote, notification_id, notification_value};
    return transfer(direction::write, {&one, 1}, rank, &after, queue);
}

gaspi_return_t tagaspi_read_notify(gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local, gaspi_rank_t rank,
                                   gaspi_segment_id_t segment_id_remote, gaspi_offset_t offset_remote,
                                   gaspi_size_t size, gaspi_notification_id_t notification_id, gaspi_queue_id_t queue) {
    const piece one{segment_id_local, offset_local, segment_id_remote, offset_remote, size};
    const notice after{segment_id_local, notification_id, 1};
    return transfer(direction::read, {&one, 1}, rank, &after, queue);
}

gaspi_return_t tagaspi_write_list(gaspi_number_t num, gaspi_segment_id_t *segment_id_local,
                                  gaspi_offset_t *offset_local, gaspi_rank_t rank,
                                  gaspi_segment_id_t *segment_id_remote, gaspi_offset_t *offset_remote,
                                  gaspi_size_t *size, gaspi_queue_id_t queue) {
    return transfer_list(direction::write, num, segment_id_local, offset_local, rank, segment_id_remote, offset_remote,
                         size, nullptr, queue);
}

gaspi_return_t tagaspi_read_list(gaspi_number_t num, gaspi_segment_id_t *segment_id_local, gaspi_offset_t *offset_local,
                                 gaspi_rank_t rank, gaspi_segment_id_t *segment_id_remote,
                                 gaspi_offset_t *offset_remote, gaspi_size_t *size, gaspi_queue_id_t queue) {
    return transfer_list(direction::read, num, segment_id_local, offset_local, rank, segment_id_remote, offset_remote,
                         size, nullptr, queue);
}

gaspi_return_t tagaspi_write_list_notify(gaspi_number_t num, gaspi_segment_id_t *segment_id_local,
                                         gaspi_offset_t *offset_local, gaspi_rank_t rank,
                                         gaspi_segment_id_t *segment_id_remote, gaspi_offset_t *offset_remote,
                                         gaspi_size_t *size, gaspi_segment_id_t segment_id_notification,
                                         gaspi_notification_id_t notification_id,
                                         gaspi_notification_t notification_value, gaspi_queue_id_t queue) {
    const notice after{segment_id_notification, notification_id, notification_value};
    return transfer_list(direction::write, num, segment_id_local, offset_local, rank, segment_id_remote, offset_remote,
                         size, &after, queue);
}

gaspi_return_t tagaspi_read_list_notify(gaspi_number_t num, gaspi_segment_id_t *segment_id_local,
                                        gaspi_offset_t *offset_local, gaspi_rank_t rank,
                                        gaspi_segment_id_t *segment_id_remote, gaspi_offset_t *offset_remote,
                                        gaspi_size_t *size, gaspi_segment_id_t segment_id_notification,
                                        gaspi_notification_id_t notification_id, gaspi_queue_id_t queue) {
    const notice after{segment_id_notification, notification_id, 1};
    return transfer_list(direction::read, num, segment_id_local, offset_local, rank, segment_id_remote, offset_remote,
                         size, &after, queue);
}

} // extern "C"
