// SPDX-License-Identifier: BSD-3-Clause
#include "plan.hpp"

#include <map>

namespace amr {
namespace {

using Lists = std::map<int, std::vector<Transfer>>; // by peer

std::vector<Parcel> parcels(const Settings &s, const Lists &lists, std::size_t &numbers) {
    std::vector<Parcel> all;
    numbers = 0;
    for (const auto &[peer, transfers] : lists) {
        int number = 0;
        for (std::size_t i = 0; i < transfers.size(); ++i) {
            if (i % static_cast<std::size_t>(s.faces) == 0) {
                all.push_back({peer, number++, numbers, 0, {}});
            }
            all.back().transfers.push_back(transfers[i]);
            const auto count = static_cast<std::size_t>(transfers[i].numbers(s));
            all.back().count += count;
            numbers += count;
        }
    }
    return all;
}

} // namespace

Plan::Plan(const Settings &s, const Mesh &mesh, int rank)
    : local(static_cast<std::size_t>(mesh.size())), walls(local.size()) {
    Lists to, from;
    for (int i = 0; i < mesh.size(); ++i) {
        const int owner = mesh.leaf(i).owner;
        if (owner == rank) {
            mine.push_back(i);
        }
        for (int face = 0; face < 6; ++face) {
            const std::vector<Neighbour> around = mesh.neighbours(i, face);
            if (around.empty() && owner == rank) {
                walls[static_cast<std::size_t>(i)].push_back(face);
            }
            for (const Neighbour &n : around) {
                const Transfer transfer{n.leaf, i, face, n.kind, n.quarter};
                const int source = mesh.leaf(n.leaf).owner;
                if (source == rank && owner == rank) {
                    local[static_cast<std::size_t>(i)].push_back(transfer);
                } else if (source == rank) {
                    to[owner].push_back(transfer);
                } else if (owner == rank) {
                    from[source].push_back(transfer);
                }
            }
        }
    }
    outgoing = parcels(s, to, send_numbers);
    incoming = parcels(s, from, receive_numbers);
}

} // namespace amr
