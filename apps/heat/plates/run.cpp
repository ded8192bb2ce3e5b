// SPDX-License-Identifier: BSD-3-Clause
// What is recorded for a timeline. Invariant: when a step of a column begins, all messages of that column are complete:
// those that the step needs, and those that were made by the last step of the column.
#include "run.hpp"

namespace plates {

void Run::compute_recorded(Plate &plate) {
    const int step = plate.step(), column = plate.column(step);
    if (static_cast<std::size_t>(column) < flying.size()) {
        complete(flying[static_cast<std::size_t>(column)]);
    }
    const apps::Timed timed(*recorder, Activity::compute, step / plate.pieces(), plate.index(), step % plate.pieces());
    plate.compute();
}

void Run::add_flying(const Plate::Piece &p, bool sent) {
    const auto column = static_cast<std::size_t>(p.column);
    if (column >= flying.size()) {
        flying.resize(column + 1);
    }
    flying[column].push_back({apps::now(), 0, p.iteration, p.column, p.peer, p.count, recorder->lane().index,
                              static_cast<std::uint8_t>(p.goes_down() ? 1 : 0), sent});
}

void Run::complete(std::vector<apps::Message> &messages) {
    const apps::Nanoseconds time = apps::now();
    for (apps::Message &m : messages) {
        m.complete = time;
        recorder->add(m);
    }
    messages.clear();
}

void Run::end_messages() {
    for (auto &messages : flying) {
        complete(messages);
    }
}

} // namespace plates
