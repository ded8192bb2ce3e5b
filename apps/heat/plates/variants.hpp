// SPDX-License-Identifier: BSD-3-Clause
// The variants of heat_plates. Each computes all steps of all plates on one thread; they differ in how they wait.
#pragma once

#include "plate.hpp"

#include "common/progress_bar.hpp"
#include "common/variant.hpp"

#include <memory>
#include <span>
#include <vector>

namespace plates {

struct Run {
    MPI_Comm comm;
    std::vector<std::unique_ptr<Plate>> plates;
    int iterations;
    apps::ProgressBar &bar;

    // Computes the next step of a plate.
    void compute(Plate &plate) {
        plate.compute();
        if (plate.index() == 0 && plate.step() % plate.pieces() == 0)
            bar.show(plate.step() / plate.pieces());
    }
    MPI_Request receive(const Plate::Piece &p) const {
        MPI_Request request = MPI_REQUEST_NULL;
        if (p.count > 0)
            MPI_Irecv(p.data, p.count, MPI_DOUBLE, p.peer, p.tag, comm, &request);
        return request;
    }
    MPI_Request send(const Plate::Piece &p) const {
        MPI_Request request = MPI_REQUEST_NULL;
        if (p.count > 0)
            MPI_Isend(p.data, p.count, MPI_DOUBLE, p.peer, p.tag, comm, &request);
        return request;
    }
};

void solve_forkjoin(Run &run);
void solve_mpi(Run &run);
void solve_waitany(Run &run);
void solve_callbacks(Run &run);
void solve_coroutine(Run &run);

struct Variant : apps::VariantInfo {
    void (*solve)(Run &);
};
std::span<const Variant> variants();

} // namespace plates
