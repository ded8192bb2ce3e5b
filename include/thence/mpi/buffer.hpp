// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file mpi/buffer.hpp
 *  @brief The buffers of the operations in thence/mpi.hpp. These can be sent and received:
 *
 *  - a contiguous range (`std::vector`, `std::array`, `std::span`, a C array, ...);
 *  - one element (`double`, a `struct`, ...);
 *  - a thence::strided view, or anything with the members of `std::mdspan`, of any rank and any strided layout.
 *
 *  mpi/element.hpp says which types elements may have. Pointers, and structs with a pointer, are compile errors.
 *
 *  Lifetime: an lvalue, and the elements to which a view refers, must exist until the operation is complete. An rvalue
 *  that owns its elements (`std::vector<int>(n)`) is moved into the operation, and is one of the values that it sends.
 *
 *  Limits: at most INT_MAX elements, else the operation fails with `MPI_ERR_COUNT`. A message may be larger than 2
 *  GiB. */

#include <concepts>
#include <initializer_list>
#include <iterator>
#include <span>

#include <thence/mpi/layout.hpp>

namespace thence {

/** @brief A view of rows of a matrix, with `stride` elements from the start of one row to the next. Each operation
 *         builds and frees its datatype. The matrix must exist until the operation is complete. */
template <class T> class strided {
public:
    using element_type = T;
    /** @param data    the first element of the first row.
     *  @param rows    the number of rows.
     *  @param columns the number of elements of each row that belong to the view.
     *  @param stride  the number of elements from the start of one row to the start of the next. */
    strided(T *data, std::size_t rows, std::size_t columns, std::size_t stride) noexcept
        : data_(data), rows_(rows), columns_(columns), stride_(stride) {}
    T *data() const noexcept { return data_; }
    std::size_t rows() const noexcept { return rows_; }
    std::size_t columns() const noexcept { return columns_; }
    std::size_t stride() const noexcept { return stride_; }
    std::size_t size() const noexcept { return rows_ * columns_; }
    T &operator()(std::size_t row, std::size_t column) const noexcept { return data_[row * stride_ + column]; }

private:
    T *data_;
    std::size_t rows_, columns_, stride_;
};

/** @brief A multidimensional view with the members of `std::mdspan`, without proxies for elements, and in a layout that
 *         is always strided: `std::mdspan` itself, its reference implementation, and other types with these members.
 *         The elements must exist until the operation is complete. */
template <class M>
concept mdspan_like = requires(const M &m, std::size_t dimension) {
    typename M::element_type;
    requires std::same_as<typename M::reference, typename M::element_type &>;
    { m.data_handle() } -> std::convertible_to<typename M::element_type *>;
    { m.extent(dimension) } -> std::convertible_to<std::size_t>;
    { m.stride(dimension) } -> std::convertible_to<std::ptrdiff_t>;
    m.extents();
    m.mapping();
    typename std::integral_constant<std::size_t, M::rank()>;
    requires M::is_always_strided();
};

namespace detail {

template <class> inline constexpr bool is_thence_strided = false;
template <class T> inline constexpr bool is_thence_strided<strided<T>> = true;

// The concepts of <ranges> that are needed here, made of <iterator> and <span>: <ranges> takes long to compile.
template <class B>
concept some_range = requires(B &b) {
    std::ranges::begin(b);
    std::ranges::end(b);
};
template <some_range B> using range_element = std::iter_value_t<decltype(std::ranges::begin(std::declval<B &>()))>;
template <class B>
concept contiguous_sized_range = some_range<B> &&
    std::contiguous_iterator<decltype(std::ranges::begin(std::declval<B &>()))> && requires(B &b) {
    std::ranges::size(b);
};

template <class B>
concept strided_buffer = is_thence_strided<std::remove_cvref_t<B>> || mdspan_like<std::remove_cvref_t<B>>;
template <class B>
concept range_buffer = !strided_buffer<B> && contiguous_sized_range<B>;

/** The type of the elements of a buffer. If B is neither range nor view, it is one element of type B. */
template <class B> struct element_of { using type = std::remove_cvref_t<B>; };
template <some_range B> struct element_of<B> { using type = range_element<B>; };
template <strided_buffer B> struct element_of<B> {
    using type = std::remove_cv_t<typename std::remove_cvref_t<B>::element_type>;
};
template <class B> using element_type_of = typename element_of<std::remove_reference_t<B>>::type;

template <class> inline constexpr bool is_initializer_list = false;
template <class T> inline constexpr bool is_initializer_list<std::initializer_list<T>> = true;

/** Types with members of std::mdspan that are not mdspan_like. */
template <class B>
concept other_view = !strided_buffer<B> && !some_range<B> && requires(const std::remove_cvref_t<B> &b) {
    b.extents();
    b.mapping();
};

/** A compile error that says what to change, unless operations take arguments `B &&`. */
template <class B> consteval void check_buffer() {
    using value = std::remove_cvref_t<B>;
    static_assert(!std::is_pointer_v<value> || std::is_array_v<value>,
                  "a pointer does not say how many elements there are: pass std::span(pointer, count)");
    static_assert(!other_view<B>,
                  "this type is like std::mdspan, but has proxies for elements, owns them, or has a layout "
                  "that is not always strided: copy its elements into a contiguous range, or pass a view "
                  "of them");
    static_assert(!some_range<B> || contiguous_sized_range<B>,
                  "the range is not contiguous: copy its elements into a std::vector");
    static_assert(std::is_lvalue_reference_v<B> || (!is_initializer_list<value> && !std::is_array_v<value>),
                  "an rvalue std::initializer_list or array cannot be moved into the operation, and may be destroyed "
                  "before it is complete: pass a std::vector or std::array, or an lvalue that exists long enough");
    if constexpr (!std::is_pointer_v<value> && !other_view<B>) {
        static_assert(sendable<element_type_of<B>>(),
                      "this element type cannot be sent: it is not trivially copyable, or has a pointer, or is a "
                      "class whose members cannot be inspected. If its bytes mean the same on another process, write: "
                      "template <> inline constexpr bool thence::as_bytes<T> = true;");
    }
}

/** Whether an argument `B &&` is moved into the operation. */
template <class B>
inline constexpr bool moves_in =
    !std::is_lvalue_reference_v<B> && !strided_buffer<B> && !std::ranges::enable_borrowed_range<std::remove_cvref_t<B>>;

/** Whether the elements of a `B &` can be written. */
template <class B> consteval bool writable() {
    if constexpr (strided_buffer<B>) {
        return !std::is_const_v<typename std::remove_cvref_t<B>::element_type>;
    } else if constexpr (some_range<B>) {
        return !std::is_const_v<std::remove_reference_t<decltype(*std::ranges::begin(std::declval<B &>()))>>;
    } else {
        return !std::is_const_v<std::remove_reference_t<B>>;
    }
}

/** @return the address of the first element of an mdspan, at the indices 0, 0, ... */
template <class M, std::size_t... Is> auto *first_element(const M &m, std::index_sequence<Is...>) noexcept {
    typename M::element_type *data = m.data_handle();
    return data + static_cast<std::ptrdiff_t>(m.mapping()((static_cast<void>(Is), 0)...));
}

/** @return the address and layout of the elements of a buffer. Elements lose `const`: both directions use this type. */
template <class B> auto layout_of(B &buffer) noexcept {
    using T = element_type_of<B>;
    if constexpr (is_thence_strided<std::remove_cv_t<B>>) {
        layout<T, 2> found(const_cast<T *>(buffer.data()));
        found.add(buffer.rows(), static_cast<std::ptrdiff_t>(buffer.stride()));
        found.add(buffer.columns(), 1);
        return found;
    } else if constexpr (strided_buffer<B>) {
        constexpr std::size_t rank = std::remove_cv_t<B>::rank();
        bool empty = false;
        for (std::size_t d = 0; d != rank; ++d) {
            empty = empty || buffer.extent(d) == 0;
        }
        layout<T, rank> found(
            const_cast<T *>(empty ? buffer.data_handle() : first_element(buffer, std::make_index_sequence<rank>())));
        for (std::size_t d = 0; d != rank; ++d) {
            found.add(static_cast<std::size_t>(buffer.extent(d)), static_cast<std::ptrdiff_t>(buffer.stride(d)));
        }
        return found;
    } else if constexpr (range_buffer<B>) {
        return contiguous<T>{const_cast<T *>(std::ranges::data(buffer)),
                             static_cast<std::size_t>(std::ranges::size(buffer))};
    } else {
        return contiguous<T>{const_cast<T *>(__builtin_addressof(buffer)), 1};
    }
}

} // namespace detail

} // namespace thence
