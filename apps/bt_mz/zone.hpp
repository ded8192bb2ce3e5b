// SPDX-License-Identifier: BSD-3-Clause
// One zone: its cells and the steps of the method on them. A time step is derive(), then right_side() and the solves
// along x and y, then the solve along z and add(). Each function works on a range of planes (z) or rows (y), so that
// threads can share a zone:
//   derive(k)                                       any order
//   right_side(k), then solve_x(k), solve_y(k)      after derive() of all planes
//   solve_z(j), then add(j)                         after solve_y() of all planes
// After the NAS Parallel Benchmarks 3.3 (NASA Ames); see README.md.
#pragma once

#include "constants.hpp"
#include "layout.hpp"

#include <cstddef>
#include <vector>

namespace bt_mz {

class Zone {
public:
    // Without values there is no memory for cells, and only `shape` may be used.
    Zone(const ZoneShape &shape, const Constants &constants, bool values = true);

    const ZoneShape shape;
    bool has_values() const { return !u.empty(); }

    static double bytes(const ZoneShape &of) {
        return static_cast<double>(of.cells()) * (sizeof(double) * 3 * components + sizeof(Derived));
    }

    // Sets the solution to its start: interpolated between the exact values on the faces.
    void initialize();

    // Ranges of planes k and of rows j, without the end. Planes of derive() are 0 to nz - 1, all others are inner ones:
    // 1 to n - 2.
    void derive(int begin, int end);
    void right_side(int begin, int end);
    void solve_x(int begin, int end);
    void solve_y(int begin, int end);
    void solve_z(int begin, int end);
    void add(int begin, int end);

    // Copies the inner cells beside a side to `face`, and the cells of a side from it: 5 face_cells() doubles.
    void copy_out(Side side, double *face) const;
    void copy_in(Side side, const double *face);

    // Root mean squares over the zone of the difference to the exact solution, and of the residual. The latter computes
    // the right side anew.
    Norms error_norms() const;
    Norms residual_norms();

private:
    // What is computed from the solution in a cell.
    struct Derived {
        double rho_inverse;
        double velocity[3];
        double energy;   // kinetic, of the volume: half of momentum times velocity
        double specific; // the same divided by the density
    };

    std::size_t cell(int i, int j, int k) const {
        return (static_cast<std::size_t>(k) * static_cast<std::size_t>(shape.ny) + static_cast<std::size_t>(j)) *
                   static_cast<std::size_t>(shape.nx) +
               static_cast<std::size_t>(i);
    }
    int length(int direction) const { return direction == 0 ? shape.nx : direction == 1 ? shape.ny : shape.nz; }
    // Distance of neighbours along a direction, in cells.
    std::ptrdiff_t stride(int direction) const {
        return direction == 0 ? 1 : direction == 1 ? shape.nx : static_cast<std::ptrdiff_t>(shape.nx) * shape.ny;
    }
    double *solution(std::size_t c) { return u.data() + components * c; }
    const double *solution(std::size_t c) const { return u.data() + components * c; }
    double *right(std::size_t c) { return rhs.data() + components * c; }

    void make_forcing();
    // Adds the differences of fluxes along direction D, and the dissipation, for one row of cells.
    template <int D> void add_fluxes(int j, int k);
    void add_dissipation(int direction, int j, int k);
    // Solves along direction D the line that begins at cell `first`.
    template <int D> void solve_line(std::size_t first);
    void copy_face(Side side, bool beside, double *face, bool out);

    const Constants &constants;
    std::vector<double> u;       // the solution
    std::vector<double> rhs;     // right side, then the change of the solution
    std::vector<double> forcing; // makes the exact solution a steady state
    std::vector<Derived> derived;
};

} // namespace bt_mz
