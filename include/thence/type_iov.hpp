// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file type_iov.hpp
 *  @brief thence::type_segments: the segments of a datatype as a C++ range with random access. */

#include <compare>
#include <cstddef>
#include <iterator>
#include <span>
#include <utility>

#include <thence/error.hpp>
#include <thence/type_iov.h>

namespace thence {

/** @brief The segments of `count` elements of a datatype, in the order of its type map.
 *
 *  A random-access range whose elements are `thence_iov` by value. It stays valid when the datatype is freed, and may
 *  be moved but not copied. Its iterators are valid while it exists and is not moved.
 *
 *      for (const thence_iov &segment : thence::type_segments(type, buffer, count))
 *          write(file, segment.iov_base, segment.iov_len);
 *
 *  @note Threads: any number may iterate over one range. Cost: the next segment is a few instructions, since an
 *        iterator gets 32 at a time; any other costs as much as thence_type_iov(). */
class type_segments {
public:
    /** @brief An iterator. It holds the segments around the one that it stands on. */
    class iterator {
    public:
        using value_type = thence_iov;
        using reference = thence_iov;
        using difference_type = std::ptrdiff_t;
        using pointer = void;
        using iterator_concept = std::random_access_iterator_tag;
        using iterator_category = std::input_iterator_tag; // its elements are values

        iterator() noexcept = default;

        thence_iov operator*() const {
            if (index_ < first_ || index_ >= first_ + held_) {
                fetch();
            }
            return segments_[index_ - first_];
        }
        thence_iov operator[](difference_type n) const { return *(*this + n); }

        iterator &operator++() noexcept { return *this += 1; }
        iterator &operator--() noexcept { return *this -= 1; }
        iterator operator++(int) noexcept { return std::exchange(*this, *this + 1); }
        iterator operator--(int) noexcept { return std::exchange(*this, *this - 1); }
        iterator &operator+=(difference_type n) noexcept {
            index_ += n;
            return *this;
        }
        iterator &operator-=(difference_type n) noexcept { return *this += -n; }

        friend iterator operator+(iterator i, difference_type n) noexcept { return i += n; }
        friend iterator operator+(difference_type n, iterator i) noexcept { return i += n; }
        friend iterator operator-(iterator i, difference_type n) noexcept { return i -= n; }
        friend difference_type operator-(const iterator &a, const iterator &b) noexcept { return a.index_ - b.index_; }
        friend bool operator==(const iterator &a, const iterator &b) noexcept { return a.index_ == b.index_; }
        friend auto operator<=>(const iterator &a, const iterator &b) noexcept { return a.index_ <=> b.index_; }

    private:
        friend type_segments;
        iterator(const type_segments *segments, difference_type index) noexcept : all_(segments), index_(index) {}

        void fetch() const { first_ = index_, held_ = all_->get(index_, segments_); }

        const type_segments *all_ = nullptr;
        difference_type index_ = 0;
        mutable difference_type first_ = 0;
        mutable difference_type held_ = 0;
        mutable thence_iov segments_[32];
    };

    /** @brief The segments of a buffer as communication calls take it.
     *  @param datatype any datatype.
     *  @param buffer   the address of the first element, which is only computed with; null for displacements.
     *  @param count    the number of elements.
     *  @throws thence::error as the errors of thence_type_iov_x(). */
    explicit type_segments(MPI_Datatype datatype, const void *buffer = nullptr, MPI_Count count = 1)
        : buffer_(buffer), count_(count) {
        check(thence_layout_create(datatype, &layout_), "thence::type_segments");
        if (const int code = thence_layout_iov_len(layout_, count, -1, &size_, &bytes_); code != MPI_SUCCESS) {
            thence_layout_free(&layout_);
            check(code, "thence::type_segments");
        }
    }
    type_segments(type_segments &&other) noexcept
        : layout_(std::exchange(other.layout_, nullptr)), buffer_(other.buffer_), count_(other.count_),
          size_(std::exchange(other.size_, 0)), bytes_(std::exchange(other.bytes_, 0)) {}
    type_segments &operator=(type_segments &&other) noexcept {
        std::swap(layout_, other.layout_);
        std::swap(buffer_, other.buffer_);
        std::swap(count_, other.count_);
        std::swap(size_, other.size_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~type_segments() {
        if (layout_ != nullptr) {
            thence_layout_free(&layout_);
        }
    }

    iterator begin() const noexcept { return {this, 0}; }
    iterator end() const noexcept { return {this, static_cast<std::ptrdiff_t>(size_)}; }
    /** The number of segments. */
    std::size_t size() const noexcept { return static_cast<std::size_t>(size_); }
    bool empty() const noexcept { return size_ == 0; }
    thence_iov operator[](std::ptrdiff_t index) const { return begin()[index]; }

    /** The bytes of all segments. */
    MPI_Count bytes() const noexcept { return bytes_; }

    /** @brief Get many segments in one call.
     *  @param index the number of the first.
     *  @param to    where to put them.
     *  @return how many there were, at most `to.size()`. */
    std::ptrdiff_t get(std::ptrdiff_t index, std::span<thence_iov> to) const {
        MPI_Count got = 0;
        check(thence_layout_iov(layout_, buffer_, count_, index, to.data(), static_cast<MPI_Count>(to.size()), &got),
              "thence::type_segments::get");
        return static_cast<std::ptrdiff_t>(got);
    }

    /** @brief Segments, and the bytes that they have together. */
    struct whole {
        std::ptrdiff_t segments;
        MPI_Count bytes;
    };
    /** @brief The segments at the beginning that fit in a number of bytes.
     *  @param bytes the number of bytes, at least 0.
     *  @return how many whole segments have at most so many bytes together, and how many bytes these have. */
    whole within(MPI_Count bytes) const {
        MPI_Count segments = 0;
        MPI_Count their_bytes = 0;
        check(thence_layout_iov_len(layout_, count_, bytes < 0 ? 0 : bytes, &segments, &their_bytes),
              "thence::type_segments::within");
        return {static_cast<std::ptrdiff_t>(segments), their_bytes};
    }

private:
    thence_layout *layout_ = nullptr;
    const void *buffer_;
    MPI_Count count_;
    MPI_Count size_ = 0;
    MPI_Count bytes_ = 0;
};

} // namespace thence
