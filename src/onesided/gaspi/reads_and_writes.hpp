// SPDX-License-Identifier: BSD-3-Clause
// What moves data: writes and reads of one or several pieces, after their arguments have been checked. Libraries above
// this one (tagaspi) use them too.
#pragma once

#include "onesided/gaspi/process.hpp"

#include <span>
#include <vector>

namespace thence::gaspi {

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

// What a piece that is not complete leaves to the caller.
struct left_piece {
    MPI_Request request = MPI_REQUEST_NULL;
    std::uint32_t serial = 0; // health::will_not_answer() takes it
};

// Who learns that an operation is locally complete: gaspi_wait() and, by a tag, gaspi_request_wait(); or whoever has
// the requests, one for each piece of at most 1 GiB, null before the call and of a piece that is complete on return.
// Operations with requests take no room in the queue: nobody has to take them off. Their caller uses the parts of this
// process until it has counted what is left.
struct completion_target {
    gaspi_tag_t tag = GASPI_TAG_NULL;
    left_piece *requests = nullptr;
    gaspi_timeout_t timeout_ms = GASPI_BLOCK; // without requests: how long the call waits until the rank takes more
};

// The parts of this process that a transfer reads, writes or notifies. None of them is deleted while this exists.
class THENCE_INTERNAL used_parts {
public:
    used_parts(process &self, std::span<const piece> pieces, gaspi_rank_t rank, const notice *after,
               bool reads) noexcept;
    used_parts &operator=(used_parts &&) = delete;
    ~used_parts();
    // False: this process has never known one of them.
    bool are_known() const noexcept { return begun_ == count_; }

private:
    gaspi_segment_id_t number_of(std::size_t i) const noexcept;

    process &self_;
    std::span<const piece> pieces_;
    const notice *after_;
    bool to_itself_;
    std::size_t count_;
    std::size_t begun_ = 0;
};

// No pieces: a notification alone. `GASPI_QUEUE_FULL` and `GASPI_TIMEOUT`: nothing was started.
THENCE_INTERNAL gaspi_return_t write(process &self, std::span<const piece> pieces, gaspi_rank_t rank,
                                     const notice *after, gaspi_queue_id_t queue,
                                     const completion_target &who) noexcept;
// `after`: a notification of this process. With requests, whoever has them sets it.
THENCE_INTERNAL gaspi_return_t read(process &self, std::span<const piece> pieces, gaspi_rank_t rank,
                                    const notice *after, gaspi_queue_id_t queue, const completion_target &who) noexcept;

// The pieces of a list, if it is none that is too long.
THENCE_INTERNAL gaspi_return_t pieces_of(std::vector<piece> &pieces, gaspi_number_t num,
                                         const gaspi_segment_id_t *local_segments, const gaspi_offset_t *local_offsets,
                                         const gaspi_segment_id_t *remote_segments,
                                         const gaspi_offset_t *remote_offsets, const gaspi_size_t *sizes) noexcept;

} // namespace thence::gaspi
