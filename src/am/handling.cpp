// SPDX-License-Identifier: BSD-3-Clause
// What arrives, what has left, and the handlers that are called.
//
// The credit of a packet goes back when all of its messages are handled, also those that wait for their handlers, and
// when the puts and gets that it has announced have ended: so they use bounded memory.
#include "am/engine.hpp"

#include "am/scope.hpp"

#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

namespace thence::am {

namespace {

// What a handler has sent waits for so long for others that go to the same process.
constexpr base::nanoseconds longest_wait = 10'000;

} // namespace

void message_engine::left(packet &p, int error) noexcept {
    departure_callback *departure = p.departures;
    transfer *announced = p.announced;
    const int rank = p.rank;
    const bool has_messages = p.head().messages != 0;
    const std::uint64_t lost = error != MPI_SUCCESS && p.in != lane::control ? p.head().messages : 0;
    if (error != MPI_SUCCESS) [[unlikely]] {
        outbox_.lost(p);
    }
    pool_.give(p);
    if (error != MPI_SUCCESS && (has_messages || !has_lost_credits_.exchange(true))) [[unlikely]] {
        fail(error, rank, THENCE_AM_NO_HANDLER,
             has_messages ? "messages are lost that MPI could not send"
                          : "MPI could not send a message that returns credits: this is tried again");
    }
    while (announced != nullptr) {
        transfer *const next = announced->next;
        begin_transfer(*announced, error);
        announced = next;
    }
    while (departure != nullptr) {
        departure_callback *const next = departure->next;
        end_operation(*departure, error);
        delete departure;
        handled_.fetch_add(1, std::memory_order_release);
        departure = next;
    }
    if (lost != 0) {
        handled_.fetch_add(lost, std::memory_order_release); // nobody else will count them
    }
    outbox_.left(rank); // the last access: the engine may be freed now
}

void message_engine::end_operation(pending_operation &o, int error) noexcept {
    telling_.fetch_add(1); // before it is taken, so that give_up_memory() sees one of both
    if (pending_.take(o) && o.done != nullptr) {
        tell(o.done, error, o.done_data);
    }
    telling_.fetch_sub(1, std::memory_order_release);
}

// `done` is called like a handler. What it sends leaves when the outermost has returned: so calls do not nest deeply.
void message_engine::tell(thence_am_done *done, int error, void *data) noexcept {
    if (has_ended_.load()) [[unlikely]] {
        return;
    }
    const message_engine *const outer = std::exchange(scope.engine, this);
    done(error, data);
    scope.engine = outer;
    ++scope.handled;
    if (outer == this || scope.flushes) {
        return;
    }
    scope.flushes = true;
    for (int i = 0; i < 64 && outbox_.any_touched(); ++i) { // more is left to progress()
        outbox_.flush_touched();
    }
    scope.flushes = false;
}

// What arrives.

void message_engine::arrived(lane in, int source, unsigned char *content, std::size_t) noexcept {
    packet_header head;
    std::memcpy(&head, content, sizeof head);
    outbox_.returned(source, head);
    if (head.messages == 0) {
        return;
    }
    const message_engine *const outer = std::exchange(scope.engine, this);
    if (in == lane::handlers) {
        handles_in_poll_.store(true, std::memory_order_relaxed);
    }
    packet_origin from{in, source, nullptr};
    thence_am_message m{reinterpret_cast<thence_am>(this), source, 0, nullptr, 0, nullptr, 0};
    std::size_t at = sizeof head;
    for (unsigned i = 0; i < head.messages; ++i) {
        message_header begins;
        std::memcpy(&begins, content + at, sizeof begins);
        at += sizeof begins;
        if (in == lane::control) {
            handle_control(static_cast<control_message>(begins.number), from, content + at, begins.bytes);
        } else {
            m.number = static_cast<int>(begins.number);
            m.payload = content + at;
            m.bytes = begins.bytes;
            handle(from, m);
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
    if (in == lane::handlers) {
        handles_in_poll_.store(false, std::memory_order_relaxed);
    }
    scope.waiting_since = 0;
    scope.engine = outer;
    scope.handled += head.messages;
    outbox_.flush_touched();
    if (from.kept == nullptr) [[likely]] {
        outbox_.handled(in, source);
    } else {
        outbox_.give_back(from.kept);
    }
    if (in != lane::control) {
        handled_.fetch_add(head.messages, std::memory_order_release); // held messages have been counted in `sent` again
    }
}

void message_engine::handle(packet_origin &from, thence_am_message &m) noexcept {
    const registered_handler *const handler = handlers_.find(m.number);
    if (handler == nullptr || (from.in != lane::handlers && (handler->flags & THENCE_AM_SHORT) == 0)) [[unlikely]] {
        hold_or_fail(m, outbox::keep(from.kept, from.in, from.source));
        return;
    }
    call(*handler, m);
}

void message_engine::call(const registered_handler &handler, const thence_am_message &m) noexcept {
    if (has_ended_.load()) [[unlikely]] {
        return;
    }
    if (const int code = handler.call(&m, handler.data); code != MPI_SUCCESS) [[unlikely]] {
        fail(code, m.source, m.number, "a handler has returned an error");
    }
}

void message_engine::call_alone(const registered_handler &handler, const thence_am_message &m) noexcept {
    const message_engine *const outer = std::exchange(scope.engine, this);
    call(handler, m);
    scope.engine = outer;
    ++scope.handled;
    outbox_.flush_touched();
}

void message_engine::hold_or_fail(const thence_am_message &m, kept_credit *credit) noexcept {
    if (m.number < 0 || m.number >= THENCE_AM_MOST_HANDLERS) {
        fail(MPI_ERR_ARG, m.source, m.number, "a message is lost: there is no handler with this number");
        outbox_.give_back(credit);
        return;
    }
    sent_.fetch_add(1, std::memory_order_relaxed);
    const handler_table::outcome held = handlers_.hold(m, credit);
    if (held == handler_table::outcome::no_memory) {
        fail(MPI_ERR_NO_MEM, m.source, m.number, "a message is lost: there is no memory to keep it until a poll");
    } else if (held == handler_table::outcome::too_many) {
        has_no_handler(m);
    }
    outbox_.give_back(credit);
    if (held != handler_table::outcome::has_handler) {
        handled_.fetch_add(1, std::memory_order_release);
    }
}

void message_engine::has_no_handler(const thence_am_message &m) noexcept {
    fail(MPI_ERR_ARG, m.source, m.number, "a message is lost: no handler with this number is registered here");
}

void message_engine::run_held() noexcept {
    for (std::size_t some = handlers_.ready(); some != 0; --some) { // not those that come meanwhile
        const std::unique_ptr<held_message> held(handlers_.take());
        if (held == nullptr) {
            return;
        }
        if (held->message.data == nullptr || broken() == MPI_SUCCESS) { // else the data of that put may be gone
            handling_.fetch_add(1);
            call_alone(*handlers_.find(held->message.number), held->message);
            handling_.fetch_sub(1, std::memory_order_release);
        }
        outbox_.give_back(held->credit);
        handled_.fetch_add(1, std::memory_order_release);
    }
}

// From now on a message without a handler hinders nobody. It is neither under way nor handled.
void message_engine::release_held() noexcept {
    base::linked_list<held_message> too_many;
    for (held_message *each = handlers_.release_credits(options_.max_queued, too_many); each != nullptr;) {
        held_message *const next = each->next_with_credit;
        outbox_.give_back(std::exchange(each->credit, nullptr));
        each = next;
    }
    while (held_message *const each = too_many.pop()) {
        drop(each);
    }
}

void message_engine::drop(held_message *lost) noexcept {
    has_no_handler(lost->message);
    outbox_.give_back(lost->credit);
    delete lost;
}

void message_engine::receive_failed(int error, bool cannot_go_on) noexcept {
    fail(error, MPI_PROC_NULL, THENCE_AM_NO_HANDLER, "MPI could not receive a message");
    if (cannot_go_on) {
        break_off(error, true);
    }
}

void message_engine::break_off(int error, bool is_first) noexcept {
    int none = MPI_SUCCESS;
    if (!broken_.compare_exchange_strong(none, error)) {
        return;
    }
    fail(error, MPI_PROC_NULL, THENCE_AM_NO_HANDLER,
         is_first ? "this process cannot go on: from now on all waits return an error, and nothing is sent"
                  : "another process cannot go on: from now on all waits return an error, and nothing is sent",
         true);
    for (int rank = 0; is_first && rank < network_.size(); ++rank) {
        if (rank != network_.rank()) {
            if (const int code = network_.say_broken(rank); code != MPI_SUCCESS) {
                fail(code, rank, THENCE_AM_NO_HANDLER, "MPI could not tell a process that this one cannot go on");
            }
        }
    }
}

void message_engine::end_pending(pending_operation::use used_for) noexcept {
    thence_am_done *done = nullptr;
    void *data = nullptr;
    telling_.fetch_add(1);
    while (pending_.take_any(used_for, done, data)) {
        if (done != nullptr) {
            tell(done, broken(), data);
        }
    }
    telling_.fetch_sub(1, std::memory_order_release);
}

void message_engine::other_is_broken(int) noexcept {
    break_off(MPI_ERR_OTHER, false);
}

void message_engine::fail(int error, int rank, int number, const char *what, bool all_waits_return_it) noexcept {
    std::int64_t none = MPI_SUCCESS;
    const bool is_first = first_error_.compare_exchange_strong(none, is_being_told);
    failing_.fetch_add(1);
    const message_engine *const outer = std::exchange(scope.engine, this); // `failed` must not wait
    if (has_ended_.load()) {
        // nobody is told any more
    } else if (options_.failed != nullptr) {
        const thence_am_failure told{reinterpret_cast<thence_am>(this),      error, rank, number, what,
                                     is_first || all_waits_return_it ? 1 : 0};
        options_.failed(&told, options_.failed_data);
    } else {
        std::fprintf(stderr, "thence[%d]: active messages: %s (error %d, process %d, handler %d)\n", network_.rank(),
                     what, error, rank, number);
    }
    scope.engine = outer;
    if (is_first) {
        first_error_.store(error, std::memory_order_release);
    }
    failing_.fetch_sub(1, std::memory_order_release);
}

int message_engine::take_first_error() noexcept {
    const std::int64_t found = first_error_.load(std::memory_order_acquire);
    if (found == MPI_SUCCESS || found == is_being_told) {
        return MPI_SUCCESS;
    }
    first_error_.store(MPI_SUCCESS, std::memory_order_release); // nobody else changes an error
    return static_cast<int>(found);
}

} // namespace thence::am
