// SPDX-License-Identifier: BSD-3-Clause
// What is sent, and progress.
#include "am/engine.hpp"

#include "am/scope.hpp"

#include <thence/backoff.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace thence::am {

bool message_engine::must_not_wait() noexcept {
    return scope.engine != nullptr || (network_.may_call() && network_.in_callback());
}

bool in_handler(const message_engine &engine) noexcept {
    return scope.engine == &engine;
}

message_engine::message_engine(const thence_am_options &in_force)
    : options_(in_force), network_(*this), pool_(in_force.max_payload + packet_overhead), outbox_(network_, pool_),
      handlers_(sent_), outgoing_(network_, *this) {}

// The announcements that a process may have at another have different tags.
std::uint32_t message_engine::data_tags() const noexcept {
    return static_cast<std::uint32_t>(network_.largest_data_tag()) / 2;
}
unsigned message_engine::most_announced() const noexcept {
    return std::clamp(data_tags() / static_cast<unsigned>(options_.window), 1U, unsigned{UINT16_MAX});
}

int message_engine::begin(MPI_Comm comm) noexcept {
    const int code = network_.begin(comm, options_, pool_.whole());
    const bool has_memory = outbox_.begin(network_.size(), options_.window, most_announced());
    outgoing_.begin(options_.max_outgoing);
    return network_.start(comm, code != MPI_SUCCESS || has_memory ? code : MPI_ERR_NO_MEM);
}

// Sending.

int message_engine::send(int rank, int number, piece payload, when_full full, departure_callback *departure,
                         bool &sent) noexcept {
    if (const int error = broken(); error != MPI_SUCCESS) [[unlikely]] {
        return error; // nobody would handle it, or tell so
    }
    const registered_handler *const handler = handlers_.find(number);
    const lane in = (handler->flags & THENCE_AM_SHORT) != 0 ? lane::short_handlers : lane::handlers;
    const bool inside = in_handler(*this);
    sent = true;
    if (full != when_full::queue && outbox_.queued(rank) >= options_.max_queued) [[unlikely]] {
        if (full == when_full::give_up) {
            sent = false;
            return MPI_SUCCESS;
        }
        if (!inside) {
            if (const int code = wait_for_room(rank); code != MPI_SUCCESS) {
                return code;
            }
        }
    }
    const unsigned counted = departure != nullptr ? 2 : 1; // the callback is a message, too: it may send others
    if (departure != nullptr && !pending_.add(*departure)) {
        return broken();
    }
    sent_.fetch_add(counted, std::memory_order_relaxed);
    const int code =
        outbox_.send(in, rank, static_cast<std::uint32_t>(number), payload, {}, {departure, nullptr}, inside);
    if (code != MPI_SUCCESS) {
        handled_.fetch_add(counted, std::memory_order_release);
        if (departure != nullptr && !pending_.take(*departure)) { // the engine has broken meanwhile, and has told it
            delete departure;
            return MPI_SUCCESS;
        }
    }
    return code;
}

int message_engine::wait_for_room(int rank) noexcept {
    if (must_not_wait()) {
        return MPI_ERR_PENDING;
    }
    thence_backoff backoff = THENCE_BACKOFF_INIT;
    while (outbox_.queued(rank) >= options_.max_queued) {
        if (const int error = broken(); error != MPI_SUCCESS) {
            return error;
        }
        long some = 0;
        if (network_.may_call()) {
            progress(&some);
        }
        if (some > 0) {
            thence_backoff_found(&backoff);
        } else {
            thence_backoff_pause(&backoff);
        }
    }
    return MPI_SUCCESS;
}

// Progress.

int message_engine::progress(long *count) noexcept {
    const std::uint32_t before = scope.handled;
    int code = MPI_SUCCESS;
    outbox_.flush_touched();
    if (outgoing_.any_waits()) {
        outgoing_.start_waiting();
    }
    if (polling_.try_lock()) {
        code = network_.poll();
        quiescence_callback ended;
        if ((handlers_.ready() != 0 || stage_.load(std::memory_order_relaxed) != stage::idle) &&
            !network_.in_callback()) {
            const message_engine *const outer = std::exchange(scope.engine, this); // `failed` must not wait, either
            run_held();
            ended = step_quiescence();
            scope.engine = outer;
        }
        if (broken() != MPI_SUCCESS && !network_.in_callback()) [[unlikely]] {
            end_pending(pending_operation::use::nothing);
        }
        polling_.unlock();
        if (ended.done != nullptr) {
            ended.done(ended.error, ended.data);
        }
    } else if (handles_in_poll_.load(std::memory_order_relaxed) || handling_.load(std::memory_order_relaxed) != 0) {
        code = network_.progress(); // the other thread makes none meanwhile
    }
    outbox_.flush_touched();
    if (count != nullptr) {
        *count = scope.handled - before;
    }
    return code;
}

// While another thread cancels receives this one stays out of MPI: see thence_cancel().
int message_engine::progress_or_error(long *count) noexcept {
    if (memory_in_use_.load(std::memory_order_relaxed) == memory_use::ends) [[unlikely]] {
        if (count != nullptr) {
            *count = 0;
        }
        return MPI_SUCCESS;
    }
    const int code = progress(count);
    if (broken() == MPI_SUCCESS) [[likely]] {
        return code == MPI_ERR_PENDING ? MPI_SUCCESS : code; // in a callback it runs nothing
    }
    if (must_not_wait()) {
        return memory_in_use_.load(std::memory_order_acquire) == memory_use::has_ended ? broken() : MPI_SUCCESS;
    }
    return give_up_memory_once();
}

} // namespace thence::am
