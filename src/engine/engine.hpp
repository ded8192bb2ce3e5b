// SPDX-License-Identifier: BSD-3-Clause
// An engine answers one question: which attached operations are done? There is one kind per way of finding out.
//
// Contract: an operation for which watch() returned `pending` is passed to the sink exactly once, by whichever thread
// finds out, possibly before watch() returns and possibly from inside MPI's transport code. The sink only queues.
#pragma once

#include "base/visibility.hpp"
#include "engine/operation.hpp"
#include "engine/polled_set.hpp"
#include "engine/push.hpp"

namespace thence::engine {

enum class outcome { pending, complete };

class engine {
public:
    virtual ~engine() = default;
    virtual const char *name() const noexcept = 0;
    virtual const char *why() const noexcept = 0;

    // Starts to watch. `complete`: the results are taken already and the sink will not hear of it.
    // `persistent`: the request stays the user's.
    virtual outcome watch(operation &op, bool persistent) noexcept = 0;

    // Takes the results of a `pushed` operation: status and error. Releases the request.
    virtual void finish(operation &op) noexcept = 0;

    // Completes a request of the user's if it is complete already, without making progress where that is possible.
    // Leaves persistent requests alone where MPI tells which are persistent. Returns what MPI_Test returns.
    virtual int take_complete(MPI_Request &request, int &flag, MPI_Status *status) noexcept = 0;

    // Finds completions without entering MPI's progress, where that is possible. May be called from a progress hook.
    virtual void poll() noexcept = 0;

    // True if poll() enters MPI's progress: then it must not be called from a hook that MPI calls under a lock.
    virtual bool poll_progresses() const noexcept { return false; }

    // Lets MPI make progress and finds completions.
    virtual void progress() noexcept = 0;

    // The first half of progress(): lets MPI make progress. It holds no lock of the engine's, so callbacks may run in
    // it where runs_in_completion() says so. poll() is the second half.
    virtual void let_mpi_progress() noexcept {}

    // True if poll() has nothing to look at.
    bool quiet() const noexcept { return !any_lost() && polled_.empty(); }

    // So many polls in a row look at each of `n` operations at least once.
    static constexpr long polls_to_see_all(long n) noexcept { return n / polled_set::window + 1; }

    // True if the operation is known to be complete, though its continuation has not run. Looks without asking MPI;
    // the caller guarantees that `op` stays in place meanwhile.
    virtual bool known_complete(const operation &op) const noexcept { return path_of(op) == completion_path::done; }

    // True if a continuation may run where MPI reports a point-to-point operation complete without error, in the middle
    // of let_mpi_progress(), and start others there.
    virtual bool runs_in_completion() const noexcept { return false; }

    // Asks MPI to cancel. The caller guarantees that `op` stays in place meanwhile; it may be complete already.
    virtual void cancel(operation &op) noexcept = 0;

    // True if is_persistent() of push.hpp knows of each request whether it is persistent.
    virtual bool detects_persistent() const noexcept = 0;

    // At MPI_Finalize: nothing of ours may be reachable from MPI afterwards.
    virtual void abandon(operation &op) noexcept = 0;

    // Completions that were found by a search because the push was lost in a race that MPI's own code leaves open.
    virtual unsigned long long recovered() const noexcept { return 0; }
    unsigned long long polls() const noexcept { return polled_.polls(); }

    // Persistent requests that operations wait for: the user's own calls on them go through this set.
    polled_set &shared_requests() noexcept { return polled_; }
    const polled_set &shared_requests() const noexcept { return polled_; }

protected:
    // Operations that are found by looking, on every engine: persistent ones, and those that cannot be pushed.
    polled_set polled_;
};

using completion_sink = void (*)(operation &);

// Where completions go: one operation at a time, or, from MPI's own completion path, as the data of a pushed request
// (see push.hpp; null where no engine pushes).
struct sinks {
    completion_sink complete = nullptr;
    push_callback pushed = nullptr;
    bool results_wanted = false; // see polled_set
};

// The engine in use; null before choose().
extern THENCE_HIDDEN engine *current;

// Selects the engine: THENCE_ENGINE if set, else the best that works here. Called once, MPI being initialized.
// On a THENCE_ENGINE that does not work here the next best is taken and why() says so.
engine &choose(const sinks &to);

// Forgets the choice, so that a test can choose again. Nothing may be outstanding.
void reset() noexcept;

// Each constructor proves that its engine works on this MPI, or returns null and says why not.
engine *make_testsome(const sinks &to, const char *why);
engine *make_openmpi(const sinks &to, const char **reason); // Open MPI only
engine *make_mpich(const sinks &to, const char **reason);

} // namespace thence::engine
