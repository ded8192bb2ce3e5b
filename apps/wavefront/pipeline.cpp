// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline.hpp"

#include "common/imbalance.hpp"
#include "common/simulated.hpp"
#include "common/wrong_value.hpp"

#include <algorithm>

namespace wavefront {

Pipeline::Pipeline(const Settings &s, int n, int rank, int ranks)
    : settings(s), number(n), position(n % 2 == 0 ? rank : ranks - 1 - rank), last(ranks - 1),
      blocks((s.lines - 1 + s.per_message - 1) / s.per_message) {
    const int forward = n % 2 == 0 ? 1 : -1;
    before = position == 0 ? MPI_PROC_NULL : rank - forward;
    after = position == last ? MPI_PROC_NULL : rank + forward;
    first_rank = forward == 1 ? 0 : last;
    last_rank = forward == 1 ? last : 0;
    // Column 0 is given, the others are distributed.
    const int all = s.columns - 1;
    first_column = 1 + position * (all / ranks) + std::min(position, all % ranks);
    width = all / ranks + (position < all % ranks ? 1 : 0);
    cells.assign(static_cast<std::size_t>(s.lines) * static_cast<std::size_t>(width + 1), 0);
    for (int i = 0; i <= width; ++i) {
        at(0, i) = first_column - 1 + i;
    }
    if (position == 0) {
        for (int j = 0; j < s.lines; ++j) {
            at(j, 0) = j;
        }
    }
    for (auto *buffers : {in, out}) {
        for (int i = 0; i < 2; ++i) {
            buffers[i].resize(static_cast<std::size_t>(s.per_message));
        }
    }
}

int Pipeline::lines_of(int s) const {
    return std::min(settings.per_message, settings.lines - first_line(s));
}

// Tags: two for each grid, one for lines and one for the corner.
Pipeline::Message Pipeline::needed(int s) const {
    if (position > 0) {
        return {before, 2 * number, lines_of(s)};
    }
    const bool corner = last > 0 && s > 0 && s % blocks == 0;
    return corner ? Message{last_rank, 2 * number + 1, 1} : Message{MPI_PROC_NULL, 0, 0};
}

Pipeline::Message Pipeline::made(int s) const {
    if (position < last) {
        return {after, 2 * number, lines_of(s)};
    }
    const bool corner = last > 0 && s % blocks == blocks - 1 && s + 1 < steps();
    return corner ? Message{first_rank, 2 * number + 1, 1} : Message{MPI_PROC_NULL, 0, 0};
}

void Pipeline::compute() {
    const int s = current, begin = first_line(s), count = lines_of(s);
    const apps::Dearer imbalance(apps::simulated ? 1 : settings.factor);
    if (position > 0) {
        for (int k = 0; k < count; ++k) {
            at(begin + k, 0) = in[s & 1][static_cast<std::size_t>(k)];
        }
    } else if (s > 0 && s % blocks == 0) {
        at(0, 0) = -(last > 0 ? in[s & 1][0] : at(settings.lines - 1, width));
    }
    for (int j = begin; j < begin + count; ++j) {
        const double *above = &at(j - 1, 0);
        double *line = &at(j, 0);
        double left = line[0];
        for (int i = 1; i <= width; ++i) {
            line[i] = left = left + above[i] - above[i - 1];
        }
    }
    for (int k = 0; k < count; ++k) {
        out[s & 1][static_cast<std::size_t>(position < last ? k : 0)] = at(begin + k, width);
    }
    apps::inject(settings.factor * settings.cell_cost * static_cast<double>(cells_per_step(s)) +
                 (needed(s).count > 0 ? settings.message_cost : 0));
    ++current;
}

std::string Pipeline::check() const {
    const double offset = static_cast<double>(settings.iterations - 1) * (settings.columns + settings.lines - 2);
    for (int j = 1; j < settings.lines; ++j) {
        for (int i = 1; i <= width; ++i) {
            const double found = const_cast<Pipeline *>(this)->at(j, i), right = first_column - 1 + i + j + offset;
            if (!apps::same_bits(found, right)) {
                return apps::wrong_value("grid " + std::to_string(number) + ", line " + std::to_string(j) +
                                             ", column " + std::to_string(first_column - 1 + i),
                                         found, right);
            }
        }
    }
    return "";
}

} // namespace wavefront
