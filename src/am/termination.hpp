// SPDX-License-Identifier: BSD-3-Clause
// Termination detection by two counts and waves (Mattern 1987, the four counter method); knows no MPI.
//
// Each process counts what it has sent, before it leaves, and what it has handled, after the handler has returned and
// all that the handler has sent is counted. A wave adds both counts over all processes. A process gives its counts to a
// wave after it knows the result of the wave before.
//
// Invariant: if the messages that were sent by the end of a wave are as many as those handled by the end of the wave
// before, nothing was under way when the wave before ended. For `handled` only grows, and lags behind `sent`: let t be
// a time after all processes have given their counts to the first wave and before any has for the second.
// handled(first) <= handled(t) <= sent(t) <= sent(second). If the two ends are equal, all four are: at t everything
// that was sent is handled, so no handler runs and none will.
#pragma once

#include "am/network.hpp"

namespace thence::am {

class termination {
public:
    void restart() noexcept { has_one_ = false; }
    // A wave has ended. True: nothing is left.
    bool wave(totals all) noexcept {
        const bool is_quiet = has_one_ && all.sent <= handled_before_; // less never, but after errors
        has_one_ = true;
        handled_before_ = all.handled;
        return is_quiet;
    }

private:
    bool has_one_ = false;
    std::uint64_t handled_before_ = 0;
};

} // namespace thence::am
