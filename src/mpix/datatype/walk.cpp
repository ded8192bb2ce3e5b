// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/datatype/walk.hpp"

#include <cstddef>

namespace thence::datatype {

namespace {

struct writer {
    thence_iov *next;
    thence_iov *end;

    number room() const noexcept { return end - next; }
    void put(number address, number bytes) noexcept {
        next->iov_base = reinterpret_cast<void *>(static_cast<std::uintptr_t>(address));
        next->iov_len = static_cast<MPI_Aint>(bytes);
        ++next;
    }
};

void write(const node &n, number at, number skip, writer &to) noexcept;

void write_blocks(const node &n, number at, number skip, writer &to) noexcept {
    const auto begin = static_cast<std::size_t>(skip);
    const auto end = begin + static_cast<std::size_t>(std::min(n.segments - skip, to.room()));
    if (n.kind == shape::equal_blocks) {
        const number length = n.bytes / n.segments;
        for (std::size_t i = begin; i < end; ++i) {
            to.put(add(at, n.displacements[i]), length);
        }
        return;
    }
    number before = begin == 0 ? 0 : n.ends[begin - 1];
    for (std::size_t i = begin; i < end; ++i) {
        to.put(add(at, n.displacements[i]), n.ends[i] - before);
        before = n.ends[i];
    }
}

void write_repeated(const node &what, number times, number stride, number at, number skip, writer &to) noexcept {
    if (what.kind == shape::block) {
        number address = add(add(at, what.first), multiply(skip, stride));
        for (number left = std::min(times - skip, to.room()); left > 0; --left) {
            to.put(address, what.bytes);
            address = add(address, stride);
        }
        return;
    }
    const number index = skip / what.segments;
    skip -= index * what.segments;
    at = add(at, multiply(index, stride));
    for (number left = times - index; left > 0 && to.room() > 0; --left) {
        write(what, at, skip, to);
        skip = 0;
        at = add(at, stride);
    }
}

void write_list(const node &n, number at, number skip, writer &to) noexcept {
    const auto after = std::ranges::upper_bound(n.parts, skip, {}, &part::segments_before);
    for (auto p = after - 1; p != n.parts.end() && to.room() > 0; ++p) {
        const number skip_in_part = skip - p->segments_before;
        write_repeated(*p->what, p->times, p->stride, add(at, p->displacement), skip_in_part > 0 ? skip_in_part : 0,
                       to);
    }
}

// `skip` is less than the number of segments, and there is room.
void write(const node &n, number at, number skip, writer &to) noexcept {
    switch (n.kind) {
    case shape::block:
        return to.put(add(at, n.first), n.bytes);
    case shape::repeat:
        return write_repeated(*n.child, n.times, n.stride, add(at, n.first), skip, to);
    case shape::blocks:
    case shape::equal_blocks:
        return write_blocks(n, at, skip, to);
    case shape::list:
        return write_list(n, at, skip, to);
    }
}

// The whole repetitions that fit are added to `found`, and taken from `bytes`. Returns whether the next one can fit in
// part.
bool take_whole(const node &what, number times, number &bytes, fitting &found) noexcept {
    const number whole = std::min(times, bytes / what.bytes);
    found.segments += whole * what.segments;
    found.bytes += whole * what.bytes;
    bytes -= whole * what.bytes;
    return whole < times && what.kind != shape::block;
}

} // namespace

bool countable(const sequence &data) noexcept {
    number result = 0;
    return data.root == nullptr || (!__builtin_mul_overflow(data.times, data.root->bytes, &result) &&
                                    !__builtin_mul_overflow(data.times, data.root->segments, &result));
}

number write_segments(const sequence &data, number skip, thence_iov *to, number room) noexcept {
    if (room == 0 || skip >= data.segments()) {
        return 0;
    }
    writer out{to, to + std::min(room, data.segments() - skip)};
    write_repeated(*data.root, data.times, data.stride, data.base, skip, out);
    return out.next - to;
}

fitting fit(const sequence &data, number bytes) noexcept {
    fitting found{0, 0};
    if (data.root == nullptr) {
        return found;
    }
    const node *n = data.root;
    bool partly = take_whole(*n, data.times, bytes, found);
    while (partly) { // the beginning of *n fits, not all of it
        switch (n->kind) {
        case shape::block:
            return found;
        case shape::equal_blocks: {
            const number length = n->bytes / n->segments;
            return {found.segments + bytes / length, found.bytes + bytes / length * length};
        }
        case shape::blocks: {
            const auto whole = std::ranges::upper_bound(n->ends, bytes) - n->ends.begin();
            return {found.segments + whole,
                    found.bytes + (whole == 0 ? 0 : n->ends[static_cast<std::size_t>(whole) - 1])};
        }
        case shape::repeat:
            partly = take_whole(*n->child, n->times, bytes, found);
            n = n->child.get();
            break;
        case shape::list: {
            const part &p = *(std::ranges::upper_bound(n->parts, bytes, {}, &part::bytes_before) - 1);
            found.segments += p.segments_before;
            found.bytes += p.bytes_before;
            bytes -= p.bytes_before;
            n = p.what;
            partly = take_whole(*n, p.times, bytes, found);
            break;
        }
        }
    }
    return found;
}

} // namespace thence::datatype
