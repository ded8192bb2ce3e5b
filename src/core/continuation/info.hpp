// SPDX-License-Identifier: BSD-3-Clause
// The info keys of paper 2021, section 3.5: names, values, and what they mean as options.
#pragma once

#include "core/continuation/request.hpp"

namespace thence::continuation {

// Applies `info` to `options`. If a key has an invalid value, it returns the key and applies nothing,
// else null.
const char *read_info(MPI_Info info, cr_options &options);

} // namespace thence::continuation
