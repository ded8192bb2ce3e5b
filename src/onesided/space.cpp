// SPDX-License-Identifier: BSD-3-Clause
#include "onesided/space.hpp"

#include "core/base/clock.hpp"
#include "core/continuation/run.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/implementation.hpp"
#include "core/progress/backoff.hpp"
#include "core/progress/progress.hpp"
#include "onesided/source.hpp"

#include <algorithm>
#include <exception>

namespace thence::onesided {

using mpi::table;

int complete(MPI_Request &request) noexcept {
    for (;;) {
        int flag = 0;
        const int code = table.Test(&request, &flag, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS || flag != 0) {
            return code;
        }
        continuation::make_progress();
    }
}

space::space(MPI_Comm comm, MPI_Comm collective) noexcept : comm_(comm), collective_(collective), arriving_(*this) {
    table.Comm_rank(comm_, &rank_);
    table.Comm_size(comm_, &size_);
}

space::~space() {
    wires_.reset();
    table.Comm_free(&comm_);
    table.Comm_free(&collective_);
}

void space::look_who_is_gone() noexcept {
    for (int i = 0; i < size_; ++i) {
        health_of(i).look();
    }
}

void space::look_now_and_then() noexcept {
    if (++polls_ < polls_of_look) {
        return;
    }
    polls_ = 0;
    const std::uint32_t now = base::coarse_milliseconds();
    if (now - last_look_ < milliseconds_of_look) {
        return;
    }
    last_look_ = now;
    look_who_is_gone();
    if (auto *const function = hopeless_.load(std::memory_order_acquire); function != nullptr) {
        bool any = has_lost_.load(std::memory_order_acquire);
        for (int i = 0; i < size_ && !any; ++i) {
            any = is_gone(i);
        }
        if (any) {
            function(*this);
        }
    }
}

std::uint64_t space::done_by(int rank) const noexcept {
    if (rank == rank_) {
        return done_[rank_].load(std::memory_order_acquire);
    }
    const peer &to = peers[static_cast<std::size_t>(rank)];
    return (to.done != nullptr ? *to.done : credits_[static_cast<std::size_t>(rank)]).load(std::memory_order_acquire);
}

bool space::has_room_for(int rank) noexcept {
    const auto has_room = [&] { return wires_->sent_to(rank) - done_by(rank) < most_on_their_way; };
    return has_room() || (wires_->poll(), has_room());
}

bool space::wait_for_room(int rank) noexcept {
    thence_backoff backoff = progress::backoff_with(20'000, 256);
    for (unsigned turn = 1; !has_room_for(rank); ++turn) {
        if (turn % 1024 == 0) {
            health_of(rank).look();
        }
        if (is_gone(rank)) {
            return false;
        }
        progress::pause(backoff);
    }
    return true;
}

// The greatest of what all processes give.
int space::agree(MPI_Comm collective, int mine, int &all) noexcept {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = table.Iallreduce(&mine, &all, 1, MPI_INT, MPI_MAX, collective, &request);
    return code == MPI_SUCCESS ? complete(request) : code;
}

int space::free_number() const noexcept {
    const std::scoped_lock guard(lock_);
    const auto free = std::ranges::find(segments_, nullptr);
    return static_cast<int>(free - segments_.begin());
}

bool space::add_segment(segment &added) noexcept {
    const std::scoped_lock guard(lock_);
    try {
        const auto number = static_cast<std::size_t>(added.number);
        if (segments_.size() <= number) {
            segments_.resize(number + 1, nullptr);
        }
        segments_[number] = &added;
        return true;
    } catch (const std::exception &) {
        return false;
    }
}

void space::remove_segment(const segment &removed) noexcept {
    const std::scoped_lock guard(lock_);
    segments_[static_cast<std::size_t>(removed.number)] = nullptr;
}

segment *space::segment_of(int number) noexcept {
    const std::scoped_lock guard(lock_);
    return number >= 0 && static_cast<std::size_t>(number) < segments_.size()
               ? segments_[static_cast<std::size_t>(number)]
               : nullptr;
}

// All processes make and free segments in the same order, so they choose the same number.
int space::create_segment(void *memory, std::size_t bytes, unsigned notifications, segment *&made) noexcept {
    std::unique_ptr<segment> created = segment::make(*this, free_number(), memory, bytes, notifications);
    part_description mine{};
    if (created != nullptr && created->waiting.make_room() && add_segment(*created)) {
        mine = created->describe();
    } else {
        mine.number = -1;
    }
    std::vector<part_description> &all = told_;
    MPI_Request request = MPI_REQUEST_NULL;
    int code = table.Iallgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, collective_, &request);
    code = code == MPI_SUCCESS ? complete(request) : code;
    bool wants_messages = false;
    for (int i = 0; i < size_ && code == MPI_SUCCESS; ++i) {
        const part_description &said = all[static_cast<std::size_t>(i)];
        if (said.number < 0) {
            code = MPI_ERR_NO_MEM;
        } else if (created != nullptr && !created->learn(i, said)) {
            code = MPI_ERR_NO_MEM;
        }
        wants_messages = wants_messages || said.of_program != 0;
    }
    for (int i = 0; i < size_ && code == MPI_SUCCESS; ++i) {
        wants_messages = wants_messages || created->part_of(i).how == way::by_messages;
    }
    constexpr int failed = 2;
    int any = 0;
    const int mine_is = code != MPI_SUCCESS ? failed : wants_messages ? 1 : 0;
    if (const int agreed = agree(collective_, mine_is, any); code == MPI_SUCCESS) {
        code = agreed == MPI_SUCCESS && any == failed ? int{MPI_ERR_NO_MEM} : agreed;
    }
    if (code == MPI_SUCCESS && any != 0 && !has_messages()) {
        code = begin_messages();
    }
    if (code != MPI_SUCCESS) {
        if (mine.number >= 0) {
            remove_segment(*created);
        }
        return code;
    }
    made = created.release();
    return MPI_SUCCESS;
}

// Tells each process its count, and learns what all have for this one.
int space::tell_counts() noexcept {
    std::uint64_t *const told = counts_.get();
    MPI_Request request = MPI_REQUEST_NULL;
    const int code =
        table.Ialltoall(told, sizeof *told, MPI_BYTE, told + size_, sizeof *told, MPI_BYTE, collective_, &request);
    return code == MPI_SUCCESS ? complete(request) : code;
}

void space::wait_until_packets_have_left() noexcept {
    while (wires_->any_under_way()) {
        continuation::make_progress();
        wires_->poll();
    }
}

// Until all packets that any process has sent to this one are done.
int space::drain() noexcept {
    if (!has_messages()) {
        MPI_Request request = MPI_REQUEST_NULL;
        const int code = table.Ibarrier(collective_, &request);
        return code == MPI_SUCCESS ? complete(request) : code;
    }
    wait_until_packets_have_left(); // one that is lost on its way counts no more
    const auto count = static_cast<std::size_t>(size_);
    for (int i = 0; i < size_; ++i) {
        counts_[static_cast<std::size_t>(i)] = wires_->sent_to(i);
    }
    const int code = tell_counts();
    const std::uint64_t *const expected = counts_.get() + count;
    for (std::size_t i = 0; i < count && code == MPI_SUCCESS;) {
        if (done_[i].load(std::memory_order_acquire) >= expected[i]) {
            ++i;
        } else {
            continuation::make_progress();
        }
    }
    return code;
}

// All processes ask. `mine`: something is pending in this one, other than operations of queues.
int space::error_if_pending(bool mine) noexcept {
    int pending = mine ? 1 : 0;
    for (queue &each : queues) {
        each.look();
        pending |= each.size() != 0 ? 1 : 0;
    }
    int any = 0;
    const int code = agree(collective_, pending, any);
    return code == MPI_SUCCESS && any != 0 ? MPI_ERR_PENDING : code;
}

int space::free_segment(segment &freed) noexcept {
    int code = error_if_pending(freed.waiting.any());
    if (code != MPI_SUCCESS) {
        return code;
    }
    code = drain();
    if (code == MPI_SUCCESS) { // else messages for it may be under way
        remove_segment(freed);
        delete &freed;
    }
    return code;
}

// After a drain: no credit or refusal is on its way to this process, so that its receives are for packets of
// transport::end(). They may have been lost, so they are counted when they have left.
int space::wait_for_uncounted() noexcept {
    wires_->between_polls([] {}); // a poll may have done the last packet, and is about to send its credit
    wait_until_packets_have_left();
    const auto count = static_cast<std::size_t>(size_);
    for (std::size_t i = 0; i < count; ++i) {
        counts_[i] = uncounted_sent_[i].load(std::memory_order_acquire);
    }
    const int code = tell_counts();
    for (std::size_t i = 0; i < count && code == MPI_SUCCESS;) {
        if (uncounted_here_[i].load(std::memory_order_acquire) >= counts_[count + i]) {
            ++i;
        } else {
            continuation::make_progress();
            wires_->poll();
        }
    }
    return code;
}

int space::end(bool with_segments) noexcept {
    bool has_segments = false;
    if (!with_segments) {
        const std::scoped_lock guard(lock_);
        has_segments = std::ranges::any_of(segments_, [](const segment *each) { return each != nullptr; });
    }
    int code = error_if_pending(has_segments);
    if (code != MPI_SUCCESS) {
        return code;
    }
    code = drain();
    if (code != MPI_SUCCESS) {
        return code; // messages may be under way
    }
    if (has_messages()) {
        if (code = wait_for_uncounted(); code != MPI_SUCCESS) {
            return code;
        }
        wires_->end();
        messages_end();
    }
    remove_space(*this);
    return code;
}

bool space::poll() noexcept {
    if (!has_messages()) {
        return false;
    }
    look_now_and_then();
    const bool some = wires_->poll();
    for (queue &each : queues) {
        if (each.has_ends()) { // others may wait for what they set
            each.look();
        }
    }
    return some;
}

bool space::may_have_arrived() noexcept {
    const std::scoped_lock guard(lock_);
    return std::ranges::any_of(segments_,
                               [](segment *each) { return each != nullptr && each->waiting.may_have_arrived(); });
}

void space::look(notification::arrived_list &ready) noexcept {
    const std::scoped_lock guard(lock_);
    for (segment *each : segments_) {
        if (each != nullptr && each->waiting.may_have_arrived()) {
            each->waiting.look(ready);
        }
    }
}

const wire::local_part *space::find(int number) noexcept {
    segment *const found = segment_of(number);
    return found != nullptr ? found->find_own() : nullptr;
}

void space::other(wire::packet &p) noexcept {
    if (other_ != nullptr) {
        other_(other_data_, p);
    }
}

void space::lost(wire::packet &p, bool was_told) noexcept {
    if (!wire::is_counted(p.head.what)) { // the next credit tells of these packets, too
        uncounted_sent_[static_cast<std::size_t>(p.process)].fetch_sub(1, std::memory_order_release);
    }
    health &of = health_of(p.process);
    of.failed.store(true, std::memory_order_relaxed);
    if (was_told || p.head.serial == 0 || p.head.what == wire::kind::other) {
        wire::give_packet(&p);
    } else { // this process waits for a reply, or until its data have left
        of.keep_lost(p);
        has_lost_.store(true, std::memory_order_release);
    }
}

void space::done(int process) noexcept {
    const std::uint64_t all = done_[static_cast<std::size_t>(process)].fetch_add(1, std::memory_order_release) + 1;
    if (all % packets_of_credit != 0 || process == rank_) [[likely]] {
        return;
    }
    if (wire::packet *const p = wire::take_packet(); p != nullptr) { // else the next one tells of these, too
        p->head = {};
        p->head.what = wire::kind::credit;
        p->head.operands[0] = all;
        p->length = sizeof p->head;
        send_uncounted(*p, process);
    }
}

void space::send_uncounted(wire::packet &p, int process) noexcept {
    uncounted_sent_[static_cast<std::size_t>(process)].fetch_add(1, std::memory_order_relaxed);
    wires_->send(p, process);
}

void space::has_arrived_uncounted(int process) noexcept {
    uncounted_here_[static_cast<std::size_t>(process)].fetch_add(1, std::memory_order_release);
}

void space::credit(int process, std::uint64_t packets) noexcept {
    credits_[static_cast<std::size_t>(process)].store(packets, std::memory_order_release);
    has_arrived_uncounted(process);
}

void space::refuse(wire::packet &p) noexcept {
    const std::uint32_t queue = p.head.queue;
    p.head = {};
    p.head.what = wire::kind::refused;
    p.head.queue = queue;
    p.length = sizeof p.head;
    send_uncounted(p, p.process);
}

// The put was locally complete, maybe long ago: so its queue has the error, and the health of the process.
void space::refused(int process, int queue) noexcept {
    health_of(process).failed.store(true, std::memory_order_relaxed);
    queue_of(queue).add_error(MPI_ERR_OTHER);
    has_arrived_uncounted(process);
}

} // namespace thence::onesided
