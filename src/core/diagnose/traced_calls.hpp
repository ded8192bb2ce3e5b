// SPDX-License-Identifier: BSD-3-Clause
// What a program does that does not use Thence, for the timeline: its calls of MPI, how many of its operations are
// outstanding after each, and when the helper thread made progress for them.
#pragma once

#include "core/base/visibility.hpp"
#include "core/diagnose/blocked_calls.hpp"

#include <cstddef>
#include <cstdint>

namespace thence::diagnose {

class event_writer;

// From now on at most so many calls are recorded.
void set_call_limit(std::size_t limit) noexcept;

// A call has ended on this thread. Times are those of now_ns(). Calls without `where` that follow one another without
// time between them, such as those of a loop of tests, are one record.
THENCE_INTERNAL void trace_call(const described_call &call, std::int64_t begun, std::int64_t ended,
                                long outstanding) noexcept;

struct written_calls {
    std::size_t calls = 0;        // records
    std::size_t dropped = 0;      // calls beyond the limit
    std::size_t dropped_help = 0; // times in which the helper made progress
};
// Those that have begun after `since`.
written_calls write_calls(event_writer &out, std::int64_t since);

} // namespace thence::diagnose
