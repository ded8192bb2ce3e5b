// SPDX-License-Identifier: BSD-3-Clause
// The calls of MPI that threads of an unchanged program wait in, for the report of stalls. A thread lists at most one:
// of nested calls the outermost.
//
// Invariant: one thread at a time writes a slot. Its version is odd while the call that it describes lasts, and changes
// with each call. A reader that has found the same odd version before and after has read one call.
#pragma once

#include "core/base/visibility.hpp"

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace thence::diagnose {

struct described_call {
    enum class about : int { nothing, sends_to, receives_from, requests };

    const char *name;
    const void *where; // the code address of the user's call
    MPI_Comm comm = MPI_COMM_NULL;
    about what = about::nothing;
    int number = 0; // the other rank, or how many requests
    int tag = 0;
};

static_assert(std::is_trivially_copyable_v<described_call>);

class call_slot {
public:
    // @return false if it describes another call.
    bool begin(const described_call &call) noexcept;
    void end() noexcept { version_.fetch_add(1, std::memory_order_release); }
    // @return the version; 0: there is no call now.
    std::uint64_t read(described_call &call, std::int64_t &since) const noexcept;

private:
    static constexpr std::size_t words = (sizeof(described_call) + sizeof(std::uint64_t) - 1) / sizeof(std::uint64_t);

    std::atomic<std::uint64_t> version_{0};
    std::atomic<std::int64_t> since_{0};
    std::array<std::atomic<std::uint64_t>, words> call_{};
};

// A call begins on this thread. Null: it is not listed. Else the slot's end() follows, on any thread.
THENCE_INTERNAL call_slot *list_call(const described_call &call) noexcept;

// Text about a call: its other rank, or how many requests it waits for; and its communicator. Empty if not known.
std::string partner_of(const described_call &call);
std::string communicator_of(const described_call &call);

struct blocked_calls {
    long count = 0;
    std::uint64_t oldest = 0; // names that call among all
    std::string text;         // a line for each, the oldest first, the first ones if there are many
};
blocked_calls find_blocked_calls(bool with_text);

} // namespace thence::diagnose
