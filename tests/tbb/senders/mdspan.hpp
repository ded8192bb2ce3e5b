// SPDX-License-Identifier: BSD-3-Clause
// The members of std::mdspan that layouts need, for compilers without <mdspan>; and a grid that owns the elements of
// such a view.
#pragma once

#include <array>
#include <cstddef>
#include <numeric>
#include <vector>

namespace typed_tests {

template <std::size_t Rank> using indices = std::array<int, Rank>;

struct layout_stride {
    template <std::size_t Rank> struct mapping {
        indices<Rank> sizes{};
        indices<Rank> strides{};
        template <class... Is> constexpr int operator()(Is... is) const {
            const indices<Rank> at{static_cast<int>(is)...};
            return std::inner_product(at.begin(), at.end(), strides.begin(), 0);
        }
    };
};
struct layout_right : layout_stride {
    template <std::size_t Rank> static indices<Rank> strides_of(const indices<Rank> &sizes) {
        indices<Rank> strides{};
        int next = 1;
        for (std::size_t d = Rank; d-- != 0; next *= sizes[d]) {
            strides[d] = next;
        }
        return strides;
    }
};
struct layout_left : layout_stride {
    template <std::size_t Rank> static indices<Rank> strides_of(const indices<Rank> &sizes) {
        indices<Rank> strides{};
        int next = 1;
        for (std::size_t d = 0; d != Rank; next *= sizes[d++]) {
            strides[d] = next;
        }
        return strides;
    }
};

template <class T, std::size_t Rank, class Layout> class mdspan {
public:
    using element_type = T;
    using layout_type = Layout;
    using mapping_type = typename Layout::template mapping<Rank>;
    using reference = T &;
    using data_handle_type = T *;

    mdspan(T *data, const indices<Rank> &sizes, const indices<Rank> &strides) : data_(data), mapping_{sizes, strides} {}
    static constexpr std::size_t rank() noexcept { return Rank; }
    static constexpr bool is_always_strided() { return true; }
    constexpr const indices<Rank> &extents() const noexcept { return mapping_.sizes; }
    constexpr int extent(std::size_t d) const noexcept { return mapping_.sizes[d]; }
    constexpr int stride(std::size_t d) const { return mapping_.strides[d]; }
    constexpr const mapping_type &mapping() const noexcept { return mapping_; }
    constexpr const data_handle_type &data_handle() const noexcept { return data_; }

private:
    T *data_;
    mapping_type mapping_;
};

// Owns the elements of an array with this layout. Memory between the elements is 0.
template <class T, std::size_t Rank, class Layout> class grid {
public:
    explicit grid(const indices<Rank> &sizes) : grid(sizes, Layout::template strides_of<Rank>(sizes)) {}
    grid(const indices<Rank> &sizes, const indices<Rank> &strides) : sizes_(sizes), strides_(strides) {
        std::size_t last = 0;
        for (std::size_t d = 0; d != Rank; ++d) {
            last += static_cast<std::size_t>((sizes[d] - 1) * strides[d]);
        }
        cells_.resize(last + 1);
    }
    mdspan<T, Rank, Layout> view() { return {cells_.data(), sizes_, strides_}; }
    // each(element, indices)
    template <class Each> void for_each(Each each) const {
        indices<Rank> at{};
        for (std::size_t d = 0;;) {
            each(cells_[static_cast<std::size_t>(std::inner_product(at.begin(), at.end(), strides_.begin(), 0))], at);
            for (d = Rank; d != 0 && ++at[d - 1] == sizes_[d - 1]; --d) {
                at[d - 1] = 0;
            }
            if (d == 0) {
                return;
            }
        }
    }
    T sum_of_all() const { return std::accumulate(cells_.begin(), cells_.end(), T()); }
    T sum_of_others() const {
        T sum = sum_of_all();
        for_each([&](const T &element, const auto &) { sum -= element; });
        return sum;
    }

private:
    indices<Rank> sizes_, strides_;
    mutable std::vector<T> cells_;
};

} // namespace typed_tests
