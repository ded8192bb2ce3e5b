// SPDX-License-Identifier: BSD-3-Clause
// Interposed calls with arguments that do no harm, whoever gets them: no message is sent, and what the call creates is
// freed. By them where_calls_lead.cpp learns whether a tool goes on to us.
#pragma once

namespace thence::pmpi {

struct harmless_call {
    const char *name;
    bool (*reaches_libthence)(void *function); // makes the call by `function`, which has its type. MPI is initialized
    bool on_requests; // it completes or changes requests, or it blocks. Else it matters for communicators
};

// Null where no arguments are harmless, as for calls that files, windows and other processes take part in.
const harmless_call *find_harmless(const char *name) noexcept;

// True if the object that is loaded at this address defines one of them.
bool defines_harmless(const void *object) noexcept;

} // namespace thence::pmpi
