// SPDX-License-Identifier: BSD-3-Clause
// When all is quiet: waves over all processes, as in termination.hpp. A process gives its counts to a wave when it has
// nothing to do itself, so that waves do not follow each other while somebody works.
//
// `stage_` goes from `idle` to `wanted` by any thread; from there on only the thread that holds `polling_` changes it,
// except from `wave_under_way` to `wave_has_ended`, which the end of the wave does.
#include "am/engine.hpp"
#include "core/base/clock.hpp"

#include <thence/backoff.h>

#include <mutex>
#include <utility>

namespace thence::am {

void message_engine::hold() noexcept {
    holds_.fetch_add(1, std::memory_order_relaxed);
    sent_.fetch_add(1, std::memory_order_relaxed);
}

bool message_engine::release() noexcept {
    long held = holds_.load(std::memory_order_relaxed);
    do {
        if (held == 0) {
            return false;
        }
    } while (!holds_.compare_exchange_weak(held, held - 1, std::memory_order_release, std::memory_order_relaxed));
    handled_.fetch_add(1, std::memory_order_release);
    return true;
}

bool message_engine::is_passive() const noexcept {
    return holds_.load(std::memory_order_acquire) == 0 && outbox_.queued() == 0 && outgoing_.count() == 0 &&
           handlers_.ready() == 0;
}

void message_engine::wave_ended(int error, totals all) noexcept {
    all_ = all;
    wave_error_ = error;
    stage_.store(stage::wave_has_ended, std::memory_order_release);
}

message_engine::quiescence_callback message_engine::step_quiescence() noexcept {
    const stage now = stage_.load(std::memory_order_acquire);
    if (now == stage::wave_has_ended && wave_error_ != MPI_SUCCESS) [[unlikely]] {
        break_off(wave_error_, true); // others may wait for this wave for ever
    }
    if (const int broken = broken_.load(); broken != MPI_SUCCESS) [[unlikely]] {
        if (memory_in_use_.load() == memory_use::ends) {
            return {}; // whoever is told may wait, also for that, and this thread may do it
        }
        const std::scoped_lock guard(beginning_); // a wave may be under way: `stage_` stays
        return {std::exchange(quiet_, nullptr), quiet_data_, broken};
    }
    if (now == stage::idle || now == stage::wave_under_way) {
        return {};
    }
    if (now == stage::wave_has_ended) {
        if (termination_.wave(all_)) {
            // What has come since this process gave its counts was sent by one that knows this already.
            while (held_message *const lost = handlers_.take_old()) {
                drop(lost);
            }
            handlers_.keep_credits();
            const std::scoped_lock guard(beginning_);
            stage_.store(stage::idle, std::memory_order_release);
            return {std::exchange(quiet_, nullptr), quiet_data_, take_first_error()};
        }
        stage_.store(stage::wanted, std::memory_order_relaxed);
    }
    run_held();
    release_held();
    if (is_passive()) {
        handlers_.begin_phase();
        stage_.store(stage::wave_under_way, std::memory_order_relaxed);
        // `handled` first: what is counted there is counted in `sent`, too.
        const std::uint64_t handled = handled_.load(std::memory_order_acquire);
        network_.begin_wave({sent_.load(std::memory_order_acquire), handled});
    }
    return {};
}

bool message_engine::quiesce_then(thence_am_done *done, void *data) noexcept {
    const std::scoped_lock guard(beginning_);
    if (quiet_ != nullptr) {
        return false;
    }
    quiet_ = done;
    quiet_data_ = data;
    if (stage_.load(std::memory_order_acquire) == stage::idle) { // else the engine is broken
        termination_.restart();
        stage_.store(stage::wanted, std::memory_order_release);
    }
    return true;
}

template <class Condition> void message_engine::progress_until(Condition condition) noexcept {
    thence_backoff backoff = THENCE_BACKOFF_INIT;
    while (!condition()) {
        long some = 0;
        progress(&some);
        if (some > 0) {
            thence_backoff_found(&backoff);
        } else {
            thence_backoff_pause(&backoff);
        }
    }
}

bool message_engine::quiesce(int &code) noexcept {
    struct outcome {
        std::atomic<bool> is_quiet{false};
        int error = MPI_SUCCESS;
    } result;
    const auto done = [](int error, void *data) {
        outcome &r = *static_cast<outcome *>(data);
        r.error = error;
        r.is_quiet.store(true, std::memory_order_release);
    };
    if (!quiesce_then(done, &result)) {
        return false;
    }
    progress_until([&] { return result.is_quiet.load(std::memory_order_acquire); });
    code = result.error;
    if (code != MPI_SUCCESS && broken() != MPI_SUCCESS) [[unlikely]] {
        progress_until([&] { return give_up_memory_once() != MPI_SUCCESS; });
    }
    return true;
}

// What MPI has matched with a message cannot be cancelled, and what leaves cannot either. So this waits a while. A put
// is told after that though MPI may still read, since nobody will use these data; a get is not while MPI may write.
void message_engine::give_up_memory() noexcept {
    constexpr base::nanoseconds patience = 2'000'000'000;
    pending_.close();
    end_pending(pending_operation::use::nothing);
    if (pending_.any_used()) {
        network_.cancel_receives();
    }
    const base::nanoseconds begun = base::read_clock();
    const auto is_in_use = [&] { return pending_.any_used() || telling_.load(std::memory_order_acquire) != 0; };
    progress_until([&] { return !is_in_use() || base::read_clock() - begun > patience; });
    end_pending(pending_operation::use::reads);
    if (pending_.any_used()) {
        fail(broken(), MPI_PROC_NULL, THENCE_AM_NO_HANDLER,
             "MPI still receives data of puts or gets: their memory must stay until the program ends");
    }
}

int message_engine::give_up_memory_once() noexcept {
    memory_use none = memory_use::may_last;
    if (memory_in_use_.compare_exchange_strong(none, memory_use::ends)) {
        give_up_memory();
        memory_in_use_.store(memory_use::has_ended, std::memory_order_release);
        return broken();
    }
    return none == memory_use::has_ended ? broken() : MPI_SUCCESS;
}

// Invariant: each call of a handler, of `failed`, or of the `done` of an operation lies between two changes of what
// this reads. `has_ended_` is read between them, too.
bool message_engine::may_call_program() noexcept {
    return handling_.load() != 0 || telling_.load() != 0 || failing_.load() != 0 || network_.is_in_arrived();
}

// A process that breaks off after others have found the end tells them: they leave network::end() with an error, too.
int message_engine::end(bool &is_clean) noexcept {
    int code = MPI_SUCCESS;
    progress_until([&] { return quiesce(code); });
    outbox_.end();
    // Other processes wait for each packet that this one says it has sent. One that is lost must be known before.
    progress_until(
        [&] { return (outgoing_.count() == 0 && outbox_.have_all_left()) || broken_.load() != MPI_SUCCESS; });
    int ended = broken_.load();
    if (ended == MPI_SUCCESS) {
        ended = network_.end(outbox_.packets_to(), broken_);
        if (ended != MPI_SUCCESS) {
            break_off(ended, true); // others may wait for this process
        }
    }
    is_clean = ended == MPI_SUCCESS;
    if (!is_clean) {
        progress_until([&] { return give_up_memory_once() != MPI_SUCCESS; });
    }
    has_ended_.store(true);
    if (!is_clean) { // else each receive has ended, and no handler runs
        progress_until([&] { return !may_call_program(); });
    }
    return code != MPI_SUCCESS ? code : ended;
}

void message_engine::query(thence_am_info &info) noexcept {
    info.rank = network_.rank();
    info.ranks = network_.size();
    info.window = options_.window;
    info.max_outgoing = options_.max_outgoing;
    info.max_payload = options_.max_payload;
    info.max_queued = options_.max_queued;
    info.handled = handled_.load(std::memory_order_acquire);
    info.sent = sent_.load(std::memory_order_acquire);
    info.packets = outbox_.packets();
    info.queued = outbox_.queued();
    info.outgoing = outgoing_.count();
}

} // namespace thence::am
