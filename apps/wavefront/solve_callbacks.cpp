// SPDX-License-Identifier: BSD-3-Clause
// Callbacks: the continuation of a receive computes the step, sends what it made, and begins the next receive.
// Whichever grid's message arrives is computed next. Nothing blocks: a step whose buffer is still being sent waits for
// that in its continuation, too.
#include "variants.hpp"

#include "common/check.hpp"

#include <thence/backoff.h>
#include <thence/thence.h>
#include <utility>

namespace wavefront {
namespace {

using apps::check;

class Callbacks {
public:
    explicit Callbacks(Run &r) : run(r), chains(r.grids.size()) {
        backoff.spins = 2000;
        check(thence_cr_create(0, -1, MPI_INFO_NULL, &cr));
        for (std::size_t g = 0; g < chains.size(); ++g) {
            chains[g].all = this;
            chains[g].grid = run.grids[g].get();
        }
    }
    ~Callbacks() { check(thence_free(&cr)); }
    Callbacks(const Callbacks &) = delete;
    Callbacks &operator=(const Callbacks &) = delete;

    void solve() {
        for (Chain &chain : chains) {
            begin(chain);
        }
        while (next != nullptr || pending > 0) {
            if (pending > 0) {
                poll(); // a grid whose message has arrived goes first: another rank waits for what it makes
            }
            if (Chain *chain = take_next()) {
                advance(*chain);
            }
        }
        for (Chain &chain : chains) {
            MPI_Waitall(2, chain.sends, MPI_STATUSES_IGNORE);
        }
    }

private:
    // Pauses after many polls that find nothing: other programs may want the processor.
    void poll() {
        long ran = 0;
        check(thence_progress_some(&ran));
        if (ran > 0 || next != nullptr) {
            thence_backoff_found(&backoff);
        } else {
            thence_backoff_pause(&backoff);
        }
    }

    struct Chain {
        Callbacks *all;
        Pipeline *grid;
        Chain *after = nullptr;
        MPI_Request sends[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}; // of the buffers of even and odd steps
    };

    // Begins the receive that the next step needs. The step may be computed once that is complete, and the send from
    // its buffer two steps before.
    void begin(Chain &chain) {
        const int step = chain.grid->step();
        MPI_Request awaited[2];
        int count = 0, complete = 1;
        if (const auto m = chain.grid->needed(step); m.count > 0) {
            MPI_Irecv(chain.grid->incoming(step), m.count, MPI_DOUBLE, m.peer, m.tag, run.comm, &awaited[count++]);
        }
        if (MPI_Request &send = chain.sends[step & 1]; send != MPI_REQUEST_NULL) {
            awaited[count++] = std::exchange(send, MPI_REQUEST_NULL);
        }
        if (count > 0) {
            check(thence_attach(count, awaited, arrived, &chain, 0, MPI_STATUSES_IGNORE, cr, &complete));
            pending += 1 - complete;
        }
        if (complete != 0) {
            add_next(chain);
        }
    }

    static int arrived(int error, MPI_Status *, void *data) {
        check(error);
        Chain &chain = *static_cast<Chain *>(data);
        --chain.all->pending;
        chain.all->advance(chain);
        return MPI_SUCCESS;
    }

    // Computes a step and sends what it made.
    void advance(Chain &chain) {
        Pipeline &grid = *chain.grid;
        const int step = grid.step();
        run.compute(grid);
        if (const auto m = grid.made(step); m.count > 0) {
            MPI_Request &send = chain.sends[step & 1];
            int complete = 0;
            MPI_Isend(grid.outgoing(step), m.count, MPI_DOUBLE, m.peer, m.tag, run.comm, &send);
            check(thence_take_complete(&send, &complete, MPI_STATUS_IGNORE));
        }
        if (!grid.done()) {
            begin(chain);
        }
    }

    // Steps that may be computed, the oldest first.
    void add_next(Chain &chain) {
        chain.after = nullptr;
        (next == nullptr ? next : newest->after) = &chain;
        newest = &chain;
    }
    Chain *take_next() {
        Chain *chain = next;
        if (chain != nullptr) {
            next = chain->after;
        }
        return chain;
    }

    Run &run;
    std::vector<Chain> chains;
    MPI_Request cr = MPI_REQUEST_NULL;
    thence_backoff backoff = THENCE_BACKOFF_INIT;
    Chain *next = nullptr, *newest = nullptr;
    int pending = 0; // continuations
};

} // namespace

void solve_callbacks(Run &run) {
    Callbacks(run).solve();
}

} // namespace wavefront
