// SPDX-License-Identifier: BSD-3-Clause
// Walks over the segments of a tree, or of several repetitions of it. To begin at any segment costs the depth of the
// tree; what lies before it is not touched.
#pragma once

#include "mpix/datatype/tree.hpp"

#include <thence/type_iov.h>

#include <algorithm>

namespace thence::datatype {

// `times` elements of a datatype at an address. The root may be null.
struct sequence {
    const node *root;
    number times;
    number stride; // the extent of the datatype
    number base;   // the address of the first element, or 0 for displacements

    number bytes() const noexcept { return root == nullptr ? 0 : times * root->bytes; }
    number segments() const noexcept { return root == nullptr ? 0 : times * root->segments; }
    // True if all bytes follow each other. Their address is then first_byte().
    bool contiguous() const noexcept {
        return root == nullptr || times == 0 || (root->kind == shape::block && (times == 1 || stride == root->bytes));
    }
    number first_byte() const noexcept { return root == nullptr ? base : add(base, root->first); }
};

// False if the bytes or segments of the sequence are more than a number holds.
bool countable(const sequence &data) noexcept;

// Writes the segments from number `skip` on, at most `room` of them, and returns how many. 0 <= `skip`.
number write_segments(const sequence &data, number skip, thence_iov *to, number room) noexcept;

// The whole segments at the beginning that have at most `bytes` bytes together, and how many bytes these have.
struct fitting {
    number segments;
    number bytes;
};
fitting fit(const sequence &data, number bytes) noexcept;

// Calls `visit(address, length, times, stride)` for all bytes in order, each call for segments of one length at one
// distance. Ends early when it returns false. Returns whether all were visited.
template <class Visit> bool for_each_run(const node &n, number at, const Visit &visit);

template <class Visit> bool for_each_run(const node &what, number times, number stride, number at, const Visit &visit) {
    if (what.kind == shape::block) {
        return visit(add(at, what.first), what.bytes, times, stride);
    }
    for (number i = 0; i < times; ++i) {
        if (!for_each_run(what, add(at, multiply(i, stride)), visit)) {
            return false;
        }
    }
    return true;
}

template <class Visit> bool for_each_run(const node &n, number at, const Visit &visit) {
    switch (n.kind) {
    case shape::block:
        return visit(add(at, n.first), n.bytes, 1, 0);
    case shape::repeat:
        return for_each_run(*n.child, n.times, n.stride, add(at, n.first), visit);
    case shape::equal_blocks: {
        const number length = n.bytes / n.segments;
        return std::ranges::all_of(n.displacements,
                                   [&](number displacement) { return visit(add(at, displacement), length, 1, 0); });
    }
    case shape::blocks: {
        number before = 0;
        for (std::size_t i = 0; i < n.ends.size(); ++i) {
            if (!visit(add(at, n.displacements[i]), n.ends[i] - before, 1, 0)) {
                return false;
            }
            before = n.ends[i];
        }
        return true;
    }
    case shape::list:
        return std::ranges::all_of(n.parts, [&](const part &p) {
            return for_each_run(*p.what, p.times, p.stride, add(at, p.displacement), visit);
        });
    }
    return true;
}

} // namespace thence::datatype
