// SPDX-License-Identifier: BSD-3-Clause
// The description of one plate, read from a text of `key = value` lines. Invariant: a Config that parse_config()
// returns is complete and in range. On any error it throws a ConfigError that names file, line and remedy.
#pragma once

#include "common/input_error.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heat {

// A disc that keeps its temperature. Position and radius are fractions of the plate: x and radius of its width, y of
// its height, so that a plate of another size shows the same picture.
struct Source {
    double x = 0, y = 0, radius = 0, temperature = 0;
};

struct Config {
    int rows = 512;
    int cols = 512;
    int iterations = 100;
    int block = 128; // why: docs/guide/app-heat.md, "Blocks"
    double initial = 0;
    double top = 0, bottom = 0, left = 0, right = 0; // temperatures of the border
    std::vector<Source> sources;
    std::string picture; // file name as written, relative to the configuration file; empty: none
    double black = 0;    // temperature of a black pixel
    double white = 100;  // temperature of a white one
};

// All ranks throw it alike, since they parse the same bytes.
class ConfigError : public apps::InputError {
public:
    using InputError::InputError;
};

// Reads `text`; `name` is the file name that errors show. Throws ConfigError.
Config parse_config(std::string_view text, std::string_view name);

// Checks the values that can also come from the command line; `where` is what the error starts with.
void check_config(const Config &config, std::string_view where);

// `512 x 1024`, `512x1024` or `512` (a square): rows and columns. Nothing if `text` is no size.
struct Size {
    int rows, cols;
};
std::optional<Size> parse_size(std::string_view text);

} // namespace heat
