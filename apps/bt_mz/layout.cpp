// SPDX-License-Identifier: BSD-3-Clause
// After the NAS Parallel Benchmarks 3.3 (NASA Ames): the rule for the ends of the zones.
#include "layout.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <utility>

namespace bt_mz {
namespace {

// The widths of `zones` zones in a direction of `cells` cells; the last is `ratio` times as wide as the first.
std::vector<int> widths(int cells, int zones, double ratio) {
    const double growth = std::exp(std::log(ratio) / (zones - 1));
    const double first = cells * (growth - 1) / (std::pow(growth, zones) - 1);
    std::vector<int> out;
    int begin = 0;
    for (int i = 1; i <= zones; ++i) {
        const int end = static_cast<int>(first * (std::pow(growth, i) - 1) / (growth - 1) + 0.45);
        out.push_back(end - begin);
        begin = end;
    }
    return out;
}

} // namespace

std::vector<ZoneShape> make_zones(const Problem &p) {
    const std::vector<int> x = widths(p.cells_x, p.zones_x, p.size_ratio);
    const std::vector<int> y = widths(p.cells_y, p.zones_y, p.size_ratio);
    std::vector<ZoneShape> zones;
    for (int row = 0; row < p.zones_y; ++row) {
        for (int column = 0; column < p.zones_x; ++column) {
            const auto number = [&](int c, int r) {
                return (r + p.zones_y) % p.zones_y * p.zones_x + (c + p.zones_x) % p.zones_x;
            };
            ZoneShape z{
                number(column, row), column, row, x[static_cast<std::size_t>(column)], y[static_cast<std::size_t>(row)],
                p.cells_z,           {}};
            z.neighbour[west] = number(column - 1, row);
            z.neighbour[east] = number(column + 1, row);
            z.neighbour[south] = number(column, row - 1);
            z.neighbour[north] = number(column, row + 1);
            zones.push_back(z);
        }
    }
    return zones;
}

std::vector<int> distribute(const std::vector<ZoneShape> &zones, int ranks) {
    std::vector<std::size_t> order(zones.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return zones[a].cells() > zones[b].cells(); });
    using Load = std::pair<long, int>; // cells and rank; of equal loads the first rank's is the least
    std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
    for (int r = 0; r < ranks; ++r) {
        loads.emplace(0, r);
    }
    std::vector<int> owner(zones.size());
    for (const std::size_t z : order) {
        const auto [cells, rank] = loads.top();
        loads.pop();
        owner[z] = rank;
        loads.emplace(cells + zones[z].cells(), rank);
    }
    return owner;
}

} // namespace bt_mz
