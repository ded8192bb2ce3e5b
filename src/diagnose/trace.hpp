// SPDX-License-Identifier: BSD-3-Clause
// The timeline of THENCE_TRACE: one file per rank in Chrome's trace format, which Perfetto opens.
//
//  - per continuation an asynchronous span from attaching to the completion of its operations, and one named `ready`
//    from there to its callback, if that is later; both carry the continuation's number as id;
//  - per callback a slice in the lane of the thread that ran it;
//  - a counter of what is outstanding.
// Everything is written at the end, from the records of all threads: while the program runs nothing is formatted.
#pragma once

#include <cstddef>
#include <string>

namespace thence::diagnose {

// Creates the file, so that a bad name is known at once. False, after a complaint, if that fails.
bool open_trace(const std::string &name, std::size_t limit);

// Writes the file. Does nothing if none is open.
void write_trace() noexcept;

} // namespace thence::diagnose
