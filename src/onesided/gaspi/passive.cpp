// SPDX-License-Identifier: BSD-3-Clause
// Passive communication: a message to a process that asks for one. A message is copied before it is sent, so the call
// returns at once. It is received into memory of its own, and copied to the segment when all of it is here: MPI tells
// of a message before it has come, its sender may stop meanwhile, and the time of a call is kept. Nothing is ever
// cancelled: what a call has begun and not ended stays in a list, where the next call finds it. (To cancel a send to a
// process that is gone ends a process of MPICH 5 with UCX.)
//
// Invariants:
//  - MPI is not called under the mutex, since a call of MPI may run callbacks, and these may send and receive.
//  - A message stays at its place in its list until it is over. A thread that tests it sets `is_tested` meanwhile: then
//    no other thread tests it, or takes it out. So messages of one process stay in their order. No callback runs in the
//    test: it might wait for this message.
//  - One thread at a time asks MPI for the next message and adds that. A callback in it may, on the same thread: what
//    it is told of comes before what the call is told of in which it runs.
#include "onesided/gaspi/process.hpp"
#include "onesided/source.hpp"

#include <PGASPI.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

namespace thence::gaspi {

namespace {

struct sent_message {
    bool is_tested = false;
    gaspi_rank_t to = 0;
    std::vector<unsigned char> data;
    MPI_Request request = MPI_REQUEST_NULL;
};

struct arrival {
    bool is_tested = false;
    gaspi_rank_t from = 0;
    std::size_t bytes = 0;
    MPI_Message message = MPI_MESSAGE_NULL; // until there was memory for it
    std::unique_ptr<unsigned char[]> data;
    MPI_Request request = MPI_REQUEST_NULL;
};

struct passive_messages {
    std::atomic<gaspi_number_t> under_way{0}; // that are being sent, or are about to be
    std::mutex mutex;                         // guards the lists and what is counted by rank
    std::list<sent_message> sent;
    std::list<arrival> arrived;  // the oldest first
    std::size_t arriving = 0;    // bytes of those
    std::recursive_mutex asking; // is only tried
    // By rank. What was sent to it and not lost, what it has sent to this one, which it says at the end, and what has
    // arrived from it.
    std::vector<std::uint64_t> sent_to;
    std::vector<std::uint64_t> announced;
    std::vector<std::uint64_t> arrived_from;
    // To and from processes that are gone: MPI may still use their memory.
    std::list<sent_message> abandoned_sent;
    std::list<arrival> abandoned_arrivals;
};

passive_messages &messages() noexcept {
    static auto *const made = new passive_messages; // never destroyed
    return *made;
}

// Tests one message after the other outside the mutex. `may_test(message)`: whether that is its turn. `test(message)`
// returns true if it is over. Then `take(position)` takes it out of the list, under the mutex again; false ends it.
template <class Message, class MayTest, class Test, class Take>
void test_each(std::list<Message> &list, MayTest may_test, Test test, Take take) {
    std::unique_lock guard(messages().mutex);
    for (auto next = list.begin(); next != list.end();) {
        if (!may_test(*next) || next->is_tested) {
            ++next;
            continue;
        }
        next->is_tested = true;
        guard.unlock();
        bool is_over = false;
        {
            const onesided::no_callbacks in_test;
            is_over = test(*next);
        }
        guard.lock();
        const auto tested = next++;
        tested->is_tested = false;
        if (is_over && !take(tested)) {
            return;
        }
    }
}

// Forgets those that have left, and those that never will.
void look_at_sent(process &self) noexcept {
    std::list<sent_message> over;
    bool is_abandoned = false;
    bool is_lost = false;
    test_each(
        messages().sent, [](const sent_message &) { return true; },
        [&](sent_message &each) {
            int flag = 0;
            is_abandoned = false;
            is_lost = MPI_Test(&each.request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS;
            if (is_lost) { // and its call has returned
                self.world->health_of(each.to).failed.store(true, std::memory_order_relaxed);
            }
            if (is_lost || flag != 0) {
                return true;
            }
            if (!self.world->is_gone(each.to)) {
                return false;
            }
            MPI_Request_free(&each.request);
            is_abandoned = true;
            return true;
        },
        [&](auto tested) {
            auto &to = is_abandoned ? messages().abandoned_sent : over;
            to.splice(to.end(), messages().sent, tested);
            messages().sent_to[to.back().to] -= is_lost ? 1 : 0;
            messages().under_way.fetch_sub(1);
            return true;
        });
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
        {
            const std::scoped_lock guard(messages().mutex);
            messages().sent.splice(messages().sent.end(), one);
            ++messages().sent_to[rank];
        }
        count(counter::passive_sent);
        count(counter::passive_bytes, size);
        return GASPI_SUCCESS;
    } catch (const std::exception &) {
        return GASPI_ERR_MEMALLOC;
    }
}

// What messages that have begun to arrive may have together, unless it is one. The rest stays with its senders.
constexpr std::size_t most_arriving = std::size_t{1} << 28;

// Lists the next message that MPI tells of. True if there was one. `spare`: an empty element, made if it is needed.
bool probe(process &self, std::list<arrival> &spare) {
    const std::unique_lock asking(messages().asking, std::try_to_lock);
    if (!asking.owns_lock()) {
        return false; // the next poll asks again
    }
    {
        const std::scoped_lock guard(messages().mutex);
        if (messages().arriving > most_arriving) {
            return false;
        }
    }
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
    const std::scoped_lock guard(messages().mutex);
    messages().arriving += next.bytes;
    ++messages().arrived_from[next.from];
    messages().arrived.splice(messages().arrived.end(), spare);
    return true;
}

// GASPI_TIMEOUT: it is not complete. An error: it will not be, but if memory is exhausted. `is_abandoned`: MPI may
// still write to it.
gaspi_return_t state_of(process &self, arrival &each, bool &is_abandoned) noexcept {
    if (each.message != MPI_MESSAGE_NULL) {
        if (self.world->is_gone(each.from)) { // MPICH with UCX ends a process that receives from one that is gone
            return GASPI_ERROR;
        }
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
        MPI_Request_free(&each.request);
        is_abandoned = true;
        return GASPI_ERROR;
    }
    return GASPI_TIMEOUT;
}

// Takes the oldest message that is complete and has at most `most` bytes into an empty list. Those of one process stay
// in their order. An error: of one that is lost, or too long, which stays. GASPI_TIMEOUT: none is complete.
gaspi_return_t take_arrived(process &self, std::size_t most, std::list<arrival> &taken) {
    std::vector<bool> has_older(static_cast<std::size_t>(self.size));
    std::list<arrival> lost;
    bool is_abandoned = false;
    gaspi_return_t state = GASPI_TIMEOUT;
    test_each(
        messages().arrived,
        [&](const arrival &each) {
            const bool is_oldest = !has_older[each.from];
            has_older[each.from] = true;
            return is_oldest;
        },
        [&](arrival &each) {
            is_abandoned = false;
            state = state_of(self, each, is_abandoned);
            return state != GASPI_TIMEOUT;
        },
        [&](auto tested) {
            if (state == GASPI_ERR_MEMALLOC) {
                return false;
            }
            if (state == GASPI_SUCCESS && tested->bytes > most) {
                state = GASPI_ERROR;
                return false;
            }
            messages().arriving -= tested->bytes;
            auto &to = state == GASPI_SUCCESS ? taken : is_abandoned ? messages().abandoned_arrivals : lost;
            to.splice(to.end(), messages().arrived, tested);
            return false;
        });
    return state;
}

// Whether all that was sent to this process was received. `announced` is known.
bool have_all_arrived() noexcept {
    const std::scoped_lock guard(messages().mutex);
    return messages().arrived.empty() && std::ranges::equal(messages().announced, messages().arrived_from,
                                                            [](auto sent, auto arrived) { return arrived >= sent; });
}

} // namespace

void begin_passive(const process &self) {
    const std::scoped_lock guard(messages().mutex);
    for (auto *const each : {&messages().sent_to, &messages().announced, &messages().arrived_from}) {
        each->assign(static_cast<std::size_t>(self.size), 0);
    }
}

// What nobody has received is received here, so that MPI can end. MPI may have taken a copy of a message that is still
// on its way when its sender is here, so the processes tell each other how many they have sent.
bool end_passive(process &self) noexcept {
    MPI_Request telling = MPI_REQUEST_NULL;
    bool begun = false;
    int told = 0;
    onesided::watch_over_all watch(*self.world);
    std::list<arrival> spare;
    std::list<arrival> dropped;
    while (told == 0 || !have_all_arrived()) {
        try {
            probe(self, spare);
            gaspi_return_t state = GASPI_SUCCESS;
            while (state == GASPI_SUCCESS || state == GASPI_ERROR) {
                dropped.clear();
                state = take_arrived(self, std::numeric_limits<std::size_t>::max(), dropped);
            }
        } catch (const std::exception &) { // no memory: it stays where it is
        }
        if (watch.gives_up()) {
            return false;
        }
        look_at_sent(self);
        if (!begun && messages().under_way.load() == 0) {
            if (MPI_Ialltoall(messages().sent_to.data(), 1, MPI_UINT64_T, messages().announced.data(), 1, MPI_UINT64_T,
                              self.passive, &telling) != MPI_SUCCESS) {
                return false;
            }
            begun = true;
        }
        if (begun && told == 0 && MPI_Test(&telling, &told, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
            return false;
        }
    }
    return true;
}

} // namespace thence::gaspi

using namespace thence::gaspi;

extern "C" {

gaspi_return_t pgaspi_passive_send(gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local, gaspi_rank_t rank,
                                   gaspi_size_t size, gaspi_timeout_t timeout_ms) {
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

gaspi_return_t pgaspi_passive_receive(gaspi_segment_id_t segment_id_local, gaspi_offset_t offset_local,
                                      gaspi_rank_t *rem_rank, gaspi_size_t size, gaspi_timeout_t timeout_ms) {
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
