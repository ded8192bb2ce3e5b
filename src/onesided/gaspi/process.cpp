// SPDX-License-Identifier: BSD-3-Clause
// gaspi_proc_init, gaspi_proc_term and what they begin and end; the packets of this library.
#include "onesided/gaspi/process.hpp"

#include "onesided/source.hpp"

#include <PGASPI.h>

#include <algorithm>
#include <cstring>
#include <exception>

namespace thence::gaspi {

std::atomic<process *> current{nullptr};
std::array<std::atomic<unsigned long>, most_counters> counters{};

namespace {

std::timed_mutex beginning; // guards init and term
bool began_mpi = false;     // by gaspi_proc_init, so gaspi_proc_term ends MPI

// Several threads may wait for one rank: the last ping that it has answered is kept.
void take_pong(process &self, const wire::packet &p) noexcept {
    std::atomic<std::uint64_t> &last = self.last_pong[static_cast<std::size_t>(p.process)];
    if (p.head.operands[0] > last.load(std::memory_order_relaxed)) { // one thread polls
        last.store(p.head.operands[0], std::memory_order_release);
    }
}

void take_packet(void *data, wire::packet &p) noexcept {
    process &self = *static_cast<process *>(data);
    switch (static_cast<subject>(p.head.notification)) {
    case subject::part:
        take_part(self, p);
        return;
    case subject::part_answer:
        take_part_answer(p);
        return;
    case subject::collective:
        take_collective(p);
        return;
    case subject::ping:
        send(self, p.process, {subject::pong, p.head.operands[0]});
        return;
    case subject::pong:
        take_pong(self, p);
        return;
    }
}

// True if MPI is there, begun by the program or now.
bool begin_mpi() noexcept {
    int flag = 0;
    MPI_Initialized(&flag);
    if (flag == 0) {
        int provided = 0;
        began_mpi = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS;
        return began_mpi;
    }
    MPI_Finalized(&flag);
    return flag == 0;
}

void end_mpi() noexcept {
    if (began_mpi) {
        MPI_Finalize();
    }
}

bool is_on_node(const onesided::peer &each) noexcept {
    return each.is_on_node;
}

// Of one that could not begin: nobody has sent anything.
struct rollback {
    void operator()(process *failed) const noexcept {
        failed->world.reset(); // no poll looks at it afterwards
        if (failed->passive != MPI_COMM_NULL) {
            MPI_Comm_free(&failed->passive);
        }
        delete failed;
    }
};

} // namespace

void make_progress(process &self) noexcept {
    thence_progress();
    for (onesided::queue &each : self.world->queues) {
        if (each.size() != 0) {
            each.look();
        }
    }
}

gaspi_return_t send(process &self, int rank, const content &sent) noexcept {
    if (self.world->is_gone(rank)) {
        return GASPI_ERROR;
    }
    const auto *from = static_cast<const unsigned char *>(sent.data);
    std::size_t left = sent.bytes;
    do {
        wire::packet *const p = wire::take_packet();
        if (p == nullptr) {
            return GASPI_ERR_MEMALLOC;
        }
        const std::size_t bytes = std::min(left, wire::packet::capacity);
        p->head = {};
        p->head.what = wire::kind::other;
        p->head.queue = own_queue;
        p->head.notification = static_cast<std::uint32_t>(sent.about);
        p->head.serial = sent.failed ? 1 : 0; // its value would be that of a notification
        p->head.offset = sent.bytes;
        p->head.bytes = bytes;
        p->head.operands[0] = sent.first;
        p->head.operands[1] = sent.second;
        p->length = sizeof p->head + bytes;
        if (bytes != 0) {
            std::memcpy(p->data, from, bytes);
            from += bytes;
        }
        left -= bytes;
        if (self.world->wires().send(*p, rank) != MPI_SUCCESS) {
            return GASPI_ERROR;
        }
    } while (left != 0);
    return GASPI_SUCCESS;
}

} // namespace thence::gaspi

using namespace thence;
using namespace thence::gaspi;

extern "C" {

gaspi_return_t pgaspi_proc_init(gaspi_timeout_t) {
    const std::scoped_lock guard(beginning);
    if (current.load() != nullptr) {
        return GASPI_ERR_INITED;
    }
    begin_of_time();
    try {
        std::unique_ptr<process, rollback> made(new process);
        // The library is set up by the first call.
        if (!begin_mpi() || thence_progress() != MPI_SUCCESS || !onesided::set_up() ||
            onesided::space::create(MPI_COMM_WORLD, most_queues + 1, true, made->world) != MPI_SUCCESS ||
            MPI_Comm_dup(MPI_COMM_WORLD, &made->passive) != MPI_SUCCESS) {
            return GASPI_ERROR;
        }
        MPI_Comm_set_errhandler(made->passive, thence_errors_return());
        made->rank = made->world->rank();
        made->size = made->world->size();
        made->last_pong = std::make_unique<std::atomic<std::uint64_t>[]>(static_cast<std::size_t>(made->size));
        std::fill_n(made->has_queue.begin(), configuration.queue_num, true);
        begin_segments(*made);
        begin_passive(*made);
        made->world->set_other(&take_packet, made.get());
        THENCE_GASPI_CHECK(begin_groups(*made));
        // All take packets now, and none has come before: the others wait here, too.
        if (MPI_Barrier(made->passive) != MPI_SUCCESS) {
            return GASPI_ERROR;
        }
        current.store(made.release(), std::memory_order_release);
        return GASPI_SUCCESS;
    } catch (const std::exception &) {
        return GASPI_ERR_MEMALLOC;
    }
}

gaspi_return_t pgaspi_proc_term(gaspi_timeout_t timeout_ms) {
    const deadline end(timeout_ms);
    std::unique_lock guard(beginning, std::defer_lock);
    if (!end.lock(guard)) { // another thread waits in this function
        return GASPI_TIMEOUT;
    }
    THENCE_GASPI_SELF();
    for (onesided::queue &each : self.world->queues) {
        if (!wait_until(self, end, [&] { return each.size() == 0; })) {
            return GASPI_TIMEOUT;
        }
    }
    if (!finish_atomics(self, end)) {
        return GASPI_TIMEOUT;
    }
    THENCE_GASPI_CHECK(pgaspi_barrier(GASPI_GROUP_ALL, end.left()));
    // All processes are here, and end together.
    current.store(nullptr, std::memory_order_release);
    // An error is one in all: a thread of one has begun an operation meanwhile, or one is gone.
    if (!end_passive(self) || self.world->end(true) != MPI_SUCCESS) {
        current.store(&self, std::memory_order_release);
        return GASPI_ERROR;
    }
    const std::unique_ptr<process> ended(&self);
    ended->world->set_other(nullptr, nullptr);
    for (auto &each : ended->views) {
        each.reset();
    }
    ended->world.reset();
    MPI_Comm_free(&ended->passive);
    forget_segments();
    forget_groups();
    end_mpi();
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_proc_rank(gaspi_rank_t *rank) {
    THENCE_GASPI_NOT_NULL(rank);
    THENCE_GASPI_SELF();
    *rank = static_cast<gaspi_rank_t>(self.rank);
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_proc_num(gaspi_rank_t *proc_num) {
    THENCE_GASPI_NOT_NULL(proc_num);
    THENCE_GASPI_SELF();
    *proc_num = static_cast<gaspi_rank_t>(self.size);
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_proc_kill(gaspi_rank_t rank, gaspi_timeout_t) {
    THENCE_GASPI_SELF();
    return rank >= self.size || rank == self.rank ? GASPI_ERR_INV_RANK : GASPI_ERROR;
}

gaspi_return_t pgaspi_connect(gaspi_rank_t rank, gaspi_timeout_t) {
    THENCE_GASPI_SELF();
    return rank >= self.size ? GASPI_ERR_INV_RANK : GASPI_SUCCESS;
}

gaspi_return_t pgaspi_disconnect(gaspi_rank_t rank, gaspi_timeout_t timeout_ms) {
    return pgaspi_connect(rank, timeout_ms);
}

gaspi_return_t pgaspi_proc_ping(gaspi_rank_t rank, gaspi_timeout_t timeout_ms) {
    THENCE_GASPI_SELF();
    if (rank >= self.size) {
        return GASPI_ERR_INV_RANK;
    }
    const std::uint64_t number = self.last_ping.fetch_add(1) + 1;
    self.world->look_who_is_gone();
    THENCE_GASPI_CHECK(send(self, rank, {subject::ping, number}));
    const deadline end(timeout_ms);
    bool answered = false;
    if (!wait_until(self, end, [&] {
            answered = self.last_pong[rank].load(std::memory_order_acquire) >= number;
            return answered || self.world->is_gone(rank);
        })) {
        return GASPI_TIMEOUT;
    }
    return answered ? GASPI_SUCCESS : GASPI_ERROR;
}

gaspi_return_t pgaspi_initialized(gaspi_number_t *initialized) {
    THENCE_GASPI_NOT_NULL(initialized);
    *initialized = current.load() != nullptr ? 1 : 0;
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_proc_local_rank(gaspi_rank_t *local_rank) {
    THENCE_GASPI_NOT_NULL(local_rank);
    THENCE_GASPI_SELF();
    const auto begin = self.world->peers.begin();
    *local_rank = static_cast<gaspi_rank_t>(std::count_if(begin, begin + self.rank, is_on_node));
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_proc_local_num(gaspi_rank_t *local_num) {
    THENCE_GASPI_NOT_NULL(local_num);
    THENCE_GASPI_SELF();
    *local_num = static_cast<gaspi_rank_t>(std::ranges::count_if(self.world->peers, is_on_node));
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_state_vec_get(gaspi_state_vector_t state_vector) {
    THENCE_GASPI_NOT_NULL(state_vector);
    THENCE_GASPI_SELF();
    self.world->look_who_is_gone();
    for (int i = 0; i < self.size; ++i) {
        const bool failed = self.world->health_of(i).failed.load(std::memory_order_relaxed);
        state_vector[i] = failed ? GASPI_STATE_CORRUPT : GASPI_STATE_HEALTHY;
    }
    return GASPI_SUCCESS;
}

THENCE_GASPI_ALIAS(proc_init);
THENCE_GASPI_ALIAS(proc_term);
THENCE_GASPI_ALIAS(proc_rank);
THENCE_GASPI_ALIAS(proc_num);
THENCE_GASPI_ALIAS(proc_kill);
THENCE_GASPI_ALIAS(connect);
THENCE_GASPI_ALIAS(disconnect);
THENCE_GASPI_ALIAS(state_vec_get);
THENCE_GASPI_ALIAS(initialized);
THENCE_GASPI_ALIAS(proc_local_rank);
THENCE_GASPI_ALIAS(proc_local_num);
THENCE_GASPI_ALIAS(proc_ping);

} // extern "C"
