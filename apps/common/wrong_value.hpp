// SPDX-License-Identifier: BSD-3-Clause
// What every application says of a wrong value: its name and place, what was found, what was expected, and how far off
// it is, in 17 digits, which tell all doubles apart.
#pragma once

#include <bit>
#include <cstdint>
#include <cstdio>
#include <string>

namespace apps {

// With this comparison 0 and -0 differ, and a value that is no number is the same as itself.
inline bool same_bits(double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// `what`: name and place, such as "plate 1, row 2, column 3".
inline std::string wrong_value(const std::string &what, double found, double expected) {
    char numbers[128];
    std::snprintf(numbers, sizeof numbers, ": found %.17g, expected %.17g, difference %.17g", found, expected,
                  found - expected);
    return what + numbers;
}

} // namespace apps
