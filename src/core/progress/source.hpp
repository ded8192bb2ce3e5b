// SPDX-License-Identifier: BSD-3-Clause
// A source of completions. It is polled while anything of it is outstanding, and a poll may find work to run.
// Continuations are the first source. Hook, helper thread and waiting calls poll and run all registered sources.
//
// Invariant: sources are static objects, and their functions may be called at any time, also just after remove_source()
// has returned. The source has nothing outstanding then.
#pragma once

namespace thence::progress {

// From where a source is polled.
enum class polled_from {
    locked_hook,    // MPI calls us under a lock of its own: neither MPI's progress nor a callback may be entered
    hook,           // MPI's progress calls us: MPI may be called, but its progress is under way already
    after_progress, // outside of MPI, after a call that has let MPI make progress
    outside         // outside of MPI: poll() lets MPI make progress, too
};

// Each function may be called by any number of threads at a time, and from inside another call of the same source:
// poll() and run() may enter MPI's progress, which may call a hook, which polls. If a source does not support that, its
// inner call does nothing.
struct source {
    const char *name;
    // True if anything is outstanding. While this is false for all sources, hook and helper rest. It must be
    // sequentially consistent with the registration of outstanding work, see progress.hpp.
    bool (*outstanding)() noexcept;
    // Finds completions, and runs nothing. Returns true if run() may have something to do.
    bool (*poll)(polled_from where) noexcept;
    // Runs at most `limit` ready items and returns how many. Returns zero if nothing may run on this thread now.
    long (*run)(long limit) noexcept;
};

inline constexpr int most_sources = 8;

// Adds a source, which must not be registered. False if there are `most_sources` already.
bool add_source(const source &added) noexcept;
// Removes it. Nothing of it may be outstanding.
void remove_source(const source &removed) noexcept;

bool any_outstanding() noexcept;
// Polls each source but `except` once. True if run_sources() may have something to do.
bool poll_sources(polled_from where, const source *except = nullptr) noexcept;
// Runs at most `limit` of what is ready in all sources but `except`, in the order of their registration. Each source
// may run at least one, so none waits until those before it have nothing to do.
long run_sources(long limit, const source *except = nullptr) noexcept;

} // namespace thence::progress
