// SPDX-License-Identifier: BSD-3-Clause
// From code addresses to places a person knows: function, file and line. Slow, so only for reports, and remembered.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace thence::diagnose {

struct address {
    const void *code;
    bool is_return; // a return address lies behind the call; a function's address is its own beginning

    bool operator==(const address &) const = default;
};

struct place {
    std::string function; // `exchange`, or `exchange+0x4f` where only the symbol is known; empty if nothing is
    std::string line;     // `halo.c:118`; empty without debug information or addr2line
    std::string module;   // `solver+0x11f3`: what addr2line wants to know

    std::string text() const; // `exchange (halo.c:118)`, or as much of it as is known
};

// Finds the places of all addresses; one process of addr2line per file that holds some of them.
std::vector<place> find_places(const std::vector<address> &wanted);

} // namespace thence::diagnose
