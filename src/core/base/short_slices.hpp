// SPDX-License-Identifier: BSD-3-Clause
// Short time slices for a thread that polls. Since Linux 6.12 a thread without privileges may ask for the length of its
// slices. With short ones it gets the same share of a processor, in smaller pieces and sooner: when it wakes, it runs
// before a thread that computes, if it has used less than its share.
#pragma once

namespace thence::base {

// For the calling thread. Older systems do not know the request: there this changes nothing.
void ask_for_short_slices() noexcept;

} // namespace thence::base
