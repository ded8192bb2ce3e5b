// SPDX-License-Identifier: BSD-3-Clause
// The collective calls of a space: segments that all processes make and free together, and its end. Each goes on while
// processes are slow, and gives up when one of them is gone.
#include "onesided/space.hpp"

#include "core/base/clock.hpp"
#include "core/continuation/run.hpp"
#include "core/mpi/calls.hpp"
#include "core/progress/backoff.hpp"
#include "onesided/source.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>

namespace thence::onesided {

using mpi::table;

watch_over_all::watch_over_all(space &world) noexcept
    : world_(world), since_(base::coarse_milliseconds()), is_one_gone_(world.any_is_gone()) {}

bool watch_over_all::gives_up() noexcept {
    const std::uint32_t now = base::coarse_milliseconds();
    if (is_one_gone_) {
        return ++turns_ > turns_after && now - since_ > milliseconds_after;
    }
    if (now - since_ > milliseconds_of_look) {
        since_ = now;
        world_.look_who_is_gone();
        is_one_gone_ = world_.any_is_gone();
    }
    return false;
}

int complete(MPI_Request &request, space *world) noexcept {
    std::optional<watch_over_all> watch;
    if (world != nullptr) {
        watch.emplace(*world);
    }
    thence_backoff backoff = progress::backoff_of_short_wait();
    for (int code = MPI_SUCCESS;;) {
        if (mpi::has_ended(request, code)) {
            return code;
        }
        if (watch && watch->gives_up()) {
            return MPI_ERR_OTHER;
        }
        continuation::make_progress_or_pause(backoff);
    }
}

// A collective call that `start` begins with memory of this space.
template <class Start> int space::call_all(Start start) noexcept {
    if (any_is_gone()) {
        return MPI_ERR_OTHER;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = start(&request);
    return code == MPI_SUCCESS ? complete(request, this) : code;
}

// The greatest of what all processes give.
int space::agree(int mine, int &all) noexcept {
    const int code = call_all([&](MPI_Request *request) {
        agreed_[0] = mine;
        return table.Iallreduce(agreed_, agreed_ + 1, 1, MPI_INT, MPI_MAX, collective_, request);
    });
    all = code == MPI_SUCCESS ? agreed_[1] : all;
    return code;
}

// All processes make and free segments in the same order, so they choose the same number.
int space::create_segment(void *memory, std::size_t bytes, unsigned notifications, segment *&made) noexcept {
    std::unique_ptr<segment> created = segment::make(*this, free_number(), memory, bytes, notifications);
    const bool is_made = created != nullptr && created->waiting.make_room() && add_segment(*created);
    int code = call_all([&](MPI_Request *request) {
        mine_ = {};
        if (is_made) {
            mine_ = created->describe();
        } else {
            mine_.number = -1;
        }
        return table.Iallgather(&mine_, sizeof mine_, MPI_BYTE, told_.data(), sizeof mine_, MPI_BYTE, collective_,
                                request);
    });
    bool wants_messages = false;
    for (int i = 0; i < size_ && code == MPI_SUCCESS; ++i) {
        const part_description &said = told_[static_cast<std::size_t>(i)];
        if (said.number < 0 || (created != nullptr && !created->learn(i, said))) {
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
    if (const int agreed = agree(mine_is, any); code == MPI_SUCCESS) {
        code = agreed == MPI_SUCCESS && any == failed ? int{MPI_ERR_NO_MEM} : agreed;
    }
    if (code == MPI_SUCCESS && any != 0 && !has_messages()) {
        code = begin_messages();
    }
    if (code != MPI_SUCCESS) {
        if (is_made) {
            remove_segment(*created);
        }
        return code;
    }
    made = created.release();
    return MPI_SUCCESS;
}

namespace {

// Until `done()`. False: a process is gone.
template <class Done> bool wait_unless_gone(space &world, Done done) noexcept {
    thence_backoff backoff = progress::backoff_of_short_wait();
    for (watch_over_all watch(world); !done();) {
        if (watch.gives_up()) {
            return false;
        }
        continuation::make_progress_or_pause(backoff);
        world.wires().poll();
    }
    return true;
}

} // namespace

// False: a process is gone.
bool space::wait_until_packets_have_left() noexcept {
    return wait_unless_gone(*this, [&] { return !wires_->any_under_way(); });
}

// Tells each process its count. Waits until `arrived`, one for each process, are what all have told this one.
int space::exchange_counts(const std::atomic<std::uint64_t> arrived[]) noexcept {
    std::uint64_t *const told = counts_.get();
    const int code = call_all([&](MPI_Request *request) {
        return table.Ialltoall(told, sizeof *told, MPI_BYTE, told + size_, sizeof *told, MPI_BYTE, collective_,
                               request);
    });
    if (code != MPI_SUCCESS) {
        return code;
    }
    int i = 0; // those before it are
    const bool all_are = wait_unless_gone(*this, [&] {
        while (i < size_ && arrived[i].load(std::memory_order_acquire) >= told[size_ + i]) {
            ++i;
        }
        return i == size_;
    });
    return all_are ? MPI_SUCCESS : int{MPI_ERR_OTHER};
}

// Until all packets that any process has sent to this one are done.
int space::drain() noexcept {
    if (!has_messages()) {
        return call_all([&](MPI_Request *request) { return table.Ibarrier(collective_, request); });
    }
    if (!wait_until_packets_have_left()) { // one that is lost on its way counts no more
        return MPI_ERR_OTHER;
    }
    for (int i = 0; i < size_; ++i) {
        counts_[static_cast<std::size_t>(i)] = wires_->sent_to(i);
    }
    return exchange_counts(done_);
}

// All processes ask. `mine`: something is pending in this one, other than operations of queues.
int space::error_if_pending(bool mine) noexcept {
    int pending = mine || lists_number_.load(std::memory_order_acquire) != 0 ? 1 : 0;
    for (queue &each : queues) {
        each.look();
        pending |= each.size() != 0 ? 1 : 0;
    }
    int any = 0;
    const int code = agree(pending, any);
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
    if (!wait_until_packets_have_left()) {
        return MPI_ERR_OTHER;
    }
    for (std::size_t i = 0; i < static_cast<std::size_t>(size_); ++i) {
        counts_[i] = uncounted_sent_[i].load(std::memory_order_acquire);
    }
    return exchange_counts(uncounted_here_.get());
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
    }
    leave_list();
    return code;
}

} // namespace thence::onesided
