// SPDX-License-Identifier: BSD-3-Clause
// What all variants do alike: compute a part of a zone, copy faces, start messages.
#include "run.hpp"

#include "common/simulated.hpp"

#include <algorithm>

namespace bt_mz {

using apps::Activity;
using apps::Message;
using apps::now;

void Run::compute(LocalZone &z, Part part, int step, int begin, int end) {
    const Nanoseconds start = now();
    {
        const apps::Dearer dearer(apps::simulated ? 1 : z.factor);
        switch (part) {
        case Part::derive:
            z.zone.derive(begin, end);
            break;
        case Part::planes:
            z.zone.right_side(begin, end);
            z.zone.solve_x(begin, end);
            z.zone.solve_y(begin, end);
            break;
        case Part::rows:
            z.zone.solve_z(begin, end);
            z.zone.add(begin, end);
            break;
        }
    }
    const Nanoseconds stop = now();
    z.compute.fetch_add(stop - start, std::memory_order_relaxed);
    recorder.add(Activity::compute, start, stop, step, z.shape().row, z.shape().column);
}

void Run::compute(LocalZone &z, int step) {
    if (z.zone.has_values()) {
        for (const Part part : parts) {
            compute(z, part, step, first(part), last(part, z));
        }
    }
    apps::inject(cell_cost * z.factor * static_cast<double>(z.shape().cells()));
}

void Run::copy_out(LocalZone &z, int t) {
    for (int s = 0; s < sides && z.zone.has_values(); ++s) {
        z.zone.copy_out(static_cast<Side>(s), z.out[t % 2][s].data());
    }
}

void Run::copy_in(LocalZone &z, int t) {
    for (Message &m : z.flying[t % 2]) {
        m.complete = now();
        recorder.add(m);
    }
    z.flying[t % 2].clear();
    for (int s = 0; s < sides && z.zone.has_values(); ++s) {
        const auto side = static_cast<Side>(s);
        z.zone.copy_in(side,
                       z.local[s] != nullptr ? z.local[s]->out[t % 2][opposite(side)].data() : z.in[t % 2][s].data());
    }
}

// Tag and record name the zone that receives and its side. Messages of a tag are started in the order of the exchanges,
// and MPI does not let them overtake.
int Run::start_messages(LocalZone &z, int t, MPI_Request requests[2 * sides]) {
    const apps::Timed timed(recorder, Activity::start, t, z.shape().row, z.shape().column);
    int count = 0;
    const auto started = [&](int peer, std::size_t doubles, int receiver, int side, bool sent) {
        z.flying[t % 2].push_back({now(), 0, t, receiver, peer, static_cast<int>(doubles) / components,
                                   recorder.lane().index, static_cast<std::uint8_t>(side), sent});
    };
    for (int s = 0; s < sides; ++s) {
        if (z.local[s] != nullptr) {
            continue;
        }
        const auto side = static_cast<Side>(s);
        const int neighbour = z.shape().neighbour[s], peer = owner[static_cast<std::size_t>(neighbour)];
        std::vector<double> &in = z.in[t % 2][s], &out = z.out[t % 2][s];
        started(peer, in.size(), z.shape().number, s, false);
        MPI_Irecv(in.data(), static_cast<int>(in.size()), MPI_DOUBLE, peer, sides * z.shape().number + s, comm,
                  &requests[count++]);
        started(peer, out.size(), neighbour, opposite(side), true);
        MPI_Isend(out.data(), static_cast<int>(out.size()), MPI_DOUBLE, peer, sides * neighbour + opposite(side), comm,
                  &requests[count++]);
    }
    return count;
}

std::vector<std::unique_ptr<LocalZone>> make_local_zones(const std::vector<ZoneShape> &shapes,
                                                         const std::vector<int> &owner, int rank,
                                                         const Constants &constants, bool values) {
    std::vector<std::unique_ptr<LocalZone>> zones;
    std::vector<LocalZone *> by_number(shapes.size(), nullptr); // null: of another rank
    for (const ZoneShape &shape : shapes) {
        const auto number = static_cast<std::size_t>(shape.number);
        if (owner[number] != rank) {
            continue;
        }
        zones.push_back(std::make_unique<LocalZone>(shape, constants, values));
        by_number[number] = zones.back().get();
    }
    for (auto &z : zones) {
        for (int s = 0; s < sides; ++s) {
            z->local[s] = by_number[static_cast<std::size_t>(z->shape().neighbour[s])];
            z->has_remote |= z->local[s] == nullptr;
            const auto doubles = components * static_cast<std::size_t>(z->shape().face_cells(static_cast<Side>(s)));
            for (int b = 0; b < 2; ++b) {
                z->out[b][s].resize(doubles);
                z->in[b][s].resize(z->local[s] == nullptr ? doubles : 0);
            }
        }
    }
    std::stable_sort(zones.begin(), zones.end(), [](const auto &a, const auto &b) {
        return a->has_remote != b->has_remote ? a->has_remote : a->shape().cells() > b->shape().cells();
    });
    for (std::size_t i = 0; i < zones.size(); ++i) {
        zones[i]->index = static_cast<int>(i);
    }
    return zones;
}

void warm_up(const Run &run, void (*solve)(Run &)) {
    apps::Recorder recorder(0);
    apps::ProgressBar bar(false, "", 1);
    Run one{run.problem, run.shapes,  run.owner, run.zones, run.comm, run.rank,
            run.ranks,   run.threads, 1,         recorder,  bar};
    solve(one);
    for (auto &z : run.zones) {
        if (z->zone.has_values()) {
            z->zone.initialize();
        }
        z->compute = 0;
    }
}

} // namespace bt_mz
