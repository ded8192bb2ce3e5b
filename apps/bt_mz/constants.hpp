// SPDX-License-Identifier: BSD-3-Clause
// The coefficients of the discrete Navier-Stokes equations. After the NAS Parallel Benchmarks 3.3 (NASA Ames). The mesh
// width is that of a zone of average size, in all zones.
#pragma once

#include "problem.hpp"

namespace bt_mz {

// Of the gas: ratio of specific heats and combinations of it with viscosity and heat conduction.
constexpr double c1 = 1.4, c2 = 0.4, c3c4 = 0.1, c1c5 = 1.96;
constexpr double c1345 = c1c5 * c3c4;
constexpr double con43 = 4.0 / 3.0;
constexpr double con16 = 1.0 / 6.0;

// Of one direction.
struct Direction {
    double width;     // of the mesh
    double t1, t2;    // 1 / width^2 and 1 / (2 width)
    double diffusion; // second-order artificial diffusion, without 1 / width^2
    double viscous;   // viscosity / width^2; that of the component along the direction has the factor 4/3 besides

    Direction(double mesh_width, double d)
        : width(mesh_width), t1(1 / (width * width)), t2(1 / (2 * width)), diffusion(d), viscous(c3c4 * t1) {}
};

struct Constants {
    double dt;
    Direction direction[3];
    double fourth_order = 0.25; // artificial dissipation

    Constants(const Problem &p, double time_step)
        : dt(time_step), direction{{1.0 / (static_cast<double>(p.cells_x - 1) / p.zones_x), 0.75},
                                   {1.0 / (static_cast<double>(p.cells_y - 1) / p.zones_y), 0.75},
                                   {1.0 / (p.cells_z - 1), 1.0}} {}
};

} // namespace bt_mz
