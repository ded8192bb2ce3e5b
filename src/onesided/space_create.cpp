// SPDX-License-Identifier: BSD-3-Clause
// How a space is made: its processes tell each other how they are reached. No process fails alone: each learns whether
// another one could not.
#include "onesided/space.hpp"

#include "core/base/settings.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/implementation.hpp"
#include "onesided/memory/other_process.hpp"
#include "onesided/source.hpp"

#include <algorithm>
#include <exception>
#include <new>
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

bool space::make_own(int count) noexcept {
    try {
        peers.resize(static_cast<std::size_t>(size_));
        queues.resize(static_cast<std::size_t>(std::max(count, 0)));
        told_.resize(static_cast<std::size_t>(size_));
        counts_ = std::make_unique<std::uint64_t[]>(2 * static_cast<std::size_t>(size_));
        for (auto *const each : {&credits_, &uncounted_sent_, &uncounted_here_}) {
            *each = std::make_unique<std::atomic<std::uint64_t>[]>(static_cast<std::size_t>(size_));
        }
        health_ = std::make_unique<health[]>(static_cast<std::size_t>(size_));
    } catch (const std::exception &) {
        return false;
    }
    control_ = memory::shared_block::make(2 * sizeof(std::uint64_t) * static_cast<std::size_t>(size_));
    done_ = reinterpret_cast<std::atomic<std::uint64_t> *>(control_.data());
    if (!control_) {
        return false;
    }
    operations_done_ = done_ + size_;
    return true;
}

namespace {

// The greatest of what all processes give, when nothing is known of them.
int agree(MPI_Comm collective, int mine, int &all) noexcept {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = table.Iallreduce(&mine, &all, 1, MPI_INT, MPI_MAX, collective, &request);
    return code == MPI_SUCCESS ? complete(request, nullptr) : code;
}

} // namespace

// Finds out how a process is reached.
void space::meet(int rank, const greeting &said, const greeting &own) noexcept {
    peer &met = peers[static_cast<std::size_t>(rank)];
    met.process = said.process;
    met.is_on_node = said.node == own.node;
    met.why = text::own;
    const bool only_messages = only_messages_ || said.only_messages != 0;
    if (only_messages) {
        met.why = text::by_setting;
    }
    if (rank == rank_) {
        return;
    }
    if (!met.is_on_node) {
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
    met.operations_done = met.done + size_;
    std::uint64_t seen = 0;
    met.is_copied_to = memory::read_from(said.process, said.address, &seen, sizeof seen) && seen == said.cookie;
}

int space::begin_messages() noexcept {
    if (!wires_) {
        wires_.emplace(comm_, arriving_); // it stays also if it cannot begin, since MPI may have receives of it
    }
    // Both may be repeated: no process sends before all have begun.
    are_ready_ = are_ready_ ||
                 (wires_->begin() == MPI_SUCCESS && arriving_.begin(*wires_, size_, static_cast<int>(queues.size())));
    int any = 1;
    const int code = agree(are_ready_ ? 0 : 1, any);
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
    int size = 0;
    table.Comm_size(own, &size);
    std::unique_ptr<space> created(new (std::nothrow) space(own, collective));
    const std::unique_ptr<greeting[]> all(new (std::nothrow) greeting[static_cast<std::size_t>(size)]);
    int any = 0;
    code = onesided::agree(collective, created == nullptr || all == nullptr ? 1 : 0, any);
    if (code != MPI_SUCCESS || any != 0) {
        if (created == nullptr) {
            table.Comm_free(&own);
            table.Comm_free(&collective);
        }
        return code != MPI_SUCCESS ? code : MPI_ERR_NO_MEM;
    }
#if defined(SMPI_H) // simulated processes share the memory of one
    created->only_messages_ = true;
#else
    created->only_messages_ = base::current_settings().onesided_messages;
#endif
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
    MPI_Request request = MPI_REQUEST_NULL;
    code = table.Iallgather(&mine, sizeof mine, MPI_BYTE, all.get(), sizeof mine, MPI_BYTE, collective, &request);
    code = code == MPI_SUCCESS ? complete(request, nullptr) : code;
    if (code != MPI_SUCCESS) {
        return code;
    }
    int wants_messages = always_messages ? 1 : 0;
    for (int i = 0; i < size; ++i) {
        const greeting &each = all[static_cast<std::size_t>(i)];
        if (each.failed != 0 || each.queues != count || count < 1) { // so in all processes
            code = each.failed != 0 ? MPI_ERR_NO_MEM : MPI_ERR_ARG;
        }
    }
    if (code == MPI_SUCCESS) {
        for (int i = 0; i < size; ++i) {
            created->meet(i, all[static_cast<std::size_t>(i)], mine);
            const peer &met = created->peers[static_cast<std::size_t>(i)];
            wants_messages |= created->only_messages_ || (i != created->rank_ && !met.is_here) ? 1 : 0;
        }
    }
    created->is_listed_ = code == MPI_SUCCESS && add_space(*created);
    constexpr int failed = 2;
    const int agreed =
        created->agree(created->is_listed_ ? wants_messages : failed, any); // after it nobody reads `probe`
    if (code == MPI_SUCCESS) {
        code = agreed == MPI_SUCCESS && any == failed ? int{MPI_ERR_NO_MEM} : agreed;
    }
    if (code == MPI_SUCCESS && any != 0) {
        code = created->begin_messages();
    }
    if (code == MPI_SUCCESS) {
        made = std::move(created);
    } else if (created->any_is_gone()) { // MPI may have memory of it
        created->leave_list();
        static_cast<void>(created.release());
    }
    return code;
}

} // namespace thence::onesided
