// SPDX-License-Identifier: BSD-3-Clause
// File and line of code addresses, asked of the program addr2line (or llvm-addr2line) in a process of its own. It is
// started without a shell and gets a few seconds: a report never hangs on it.
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

// For each address the frames it lies in, the innermost inlined function first. Empty where nothing could be found out.
// `object`: an ELF file; `addresses`: as its symbol table counts them.
std::vector<std::vector<source_frame>> addr2line(const std::string &object,
                                                 const std::vector<std::uintptr_t> &addresses);

} // namespace thence::diagnose
