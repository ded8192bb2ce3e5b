// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/datatype/tree.hpp"

#include <algorithm>
#include <utility>

namespace thence::datatype {

namespace {

number checked_product(number a, number b) {
    number result = 0;
    if (__builtin_mul_overflow(a, b, &result)) {
        throw too_large();
    }
    return result;
}

number checked_sum(number a, number b) {
    number result = 0;
    if (__builtin_add_overflow(a, b, &result)) {
        throw too_large();
    }
    return result;
}

// The depth of a node above one of depth `below`.
int above(int below) {
    if (below >= most_levels) {
        throw too_deep();
    }
    return below + 1;
}

// One tree for segments that are in order and do not touch.
tree tree_of_blocks(std::vector<number> displacements, std::vector<number> lengths) {
    if (displacements.size() == 1) {
        return block(displacements[0], lengths[0]);
    }
    const bool equal = std::ranges::all_of(lengths, [&](number length) { return length == lengths[0]; });
    const number stride = add(displacements[1], multiply(displacements[0], -1));
    bool regular = equal;
    for (std::size_t i = 2; regular && i < displacements.size(); ++i) {
        regular = displacements[i] == add(displacements[i - 1], stride);
    }
    const auto size = static_cast<number>(displacements.size());
    if (regular) {
        return repeat(size, stride, block(displacements[0], lengths[0]));
    }
    auto made = std::make_shared<node>();
    made->segments = size;
    if (equal) {
        made->kind = shape::equal_blocks;
        made->bytes = checked_product(size, lengths[0]);
    } else {
        made->kind = shape::blocks;
        for (number &end : lengths) {
            end = made->bytes = checked_sum(made->bytes, end);
        }
        made->ends = std::move(lengths);
    }
    made->displacements = std::move(displacements);
    return made;
}

} // namespace

tree block(number displacement, number bytes) {
    if (bytes == 0) {
        return nullptr;
    }
    auto made = std::make_shared<node>();
    made->kind = shape::block;
    made->segments = 1;
    made->bytes = bytes;
    made->first = displacement;
    return made;
}

tree repeat(number times, number stride, tree what) {
    if (what == nullptr || times <= 0) {
        return nullptr;
    }
    if (times == 1) {
        return what;
    }
    const number bytes = checked_product(times, what->bytes);
    if (what->kind == shape::block && stride == what->bytes) {
        return block(what->first, bytes);
    }
    auto made = std::make_shared<node>();
    made->kind = shape::repeat;
    made->bytes = bytes;
    made->segments = checked_product(times, what->segments);
    if (what->kind == shape::repeat && stride == multiply(what->times, what->stride)) {
        made->first = what->first;
        made->times = checked_product(times, what->times);
        made->stride = what->stride;
        made->child = what->child;
        made->depth = what->depth;
    } else {
        made->times = times;
        made->stride = stride;
        made->depth = above(what->depth);
        made->child = std::move(what);
    }
    return made;
}

tree shifted(number displacement, tree what) {
    if (what == nullptr || displacement == 0) {
        return what;
    }
    if (what->kind == shape::block || what->kind == shape::repeat) { // small nodes
        auto made = std::make_shared<node>(*what);
        made->first = add(made->first, displacement);
        return made;
    }
    auto made = std::make_shared<node>();
    made->kind = shape::list;
    made->bytes = what->bytes;
    made->segments = what->segments;
    if (what->kind == shape::list && what->parts.size() == 1) { // a shift of a shift
        made->parts = what->parts;
        made->parts[0].displacement = add(made->parts[0].displacement, displacement);
        made->children = what->children;
        made->depth = what->depth;
    } else {
        made->parts.push_back({displacement, 1, 0, what.get(), 0, 0});
        made->depth = above(what->depth);
        made->children.push_back(std::move(what));
    }
    return made;
}

void list_builder::reserve(std::size_t blocks) {
    displacements_.reserve(blocks);
    lengths_.reserve(blocks);
}

void list_builder::add(number displacement, number times, number stride, const tree &what) {
    if (what == nullptr || times <= 0) {
        return;
    }
    if (what->kind == shape::block && (times == 1 || stride == what->bytes)) {
        add_block(datatype::add(displacement, what->first), checked_product(times, what->bytes));
    } else {
        join_blocks();
        add_part(displacement, times, stride, what);
    }
}

void list_builder::add_block(number displacement, number bytes) {
    if (!lengths_.empty() && datatype::add(displacements_.back(), lengths_.back()) == displacement) {
        lengths_.back() = checked_sum(lengths_.back(), bytes);
        return;
    }
    displacements_.push_back(displacement);
    lengths_.push_back(bytes);
}

void list_builder::add_part(number displacement, number times, number stride, const tree &what) {
    if (children_.empty() || children_.back() != what) {
        children_.push_back(what);
    }
    parts_.push_back({displacement, times, stride, what.get(), 0, 0});
}

void list_builder::join_blocks() {
    if (!displacements_.empty()) {
        const tree blocks = tree_of_blocks(std::exchange(displacements_, {}), std::exchange(lengths_, {}));
        add_part(0, 1, 0, blocks);
    }
}

tree list_builder::finish() {
    if (parts_.empty()) {
        return displacements_.empty() ? nullptr
                                      : tree_of_blocks(std::exchange(displacements_, {}), std::exchange(lengths_, {}));
    }
    join_blocks();
    if (parts_.size() == 1) {
        const part only = parts_[0];
        return shifted(only.displacement, repeat(only.times, only.stride, children_[0]));
    }
    auto made = std::make_shared<node>();
    made->kind = shape::list;
    for (part &p : parts_) {
        p.segments_before = made->segments;
        p.bytes_before = made->bytes;
        made->segments = checked_sum(made->segments, checked_product(p.times, p.what->segments));
        made->bytes = checked_sum(made->bytes, checked_product(p.times, p.what->bytes));
        made->depth = std::max(made->depth, above(p.what->depth));
    }
    made->parts = std::exchange(parts_, {});
    made->children = std::exchange(children_, {});
    return made;
}

} // namespace thence::datatype
