// SPDX-License-Identifier: BSD-3-Clause
// Which persistent requests of the program are active, while operations are counted for the helper thread and nothing
// is measured: they do not become null when they complete, so the handle alone does not say what has ended. (With a
// report, known_requests.hpp has that.)
//
// A table with open addressing by handle, read without a lock. Invariants: a handle stays in the table for good, and
// its state at one address, so a thread needs no lock to change it. One thread at a time uses a request, as MPI wants
// it. MPI gives the handle of a freed request to the next one, perhaps before the call that frees has returned: so the
// state becomes `none` before that call.
#pragma once

#include "core/base/visibility.hpp"
#include "core/mpi/handles.hpp"

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace thence::interpose {

enum class persistent_state : unsigned char { none, inactive, active };

class persistent_states {
public:
    using state = std::atomic<persistent_state>;

    // That of this request; null if it was never persistent.
    static state *find(MPI_Request request) noexcept {
        const table *const in = current.load(std::memory_order_acquire);
        if (in == nullptr) [[likely]] {
            return nullptr;
        }
        const std::uintptr_t handle = mpi::bits(request);
        for (std::size_t i = first(handle) >> in->shift;; ++i) {
            const slot &at = in->slots[i & in->mask];
            const std::uintptr_t found = at.handle.load(std::memory_order_acquire);
            if (found == handle) {
                return at.value.load(std::memory_order_relaxed);
            }
            if (found == 0) {
                return nullptr;
            }
        }
    }
    // The same, but it is entered if it was not there. Null: no memory. Then it counts as a request that is not
    // persistent.
    THENCE_INTERNAL static state *find_or_enter(MPI_Request request) noexcept;
    static bool any() noexcept { return current.load(std::memory_order_relaxed) != nullptr; }

    // @return whether an operation of it was outstanding, and is no more.
    static bool end(MPI_Request request) noexcept {
        state *const found = find(request);
        if (found == nullptr || found->load(std::memory_order_relaxed) != persistent_state::active) {
            return false;
        }
        found->store(persistent_state::inactive, std::memory_order_relaxed);
        return true;
    }

private:
    struct slot {
        std::atomic<std::uintptr_t> handle{0}; // 0: free, since no request has these bits
        std::atomic<state *> value{nullptr};   // set before the handle
    };
    struct table {
        unsigned shift;   // of the hash
        std::size_t mask; // of an index
        slot *slots;      // at least half of them are free
    };
    static std::size_t first(std::uintptr_t handle) noexcept {
        return static_cast<std::size_t>(static_cast<std::uint64_t>(handle) * 0x9E3779B97F4A7C15U);
    }
    static bool grow() noexcept;
    static void put(const table &to, std::uintptr_t handle, state *value) noexcept;

    // Replaced by a larger one, never changed otherwise. Those before stay: a thread may read them.
    THENCE_INTERNAL static std::atomic<const table *> current;
};

} // namespace thence::interpose
