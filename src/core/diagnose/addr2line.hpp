// SPDX-License-Identifier: BSD-3-Clause
// Asks the program addr2line (or llvm-addr2line) for function, file and line of code addresses. It runs as a child
// process without a shell and is killed after ten seconds, so a report cannot hang on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace thence::diagnose {

struct source_frame {
    std::string function;
    std::string file; // empty if unknown
    std::string line;
};

// Returns for each address the frames that contain it, the innermost inlined function first; no frames if they are
// unknown. `object`: an ELF file; `addresses`: relative to the file, as in its symbol table.
std::vector<std::vector<source_frame>> addr2line(const std::string &object,
                                                 const std::vector<std::uintptr_t> &addresses);

} // namespace thence::diagnose
