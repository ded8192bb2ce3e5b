// SPDX-License-Identifier: BSD-3-Clause
#include "core/diagnose/observers.hpp"

#include "core/continuation/handle.hpp"
#include "core/diagnose/process_identity.hpp"
#include "core/diagnose/slow_callbacks.hpp"
#include "core/diagnose/thread_log.hpp"

#include <algorithm>
#include <memory>
#include <new>

namespace thence::diagnose {

using continuation::observer;
using continuation_object = continuation::continuation;

namespace {

std::atomic<std::size_t> records_left{0}; // how many more records may be taken

std::uint64_t as_time(std::uint64_t ns) noexcept {
    return ns * 2 + 1;
}

record *record_of(const continuation_object &c) noexcept {
    return (c.of_group().observed & 1) == 0 ? reinterpret_cast<record *>(c.of_group().observed) : nullptr;
}

void enter_callback(const continuation_object &c, std::uint64_t now) noexcept {
    thread_log &log = this_thread_log();
    log.where.store(continuation::code_of(c.attached_by), std::memory_order_relaxed);
    log.callback.store(reinterpret_cast<const void *>(c.callback), std::memory_order_relaxed);
    log.since.store(now, std::memory_order_release);
}

void leave_callback() noexcept {
    thread_log &log = this_thread_log();
    log.ended.store(log.ended.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    log.since.store(0, std::memory_order_release);
}

// Takes `wanted` records from the limit, or as many as are left. Returns how many it took.
std::uint32_t reserve_records(std::uint32_t wanted) noexcept {
    std::size_t left = records_left.load(std::memory_order_relaxed);
    std::size_t share = 0;
    do {
        share = std::min<std::size_t>(left, wanted);
    } while (!records_left.compare_exchange_weak(left, left - share, std::memory_order_relaxed));
    return static_cast<std::uint32_t>(share);
}

__attribute__((noinline)) record_chunk *add_chunk(thread_log &log) noexcept {
    record_chunk *const older = log.records.load(std::memory_order_relaxed);
    const std::uint32_t share = reserve_records(
        older == nullptr ? record_chunk::smallest : std::min(2 * older->capacity, record_chunk::largest));
    std::unique_ptr<record[]> records(share != 0 ? new (std::nothrow) record[share]() : nullptr);
    record_chunk *const added =
        records != nullptr ? new (std::nothrow) record_chunk{records.get(), share, {0}, older} : nullptr;
    if (added == nullptr) {
        return nullptr;
    }
    records.release(); // kept until the process ends, as is the log
    log.records.store(added, std::memory_order_release);
    return added;
}

// Null when the limit is reached or memory is exhausted.
record *new_record(const continuation_object &c, std::uint64_t now) noexcept {
    thread_log &log = this_thread_log();
    record_chunk *into = log.records.load(std::memory_order_relaxed);
    if (into == nullptr || into->used.load(std::memory_order_relaxed) == into->capacity) {
        into = add_chunk(log);
        if (into == nullptr) {
            log.dropped.store(log.dropped.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
            return nullptr;
        }
    }
    const std::uint32_t at = into->used.load(std::memory_order_relaxed);
    record &r = into->records[at];
    r.where = continuation::code_of(c.attached_by);
    r.callback = c.callback;
    r.cr = cr_number(c.cr);
    r.operations = c.of_group().count;
    r.attached = now;
    into->used.store(at + 1, std::memory_order_release);
    return &r;
}

// The observer of the stall report. It times callbacks if slow ones are to be reported.

void stall_attached(continuation_object &c) noexcept {
    c.of_group().observed = as_time(coarse_now_ns());
}
void stall_ignore(continuation_object &) noexcept {}
std::uint64_t stall_begin(continuation_object &c) noexcept {
    enter_callback(c, coarse_now_ns());
    return slow_callbacks_reported() ? now_ns() : 0;
}
void stall_end(continuation_object &c, std::uint64_t started, int) noexcept {
    leave_callback();
    if (started != 0) {
        report_if_slow(continuation::code_of(c.attached_by), c.callback, started, now_ns());
    }
}

// The observer of the timeline. It does what the other one does, too.

void trace_attached(continuation_object &c) noexcept {
    const std::uint64_t now = now_ns();
    const record *r = new_record(c, now);
    c.of_group().observed = r != nullptr ? reinterpret_cast<std::uintptr_t>(r) : as_time(now);
}
void trace_withdrawn(continuation_object &c) noexcept {
    if (record *r = record_of(c)) {
        r->withdrawn.store(true, std::memory_order_relaxed);
    }
}
void trace_ready(continuation_object &c) noexcept {
    if (record *r = record_of(c)) {
        r->ready.store(now_ns(), std::memory_order_relaxed);
    }
}
std::uint64_t trace_begin(continuation_object &c) noexcept {
    const std::uint64_t now = now_ns();
    enter_callback(c, now);
    return now;
}
void trace_end(continuation_object &c, std::uint64_t started, int result) noexcept {
    leave_callback();
    const std::uint64_t ended = now_ns();
    if (started != 0) {
        report_if_slow(continuation::code_of(c.attached_by), c.callback, started, ended);
    }
    if (record *r = record_of(c)) {
        r->begin.store(started, std::memory_order_relaxed);
        r->result.store(result, std::memory_order_relaxed);
        r->run_by.store(this_thread_log().thread, std::memory_order_relaxed);
        r->end.store(ended, std::memory_order_release);
    }
}

} // namespace

const observer stall_observer{&stall_attached, &stall_ignore, &stall_ignore,
                              &stall_begin,    &stall_end,    &slow_callback_limit_ms};
const observer trace_observer{&trace_attached, &trace_withdrawn, &trace_ready,
                              &trace_begin,    &trace_end,       &slow_callback_limit_ms};

void set_record_limit(std::size_t limit) noexcept {
    records_left.store(limit, std::memory_order_relaxed);
}

std::uint64_t attached_at(const continuation_object &c) noexcept {
    if (continuation::observing == nullptr ||
        c.of_group().observed == 0) { // with an observer, every continuation has a group
        return 0;
    }
    const record *r = record_of(c);
    return r != nullptr ? r->attached : c.of_group().observed / 2;
}

std::uint32_t cr_number(const continuation::continuation_request *cr) noexcept {
    const auto offset = reinterpret_cast<const unsigned char *>(cr) - continuation::cr_arena;
    return static_cast<std::uint32_t>(static_cast<std::size_t>(offset) / continuation::cr_bytes);
}

} // namespace thence::diagnose
