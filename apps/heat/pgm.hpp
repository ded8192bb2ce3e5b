// SPDX-License-Identifier: BSD-3-Clause
// Grey-scale pictures in the PGM format, plain (P2) and binary (P5, 8 and 16 bits).
#pragma once

#include "common/input_error.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heat {

struct Picture {
    int width = 0;
    int height = 0;
    std::vector<float> grey; // row by row from the top; 0 is black, 1 is white

    // Brightness at (x, y), which are fractions of the picture; linear interpolation between the centres of pixels.
    double at(double x, double y) const;
};

class PictureError : public apps::InputError {
public:
    using InputError::InputError;
};

// Reads the bytes of a PGM file; `name` is the file name that errors show. Throws PictureError.
Picture parse_pgm(std::string_view bytes, std::string_view name);

} // namespace heat
