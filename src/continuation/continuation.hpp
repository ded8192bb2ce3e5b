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
#include <memory>

namespace thence::continuation {

class continuation_request;

enum class phase : std::uint8_t { free, attaching, attached, visited, running };

// The callback's signature: the library's own, the paper's, the Forum's.
enum class signature : std::uint8_t { own, paper, forum };

using any_function = void (*)();

struct alignas(64) continuation {
    continuation *next = nullptr; // link of the one queue or list that holds it
    any_function callback;
    void *data;
    MPI_Status *statuses; // as the user gave it
    continuation_request *cr;
    const void *where; // the code address that attached it
    std::atomic<std::int32_t> remaining{0};
    std::int32_t count;  // operations
    std::uint32_t since; // coarse clock, see diagnose
    std::atomic<phase> at{phase::free};
    signature form;
    bool invoke_failed;

    engine::operation first;             // the operation, if there is one
    engine::operation *others = nullptr; // all of them, if there are several; the buffer is kept for reuse
    std::int32_t others_capacity = 0;

    engine::operation *operations() noexcept { return count > 1 ? others : &first; }
    bool reserve(int n) noexcept; // room for n operations; false when memory is exhausted
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
            phase seen = c.at.load(std::memory_order_acquire);
            if (seen == phase::attached) {
                if (c.at.compare_exchange_weak(seen, phase::visited, std::memory_order_acquire)) {
                    visit(c);
                    c.at.store(phase::attached, std::memory_order_release);
                    return;
                }
            } else if (seen == phase::free || seen == phase::running) {
                return;
            } else {
                wait(); // attaching and visited are brief
            }
        }
    });
}

} // namespace thence::continuation
