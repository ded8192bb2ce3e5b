// SPDX-License-Identifier: BSD-3-Clause
// Passive communication: a message to a process that asks for one. A message is copied before it is sent, so the call
// returns at once; a receive is begun only when a message is there, so none is ever cancelled.
#include "onesided/gaspi/process.hpp"

#include <PGASPI.h>

#include <cstring>
#include <list>
#include <memory>
#include <new>

namespace thence::gaspi {

namespace {

struct message {
    gaspi_rank_t to = 0;
    std::vector<unsigned char> data;
    MPI_Request request = MPI_REQUEST_NULL;
};

std::mutex sending; // guards the lists
std::list<message> &messages() noexcept {
    static auto *const all = new std::list<message>;
    return *all;
}
// To processes that are gone: MPI may still read them.
std::list<message> &abandoned() noexcept {
    static auto *const all = new std::list<message>;
    return *all;
}

// Forgets those that have left, and those that never will. How many are left.
std::size_t look_at_sent(process &self) noexcept {
    const std::scoped_lock guard(sending);
    for (auto each = messages().begin(); each != messages().end();) {
        const auto looked_at = each++;
        int flag = 0;
        if (MPI_Test(&looked_at->request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag != 0 ||
            (self.world->is_gone(looked_at->to) && wire::transport::abandon(looked_at->request))) {
            messages().erase(looked_at);
        } else if (self.world->is_gone(looked_at->to)) {
            abandoned().splice(abandoned().end(), messages(), looked_at);
        }
    }
    return messages().size();
}

} // namespace

// What nobody has received is received here, so that MPI can end.
bool end_passive(process &self) noexcept {
    MPI_Request barrier = MPI_REQUEST_NULL;
    bool begun = false;
    onesided::watch_over_all watch(*self.world);
    for (int done = 0; done == 0;) {
        int found = 0;
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status;
        if (MPI_Improbe(MPI_ANY_SOURCE, 0, self.passive, &found, &message, &status) == MPI_SUCCESS && found != 0) {
            int bytes = 0;
            MPI_Get_count(&status, MPI_BYTE, &bytes);
            const std::unique_ptr<unsigned char[]> dropped(
                new (std::nothrow) unsigned char[static_cast<std::size_t>(bytes)]);
            if (dropped != nullptr) { // else it stays in MPI: a receive of less than the message fails in some MPIs
                MPI_Mrecv(dropped.get(), bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
            }
        }
        if (watch.gives_up()) {
            return false;
        }
        if (!begun && look_at_sent(self) == 0) {
            MPI_Ibarrier(self.passive, &barrier);
            begun = true;
        }
        if (begun) {
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
    if (!wait_until(self, end, [&] { return look_at_sent(self) < configuration.passive_queue_size_max; })) {
        return GASPI_TIMEOUT;
    }
    if (self.world->is_gone(rank)) {
        return GASPI_ERROR;
    }
    const unsigned char *const from = local->memory + offset_local;
    try {
        const std::scoped_lock guard(sending);
        message &made = messages().emplace_back();
        made.to = rank;
        made.data.assign(from, from + size);
        if (MPI_Isend(made.data.data(), static_cast<int>(size), MPI_BYTE, rank, 0, self.passive, &made.request) !=
            MPI_SUCCESS) {
            messages().pop_back();
            return GASPI_ERROR;
        }
        return GASPI_SUCCESS;
    } catch (const std::exception &) {
        return GASPI_ERR_MEMALLOC;
    }
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
    int found = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    const bool here = wait_until(self, end, [&] {
        look_at_sent(self);
        return MPI_Improbe(MPI_ANY_SOURCE, 0, self.passive, &found, &message, &status) == MPI_SUCCESS && found != 0;
    });
    if (!here) {
        return GASPI_TIMEOUT;
    }
    unsigned char *const to = local->memory + offset_local;
    const int code = MPI_Mrecv(to, static_cast<int>(size), MPI_BYTE, &message, &status);
    *rem_rank = static_cast<gaspi_rank_t>(status.MPI_SOURCE);
    return code == MPI_SUCCESS ? GASPI_SUCCESS : GASPI_ERROR;
}

THENCE_GASPI_ALIAS(passive_send);
THENCE_GASPI_ALIAS(passive_receive);

} // extern "C"
