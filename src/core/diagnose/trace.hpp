// SPDX-License-Identifier: BSD-3-Clause
// The timeline of THENCE_TRACE: one file per rank in Chrome's trace format, which Perfetto opens.
//
//  - For each continuation: an asynchronous span from attaching to the completion of its operations and, if its
//    callback began later than that, a span `ready` up to the callback. The id of both is the continuation's number.
//  - For each callback: a slice in the track of the thread that ran it.
//  - A counter of the outstanding continuations.
//  - Of a program that does not use Thence: its calls, and what the helper thread did (traced_calls.hpp).
// The file is written at the end of the program from the records of all threads. Nothing is formatted before that.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace thence::diagnose {

// The name of this rank's trace file: `%r` and `{rank}` are replaced by the rank. Without either, `.RANK.json` is
// appended.
std::string trace_file_name(std::string_view pattern, int rank);

// Creates the file, so that a bad name is reported at the start of the program. Returns false, after it has reported
// the error, if that fails. `limit`: at most so many continuations, and calls, are recorded.
bool open_trace(const std::string &name, std::size_t limit);

bool trace_is_open() noexcept;

// Writes and closes the file. Does nothing if no file is open.
void write_trace() noexcept;

} // namespace thence::diagnose
