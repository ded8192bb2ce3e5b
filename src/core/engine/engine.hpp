// SPDX-License-Identifier: BSD-3-Clause
// An engine finds out which attached operations are complete. There is one engine for each way to find that out.
//
// Contract: an operation for which watch() returned `pending` is passed to the sink exactly once. Any thread may do
// that, also before watch() returns, and also inside MPI's transport code. So the sink only queues.
#pragma once

#include "core/base/visibility.hpp"
#include "core/engine/operation.hpp"
#include "core/engine/polled_set.hpp"
#include "core/engine/push.hpp"
#include "core/mpi/calls.hpp"

namespace thence::engine {

enum class outcome { pending, complete };

class engine {
public:
    virtual ~engine() = default;
    virtual const char *name() const noexcept = 0;
    virtual const char *why() const noexcept = 0;

    // Starts to watch. Returns `complete` if the results are taken already; then the operation is not passed to the
    // sink. `persistent`: the request stays with the user.
    virtual outcome watch(operation &op, bool persistent) noexcept = 0;

    // Takes the results of a `pushed` operation: status and error. Releases the request.
    virtual void finish(operation &op) noexcept = 0;

    // Completes a request of the user if its operation is complete already, without making progress if that is
    // possible. Does not touch persistent requests if MPI tells which are persistent. Returns what MPI_Test returns.
    virtual int take_complete(MPI_Request &request, int &flag, MPI_Status *status) noexcept = 0;

    // Finds completions without entering MPI's progress, where that is possible. May be called from a progress hook.
    virtual void poll() noexcept = 0;

    // True if poll() enters MPI's progress: then it must not be called from a hook that MPI calls under a lock.
    virtual bool poll_progresses() const noexcept { return false; }

    // Lets MPI make progress and finds completions.
    virtual void progress() noexcept = 0;

    // The first half of progress(): lets MPI make progress. It holds no lock of the engine, so callbacks may run in it
    // if runs_in_completion() is true. poll() is the second half.
    virtual void let_mpi_progress() noexcept {}

    // True if poll() has nothing to do.
    bool quiet() const noexcept { return !any_lost() && polled_.empty(); }

    // The number of polls in a row after which each of `n` operations has been tested at least once.
    static constexpr long polls_to_see_all(long n) noexcept { return n / polled_set::window + 1; }

    // True if the operation is known to be complete although its continuation has not run. Does not call MPI. The
    // caller guarantees that `op` stays in place meanwhile.
    virtual bool known_complete(const operation &op) const noexcept { return path_of(op) == completion_path::done; }

    // True if a continuation may run inside let_mpi_progress(), where MPI reports that a point-to-point operation is
    // complete without error, and may start other operations there.
    virtual bool runs_in_completion() const noexcept { return false; }

    // Asks MPI to cancel. The caller guarantees that `op` stays in place meanwhile; it may be complete already.
    virtual void cancel(operation &op) noexcept = 0;

    // Called at MPI_Finalize. Afterwards MPI holds no pointer to anything of ours for this operation.
    virtual void abandon(operation &op) noexcept = 0;

    // The number of completions that a search has found because the push was lost in a race in MPI's own code.
    virtual unsigned long long recovered() const noexcept { return 0; }
    unsigned long long polls() const noexcept { return polled_.polls(); }

protected:
    friend class shared_persistent;

    // The operations that are polled, in every engine: persistent ones, and those that cannot be pushed.
    polled_set polled_;
};

using completion_sink = void (*)(operation &);

// The functions that receive completions. `complete` is passed an operation. `pushed` is the push callback that MPI
// calls in its own completion path (see push.hpp); only an engine that pushes uses it.
struct sinks {
    completion_sink complete = nullptr;
    push_callback pushed = nullptr;
    bool results_wanted = false; // see polled_set
};

// The engine in use; null before choose().
extern THENCE_HIDDEN engine *current;

// Selects the engine: THENCE_ENGINE if set, else the best one that works on this MPI. Called once, after MPI_Init. If
// the engine that THENCE_ENGINE names does not work, it selects testsome, and why() says so.
engine &choose(const sinks &to);

// engine::take_complete() of the engine in use, or MPI_Test before choose().
inline int take_complete(MPI_Request &request, int &flag, MPI_Status *status) noexcept {
    return current != nullptr ? current->take_complete(request, flag, status)
                              : mpi::table.Test(&request, &flag, status);
}

// Forgets the choice, so that a test can choose again. Nothing may be outstanding.
void reset() noexcept;

// make_testsome() always works. The others prove that their engine works on this MPI, or return null and set `*reason`.
engine *make_testsome(const sinks &to, const char *why);
engine *make_openmpi(const sinks &to, const char **reason); // Open MPI only
engine *make_mpich(const sinks &to, const char **reason);

} // namespace thence::engine
