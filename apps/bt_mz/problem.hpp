// SPDX-License-Identifier: BSD-3-Clause
// The classes of BT-MZ: mesh, zones, time step, number of steps and the values that verify a run. After the NAS
// Parallel Benchmarks 3.3 (NASA Ames); see README.md.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace bt_mz {

constexpr int components = 5; // density, momentum in x, y and z, energy

using Norms = std::array<double, components>;

struct Problem {
    char name; // the class
    int cells_x, cells_y, cells_z;
    int zones_x, zones_y;
    int steps;
    double dt;
    double size_ratio; // of the widest zone and the narrowest, in x and in y
    Norms residual, error;

    int zones() const { return zones_x * zones_y; }
};

// All classes, the smallest first.
std::span<const Problem> problems();
// Null if there is no such class.
const Problem *find_problem(std::string_view name);

} // namespace bt_mz
