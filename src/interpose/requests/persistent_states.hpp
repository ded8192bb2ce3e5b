// SPDX-License-Identifier: BSD-3-Clause
// Which persistent requests of the program are active, while operations are counted for the helper thread and nothing
// is measured: they do not become null when they complete, so the handle alone does not say what has ended. (With a
// report, known_requests.hpp has that.)
//
// Invariant: one thread at a time uses a request, as MPI wants it. MPI gives the handle of a freed request to the next
// one, perhaps before the call that frees has returned: so the state becomes `none` before that call.
#pragma once

#include "core/base/visibility.hpp"
#include "core/mpi/handles.hpp"
#include "interpose/requests/handle_table.hpp"

#include <mpi.h>

#include <atomic>

namespace thence::interpose {

enum class persistent_state : unsigned char { none, inactive, active };

class persistent_states {
public:
    using state = std::atomic<persistent_state>; // at first `none`

    // That of this request; null if it was never persistent.
    static state *find(MPI_Request request) noexcept { return all.find(mpi::bits(request)); }
    // The same, but it is entered if it was not there. Null: no memory. Then it counts as a request that is not
    // persistent.
    THENCE_INTERNAL static state *find_or_enter(MPI_Request request) noexcept;
    static bool any() noexcept { return !all.is_empty(); }

    static bool is_active(MPI_Request request) noexcept {
        const state *const found = find(request);
        return found != nullptr && found->load(std::memory_order_relaxed) == persistent_state::active;
    }
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
    THENCE_INTERNAL static handle_table<state> all;
};

} // namespace thence::interpose
