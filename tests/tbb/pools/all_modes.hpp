// SPDX-License-Identifier: BSD-3-Clause
// Every mode of the pools, as parameters of tests, and pools that all tests share.
#pragma once

#include "mpi_fixture.hpp"

#include <thence/pools.hpp>

#include <string>
#include <vector>

namespace ex = thence::ex;

inline std::vector<thence::completion_mode> all_modes() {
    std::vector<thence::completion_mode> modes;
    for (int method = 0; method < 5; ++method) {
        for (unsigned flags = 0; flags < 32; ++flags) {
            modes.push_back({.method = static_cast<thence::completion_method>(method),
                             .mpi_pool = (flags & 1) != 0,
                             .inline_request = (flags & 2) != 0,
                             .inline_completion = (flags & 4) != 0,
                             .high_priority = (flags & 8) != 0,
                             .bypass = (flags & 16) != 0});
        }
    }
    return modes;
}

inline std::string name_of(const testing::TestParamInfo<thence::completion_mode> &info) {
    std::string name = to_string(info.param);
    for (char &c : name) {
        if (c == '-' || c == ',') {
            c = '_';
        }
    }
    return name;
}

// Pools with one worker, constructed once and never destroyed.
inline thence::pools &shared_pools() {
    static auto *pools = new thence::pools({.workers = 1});
    return *pools;
}
