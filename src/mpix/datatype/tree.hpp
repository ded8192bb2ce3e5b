// SPDX-License-Identifier: BSD-3-Clause
// The layout of a datatype as a tree of segments. A segment is a displacement and a number of bytes. The tree has a
// node per constructor, not per segment: so a segment, a number of segments or a number of bytes is found in the depth
// of the tree, and no other segment is touched.
//
// Invariant: nodes are immutable and no node is empty: what has no bytes is a null tree. The segments are in the order
// of the type map. A list and a repetition without gaps join segments that touch, if they follow each other there.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

namespace thence::datatype {

using number = std::int64_t; // of bytes, segments or repetitions; displacements too

struct node;
using tree = std::shared_ptr<const node>;

enum class shape {
    block,        // one segment
    repeat,       // a tree several times, each at the same distance from the one before
    blocks,       // segments of different lengths
    equal_blocks, // segments of one length
    list,         // several repetitions, each of a tree of its own
};

// A repetition inside a list.
struct part {
    number displacement;
    number times;
    number stride;
    const node *what;
    number segments_before; // in the parts before this one
    number bytes_before;
};

struct node {
    shape kind;
    number segments = 0; // of the whole node
    number bytes = 0;
    int depth = 1;
    number first = 0;                  // block: its displacement; repeat: that of all repetitions
    number times = 1;                  // repeat
    number stride = 0;                 // repeat
    tree child;                        // repeat
    std::vector<number> displacements; // blocks, equal_blocks
    std::vector<number> ends;          // blocks: the bytes of the segments up to and with this one
    std::vector<part> parts;           // list
    std::vector<tree> children;        // list: owns what the parts refer to
};

inline number segments_of(const tree &t) noexcept {
    return t == nullptr ? 0 : t->segments;
}
inline number bytes_of(const tree &t) noexcept {
    return t == nullptr ? 0 : t->bytes;
}

// More bytes, or more segments, than a number holds.
struct too_large : std::exception {};
// Trees are walked by recursion, so their depth is limited.
struct too_deep : std::exception {};
inline constexpr int most_levels = 1000;

// Displacements are addresses or differences of them: they wrap around.
inline number add(number a, number b) noexcept {
    return static_cast<number>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
inline number multiply(number a, number b) noexcept {
    return static_cast<number>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

// The functions below throw too_large, too_deep and std::bad_alloc.
tree block(number displacement, number bytes);
// `what`, `times` times, each `stride` bytes after the one before.
tree repeat(number times, number stride, tree what);
tree shifted(number displacement, tree what);

// Puts trees into one after the other.
class list_builder {
public:
    void reserve(std::size_t blocks);
    void add(number displacement, number times, number stride, const tree &what);
    tree finish();

private:
    void add_block(number displacement, number bytes);
    void add_part(number displacement, number times, number stride, const tree &what);
    void join_blocks();

    // Segments that follow the last part.
    std::vector<number> displacements_;
    std::vector<number> lengths_;
    std::vector<part> parts_;
    std::vector<tree> children_;
};

} // namespace thence::datatype
