// SPDX-License-Identifier: BSD-3-Clause
// The work: cells as a solver of the ADER-DG kind has them. In each time step each cell is a task with an input and
// three results. The numbers are those of a linear congruential generator, so that each result can be checked exactly,
// without computing it again: s -> a s + c, `rounds` times, has a closed form.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace offload {

// What costs more: the cells of some ranks (wherever they are computed), or whatever these compute (slow ranks).
struct Unevenness {
    double factor = 1;
    bool slow_rank = false;
    std::vector<int> members = {};
    int every = 0; // after so many steps the rank behind each is the dear or slow one in its place; 0: never

    double factor_of(int of_rank, int step, int ranks) const {
        const int moved = every > 0 ? step / every : 0;
        const bool is_uneven =
            std::any_of(members.begin(), members.end(), [&](int each) { return (each + moved) % ranks == of_rank; });
        return is_uneven ? factor : 1;
    }
};

struct Settings {
    int cells = 40; // of each rank
    int steps = 100;
    double task_seconds = 1e-3;
    std::size_t values = 2048; // of the input of a cell, 8 bytes each
    Unevenness uneven;
};

struct CellTask {
    struct metadata {
        std::int32_t step, cell, rounds, values;
    };
    static std::size_t input_bytes(const metadata &m) {
        return static_cast<std::size_t>(m.values) * sizeof(std::uint64_t);
    }
    // The new values, and for both faces of the cell every eighth of them.
    static std::array<std::size_t, 3> result_bytes(const metadata &m) {
        const std::size_t whole = input_bytes(m),
                          face = (static_cast<std::size_t>(m.values) / 8) * sizeof(std::uint64_t);
        return {whole, face, face};
    }
    static void run(const metadata &m, std::span<const std::byte> input,
                    const std::array<std::span<std::byte>, 3> &results) noexcept;

    // How many times as long this process takes for a task.
    static inline std::atomic<double> slowness{1};
};

// The cells of this rank.
class Cells {
public:
    Cells(const Settings &settings, int rank, int ranks, double rounds_per_second);

    CellTask::metadata metadata(int step, int cell) const;
    std::span<const std::byte> input(int cell) const { return std::as_bytes(std::span(cells[index(cell)].now)); }
    std::array<std::span<std::byte>, 3> results(int cell) {
        Cell &c = cells[index(cell)];
        return {std::as_writable_bytes(std::span(c.next)), std::as_writable_bytes(std::span(c.left)),
                std::as_writable_bytes(std::span(c.right))};
    }
    // After all tasks of a step: checks the results and makes them the input of the next step. Returns an empty text,
    // or which value is wrong.
    std::string advance(int step);
    int count() const { return settings.cells; }

private:
    struct Cell {
        std::vector<std::uint64_t> now, next, left, right;
    };
    static std::size_t index(int cell) { return static_cast<std::size_t>(cell); }

    const Settings &settings;
    const int rank, ranks, rounds; // rounds of a task of factor 1
    std::vector<Cell> cells;
};

// How many rounds over that many values this process computes in a second.
double measure_rounds(std::size_t values);

} // namespace offload
