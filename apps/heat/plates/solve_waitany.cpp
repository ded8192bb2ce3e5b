// SPDX-License-Identifier: BSD-3-Clause
// Plain MPI in an order that follows the messages: whichever plate has its messages is computed next. Two requests of
// each plate are in one list, the receives for its next step, and MPI_Waitany tells which of them is complete. So the
// difference between `mpi` and `waitany` is the order of work alone.
#include "variants.hpp"

#include <array>
#include <deque>

namespace plates {
namespace {

constexpr Plate::Side sides[] = {Plate::above, Plate::below};

class Waitany {
public:
    explicit Waitany(Run &r) : run(r), receives(2 * r.plates.size(), MPI_REQUEST_NULL), sends(r.plates.size()) {
        for (auto &of_plate : sends) {
            of_plate.resize(static_cast<std::size_t>(run.plates[0]->pieces()), {MPI_REQUEST_NULL, MPI_REQUEST_NULL});
        }
    }

    void solve() {
        for (std::size_t p = 0; p < run.plates.size(); ++p) {
            begin(p);
        }
        for (;;) {
            const int count = static_cast<int>(receives.size());
            int which = MPI_UNDEFINED, found = 1;
            if (ready.empty()) {
                run.record(Activity::wait, [&] { MPI_Waitany(count, receives.data(), &which, MPI_STATUS_IGNORE); });
            } else { // a plate whose messages have arrived goes first: another rank waits for what it makes
                run.record(Activity::poll,
                           [&] { MPI_Testany(count, receives.data(), &which, &found, MPI_STATUS_IGNORE); });
            }
            if (found != 0 && which != MPI_UNDEFINED) {
                if (const auto p = static_cast<std::size_t>(which) / 2; arrived(p)) {
                    advance(p);
                }
            } else if (!ready.empty()) {
                const std::size_t p = ready.front();
                ready.pop_front();
                advance(p);
            } else {
                break; // no request is left
            }
        }
        for (auto &of_plate : sends) {
            for (auto &pair : of_plate) {
                run.record(Activity::wait, [&] { MPI_Waitall(2, pair.data(), MPI_STATUSES_IGNORE); });
            }
        }
    }

private:
    bool arrived(std::size_t p) const {
        return receives[2 * p] == MPI_REQUEST_NULL && receives[2 * p + 1] == MPI_REQUEST_NULL;
    }

    // Begins the receives that the next step of plate p needs.
    void begin(std::size_t p) {
        Plate &plate = *run.plates[p];
        for (const Plate::Side side : sides) {
            receives[2 * p + side] = run.receive(plate.needed(plate.step(), side));
        }
        if (arrived(p)) { // it needs none
            ready.push_back(p);
        }
    }

    // Computes a step and sends what it made. The piece was sent an iteration ago, and both neighbours have received
    // it: otherwise they could not have sent what this step needs.
    void advance(std::size_t p) {
        Plate &plate = *run.plates[p];
        const int step = plate.step();
        auto &pair = sends[p][static_cast<std::size_t>(step % plate.pieces())];
        run.record(Activity::wait, [&] { MPI_Waitall(2, pair.data(), MPI_STATUSES_IGNORE); });
        run.compute(plate);
        for (const Plate::Side side : sides) {
            pair[side] = run.send(plate.made(step, side));
        }
        if (!plate.done()) {
            begin(p);
        }
    }

    Run &run;
    std::vector<MPI_Request> receives;                          // two of each plate
    std::vector<std::vector<std::array<MPI_Request, 2>>> sends; // of each plate and piece
    std::deque<std::size_t> ready;                              // plates whose next step needs no message
};

} // namespace

void solve_waitany(Run &run) {
    Waitany(run).solve();
}

} // namespace plates
