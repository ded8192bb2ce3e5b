// SPDX-License-Identifier: BSD-3-Clause
// A continuation: a callback, its data, and the operations it waits for.
//
// Life: free -> attaching -> attached -> running -> free; or attaching -> free when everything was complete at once.
// Invariant: `remaining` counts the operations that are not complete, plus one while attaching. Whoever brings it to
// zero puts the continuation into its CR's queue (or, while attaching, returns it to the caller), so it is queued once.
// A visitor (search, cancel, report) turns attached into visited and back; running starts only from attached, so the
// operations of a visited continuation stay in place.
#pragma once

#include "base/pool.hpp"
#include "base/spin_lock.hpp"
#include "engine/operation.hpp"

#include <atomic>
#include <cstdint>

namespace thence::continuation {

class continuation_request;

enum class phase : std::uint8_t { free, attaching, attached, visited, running };

// The callback's signature: the library's own, the paper's, the Forum's.
enum class signature : std::uint8_t { own, paper, forum };

using any_function = void (*)();

// Where a continuation is in its life, and what kind it is, in one word: whoever changes the phase from `attached`
// learns the kind by the same exchange.
class control_word {
public:
    constexpr control_word(phase at, signature form = signature::own, bool single = false, bool invoke_failed = false)
        : bits_(static_cast<std::uint32_t>(at) | static_cast<std::uint32_t>(form) << 8 | (single ? single_bit : 0) |
                (invoke_failed ? invoke_failed_bit : 0)) {}
    constexpr phase at() const noexcept { return static_cast<phase>(bits_ & 0xff); }
    constexpr signature form() const noexcept { return static_cast<signature>(bits_ >> 8 & 0xff); }
    constexpr bool single() const noexcept { return (bits_ & single_bit) != 0; }
    constexpr bool invoke_failed() const noexcept { return (bits_ & invoke_failed_bit) != 0; }
    constexpr control_word with(phase at) const noexcept {
        control_word result = *this;
        result.bits_ = (bits_ & ~0xffU) | static_cast<std::uint32_t>(at);
        return result;
    }
    constexpr control_word expanded() const noexcept {
        control_word result = *this;
        result.bits_ &= ~single_bit;
        return result;
    }

private:
    static constexpr std::uint32_t single_bit = 1U << 16;
    static constexpr std::uint32_t invoke_failed_bit = 1U << 17;
    std::uint32_t bits_;
};

struct alignas(64) continuation {
    // The first cache line is all that a single needs.
    continuation *next = nullptr; // link of the one queue or list that holds it
    any_function callback;
    void *data;
    MPI_Status *statuses; // as the user gave it
    continuation_request *cr;
    const void *where;   // the code address that attached it
    MPI_Request request; // of a single
    std::atomic<control_word> control{control_word(phase::free)};

    // Any other way of waiting.
    std::atomic<std::int32_t> remaining{0};
    std::int32_t count;                  // operations
    engine::operation first;             // the operation, if there is one
    engine::operation *others = nullptr; // all of them, if there are several; the buffer is kept for reuse
    std::int32_t others_capacity = 0;

    std::uint64_t observed = 0; // the observer's, see observe.hpp

    engine::operation *operations() noexcept { return count > 1 ? others : &first; }
    bool reserve(int n) noexcept; // room for n operations; false when memory is exhausted

    // Makes a single an ordinary continuation of one operation. Only for who holds it: a visitor or its runner.
    void expand() noexcept;
};
static_assert(sizeof(continuation) <= 128);

extern base::pool<continuation> continuations;

// An operation is complete; the sink of every engine. Only counts and queues.
void operation_complete(engine::operation &op) noexcept;

// Calls `visit` for every attached continuation while it can neither run nor go away.
template <class Visitor> void for_each_attached(Visitor &&visit) noexcept {
    continuations.for_each([&](continuation &c) {
        base::spin_wait wait;
        for (;;) {
            control_word seen = c.control.load(std::memory_order_acquire);
            if (seen.at() == phase::attached) {
                if (c.control.compare_exchange_weak(seen, seen.with(phase::visited), std::memory_order_acquire)) {
                    if (seen.single()) {
                        c.expand();
                        seen = seen.expanded();
                    }
                    visit(c);
                    c.control.store(seen, std::memory_order_release);
                    return;
                }
            } else if (seen.at() == phase::free || seen.at() == phase::running) {
                return;
            } else {
                wait(); // attaching and visited are brief
            }
        }
    });
}

} // namespace thence::continuation
