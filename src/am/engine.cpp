// SPDX-License-Identifier: BSD-3-Clause
// What is sent and what arrives.
#include "am/engine.hpp"

#include "core/base/clock.hpp"

#include <thence/backoff.h>

#include <cstdio>
#include <cstring>
#include <utility>

namespace thence::am {

namespace {

// The engine whose handlers this thread runs, and since when messages wait that they have sent.
struct handler_scope {
    const message_engine *of = nullptr;
    base::nanoseconds waiting_since = 0; // 0: none does
    long handled = 0;                    // on this thread, since a poll has begun
};
constinit thread_local handler_scope scope;

// What a handler has sent waits for so long for others that go to the same process.
constexpr base::nanoseconds longest_wait = 10'000;

} // namespace

bool message_engine::must_not_wait() noexcept {
    return scope.of != nullptr || (network_.may_call() && network_.in_callback());
}

bool in_handler(const message_engine &of) noexcept {
    return scope.of == &of;
}

message_engine::message_engine(const thence_am_options &in_force) noexcept
    : options_(in_force), network_(*this), pool_(in_force.max_payload + packet_overhead), outbox_(network_, pool_),
      outgoing_(network_, *this) {}

int message_engine::begin(MPI_Comm comm) noexcept {
    const int code = network_.begin(comm, options_, pool_.whole());
    const bool has_memory = outbox_.begin(network_.size(), options_.window);
    outgoing_.begin(options_.max_outgoing);
    return network_.start(comm, code != MPI_SUCCESS || has_memory ? code : MPI_ERR_NO_MEM);
}

// Sending.

int message_engine::send(int rank, int number, piece payload, when_full full, leaving_note *note, bool &sent) noexcept {
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
    sent_.fetch_add(1, std::memory_order_relaxed);
    const int code = outbox_.send(in, rank, static_cast<std::uint32_t>(number), payload, {}, note, inside);
    if (code != MPI_SUCCESS) {
        handled_.fetch_add(1, std::memory_order_release);
    }
    return code;
}

int message_engine::wait_for_room(int rank) noexcept {
    if (must_not_wait()) {
        return MPI_ERR_PENDING;
    }
    thence_backoff backoff = THENCE_BACKOFF_INIT;
    while (outbox_.queued(rank) >= options_.max_queued) {
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

namespace {

// How many operations end with a packet that is lost. A get ends with the receive of its data.
std::uint64_t ends_with(packet &lost) noexcept {
    std::uint64_t count = 0;
    std::size_t at = sizeof(packet_header);
    for (unsigned i = 0; i < lost.head().messages; ++i) {
        message_header begins;
        std::memcpy(&begins, lost.content() + at, sizeof begins);
        at += sizeof begins + padded(begins.bytes);
        count +=
            lost.in != lane::internal || begins.number == static_cast<std::uint32_t>(internal_message::put) ? 1 : 0;
    }
    return count;
}

} // namespace

void message_engine::left(packet &p, int error) noexcept {
    leaving_note *note = p.notes;
    const int rank = p.rank;
    const std::uint64_t lost = error != MPI_SUCCESS ? ends_with(p) : 0;
    if (error != MPI_SUCCESS && p.head().messages != 0) [[unlikely]] {
        outbox_.lost(p.in, rank);
    }
    pool_.give(p);
    if (error != MPI_SUCCESS) [[unlikely]] {
        fail(error, rank, THENCE_AM_NO_HANDLER, "messages are lost that MPI could not send");
    }
    while (note != nullptr) {
        leaving_note *const next = note->next;
        const leaving_note told = *note;
        delete note;
        told.done(error, told.data);
        note = next;
    }
    if (lost != 0) {
        handled_.fetch_add(lost, std::memory_order_release); // nobody else will count them
    }
}

// What arrives.

void message_engine::arrived(lane in, int source, unsigned char *content, std::size_t) noexcept {
    packet_header head;
    std::memcpy(&head, content, sizeof head);
    outbox_.returned(source, head);
    if (head.messages == 0) {
        return;
    }
    const message_engine *const outer = std::exchange(scope.of, this);
    thence_am_message m{reinterpret_cast<thence_am>(this), source, 0, nullptr, 0, nullptr, 0};
    std::size_t at = sizeof head;
    for (unsigned i = 0; i < head.messages; ++i) {
        message_header begins;
        std::memcpy(&begins, content + at, sizeof begins);
        at += sizeof begins;
        if (in == lane::internal) {
            handle_internal(static_cast<internal_message>(begins.number), source, content + at, begins.bytes);
        } else {
            m.number = static_cast<int>(begins.number);
            m.payload = content + at;
            m.bytes = begins.bytes;
            handle(in, m);
        }
        at += padded(begins.bytes);
        if (outbox_.any_touched() && i + 1 < head.messages) {
            const base::nanoseconds now = base::read_clock();
            if (scope.waiting_since == 0) {
                scope.waiting_since = now;
            } else if (now - scope.waiting_since > longest_wait) {
                outbox_.flush_touched();
                scope.waiting_since = 0;
            }
        }
    }
    scope.waiting_since = 0;
    scope.of = outer;
    scope.handled += head.messages;
    outbox_.flush_touched();
    outbox_.handled(in, source);
    if (in != lane::internal) {
        handled_.fetch_add(head.messages, std::memory_order_release); // held messages have been counted in `sent` again
    }
}

void message_engine::handle(lane in, thence_am_message &m) noexcept {
    const registered_handler *const handler = handlers_.find(m.number);
    if (handler == nullptr || (in != lane::handlers && (handler->flags & THENCE_AM_SHORT) == 0)) [[unlikely]] {
        hold_or_fail(m);
        return;
    }
    call(*handler, m);
}

void message_engine::call(const registered_handler &handler, const thence_am_message &m) noexcept {
    if (const int code = handler.call(&m, handler.data); code != MPI_SUCCESS) [[unlikely]] {
        fail(code, m.source, m.number, "a handler has returned an error");
    }
}

void message_engine::call_alone(const registered_handler &handler, const thence_am_message &m) noexcept {
    const message_engine *const outer = std::exchange(scope.of, this);
    call(handler, m);
    scope.of = outer;
    ++scope.handled;
    outbox_.flush_touched();
}

void message_engine::hold_or_fail(const thence_am_message &m) noexcept {
    sent_.fetch_add(1, std::memory_order_relaxed);
    if (!handlers_.hold(m)) {
        fail(MPI_ERR_NO_MEM, m.source, m.number, "a message is lost: there is no memory to keep it until a poll");
        handled_.fetch_add(1, std::memory_order_release);
    }
}

// `all`: also those that have no handler, which are lost.
void message_engine::run_held(bool all) noexcept {
    held_message held;
    while (handlers_.any_held() && handlers_.take(held, all)) {
        const registered_handler *const handler = handlers_.find(held.number);
        const thence_am_message m{reinterpret_cast<thence_am>(this),
                                  held.source,
                                  held.number,
                                  held.payload.data(),
                                  held.payload.size(),
                                  held.data,
                                  held.data_bytes};
        if (handler != nullptr) {
            call_alone(*handler, m);
        } else {
            fail(MPI_ERR_ARG, m.source, m.number, "a message is lost: no handler with this number is registered here");
        }
        handled_.fetch_add(1, std::memory_order_release);
    }
}

void message_engine::receive_failed(int error) noexcept {
    fail(error, MPI_PROC_NULL, THENCE_AM_NO_HANDLER, "MPI could not receive a message");
}

void message_engine::fail(int error, int rank, int number, const char *what) noexcept {
    int none = MPI_SUCCESS;
    first_error_.compare_exchange_strong(none, error);
    if (options_.failed != nullptr) {
        const thence_am_failure told{reinterpret_cast<thence_am>(this), error, rank, number, what};
        options_.failed(&told, options_.failed_data);
        return;
    }
    std::fprintf(stderr, "thence[%d]: active messages: %s (error %d, process %d, handler %d)\n", network_.rank(), what,
                 error, rank, number);
}

// Progress.

int message_engine::progress(long *count) noexcept {
    const long before = scope.handled;
    int code = MPI_SUCCESS;
    outbox_.flush_touched();
    if (outgoing_.any_waits()) {
        outgoing_.start_waiting();
    }
    if (any_submitted_.load(std::memory_order_acquire)) {
        start_submitted();
    }
    if (polling_.try_lock()) {
        code = network_.poll();
        quiet ended;
        if ((handlers_.any_held() || stage_.load(std::memory_order_relaxed) != stage::idle) &&
            !network_.in_callback()) {
            const message_engine *const outer = std::exchange(scope.of, this); // `failed` must not wait, either
            run_held(false);
            ended = step_quiescence();
            scope.of = outer;
        }
        polling_.unlock();
        if (ended.done != nullptr) {
            ended.done(ended.error, ended.data);
        }
    } else {
        code = network_.progress();
    }
    outbox_.flush_touched();
    if (count != nullptr) {
        *count = scope.handled - before;
    }
    return code;
}

} // namespace thence::am
