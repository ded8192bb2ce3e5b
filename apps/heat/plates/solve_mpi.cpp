// SPDX-License-Identifier: BSD-3-Clause
// Plain MPI. `forkjoin` exchanges whole rows, as a program does that computes with all threads between two exchanges.
// `mpi` is tuned by hand: every operation is started as soon as its buffer is free and waited for when its data is
// needed; the order of the plates is fixed.
#include "variants.hpp"

#include <algorithm>

namespace plates {
namespace {

constexpr Plate::Side sides[] = {Plate::above, Plate::below};

} // namespace

void solve_forkjoin(Run &run) {
    struct Rows { // of one plate
        MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    };
    std::vector<Rows> rows(run.plates.size());
    const auto receive = [&](int t, std::size_t p) {
        for (const Plate::Side side : sides) {
            rows[p].requests[side] = run.receive(run.plates[p]->needed_row(t, side));
        }
    };
    for (std::size_t p = 0; p < rows.size(); ++p) {
        receive(0, p);
    }
    for (int t = 0; t < run.iterations; ++t) {
        for (std::size_t p = 0; p < rows.size(); ++p) {
            run.record(Activity::wait, [&] { MPI_Waitall(4, rows[p].requests, MPI_STATUSES_IGNORE); });
            for (int k = 0; k < run.plates[p]->pieces(); ++k) {
                run.compute(*run.plates[p]);
            }
            for (const Plate::Side side : sides) {
                rows[p].requests[2 + side] = run.send(run.plates[p]->made_row(t, side));
            }
            if (t + 1 < run.iterations) {
                receive(t + 1, p);
            }
        }
    }
    for (Rows &r : rows) {
        run.record(Activity::wait, [&] { MPI_Waitall(4, r.requests, MPI_STATUSES_IGNORE); });
    }
}

void solve_mpi(Run &run) {
    const std::size_t count = run.plates.size();
    const int pieces = run.plates[0]->pieces(), steps = run.plates[0]->steps();
    struct Column { // of one plate: what its next step waits for
        MPI_Request requests[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    };
    std::vector<Column> columns(count * static_cast<std::size_t>(pieces));
    const auto column = [&](int s, std::size_t p) -> Column & {
        return columns[static_cast<std::size_t>(s % pieces) * count + p];
    };
    const auto receive = [&](int s, std::size_t p) {
        for (const Plate::Side side : sides) {
            column(s, p).requests[side] = run.receive(run.plates[p]->needed(s, side));
        }
    };
    for (int s = 0; s < pieces; ++s) {
        for (std::size_t p = 0; p < count; ++p) {
            receive(s, p);
        }
    }
    for (int s = 0; s < steps; ++s) {
        for (std::size_t p = 0; p < count; ++p) {
            run.record(Activity::wait, [&] { MPI_Waitall(4, column(s, p).requests, MPI_STATUSES_IGNORE); });
            run.compute(*run.plates[p]);
            for (const Plate::Side side : sides) {
                column(s, p).requests[2 + side] = run.send(run.plates[p]->made(s, side));
            }
            if (s + pieces < steps) {
                receive(s + pieces, p);
            }
        }
    }
    for (Column &c : columns) {
        run.record(Activity::wait, [&] { MPI_Waitall(4, c.requests, MPI_STATUSES_IGNORE); });
    }
}

} // namespace plates
