// SPDX-License-Identifier: BSD-3-Clause
// The pieces of an operation that are not complete when its call returns.
#pragma once

#include "onesided/gaspi/reads_and_writes.hpp"
#include "onesided/tagaspi/tagaspi.hpp"

#include <span>

namespace thence::tagaspi {

// Binds what was left of `pieces` to the current task, or waits for it outside of a task. `sets`: a notification of
// this process that is set when all is here; null: none.
gaspi_return_t bind(gaspi::process &self, gaspi_rank_t rank, std::span<const gaspi::piece> pieces,
                    std::span<gaspi::left_piece> left, bool reads, const gaspi::notice *sets) noexcept;

} // namespace thence::tagaspi
