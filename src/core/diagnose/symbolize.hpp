// SPDX-License-Identifier: BSD-3-Clause
// Translates code addresses to function, file and line. A lookup may start a process, so only reports use it; results
// are cached until the process ends.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace thence::diagnose {

struct code_address {
    const void *code;
    bool is_return; // true: a return address, which is behind the call; false: the first instruction of a function

    bool operator==(const code_address &) const = default;
};

struct code_location {
    std::string function; // `exchange`, or `exchange+0x4f` if only the symbol is known; empty if unknown
    std::string line;     // `halo.c:118`; empty without debug information or addr2line
    std::string module;   // `solver+0x11f3`: file and offset, which addr2line takes

    std::string text() const; // `exchange (halo.c:118)`, or as much of it as is known
};

// The locations of all addresses, in the same order. Starts at most one process of addr2line per object file and 256
// addresses.
std::vector<code_location> symbolize(const std::vector<code_address> &addresses);

} // namespace thence::diagnose
