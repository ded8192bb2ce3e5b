// SPDX-License-Identifier: BSD-3-Clause
// Waves: the sums of what all processes have counted, for all of them.
//
// On simulated ranks (SMPI) a wave consists of messages in a tree. A nonblocking collective operation of SMPI is a
// message from each process to each other, and whoever waits for it and for messages handles no message before it has
// ended: another process may need that to come as far.
#include "am/network_state.hpp"

#include <mutex>

namespace thence::am {

static_assert(sizeof(totals) == 2 * sizeof(std::uint64_t));

int network::state::wave_has_ended(int error, MPI_Status *, void *data) noexcept {
    static_cast<state *>(data)->go_on_with_wave(error);
    return MPI_SUCCESS;
}

bool network::state::attach_wave(int &error) noexcept {
    int complete = 0;
    error = thence_attach(wave_operations, wave, &wave_has_ended, this, 0, MPI_STATUSES_IGNORE, at_once, &complete);
    if (complete == 0 && error != MPI_SUCCESS) [[unlikely]] {
        const std::scoped_lock guard(unattached);
        wave_is_unattached = true;
        any_unattached.store(true);
    }
    return complete != 0;
}

#if !defined(SMPI_H)

void network::state::go_on_with_wave(int error) noexcept {
    to.wave_ended(error, all);
}

void network::begin_wave(totals mine) noexcept {
    state &s = *state_;
    s.mine = mine;
    int error = MPI_Iallreduce(&s.mine, &s.all, 2, MPI_UINT64_T, MPI_SUM, s.waves, s.wave);
    if (error != MPI_SUCCESS || s.attach_wave(error)) {
        s.go_on_with_wave(error);
    }
}

#else

// In a binary tree: from the leaves to the first process, and back.
void network::state::go_on_with_wave(int error) noexcept {
    const int above = (rank - 1) / 2;
    const int below[] = {2 * rank + 1, 2 * rank + 2};
    const auto begin = [&](auto operation, auto *buffer, int peer, int tag) {
        if (error == MPI_SUCCESS && peer < ranks) {
            error = operation(buffer, 2, MPI_UINT64_T, peer, tag, waves, &wave[wave_operations++]);
        }
    };
    while (error == MPI_SUCCESS && wave_step < 3) {
        wave_operations = 0;
        switch (wave_step++) {
        case 0:
            all = mine;
            begin(MPI_Irecv, &of_others[0], below[0], 0);
            begin(MPI_Irecv, &of_others[1], below[1], 0);
            break;
        case 1:
            for (int i = 0; i < 2 && below[i] < ranks; ++i) {
                all.sent += of_others[i].sent;
                all.handled += of_others[i].handled;
            }
            if (rank != 0) {
                begin(MPI_Isend, &all, above, 0);
                begin(MPI_Irecv, &of_others[0], above, 1);
            }
            break;
        case 2:
            all = rank != 0 ? of_others[0] : all;
            begin(MPI_Isend, &all, below[0], 1);
            begin(MPI_Isend, &all, below[1], 1);
            break;
        default:
            break;
        }
        if (wave_operations != 0 && error == MPI_SUCCESS && !attach_wave(error)) {
            return;
        }
    }
    to.wave_ended(error, all);
}

void network::begin_wave(totals mine) noexcept {
    state &s = *state_;
    s.mine = mine;
    s.wave_step = 0;
    s.go_on_with_wave(MPI_SUCCESS);
}

#endif

} // namespace thence::am
