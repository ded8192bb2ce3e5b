// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/datatype/copy.hpp"

#include <cstring>

namespace thence::datatype {

namespace {

char *at(number address) noexcept {
    return reinterpret_cast<char *>(static_cast<std::uintptr_t>(address));
}

// One side lies in a row at `row`, the other in segments of a tree.
enum class direction { to_row, from_row };

template <direction Way> void move(char *row, char *segment, std::size_t bytes) noexcept {
    if constexpr (Way == direction::to_row) {
        std::memcpy(row, segment, bytes);
    } else {
        std::memcpy(segment, row, bytes);
    }
}

// The length of a segment is a constant, so each is one or two instructions.
template <direction Way, std::size_t Length>
void move_all(char *row, number segment, number times, number stride) noexcept {
    for (; times > 0; --times, row += Length, segment = add(segment, stride)) {
        move<Way>(row, at(segment), Length);
    }
}

template <direction Way> void move_run(char *row, number segment, number length, number times, number stride) noexcept {
    switch (length) {
    case 1:
        return move_all<Way, 1>(row, segment, times, stride);
    case 2:
        return move_all<Way, 2>(row, segment, times, stride);
    case 4:
        return move_all<Way, 4>(row, segment, times, stride);
    case 8:
        return move_all<Way, 8>(row, segment, times, stride);
    case 16:
        return move_all<Way, 16>(row, segment, times, stride);
    default:
        for (; times > 0; --times, row += length, segment = add(segment, stride)) {
            move<Way>(row, at(segment), static_cast<std::size_t>(length));
        }
    }
}

template <direction Way> void move_bytes(number row, number bytes, const sequence &data) noexcept {
    if (data.root == nullptr || bytes == 0) {
        return;
    }
    for_each_run(*data.root, data.times, data.stride, data.base,
                 [&](number segment, number length, number times, number stride) noexcept {
                     const number whole = std::min(times, bytes / length);
                     move_run<Way>(at(row), segment, length, whole, stride);
                     row += whole * length;
                     bytes -= whole * length;
                     if (whole < times) { // the rest is part of a segment
                         move<Way>(at(row), at(add(segment, multiply(whole, stride))), static_cast<std::size_t>(bytes));
                         bytes = 0;
                     }
                     return bytes != 0;
                 });
}

// The segments of a sequence, one after the other.
class cursor {
public:
    explicit cursor(const sequence &data) noexcept : data_(data) { fill(); }
    number length() const noexcept { return static_cast<number>(segments_[next_].iov_len); }
    char *address() const noexcept { return static_cast<char *>(segments_[next_].iov_base); }
    void advance(number bytes) noexcept {
        thence_iov &segment = segments_[next_];
        segment.iov_base = static_cast<char *>(segment.iov_base) + bytes;
        segment.iov_len -= static_cast<MPI_Aint>(bytes);
        if (segment.iov_len == 0 && ++next_ == filled_) {
            fill();
        }
    }

private:
    static constexpr number room = 64;
    void fill() noexcept {
        next_ = 0;
        filled_ = write_segments(data_, written_, segments_, room);
        written_ += filled_;
    }

    const sequence &data_;
    number written_ = 0;
    number next_ = 0;
    number filled_ = 0;
    thence_iov segments_[room];
};

} // namespace

copied copy(const sequence &source, const sequence &destination) noexcept {
    const number bytes = std::min(source.bytes(), destination.bytes());
    const copied result{bytes, source.bytes() > bytes};
    if (bytes == 0) {
        return result;
    }
    if (source.contiguous() && destination.contiguous()) {
        std::memcpy(at(destination.first_byte()), at(source.first_byte()), static_cast<std::size_t>(bytes));
    } else if (source.contiguous()) {
        move_bytes<direction::from_row>(source.first_byte(), bytes, destination);
    } else if (destination.contiguous()) {
        move_bytes<direction::to_row>(destination.first_byte(), bytes, source);
    } else {
        cursor from(source);
        cursor to(destination);
        for (number left = bytes; left > 0;) {
            const number length = std::min({left, from.length(), to.length()});
            std::memcpy(to.address(), from.address(), static_cast<std::size_t>(length));
            left -= length;
            from.advance(length);
            to.advance(length);
        }
    }
    return result;
}

} // namespace thence::datatype
