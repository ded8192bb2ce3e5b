// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/requests/persistent_states.hpp"

namespace thence::interpose {

static_assert(persistent_state{} == persistent_state::none);

constinit handle_table<persistent_states::state> persistent_states::all;

persistent_states::state *persistent_states::find_or_enter(MPI_Request request) noexcept {
    return all.find_or_enter(mpi::bits(request));
}

} // namespace thence::interpose
