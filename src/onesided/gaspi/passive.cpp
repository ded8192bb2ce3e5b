// SPDX-License-Identifier: BSD-3-Clause
// Passive communication: a message to a process that asks for one. A message is copied before it is sent, so the call
// returns at once. It is received into memory of its own, and copied to the segment when all of it is here: MPI tells
// of a message before it has come, its sender may stop meanwhile, and the time of a call is kept. No receive is ever
// cancelled: one that a call has begun and not ended stays in a list, where the next call finds it.
//
// Invariant: MPI is not called under the mutex, since a call of MPI may run callbacks, and these may send and receive.
// A thread takes what it tests out of the list, and puts back what is not complete, before all that was added since.
#include "onesided/gaspi/process.hpp"

#include <PGASPI.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <list>
#include <memory>
#include <new>

namespace thence::gaspi {

namespace {

struct sent_message {
    gaspi_rank_t to = 0;
    std::vector<unsigned char> data;
    MPI_Request request = MPI_REQUEST_NULL;
};

struct arrival {
    gaspi_rank_t from = 0;
    std::size_t bytes = 0;
    MPI_Message message = MPI_MESSAGE_NULL; // until there was memory for it
    std::unique_ptr<unsigned char[]> data;
    MPI_Request request = MPI_REQUEST_NULL;
};

struct passive_messages {
    std::atomic<gaspi_number_t> under_way{0}; // that are being sent, or are about to be
    std::mutex mutex;                         // guards the lists
    std::list<sent_message> sent;
    std::list<arrival> arrived; // the oldest first
    // To and from processes that are gone: MPI may still use their memory.
    std::list<sent_message> abandoned_sent;
    std::list<arrival> abandoned_arrivals;
};

passive_messages &messages() noexcept {
    static auto *const made = new passive_messages; // never destroyed
    return *made;
}

template <class Message> std::list<Message> take_all(std::list<Message> &from) noexcept {
    std::list<Message> taken;
    const std::scoped_lock guard(messages().mutex);
    taken.swap(from);
    return taken;
}
template <class Message> void put_back(std::list<Message> &to, std::list<Message> &these) noexcept {
    const std::scoped_lock guard(messages().mutex);
    to.splice(to.begin(), these);
}
template <class Message> void add(std::list<Message> &to, std::list<Message> &these) noexcept {
    const std::scoped_lock guard(messages().mutex);
    to.splice(to.end(), these);
}

// Forgets those that have left, and those that never will.
void look_at_sent(process &self) noexcept {
    std::list<sent_message> looked_at = take_all(messages().sent);
    std::list<sent_message> over;
    std::list<sent_message> abandoned;
    for (auto next = looked_at.begin(); next != looked_at.end();) {
        const auto each = next++;
        int flag = 0;
        if (MPI_Test(&each->request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag != 0) {
            over.splice(over.end(), looked_at, each);
        } else if (self.world->is_gone(each->to)) {
            auto &to = wire::transport::abandon(each->request) ? over : abandoned;
            to.splice(to.end(), looked_at, each);
        }
    }
    messages().under_way.fetch_sub(static_cast<gaspi_number_t>(over.size() + abandoned.size()));
    put_back(messages().sent, looked_at);
    add(messages().abandoned_sent, abandoned);
}

// False: too many are under way.
bool take_room() noexcept {
    gaspi_number_t taken = messages().under_way.load();
    do {
        if (taken >= configuration.passive_queue_size_max) {
            return false;
        }
    } while (!messages().under_way.compare_exchange_weak(taken, taken + 1));
    return true;
}

// There is room for it.
gaspi_return_t send_copy(process &self, const unsigned char *from, gaspi_rank_t rank, gaspi_size_t size) noexcept {
    if (self.world->is_gone(rank)) {
        return GASPI_ERROR;
    }
    try {
        std::list<sent_message> one(1);
        sent_message &made = one.front();
        made.to = rank;
        made.data.assign(from, from + size);
        if (MPI_Isend(made.data.data(), static_cast<int>(size), MPI_BYTE, rank, 0, self.passive, &made.request) !=
            MPI_SUCCESS) {
            return GASPI_ERROR;
        }
        add(messages().sent, one);
        count(counter::passive_sent);
        count(counter::passive_bytes, size);
        return GASPI_SUCCESS;
    } catch (const std::exception &) {
        return GASPI_ERR_MEMALLOC;
    }
}

// Lists the next message that MPI tells of. True if there was one. `spare`: an empty element, made if it is needed.
bool probe(process &self, std::list<arrival> &spare) {
    if (spare.empty()) {
        spare.emplace_back(); // before the message is taken out of MPI
    }
    arrival &next = spare.front();
    int found = 0;
    int bytes = 0;
    MPI_Status status;
    if (MPI_Improbe(MPI_ANY_SOURCE, 0, self.passive, &found, &next.message, &status) != MPI_SUCCESS || found == 0) {
        return false;
    }
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    next.bytes = static_cast<std::size_t>(bytes);
    next.from = static_cast<gaspi_rank_t>(status.MPI_SOURCE);
    add(messages().arrived, spare);
    return true;
}

// GASPI_TIMEOUT: it is not complete. An error: it will not be, but if memory is exhausted. `is_abandoned`: MPI may
// still write to it.
gaspi_return_t state_of(process &self, arrival &each, bool &is_abandoned) noexcept {
    if (each.message != MPI_MESSAGE_NULL) {
        each.data.reset(new (std::nothrow) unsigned char[each.bytes]);
        if (each.data == nullptr) {
            return GASPI_ERR_MEMALLOC;
        }
        if (MPI_Imrecv(each.data.get(), static_cast<int>(each.bytes), MPI_BYTE, &each.message, &each.request) !=
            MPI_SUCCESS) {
            return GASPI_ERROR;
        }
    }
    int flag = 0;
    if (MPI_Test(&each.request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        return GASPI_ERROR;
    }
    if (flag != 0) {
        return GASPI_SUCCESS;
    }
    if (self.world->is_gone(each.from)) {
        is_abandoned = !wire::transport::abandon(each.request);
        return GASPI_ERROR;
    }
    return GASPI_TIMEOUT;
}

// Takes the oldest message that is complete and has at most `most` bytes into an empty list. Those of one process stay
// in their order. An error: of one that is lost, or too long, which stays. GASPI_TIMEOUT: none is complete.
gaspi_return_t take_arrived(process &self, std::size_t most, std::list<arrival> &taken) noexcept {
    std::list<arrival> looked_at = take_all(messages().arrived);
    std::list<arrival> abandoned;
    gaspi_return_t state = GASPI_TIMEOUT;
    for (auto next = looked_at.begin(); next != looked_at.end() && state == GASPI_TIMEOUT;) {
        const auto each = next++;
        if (std::any_of(looked_at.begin(), each, [&](const arrival &older) { return older.from == each->from; })) {
            continue;
        }
        bool is_abandoned = false;
        state = state_of(self, *each, is_abandoned);
        if (state == GASPI_SUCCESS && each->bytes > most) {
            state = GASPI_ERROR;
        } else if (state == GASPI_SUCCESS) {
            taken.splice(taken.end(), looked_at, each);
        } else if (state == GASPI_ERROR && is_abandoned) {
            abandoned.splice(abandoned.end(), looked_at, each);
        } else if (state == GASPI_ERROR) {
            looked_at.erase(each);
        }
    }
    put_back(messages().arrived, looked_at);
    add(messages().abandoned_arrivals, abandoned);
    return state;
}

bool has_arrivals() noexcept {
    const std::scoped_lock guard(messages().mutex);
    return !messages().arrived.empty();
}

} // namespace

// What nobody has received is received here, so that MPI can end.
bool end_passive(process &self) noexcept {
    MPI_Request barrier = MPI_REQUEST_NULL;
    bool begun = false;
    onesided::watch_over_all watch(*self.world);
    std::list<arrival> spare;
    std::list<arrival> dropped;
    for (int done = 0; done == 0 || has_arrivals();) {
        try {
            probe(self, spare);
        } catch (const std::exception &) { // no memory: it stays in MPI
        }
        gaspi_return_t state = GASPI_SUCCESS;
        while (state == GASPI_SUCCESS || state == GASPI_ERROR) {
            dropped.clear();
            state = take_arrived(self, std::numeric_limits<std::size_t>::max(), dropped);
        }
        if (watch.gives_up()) {
            return false;
        }
        look_at_sent(self);
        if (!begun && messages().under_way.load() == 0) {
            MPI_Ibarrier(self.passive, &barrier);
            begun = true;
        }
        if (begun && done == 0) {
            MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
        }
    }
    return true;
}

} // namespace thence::gaspi

using namespace thence::gaspi;

extern "C" {

gaspi_return_t pgaspi_passive_send(const gaspi_segment_id_t segment_id_local, const gaspi_offset_t offset_local,
                                   const gaspi_rank_t rank, const gaspi_size_t size, const gaspi_timeout_t timeout_ms) {
    THENCE_GASPI_SELF();
    if (rank >= self.size) {
        return GASPI_ERR_INV_RANK;
    }
    if (size == 0 || size > configuration.passive_transfer_size_max) {
        return GASPI_ERR_INV_SIZE;
    }
    const own_part local(self, segment_id_local);
    THENCE_GASPI_CHECK(wrong_local(local.view(), offset_local, size));
    const deadline end(timeout_ms);
    if (!wait_until(self, end, [&] {
            look_at_sent(self);
            return take_room();
        })) {
        return GASPI_TIMEOUT;
    }
    const gaspi_return_t result = send_copy(self, local->memory + offset_local, rank, size);
    if (result != GASPI_SUCCESS) {
        messages().under_way.fetch_sub(1);
    }
    return result;
}

gaspi_return_t pgaspi_passive_receive(const gaspi_segment_id_t segment_id_local, const gaspi_offset_t offset_local,
                                      gaspi_rank_t *const rem_rank, const gaspi_size_t size,
                                      const gaspi_timeout_t timeout_ms) {
    THENCE_GASPI_SELF();
    THENCE_GASPI_NOT_NULL(rem_rank);
    if (size == 0 || size > configuration.passive_transfer_size_max) {
        return GASPI_ERR_INV_SIZE;
    }
    const own_part local(self, segment_id_local); // it stays while this call waits
    THENCE_GASPI_CHECK(wrong_local(local.view(), offset_local, size));
    const deadline end(timeout_ms);
    std::list<arrival> spare;
    std::list<arrival> taken;
    gaspi_return_t result = GASPI_TIMEOUT;
    try {
        wait_until(self, end, [&] {
            look_at_sent(self);
            do {
                result = take_arrived(self, size, taken);
            } while (result == GASPI_TIMEOUT && probe(self, spare));
            return result != GASPI_TIMEOUT;
        });
    } catch (const std::exception &) {
        return GASPI_ERR_MEMALLOC;
    }
    if (result == GASPI_SUCCESS) {
        const arrival &message = taken.front();
        std::memcpy(local->memory + offset_local, message.data.get(), message.bytes);
        *rem_rank = message.from;
        count(counter::passive_received);
    }
    return result;
}

THENCE_GASPI_ALIAS(passive_send);
THENCE_GASPI_ALIAS(passive_receive);

} // extern "C"
