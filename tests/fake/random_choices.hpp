// SPDX-License-Identifier: BSD-3-Clause
// main() of programs whose tests make random choices: a failure is repeated with the seed that was printed.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <random>

namespace thence::fake {

inline unsigned seed = 0;

// Reads --seed=N and one more option, whose format is that of scanf and ends with the conversion of `value`. Without
// --seed the seed is random. Prints it and runs the tests.
template <class Value> int run_from_seed(int argc, char **argv, const char *format, Value &value, const char *usage) {
    ::testing::InitGoogleTest(&argc, argv);
    seed = std::random_device{}();
    for (int i = 1; i < argc; ++i) {
        if (std::sscanf(argv[i], format, &value) == 1 || std::sscanf(argv[i], "--seed=%u", &seed) == 1) {
            continue;
        }
        std::fputs(usage, stdout);
        return std::strcmp(argv[i], "--help") == 0 ? 0 : 1;
    }
    std::printf("seed %u\n", seed);
    std::fflush(stdout);
    return RUN_ALL_TESTS();
}

} // namespace thence::fake
