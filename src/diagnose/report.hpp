// SPDX-License-Identifier: BSD-3-Clause
// The report of what is outstanding: how many continuations, attached where, since when, and what they wait for.
//
// It looks at each continuation for a moment only, while the continuation can neither run nor go away, and looks up
// places afterwards. It makes no MPI call, so any thread may write it while others are inside MPI.
#pragma once

#include <string>

namespace thence::diagnose {

// The lines that follow `headline`: who we are, the groups, callbacks that run. Empty if nothing is outstanding.
std::string describe_outstanding();

} // namespace thence::diagnose
