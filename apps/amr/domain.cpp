// SPDX-License-Identifier: BSD-3-Clause
#include "domain.hpp"

namespace amr {
namespace {

int rank_of(MPI_Comm comm) {
    int rank;
    MPI_Comm_rank(comm, &rank);
    return rank;
}
int size_of(MPI_Comm comm) {
    int size;
    MPI_Comm_size(comm, &size);
    return size;
}

} // namespace

struct Domain::Move {
    int from, to; // ranks
    int leaf, octant;
    std::size_t count;
    std::vector<double> cells; // only on these two ranks
};

Domain::Domain(const Settings &s, MPI_Comm comm)
    : set(s), communicator(comm), my_rank(rank_of(comm)), all_ranks(size_of(comm)), now(s, all_ranks) {
    blocks.resize(static_cast<std::size_t>(now.size()));
    for (int i = 0; i < now.size(); ++i) {
        if (now.leaf(i).owner == my_rank) {
            blocks[static_cast<std::size_t>(i)] = std::make_unique<Block>(set);
            block(i).fill(now.leaf(i));
        }
    }
    make_plan();
}

void Domain::make_plan() {
    faces = Plan(set, now, my_rank);
    own_send.resize(faces.send_numbers);
    own_receive.resize(faces.receive_numbers);
    use_memory(own_send.data(), own_receive.data());
}

void Domain::pack(const Parcel &parcel) {
    double *out = send_part(parcel);
    for (const Transfer &t : parcel.transfers) {
        out = block(t.from).pack(t, out);
    }
}

void Domain::unpack(const Parcel &parcel) {
    const double *in = receive_part(parcel);
    for (const Transfer &t : parcel.transfers) {
        in = block(t.to).unpack(t, in);
    }
}

void Domain::copy_local(int leaf) {
    thread_local std::vector<double> face;
    for (const Transfer &t : faces.local[static_cast<std::size_t>(leaf)]) {
        face.resize(static_cast<std::size_t>(t.numbers(set)));
        block(t.from).pack(t, face.data());
        block(leaf).unpack(t, face.data());
    }
    for (const int wall : faces.walls[static_cast<std::size_t>(leaf)]) {
        block(leaf).fill_wall(wall);
    }
}

// Every rank has the same list, so the messages of a pair of ranks match in their order.
void Domain::exchange(std::vector<Move> &moves) {
    std::vector<MPI_Request> requests;
    for (Move &m : moves) {
        if (m.to == my_rank) {
            m.cells.resize(m.count);
            MPI_Irecv(m.cells.data(), static_cast<int>(m.count), MPI_DOUBLE, m.from, 0, communicator,
                      &requests.emplace_back());
        } else if (m.from == my_rank) {
            MPI_Isend(m.cells.data(), static_cast<int>(m.count), MPI_DOUBLE, m.to, 0, communicator,
                      &requests.emplace_back());
        }
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

// The eighths of merged blocks that come from another rank than the one that makes the block.
std::vector<Domain::Move> Domain::merge(const Mesh &next, const std::vector<Origin> &origins,
                                        const std::vector<int> &makers) {
    std::vector<Move> moves;
    const auto eighth = static_cast<std::size_t>(Block::cells(set)) / 8;
    for (int i = 0; i < next.size(); ++i) {
        const Origin &origin = origins[static_cast<std::size_t>(i)];
        const int maker = makers[static_cast<std::size_t>(i)];
        for (int octant = 1; octant < 8 && origin.kind == Origin::merged; ++octant) {
            const int owner = now.leaf(origin.from + octant).owner;
            if (owner == maker) {
                continue;
            }
            Move &m = moves.emplace_back(Move{owner, maker, i, octant, eighth, {}});
            if (owner == my_rank) {
                m.cells.resize(eighth);
                block(origin.from + octant).save_coarser(m.cells.data());
            }
        }
    }
    exchange(moves);
    return moves;
}

void Domain::refine(int time) {
    std::vector<Origin> origins;
    Mesh next = now.next(time, origins);
    // A leaf is first made where its data, or the first part of it, is.
    std::vector<int> makers;
    makers.reserve(origins.size());
    for (const Origin &origin : origins) {
        makers.push_back(now.leaf(origin.from).owner);
    }
    const std::vector<Move> eighths = merge(next, origins, makers);
    std::vector<std::unique_ptr<Block>> made(static_cast<std::size_t>(next.size()));
    std::vector<double> cells(static_cast<std::size_t>(Block::cells(set)));
    for (std::size_t i = 0; i < made.size(); ++i) {
        const Origin &origin = origins[i];
        if (makers[i] != my_rank) {
            continue;
        }
        if (origin.kind == Origin::kept) {
            made[i] = std::move(blocks[static_cast<std::size_t>(origin.from)]);
            continue;
        }
        made[i] = std::make_unique<Block>(set);
        if (origin.kind == Origin::part) {
            made[i]->refine(block(origin.from), origin.octant);
            continue;
        }
        for (int octant = 0; octant < 8; ++octant) {
            if (now.leaf(origin.from + octant).owner == my_rank) {
                block(origin.from + octant).save_coarser(cells.data());
                made[i]->load_eighth(octant, cells.data());
            }
        }
    }
    for (const Move &m : eighths) {
        if (m.to == my_rank) {
            made[static_cast<std::size_t>(m.leaf)]->load_eighth(m.octant, m.cells.data());
        }
    }
    // Then it goes to its owner.
    std::vector<Move> moves;
    for (int i = 0; i < next.size(); ++i) {
        const int maker = makers[static_cast<std::size_t>(i)], owner = next.leaf(i).owner;
        if (maker == owner) {
            continue;
        }
        Move &m = moves.emplace_back(Move{maker, owner, i, 0, cells.size(), {}});
        if (maker == my_rank) {
            m.cells.resize(cells.size());
            made[static_cast<std::size_t>(i)]->save(m.cells.data());
            made[static_cast<std::size_t>(i)].reset();
            ++moved_blocks;
        }
    }
    exchange(moves);
    for (const Move &m : moves) {
        if (m.to == my_rank) {
            made[static_cast<std::size_t>(m.leaf)] = std::make_unique<Block>(set);
            made[static_cast<std::size_t>(m.leaf)]->load(m.cells.data());
        }
    }
    blocks = std::move(made);
    now = std::move(next);
    make_plan();
}

std::vector<double> Domain::gather() const {
    const auto count = static_cast<std::size_t>(Block::cells(set));
    std::vector<double> all(my_rank == 0 ? count * static_cast<std::size_t>(now.size()) : count);
    for (int i = 0; i < now.size(); ++i) {
        const int owner = now.leaf(i).owner;
        double *const cells = my_rank == 0 ? &all[count * static_cast<std::size_t>(i)] : all.data();
        if (owner == my_rank) {
            blocks[static_cast<std::size_t>(i)]->save(cells);
        }
        if (my_rank == 0 && owner != 0) {
            MPI_Recv(cells, static_cast<int>(count), MPI_DOUBLE, owner, 0, communicator, MPI_STATUS_IGNORE);
        } else if (my_rank != 0 && owner == my_rank) {
            MPI_Send(cells, static_cast<int>(count), MPI_DOUBLE, 0, 0, communicator);
        }
    }
    return all;
}

} // namespace amr
