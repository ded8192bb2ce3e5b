// SPDX-License-Identifier: BSD-3-Clause
// The mesh: a forest of octrees whose leaves are blocks of equally many cells. Where the surface of an object goes
// through a block, the block is refined; objects move. The mesh depends on settings and time alone, so every rank
// computes all of it without communication, and only data moves between ranks.
//
// Invariants: the leaves cover the domain without overlap and are in Morton order; leaves that share a face differ by
// one level at most; each rank owns a contiguous part of that order, of equally many leaves as far as possible.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace amr {

// A sphere whose surface is refined. The domain is the unit cube.
struct Object {
    std::array<double, 3> centre;
    double radius;
    std::array<double, 3> step; // how far it moves in a time step; it is reflected at the walls

    // Whether its surface goes through a box at that time.
    bool touches(const std::array<double, 3> &low, const std::array<double, 3> &high, int time) const;
};

struct Settings {
    std::array<int, 3> roots{2, 2, 2}; // blocks of level 0
    int levels = 2;                    // the finest
    int block = 8;                     // cells along an edge of a block, even
    int variables = 4;                 // of each cell
    int steps = 20;                    // time steps
    int stages = 2;                    // of a time step: exchange of faces, then the stencil
    int refine_every = 4;              // time steps
    int faces = 8;                     // in one message at most
    std::vector<Object> objects;
};

struct Leaf {
    int level;
    std::array<int, 3> at; // counted in blocks of its level
    int owner = 0;

    // The corners in the domain.
    std::array<double, 3> low(const Settings &settings) const;
    std::array<double, 3> high(const Settings &settings) const;
};

// Where the data of a leaf of a new mesh comes from: leaf `from` of the mesh before, one of eight parts of it, or eight
// leaves that begin with it.
struct Origin {
    enum Kind : std::uint8_t { kept, part, merged } kind;
    int from;
    int octant; // for `part`
};

// The block on the other side of a face.
struct Neighbour {
    enum Kind : std::uint8_t { same, coarser, finer } kind;
    int leaf;
    int quarter; // of the face of the coarser one of both
};

class Mesh {
public:
    // The mesh at time 0, owned by so many ranks.
    Mesh(const Settings &settings, int ranks);

    const std::vector<Leaf> &leaves() const { return all; }
    const Leaf &leaf(int i) const { return all[static_cast<std::size_t>(i)]; }
    int size() const { return static_cast<int>(all.size()); }

    // The mesh at a later time, of which each block is refined or coarsened once at most. `origins` gets one entry for
    // each of its leaves.
    Mesh next(int time, std::vector<Origin> &origins) const;

    // The neighbours at a face, 2 * axis + (0 low, 1 high): none at the wall, four finer ones, or one.
    std::vector<Neighbour> neighbours(int leaf, int face) const;

private:
    Mesh(const Settings &s, std::vector<Leaf> leaves, int ranks);

    int find(int level, const std::array<int, 3> &at) const; // -1: there is no such leaf
    bool wanted(const Leaf &leaf, int time) const;
    std::vector<int> changes(int time) const; // of the level of each leaf

    const Settings *settings;
    int ranks;
    std::vector<Leaf> all;
    std::unordered_map<std::uint64_t, int> index; // by level and place
};

} // namespace amr
