// SPDX-License-Identifier: BSD-3-Clause
// A source of completions: something that has to be polled while anything of it is outstanding, and that then has work
// to run. Continuations are the first source. Whoever makes progress (hook, helper thread, a call that waits) goes
// through all sources that are registered.
//
// Invariant: sources are static objects and their functions may be called at any time, also just after remove_source()
// has returned: a thread that is late finds a source that has nothing outstanding.
#pragma once

namespace thence::progress {

// From where a source is polled.
enum class from {
    locked_hook,    // MPI calls us under a lock of its own: neither MPI's progress nor a callback may be entered
    hook,           // MPI's progress calls us: MPI may be called, but its progress is under way already
    after_progress, // outside of MPI, after a call that has let MPI make progress
    outside         // outside of MPI: poll() lets MPI make progress, too
};

// Each function may be called by any number of threads at a time, and from inside another call of the same source:
// MPI's progress, which poll() and run() enter, may call a hook, and that polls. A source that cannot bear that does
// nothing.
struct source {
    const char *name;
    // Is anything outstanding? While no source says so, hook and helper rest. Must be sequentially consistent with what
    // makes something outstanding, see progress.hpp.
    bool (*outstanding)() noexcept;
    // Finds completions, and runs none of what they make ready. True if run() may have something to do.
    bool (*poll)(from where) noexcept;
    // Runs at most `limit` of what is ready, and returns how many. Zero where nothing may run on this thread now.
    long (*run)(long limit) noexcept;
};

inline constexpr int most_sources = 8;

// Adds a source, which must not be registered. False if there are `most_sources` already.
bool add_source(const source &added) noexcept;
// Removes it. Nothing of it may be outstanding.
void remove_source(const source &removed) noexcept;

bool any_outstanding() noexcept;
// Polls each source once. True if run_sources() may have something to do.
bool poll_sources(from where) noexcept;
// Runs at most `limit` of what is ready in all sources, in the order of their registration.
long run_sources(long limit) noexcept;

} // namespace thence::progress
