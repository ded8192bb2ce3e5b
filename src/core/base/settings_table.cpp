// SPDX-License-Identifier: BSD-3-Clause
#include "core/base/settings.hpp"

namespace thence::base {

namespace {

constexpr std::array<setting_row, setting_count> rows = {{
    {setting::engine, "THENCE_ENGINE", "openmpi, mpich, testsome",
     "the native engine if it works with this MPI, else testsome", "which engine finds completed operations"},
    {setting::progress, "THENCE_PROGRESS", "thread, off", "off",
     "whether the library's own thread makes progress and runs callbacks, too"},
    {setting::stall, "THENCE_STALL", "a duration: 10s, 500ms, 1.5min; a plain number means seconds", "off",
     "report what is outstanding if no continuation has run for that long"},
    {setting::slow_continuation, "THENCE_SLOW_CONTINUATION", "a duration of at least 1ms", "off",
     "report callbacks that ran for longer"},
    {setting::pools_mode, "THENCE_POOLS_MODE", "METHOD[,FLAG...], see Pools", "continuation,inline-request",
     "how thence::pools handle operations; libthence-pools reads it"},
    {setting::trace, "THENCE_TRACE",
     "a file name; %r or {rank} in it is replaced by the rank, else .RANK.json is appended", "off",
     "write a timeline of all continuations"},
    {setting::trace_limit, "THENCE_TRACE_LIMIT", "a positive number", "250000",
     "the largest number of continuations in a timeline"},
    {setting::check_streams, "THENCE_CHECK_STREAMS", "on, off", "off",
     "report two threads that are in MPI calls of one stream at the same time"},
}};

constexpr bool in_order() {
    for (std::size_t i = 0; i < setting_count; ++i) {
        if (rows[i].which != static_cast<setting>(i)) {
            return false;
        }
    }
    return true;
}
static_assert(in_order());

} // namespace

const setting_row &row(setting which) noexcept {
    return rows[static_cast<std::size_t>(which)];
}

} // namespace thence::base
