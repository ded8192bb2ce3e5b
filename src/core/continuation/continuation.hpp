// SPDX-License-Identifier: BSD-3-Clause
// A continuation: a callback, its data, and the operations it waits for. A `single` has one operation of MPI's own,
// which is part of the object: one cache line. Any other continuation points to a `group`, which has its operations.
//
// Phases: free -> attaching -> attached -> free. It runs after the last step. If all operations were complete at once:
// attaching -> free. Invariant: `remaining` of a group counts the operations that are not complete, plus one while
// attaching. The thread that decrements it to zero puts the continuation into its CR's queue, so it is queued once. If
// that is the attaching thread, complete_at_once() returns `flag = 1`, queues the continuation or runs it. A visitor
// (search, cancel, report) changes attached to visited and back. A thread runs a continuation only from attached, so
// the operations of a visited continuation stay in place.
#pragma once

#include "core/base/pool.hpp"
#include "core/base/spin_lock.hpp"
#include "core/base/visibility.hpp"
#include "core/continuation/origin.hpp"
#include "core/engine/operation.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace thence::continuation {

class continuation_request;
struct continuation;

// A running continuation is `free` too, so no visitor looks at it.
enum class phase : std::uint8_t { free, attaching, attached, visited };

// The callback's signature: the library's own, the paper's, the Forum's, that of thence_attach_each(). With copied data
// it is the library's own, too: control_word shifts a signature by 2, and bit 5 is then `control_word::owns_data`.
enum class signature : std::uint8_t { own, paper, forum, each, own_with_copied_data = 1U << 5 };

using any_function = void (*)();

// The phase and the kind of a continuation, in one byte. The exchange that changes the phase from `attached` also
// returns the kind.
class control_word {
public:
    static constexpr unsigned single = 1U << 4;        // one operation, in the continuation itself
    static constexpr unsigned pushed = 1U << 5;        // a single that MPI pushes to us
    static constexpr unsigned invoke_failed = 1U << 6; // THENCE_INVOKE_FAILED
    static constexpr unsigned owns_data = 1U << 7;     // `data` goes to release_data() after the callback

    constexpr control_word(phase at, signature form = signature::own, unsigned kind = 0)
        : bits_(static_cast<std::uint8_t>(static_cast<unsigned>(at) | static_cast<unsigned>(form) << 2 | kind)) {}
    static constexpr control_word from_bits(std::uint8_t bits) noexcept {
        control_word word(phase::free);
        word.bits_ = bits;
        return word;
    }
    constexpr std::uint8_t bits() const noexcept { return bits_; }
    constexpr phase at() const noexcept { return static_cast<phase>(bits_ & 3U); }
    constexpr signature form() const noexcept { return static_cast<signature>(bits_ >> 2 & 3U); }
    constexpr bool is(unsigned kind) const noexcept { return (bits_ & kind) != 0; }
    // True for an attached single that MPI does not push, and that does not own its data.
    constexpr bool is_polled_single() const noexcept {
        return at() == phase::attached && (bits_ & (single | pushed | owns_data)) == single;
    }
    constexpr control_word without(unsigned kind) const noexcept {
        return from_bits(static_cast<std::uint8_t>(bits_ & ~kind));
    }
    constexpr control_word with(phase at) const noexcept {
        return from_bits(static_cast<std::uint8_t>((bits_ & ~3U) | static_cast<unsigned>(at)));
    }
    constexpr bool operator==(const control_word &) const noexcept = default;

private:
    std::uint8_t bits_;
};

// One operation of a group.
struct member : engine::operation {
    continuation *owner;
};

// The operations of a continuation that is not a single.
struct group {
    group *next = nullptr; // link of the pool
    std::atomic<std::int32_t> remaining{0};
    std::int32_t count = 0;
    member *members = nullptr; // the buffer is kept for reuse
    std::int32_t capacity = 0;
    std::uint64_t observed = 0; // belongs to the observer, see observe.hpp

    bool reserve(int n) noexcept; // room for n members; false when memory is exhausted
};

struct alignas(64) continuation {
    continuation *next = nullptr; // link of the one queue or list that holds it
    any_function callback;
    void *data;
    continuation_request *cr;
    origin attached_by;
    // A single: its operation. Any other continuation: `link` points to the group. In both cases `status` is the user's
    // status or statuses argument, and `word` is the control word.
    engine::operation first{{}, nullptr, 0, engine::completion_path::done, false, {}};

    // Prefetches the callback's data, since the callback will run soon. The data was last used when the operation was
    // started, so it may no longer be in a cache.
    void expect() const noexcept { __builtin_prefetch(data, 1); }

    MPI_Status *statuses() const noexcept { return first.status; }
    group &of_group() const noexcept { return *static_cast<group *>(first.link); }

    control_word control() const noexcept {
        return control_word::from_bits(first.word.load(std::memory_order_relaxed));
    }
    void set_control(control_word to, std::memory_order order) noexcept { first.word.store(to.bits(), order); }
    // Only these two functions change the phase from `attached`.
    control_word take_control() noexcept {
        return control_word::from_bits(
            first.word.exchange(control_word(phase::free).bits(), std::memory_order_acquire));
    }
    bool change_control(control_word before, control_word to) noexcept {
        std::uint8_t expected = before.bits();
        return first.word.compare_exchange_strong(expected, to.bits(), std::memory_order_acquire);
    }
};
static_assert(sizeof(continuation) == 64);

extern THENCE_HIDDEN base::pool<continuation> continuations;
extern THENCE_HIDDEN base::pool<group> groups;

inline continuation &owner_of(engine::operation &op) noexcept {
    if (op.in_group) {
        return *static_cast<member &>(op).owner;
    }
    return *reinterpret_cast<continuation *>(reinterpret_cast<char *>(&op) - offsetof(continuation, first));
}

// Calls `visit(operation)` for each operation of `c`. `kind`: its control word. Only a visitor that has set `visited`,
// or the thread that runs `c`, may call this.
template <class Visitor> void for_each_operation(continuation &c, control_word kind, Visitor &&visit) {
    if (kind.is(control_word::single)) {
        visit(c.first);
        return;
    }
    group &g = c.of_group();
    for (int i = 0; i < g.count; ++i) {
        visit(g.members[i]);
    }
}

// Calls `visit(continuation, its control word)` for every attached continuation while it can neither run nor go away.
template <class Visitor> void for_each_attached(Visitor &&visit) noexcept {
    continuations.for_each([&](continuation &c) {
        base::spin_wait wait;
        for (;;) {
            const control_word seen = c.control();
            if (seen.at() == phase::attached) {
                if (c.change_control(seen, seen.with(phase::visited))) {
                    if (seen.is(control_word::pushed)) {
                        // attach_single() does not set it, since few need it.
                        engine::set_path(c.first, engine::completion_path::pushed);
                    }
                    visit(c, seen);
                    c.set_control(seen, std::memory_order_release);
                    return;
                }
            } else if (seen.at() == phase::free) {
                return;
            } else {
                wait(); // attaching and visited are brief
            }
        }
    });
}

} // namespace thence::continuation
