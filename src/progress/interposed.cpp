// SPDX-License-Identifier: BSD-3-Clause
#include "progress/interposed.hpp"

namespace thence::progress {

std::atomic<std::uint64_t> slow_path_reasons{0};
bool interposed = false;

} // namespace thence::progress
