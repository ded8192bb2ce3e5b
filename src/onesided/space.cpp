// SPDX-License-Identifier: BSD-3-Clause
#include "onesided/space.hpp"

#include "core/base/settings.hpp"
#include "core/continuation/run.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/implementation.hpp"
#include "core/progress/backoff.hpp"
#include "core/progress/progress.hpp"
#include "onesided/memory/other_process.hpp"
#include "onesided/source.hpp"

#include <algorithm>
#include <exception>
#include <unistd.h>

namespace thence::onesided {

using mpi::table;

// What each process tells all others when a space is made.
struct space::greeting {
    std::uint64_t node;
    std::uint64_t cookie;
    std::uint64_t control_bytes;
    std::uint64_t address; // of a copy of the cookie in memory that is not shared
    std::int32_t process;
    std::int32_t descriptor;
    std::int32_t queues;
    std::int32_t only_messages;
    std::int32_t failed;
    std::int32_t unused;
};

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

space::space(MPI_Comm comm) noexcept : comm_(comm), arriving_(*this) {
    table.Comm_rank(comm_, &rank_);
    table.Comm_size(comm_, &size_);
}

space::~space() {
    wires_.reset();
    if (comm_ != MPI_COMM_NULL) {
        table.Comm_free(&comm_);
    }
    if (collective_ != MPI_COMM_NULL) {
        table.Comm_free(&collective_);
    }
}

bool space::make_own(int count) noexcept {
    try {
        peers.resize(static_cast<std::size_t>(size_));
        queues.resize(static_cast<std::size_t>(std::max(count, 0)));
        told_.resize(static_cast<std::size_t>(size_));
        counts_ = std::make_unique<std::uint64_t[]>(2 * static_cast<std::size_t>(size_));
        credits_ = std::make_unique<std::atomic<std::uint64_t>[]>(static_cast<std::size_t>(size_));
        health_ = std::make_unique<health[]>(static_cast<std::size_t>(size_));
    } catch (const std::exception &) {
        return false;
    }
    control_ = memory::shared_block::make(sizeof(std::uint64_t) * static_cast<std::size_t>(size_));
    done_ = reinterpret_cast<std::atomic<std::uint64_t> *>(control_.data());
    return static_cast<bool>(control_);
}

// Finds out how a process is reached.
void space::meet(int rank, const greeting &said, bool checks_copy) noexcept {
    peer &met = peers[static_cast<std::size_t>(rank)];
    met.process = said.process;
    met.why = text::own;
    const bool only_messages = only_messages_ || said.only_messages != 0;
    if (only_messages) {
        met.why = text::by_setting;
    }
    if (rank == rank_) {
        return;
    }
    if (said.node != memory::this_node()) {
        met.why = only_messages ? met.why : text::other_node;
        return;
    }
    memory::shared_block control =
        memory::shared_block::open(said.process, said.descriptor, said.control_bytes, said.cookie);
    if (control) { // so its number is that of this process in the system
        health_of(rank).watch(said.process);
    }
    if (only_messages) {
        return;
    }
    met.why = text::not_mapped;
    if (!control) {
        return;
    }
    met.control = std::move(control);
    met.is_here = true;
    met.done = reinterpret_cast<const std::atomic<std::uint64_t> *>(met.control.data()) + rank_;
    std::uint64_t seen = 0;
    met.is_copied_to =
        checks_copy && memory::read_from(said.process, said.address, &seen, sizeof seen) && seen == said.cookie;
}

void space::look_who_is_gone() noexcept {
    for (int i = 0; i < size_; ++i) {
        health_of(i).look();
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
int space::agree(int mine, int &all) noexcept {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = table.Iallreduce(&mine, &all, 1, MPI_INT, MPI_MAX, collective_, &request);
    return code == MPI_SUCCESS ? complete(request) : code;
}

int space::begin_messages() noexcept {
    int failed = MPI_SUCCESS;
    if (!wires_) {
        wires_.emplace(comm_, arriving_);
        failed = wires_->begin();
        if (failed == MPI_SUCCESS && !arriving_.begin(*wires_, size_, static_cast<int>(queues.size()))) {
            failed = MPI_ERR_NO_MEM;
        }
    }
    int any = 1;
    const int code = agree(failed != MPI_SUCCESS ? 1 : 0, any);
    if (code != MPI_SUCCESS || any != 0) {
        return code != MPI_SUCCESS ? code : MPI_ERR_NO_MEM;
    }
    has_messages_.store(true, std::memory_order_release);
    messages_begin();
    return MPI_SUCCESS;
}

int space::create(MPI_Comm comm, int count, bool always_messages, std::unique_ptr<space> &made) noexcept {
    MPI_Comm own = MPI_COMM_NULL;
    MPI_Comm collective = MPI_COMM_NULL;
    int code = table.Comm_dup(comm, &own);
    if (code != MPI_SUCCESS) {
        return code;
    }
    table.Comm_set_errhandler(own, mpi::errors_return());
    code = table.Comm_dup(own, &collective);
    if (code != MPI_SUCCESS) {
        table.Comm_free(&own);
        return code;
    }
    std::unique_ptr<space> created(new space(own));
    created->collective_ = collective;
    created->only_messages_ = base::current_settings().onesided_messages;
    const bool has_own = created->make_own(count);
    // Private memory: it tells whether the system copies to it.
    const auto probe = has_own ? created->control_.cookie() : 0;
    greeting mine{};
    mine.node = memory::this_node();
    mine.cookie = probe;
    mine.control_bytes = created->control_.bytes();
    mine.address = reinterpret_cast<std::uintptr_t>(&probe);
    mine.process = getpid();
    mine.descriptor = created->control_.descriptor();
    mine.queues = count;
    mine.only_messages = created->only_messages_ ? 1 : 0;
    mine.failed = has_own ? 0 : 1;
    std::vector<greeting> all(static_cast<std::size_t>(created->size_));
    MPI_Request request = MPI_REQUEST_NULL;
    code = table.Iallgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, collective, &request);
    code = code == MPI_SUCCESS ? complete(request) : code;
    if (code != MPI_SUCCESS) {
        return code;
    }
    int wants_messages = always_messages ? 1 : 0;
    for (int i = 0; i < created->size_; ++i) {
        const greeting &each = all[static_cast<std::size_t>(i)];
        if (each.failed != 0 || each.queues != count || count < 1) { // so in all processes
            code = each.failed != 0 ? MPI_ERR_NO_MEM : MPI_ERR_ARG;
        }
    }
    if (code == MPI_SUCCESS) {
        for (int i = 0; i < created->size_; ++i) {
            created->meet(i, all[static_cast<std::size_t>(i)], true);
            const peer &met = created->peers[static_cast<std::size_t>(i)];
            wants_messages |= created->only_messages_ || (i != created->rank_ && !met.is_here) ? 1 : 0;
        }
    }
    int any = 0;
    const int agreed = created->agree(wants_messages, any); // after it nobody reads `probe`
    code = code == MPI_SUCCESS ? agreed : code;
    if (code == MPI_SUCCESS && any != 0) {
        code = created->begin_messages();
    }
    if (code == MPI_SUCCESS) {
        add_space(*created);
        made = std::move(created);
    }
    return code;
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
    if (const int agreed = agree(mine_is, any); code == MPI_SUCCESS) {
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

// Until all packets that any process has sent to this one are done.
int space::drain() noexcept {
    if (!has_messages()) {
        MPI_Request request = MPI_REQUEST_NULL;
        const int code = table.Ibarrier(collective_, &request);
        return code == MPI_SUCCESS ? complete(request) : code;
    }
    const auto count = static_cast<std::size_t>(size_);
    std::uint64_t *const sent = counts_.get();
    std::uint64_t *const expected = sent + count;
    for (int i = 0; i < size_; ++i) {
        sent[i] = wires_->sent_to(i);
    }
    MPI_Request request = MPI_REQUEST_NULL;
    int code = table.Ialltoall(sent, sizeof *sent, MPI_BYTE, expected, sizeof *sent, MPI_BYTE, collective_, &request);
    code = code == MPI_SUCCESS ? complete(request) : code;
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

// After a drain: no credit is on its way to this process, so that its receives are for packets of transport::end().
void space::wait_for_credits() noexcept {
    for (int i = 0; i < size_; ++i) {
        const std::uint64_t told = wires_->sent_to(i) / packets_of_credit * packets_of_credit;
        while (i != rank_ && credits_[static_cast<std::size_t>(i)].load(std::memory_order_acquire) < told) {
            continuation::make_progress();
            wires_->poll();
        }
    }
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
        wait_for_credits();
        wires_->end();
        messages_end();
    }
    remove_space(*this);
    return code;
}

bool space::poll() noexcept {
    return has_messages() && wires_->poll();
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
        wires_->send(*p, process);
    }
}

void space::credit(int process, std::uint64_t packets) noexcept {
    credits_[static_cast<std::size_t>(process)].store(packets, std::memory_order_release);
}

} // namespace thence::onesided
