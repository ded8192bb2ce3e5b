// SPDX-License-Identifier: BSD-3-Clause
// The locations of code addresses as text: `exchange (halo.c:118)`; without debug information, or without libbacktrace,
// `exchange+0x4f in solver+0x11f3`, of which the second part is what addr2line takes. Looked up once for each address.
#pragma once

#include <string>

namespace thence::diagnose {

// A return address is behind the call: the location is that of the call.
const std::string &location_of_call(const void *return_address);
const std::string &location_of_function(const void *function);

} // namespace thence::diagnose
