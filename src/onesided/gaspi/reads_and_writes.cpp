// SPDX-License-Identifier: BSD-3-Clause
#include "onesided/gaspi/reads_and_writes.hpp"

#include "onesided/end_of_several.hpp"

#include <algorithm>
#include <exception>
#include <optional>

namespace thence::gaspi {

namespace {

using onesided::completion;
using onesided::location;
using onesided::signal;

gaspi_return_t code_of(int code) noexcept { // the space knows which rank has failed
    return code == MPI_SUCCESS ? GASPI_SUCCESS : code == MPI_ERR_NO_MEM ? GASPI_ERR_MEMALLOC : GASPI_ERROR;
}

gaspi_return_t wrong_piece(process &self, const piece &each, gaspi_rank_t rank) noexcept {
    if (each.bytes > configuration.transfer_size_max) {
        return GASPI_ERR_INV_SIZE;
    }
    THENCE_GASPI_CHECK(wrong_local(find_view(self, each.local_segment), each.local_offset, each.bytes));
    return wrong_remote(self, each.remote_segment, rank, each.remote_offset, each.bytes);
}

gaspi_return_t wrong_notice(process &self, const notice &after, int rank) noexcept {
    if (after.value == 0) {
        return GASPI_ERR_INV_NOTIF_VAL;
    }
    THENCE_GASPI_CHECK(wrong_remote(self, after.segment, static_cast<gaspi_rank_t>(rank), 0, 0));
    return after.id >= find_view(self, after.segment)->part_of(rank).notifications ? GASPI_ERR_INV_NOTIF_ID
                                                                                   : GASPI_SUCCESS;
}

// Room for the entries of an operation in its queue. What no piece has been started with is given back.
class room {
public:
    room(process &self, gaspi_queue_id_t queue, std::uint32_t entries, const completion_target &who) noexcept
        : queue_(self.world->queue_of(queue)), left_(who.requests == nullptr ? entries : 0),
          is_there_(queue_.take_room(left_, configuration.queue_size_max)) {}
    room &operator=(room &&) = delete;
    ~room() {
        if (is_there_) {
            queue_.give_room(left_);
        }
    }
    bool is_there() const noexcept { return is_there_; }
    void use(std::uint32_t entries) noexcept { left_ -= entries; }

private:
    onesided::queue &queue_;
    std::uint32_t left_;
    bool is_there_;
};

// Waits until more may be sent to a rank, which may be slow or stopped. False: the time is over. It is asked once for a
// list, which then goes as a whole. The queue is not full: programs that count what they post do not expect that.
bool takes_more(process &self, gaspi_rank_t rank, gaspi_timeout_t timeout_ms) noexcept {
    const auto takes = [&] { return self.world->has_room_for(rank) || self.world->is_gone(rank); };
    return takes() || wait_until(self, deadline(timeout_ms), takes);
}

// Starts operations of a queue one by one, each with its room.
template <class Start> gaspi_return_t start(room &of_all, completion how, Start call) noexcept {
    how.entries = how.request == nullptr ? 1 : 0;
    const int code = call(how);
    if (code == MPI_SUCCESS) {
        of_all.use(std::max(how.completions, how.entries));
    }
    return code_of(code);
}

unsigned char *local_address(process &self, const piece &each) noexcept {
    return find_view(self, each.local_segment)->own().memory + each.local_offset;
}

void ask_for_request(completion &how, const completion_target &who, std::size_t i) noexcept {
    if (who.requests != nullptr) {
        how.request = &who.requests[i].request;
        how.serial = &who.requests[i].serial;
    }
}

void count_message(bool is_message, const piece &each) noexcept {
    if (is_message) {
        count(counter::bytes_by_messages, each.bytes);
    }
}

// The end of several reads sets a notification of this process when they are complete, and all before on the queue.
void sets_notification(onesided::pending &end, const signal &notification) noexcept {
    const auto &own = notification.in_segment->own();
    end.local_use = &own.uses; // the part stays until the notification is set
    end.local_use->fetch_add(1, std::memory_order_relaxed);
    end.own_slots = own.notifications;
    end.notification = notification.number;
    end.value = notification.value;
}

} // namespace

used_parts::used_parts(process &self, std::span<const piece> pieces, gaspi_rank_t rank, const notice *after,
                       bool reads) noexcept
    : self_(self), pieces_(pieces), after_(after), to_itself_(rank == self.rank),
      count_((to_itself_ ? 2 : 1) * pieces.size() + (after != nullptr && (reads || to_itself_) ? 1 : 0)) {
    for (int last = -1; begun_ != count_; ++begun_) {
        const gaspi_segment_id_t number = number_of(begun_);
        if (number == last) { // it is used already; mostly all are in one
            continue;
        }
        onesided::segment *const view = find_view(self_, number);
        if (view == nullptr) {
            return;
        }
        view->begin_use();
        last = number;
    }
}

used_parts::~used_parts() {
    int last = -1;
    for (std::size_t i = 0; i != begun_; ++i) {
        const gaspi_segment_id_t number = number_of(i);
        if (number != last) {
            self_.known_views[number].load(std::memory_order_relaxed)->end_use(); // views stay
            last = number;
        }
    }
}

gaspi_segment_id_t used_parts::number_of(std::size_t i) const noexcept {
    const std::size_t pieces = pieces_.size();
    if (i < pieces) {
        return pieces_[i].local_segment;
    }
    if (to_itself_ && i < 2 * pieces) {
        return pieces_[i - pieces].remote_segment;
    }
    return after_->segment; // NOLINT(clang-analyzer-core.NullDereference): the last of count_ is that of a notification
}

namespace {

// What writes and reads check, but for the notification. `used` keeps the parts, unless the caller does that.
gaspi_return_t wrong_parts(process &self, std::span<const piece> pieces, gaspi_rank_t rank, const notice *after,
                           bool reads, gaspi_queue_id_t queue, const completion_target &who,
                           std::optional<used_parts> &used) noexcept {
    if (who.requests == nullptr) {
        used.emplace(self, pieces, rank, after, reads);
    }
    THENCE_GASPI_CHECK(wrong_queue(self, queue));
    if (used && !used->are_known()) {
        return GASPI_ERR_INV_SEG;
    }
    for (const piece &each : pieces) {
        THENCE_GASPI_CHECK(wrong_piece(self, each, rank));
    }
    return GASPI_SUCCESS;
}

} // namespace

// The tag of the last piece is reported once more for its notification.
gaspi_return_t write(process &self, std::span<const piece> pieces, gaspi_rank_t rank, const notice *after,
                     gaspi_queue_id_t queue, const completion_target &who) noexcept {
    const onesided::space::use all_parts(*self.world);
    std::optional<used_parts> own_parts;
    THENCE_GASPI_CHECK(wrong_parts(self, pieces, rank, after, false, queue, who, own_parts));
    if (after != nullptr) {
        if (rank >= self.size) {
            return GASPI_ERR_INV_RANK;
        }
        THENCE_GASPI_CHECK(wrong_notice(self, *after, rank));
    }
    const std::uint32_t tags = who.tag != GASPI_TAG_NULL ? 1 : 0;
    const auto number = static_cast<std::uint32_t>(pieces.size());
    room taken_room(self, queue, after == nullptr ? number : std::max(number + tags, 1U), who);
    if (!taken_room.is_there()) {
        return GASPI_QUEUE_FULL;
    }
    if (who.requests == nullptr && !takes_more(self, rank, who.timeout_ms)) {
        return GASPI_TIMEOUT;
    }
    signal notification;
    if (after != nullptr) {
        notification = {find_view(self, after->segment), after->id, after->value};
        count(counter::notifications);
    }
    onesided::list_of_puts list;
    completion how;
    how.list = pieces.size() > 1 && after != nullptr ? &list : nullptr;
    how.has_room = who.requests == nullptr;
    how.tag = who.tag;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const piece &each = pieces[i];
        const bool is_last = i + 1 == pieces.size();
        bool is_message = false;
        how.is_message = &is_message;
        ask_for_request(how, who, i);
        how.local_use = &find_view(self, each.local_segment)->own().uses;
        how.completions = is_last && after != nullptr ? 2 * tags : tags;
        const location to{find_view(self, each.remote_segment), rank, each.remote_offset};
        THENCE_GASPI_CHECK(start(taken_room, how, [&](const completion &to_tell) {
            return onesided::put(local_address(self, each), each.bytes, to, is_last ? notification : signal{}, queue,
                                 to_tell);
        }));
        count(counter::writes);
        count(counter::bytes_written, each.bytes);
        count_message(is_message, each);
    }
    if (pieces.empty() && after != nullptr) {
        how.is_message = nullptr;
        ask_for_request(how, who, 0);
        how.completions = tags;
        return start(taken_room, how,
                     [&](const completion &to_tell) { return onesided::notify(rank, notification, queue, to_tell); });
    }
    return GASPI_SUCCESS;
}

gaspi_return_t read(process &self, std::span<const piece> pieces, gaspi_rank_t rank, const notice *after,
                    gaspi_queue_id_t queue, const completion_target &who) noexcept {
    const onesided::space::use all_parts(*self.world);
    std::optional<used_parts> own_parts;
    THENCE_GASPI_CHECK(wrong_parts(self, pieces, rank, after, true, queue, who, own_parts));
    if (after != nullptr) {
        THENCE_GASPI_CHECK(wrong_notice(self, *after, self.rank));
    }
    room taken_room(self, queue, static_cast<std::uint32_t>(pieces.size()), who);
    if (!taken_room.is_there()) {
        return GASPI_QUEUE_FULL;
    }
    if (who.requests == nullptr && !takes_more(self, rank, who.timeout_ms)) {
        return GASPI_TIMEOUT;
    }
    onesided::queue &in = self.world->queue_of(queue);
    const bool notifies = after != nullptr && who.requests == nullptr;
    onesided::end_of_several end(in, notifies);
    completion how;
    how.has_room = who.requests == nullptr;
    how.tag = who.tag;
    how.completions = who.tag != GASPI_TAG_NULL ? 1 : 0;
    if (notifies) {
        how.end = end.made();
        if (how.end == nullptr) {
            return GASPI_ERR_MEMALLOC;
        }
        sets_notification(*how.end, {find_view(self, after->segment), after->id, after->value});
    }
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const piece &each = pieces[i];
        bool is_message = false;
        how.is_message = &is_message;
        ask_for_request(how, who, i);
        how.local_use = &find_view(self, each.local_segment)->own().uses;
        const location from{find_view(self, each.remote_segment), rank, each.remote_offset};
        THENCE_GASPI_CHECK(start(taken_room, how, [&](const completion &to_tell) {
            return onesided::get(local_address(self, each), each.bytes, from, queue, to_tell);
        }));
        count(counter::reads);
        count(counter::bytes_read, each.bytes);
        count_message(is_message, each);
    }
    if (notifies && !how.end->is_end && in.size() == 0) { // all are complete
        how.end->own_slots.set(how.end->notification, how.end->value);
    } else if (notifies) {
        end.all_started();
    }
    return GASPI_SUCCESS;
}

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

gaspi_return_t wrong_queue(process &self, gaspi_queue_id_t queue) noexcept {
    return queue < most_queues && self.has_queue[queue] ? GASPI_SUCCESS : GASPI_ERR_INV_QUEUE;
}

} // namespace thence::gaspi
