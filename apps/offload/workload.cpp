// SPDX-License-Identifier: BSD-3-Clause
#include "workload.hpp"

#include "common/imbalance.hpp"

#include <algorithm>
#include <cstring>

namespace offload {
namespace {

constexpr std::uint64_t multiplier = 6364136223846793005ULL, increment = 1442695040888963407ULL;

// `rounds` steps of the generator at once: s -> first s + second.
std::pair<std::uint64_t, std::uint64_t> jump(std::uint64_t rounds) {
    std::uint64_t a = 1, c = 0, power_a = multiplier, power_c = increment;
    for (; rounds != 0; rounds >>= 1) {
        if ((rounds & 1) != 0) {
            a *= power_a, c = c * power_a + power_c;
        }
        power_c *= power_a + 1;
        power_a *= power_a;
    }
    return {a, c};
}

void compute(std::uint64_t *values, std::size_t count, int rounds) {
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < count; ++i) {
            values[i] = values[i] * multiplier + increment;
        }
    }
}

} // namespace

void CellTask::run(const metadata &m, std::span<const std::byte> input,
                   const std::array<std::span<std::byte>, 3> &results) noexcept {
    const apps::Dearer dearer(slowness);
    const auto count = static_cast<std::size_t>(m.values);
    std::memcpy(results[0].data(), input.data(), input.size());
    auto *values = reinterpret_cast<std::uint64_t *>(results[0].data());
    compute(values, count, m.rounds);
    for (std::size_t i = 0; i < count / 8; ++i) {
        std::memcpy(results[1].data() + i * sizeof values[0], &values[8 * i], sizeof values[0]);
        std::memcpy(results[2].data() + i * sizeof values[0], &values[8 * i + 7], sizeof values[0]);
    }
}

Cells::Cells(const Settings &chosen, int own_rank, int all_ranks, double rounds_per_second)
    : settings(chosen), rank(own_rank), ranks(all_ranks),
      rounds(std::max(1, static_cast<int>(rounds_per_second * chosen.task_seconds))), cells(index(chosen.cells)) {
    for (std::size_t c = 0; c < cells.size(); ++c) {
        cells[c].now.resize(settings.values), cells[c].next.resize(settings.values);
        cells[c].left.resize(settings.values / 8), cells[c].right.resize(settings.values / 8);
        for (std::size_t i = 0; i < settings.values; ++i) {
            cells[c].now[i] = (static_cast<std::uint64_t>(rank) << 40) + (c << 20) + i;
        }
    }
}

CellTask::metadata Cells::metadata(int step, int cell) const {
    const Unevenness &uneven = settings.uneven;
    const double factor = uneven.slow_rank ? 1 : uneven.factor_of(rank, step, ranks);
    return {step, cell, static_cast<int>(factor * rounds), static_cast<int>(settings.values)};
}

std::string Cells::advance(int step) {
    for (int c = 0; c < settings.cells; ++c) {
        Cell &cell = cells[index(c)];
        const auto [a, b] = jump(static_cast<std::uint64_t>(metadata(step, c).rounds));
        for (std::size_t i = 0; i < settings.values; ++i) {
            const std::uint64_t expected = cell.now[i] * a + b;
            const bool face = i / 8 < cell.left.size();
            if (cell.next[i] != expected || (face && i % 8 == 0 && cell.left[i / 8] != expected) ||
                (face && i % 8 == 7 && cell.right[i / 8] != expected)) {
                return "step " + std::to_string(step) + ", cell " + std::to_string(c) + ", value " + std::to_string(i);
            }
        }
        std::swap(cell.now, cell.next);
        std::fill(cell.next.begin(), cell.next.end(), 0);
    }
    return {};
}

double measure_rounds(std::size_t values) {
    std::vector<std::uint64_t> some(values, 1);
    double best = 0;
    for (int i = 0; i < 5; ++i) {
        const long begin = apps::processor_time();
        int rounds = 0;
        long spent = 0;
        do {
            compute(some.data(), values, 16);
            rounds += 16;
            spent = apps::processor_time() - begin;
        } while (spent < 4'000'000);
        best = std::max(best, rounds / (static_cast<double>(spent) * 1e-9));
    }
    return best;
}

} // namespace offload
