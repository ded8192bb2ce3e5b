// SPDX-License-Identifier: BSD-3-Clause
// The report of outstanding continuations: how many there are, where and when they were attached, and what they wait
// for.
//
// It locks one continuation at a time against being run or released, and only for as long as it reads its state. Code
// addresses are translated afterwards. It makes no MPI call, so any thread may write it while others are inside MPI.
#pragma once

#include <string>

namespace thence::diagnose {

// The lines of the report, without a headline: the process, the groups of continuations, the callbacks that run.
std::string describe_outstanding();

} // namespace thence::diagnose
