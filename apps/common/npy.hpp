// SPDX-License-Identifier: BSD-3-Clause
// Two-dimensional arrays in NumPy's format: version 1.0, little-endian doubles, row by row. The library for it in
// Debian, xtensor (libxtensor-dev), is not used: its load_npy() does not notice that a file ends too early, so the
// checks below would stay, and it takes five times as long to compile.
#pragma once

#include <string>
#include <vector>

namespace apps {

// An array of doubles, row by row.
struct Array2 {
    int rows = 0, cols = 0;
    std::vector<double> cells;
};

// Both throw std::runtime_error with the name of the file and the reason.
void write_npy(const Array2 &array, const std::string &file);
Array2 read_npy(const std::string &file);

} // namespace apps
