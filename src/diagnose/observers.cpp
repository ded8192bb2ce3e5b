// SPDX-License-Identifier: BSD-3-Clause
#include "diagnose/observers.hpp"

#include "continuation/handle.hpp"
#include "diagnose/lane.hpp"
#include "diagnose/self.hpp"
#include "diagnose/slow.hpp"

#include <algorithm>
#include <memory>
#include <new>

namespace thence::diagnose {

using continuation::observer;
using subject = continuation::continuation;

namespace {

std::atomic<std::size_t> budget{0}; // records that may still be taken

std::uint64_t as_time(std::uint64_t ns) noexcept {
    return ns * 2 + 1;
}

record *record_of(const subject &c) noexcept {
    return (c.of_group().observed & 1) == 0 ? reinterpret_cast<record *>(c.of_group().observed) : nullptr;
}

void enter_callback(const subject &c, std::uint64_t now) noexcept {
    lane &l = this_lane();
    l.where.store(c.where, std::memory_order_relaxed);
    l.callback.store(reinterpret_cast<const void *>(c.callback), std::memory_order_relaxed);
    l.since.store(now, std::memory_order_release);
}

void leave_callback() noexcept {
    lane &l = this_lane();
    l.ended.store(l.ended.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    l.since.store(0, std::memory_order_release);
}

// So much of the budget, or what is left of it.
std::uint32_t take_budget(std::uint32_t wanted) noexcept {
    std::size_t left = budget.load(std::memory_order_relaxed);
    std::size_t share = 0;
    do {
        share = std::min<std::size_t>(left, wanted);
    } while (!budget.compare_exchange_weak(left, left - share, std::memory_order_relaxed));
    return static_cast<std::uint32_t>(share);
}

__attribute__((noinline)) chunk *another_chunk(lane &l) noexcept {
    chunk *const older = l.records.load(std::memory_order_relaxed);
    const std::uint32_t share =
        take_budget(older == nullptr ? chunk::smallest : std::min(2 * older->capacity, chunk::largest));
    std::unique_ptr<record[]> records(share != 0 ? new (std::nothrow) record[share]() : nullptr);
    chunk *const fresh = records != nullptr ? new (std::nothrow) chunk{records.get(), share, {0}, older} : nullptr;
    if (fresh == nullptr) {
        return nullptr;
    }
    records.release(); // kept until the process ends, as its lane
    l.records.store(fresh, std::memory_order_release);
    return fresh;
}

// Null when the limit is reached.
record *new_record(const subject &c, std::uint64_t now) noexcept {
    lane &l = this_lane();
    chunk *into = l.records.load(std::memory_order_relaxed);
    if (into == nullptr || into->used.load(std::memory_order_relaxed) == into->capacity) {
        into = another_chunk(l);
        if (into == nullptr) {
            l.dropped.store(l.dropped.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
            return nullptr;
        }
    }
    const std::uint32_t at = into->used.load(std::memory_order_relaxed);
    record &r = into->records[at];
    r.where = c.where;
    r.callback = c.callback;
    r.cr = cr_number(c.cr);
    r.operations = c.of_group().count;
    r.attached = now;
    into->used.store(at + 1, std::memory_order_release);
    return &r;
}

// The stall report, and callbacks that are slow.

void stall_attached(subject &c) noexcept {
    c.of_group().observed = as_time(coarse_now_ns());
}
void stall_nothing(subject &) noexcept {}
std::uint64_t stall_begin(subject &c) noexcept {
    enter_callback(c, coarse_now_ns());
    return times_callbacks() ? now_ns() : 0;
}
void stall_end(subject &c, std::uint64_t started, int) noexcept {
    leave_callback();
    if (started != 0) {
        note_callback(c.where, c.callback, started, now_ns());
    }
}

// The timeline, with all of the above.

void trace_attached(subject &c) noexcept {
    const std::uint64_t now = now_ns();
    const record *r = new_record(c, now);
    c.of_group().observed = r != nullptr ? reinterpret_cast<std::uintptr_t>(r) : as_time(now);
}
void trace_withdrawn(subject &c) noexcept {
    if (record *r = record_of(c)) {
        r->withdrawn.store(true, std::memory_order_relaxed);
    }
}
void trace_ready(subject &c) noexcept {
    if (record *r = record_of(c)) {
        r->ready.store(now_ns(), std::memory_order_relaxed);
    }
}
std::uint64_t trace_begin(subject &c) noexcept {
    const std::uint64_t now = now_ns();
    enter_callback(c, now);
    return now;
}
void trace_end(subject &c, std::uint64_t started, int result) noexcept {
    leave_callback();
    const std::uint64_t ended = now_ns();
    if (started != 0) {
        note_callback(c.where, c.callback, started, ended);
    }
    if (record *r = record_of(c)) {
        r->begin.store(started, std::memory_order_relaxed);
        r->result.store(result, std::memory_order_relaxed);
        r->run_by.store(this_lane().thread, std::memory_order_relaxed);
        r->end.store(ended, std::memory_order_release);
    }
}

} // namespace

const observer stall_observer{&stall_attached, &stall_nothing, &stall_nothing, &stall_begin, &stall_end, &slow_ms};
const observer trace_observer{&trace_attached, &trace_withdrawn, &trace_ready, &trace_begin, &trace_end, &slow_ms};

void allow_records(std::size_t limit) noexcept {
    budget.store(limit, std::memory_order_relaxed);
}

std::uint64_t attached_at(const subject &c) noexcept {
    if (continuation::observing == nullptr || c.of_group().observed == 0) { // while somebody looks all are groups
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
