// SPDX-License-Identifier: BSD-3-Clause
// Callbacks: each plate has one continuation outstanding, for the messages that its next step needs. It computes the
// step, sends what it made, and attaches the next continuation. Whichever plate has its messages is computed next.
#include "variants.hpp"

#include "common/check.hpp"

#include <deque>
#include <thence/backoff.h>
#include <thence/thence.h>

namespace plates {
namespace {

using apps::check;

class Callbacks {
public:
    explicit Callbacks(Run &r) : run(r), chains(r.plates.size()) {
        backoff.spins = 2000; // a message usually comes sooner, and a pause would delay the step
        check(thence_cr_create(0, -1, MPI_INFO_NULL, &cr));
        for (std::size_t p = 0; p < chains.size(); ++p) {
            chains[p].all = this;
            chains[p].plate = run.plates[p].get();
            chains[p].sends.assign(2 * static_cast<std::size_t>(chains[p].plate->pieces()), MPI_REQUEST_NULL);
        }
    }
    ~Callbacks() { check(thence_free(&cr)); }
    Callbacks(const Callbacks &) = delete;
    Callbacks &operator=(const Callbacks &) = delete;

    void solve() {
        for (Chain &chain : chains) {
            begin(chain);
        }
        while (!ready.empty() || pending > 0) {
            if (pending > 0) {
                poll(); // a plate whose messages have arrived goes first: another rank waits for what it makes
            }
            if (ready.empty()) {
                continue;
            }
            Chain &chain = *ready.front();
            ready.pop_front();
            advance(chain);
        }
        for (Chain &chain : chains) {
            run.record(Activity::wait, [&] {
                MPI_Waitall(static_cast<int>(chain.sends.size()), chain.sends.data(), MPI_STATUSES_IGNORE);
            });
        }
    }

private:
    // Pauses after many polls that find nothing: other programs may want the processor.
    void poll() {
        long ran = 0;
        run.record(Activity::poll, [&] { check(thence_progress_some(&ran)); });
        if (ran > 0 || !ready.empty()) {
            thence_backoff_found(&backoff);
        } else {
            thence_backoff_pause(&backoff);
        }
    }

    struct Chain {
        Callbacks *all;
        Plate *plate;
        std::vector<MPI_Request> sends; // two for each piece
    };

    // Begins the receives that the next step needs. The step may be computed when they are complete.
    void begin(Chain &chain) {
        Plate &plate = *chain.plate;
        MPI_Request receives[2];
        int count = 0, complete = 1;
        for (const Plate::Side side : {Plate::above, Plate::below}) {
            if (const Plate::Piece piece = plate.needed(plate.step(), side); piece.count > 0) {
                receives[count++] = run.receive(piece);
            }
        }
        if (count > 0) {
            run.record(Activity::start, [&] {
                check(thence_attach(count, receives, arrived, &chain, 0, MPI_STATUSES_IGNORE, cr, &complete));
            });
        }
        if (complete != 0) {
            ready.push_back(&chain);
        } else {
            ++pending;
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
        Plate &plate = *chain.plate;
        const int step = plate.step();
        MPI_Request *sends = &chain.sends[2 * static_cast<std::size_t>(step % plate.pieces())];
        run.record(Activity::wait, [&] { MPI_Waitall(2, sends, MPI_STATUSES_IGNORE); });
        run.compute(plate);
        sends[0] = run.send(plate.made(step, Plate::above));
        sends[1] = run.send(plate.made(step, Plate::below));
        if (!plate.done()) {
            begin(chain);
        }
    }

    Run &run;
    std::vector<Chain> chains;
    MPI_Request cr = MPI_REQUEST_NULL;
    thence_backoff backoff = THENCE_BACKOFF_INIT;
    std::deque<Chain *> ready; // their messages were complete when they were attached
    int pending = 0;           // continuations
};

} // namespace

void solve_callbacks(Run &run) {
    Callbacks(run).solve();
}

} // namespace plates
