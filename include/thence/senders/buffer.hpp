// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_SENDERS_BUFFER_HPP
#define THENCE_SENDERS_BUFFER_HPP

/** @file senders/buffer.hpp
 *  @brief What can be sent and received: a contiguous range of trivially copyable elements (`std::span`, `std::vector`,
 *         `std::array`, ...), one such element, or a thence::strided view.
 *
 *  A range or element that is an lvalue, and a view, must live until the operation is complete. An rvalue that owns its
 * elements
 *  (`std::vector<int>(n)`) moves into the operation and is sent back as its first value.
 *
 *  Arithmetic types and std::complex travel as what they are, other trivially copyable types as bytes. */

#include <climits>
#include <concepts>
#include <iterator>
#include <span>

#include <thence/senders/datatype.hpp>

namespace thence {

/** @brief Rows of a matrix with `stride` elements from the start of one row to the next. The datatype is built for each
 *         operation and freed. */
template <class T> class strided {
public:
    using element_type = T;
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

namespace detail {

template <class> inline constexpr bool is_strided = false;
template <class T> inline constexpr bool is_strided<strided<T>> = true;

// The concepts of <ranges>, whose header takes long to compile, of what <iterator> and <span> have.
template <class B>
concept some_range = requires(B &b) {
    std::ranges::begin(b);
    std::ranges::end(b);
};
template <some_range B> using range_element = std::iter_value_t<decltype(std::ranges::begin(std::declval<B &>()))>;

template <class B>
concept buffer_range = some_range<B> && std::contiguous_iterator<decltype(std::ranges::begin(std::declval<B &>()))> &&
    requires(B &b) {
    std::ranges::size(b);
} && std::is_trivially_copyable_v<range_element<B>>;
template <class B>
concept buffer_element =
    !some_range<B> && !is_strided<std::remove_cvref_t<B>> && std::is_trivially_copyable_v<std::remove_cvref_t<B>> &&
    !std::is_pointer_v<std::remove_cvref_t<B>>;

/** What an operation may take as a buffer. */
template <class B>
concept buffer_like = buffer_range<B> || is_strided<std::remove_cvref_t<B>> || buffer_element<B>;

/** Whether an argument `B &&` moves into the operation. */
template <class B>
inline constexpr bool moves_in = !std::is_lvalue_reference_v<B> && !is_strided<std::remove_cvref_t<B>> &&
                                 !std::ranges::enable_borrowed_range<std::remove_cvref_t<B>>;

template <class B> struct element_of { using type = std::remove_cvref_t<B>; };
template <some_range B> struct element_of<B> { using type = range_element<B>; };
template <class T> struct element_of<strided<T>> { using type = std::remove_cv_t<T>; };
template <class T> struct element_of<const strided<T>> : element_of<strided<T>> {};

/** Whether what `B &` names can be written to. */
template <class B> consteval bool writable() {
    if constexpr (some_range<B>)
        return !std::is_const_v<std::remove_reference_t<decltype(*std::ranges::begin(std::declval<B &>()))>>;
    else if constexpr (is_strided<std::remove_cvref_t<B>>)
        return !std::is_const_v<typename std::remove_cvref_t<B>::element_type>;
    else
        return !std::is_const_v<std::remove_reference_t<B>>;
}

/** Where elements of type T lie: so many blocks of so many, so far apart. One block for all that is contiguous. */
template <class T> struct elements {
    void *first;
    std::size_t blocks, length, stride;
    std::size_t count() const noexcept { return blocks * length; }
};

template <class B> auto elements_of(B &buffer) noexcept {
    using T = typename element_of<std::remove_reference_t<B>>::type;
    if constexpr (is_strided<std::remove_cv_t<B>>)
        return elements<T>{const_cast<T *>(buffer.data()), buffer.rows(), buffer.columns(), buffer.stride()};
    else if constexpr (some_range<B>)
        return elements<T>{const_cast<T *>(std::ranges::data(buffer)), 1,
                           static_cast<std::size_t>(std::ranges::size(buffer)), 0};
    else
        return elements<T>{const_cast<T *>(__builtin_addressof(buffer)), 1, 1, 0};
}

/** Calls `call(address, count, datatype)`; a datatype made for it is freed, and MPI keeps it as long as it needs it.
 *  `parts`: the elements are as many equal parts, and the count is that of one. Then they must be contiguous. */
template <class T, class Call> int with_datatype(const elements<T> &e, Call &&call, std::size_t parts = 1) {
    constexpr std::size_t unit = has_mpi_type<T> ? 1 : sizeof(T);
    const auto basic = [] {
        if constexpr (has_mpi_type<T>)
            return mpi_type<T>();
        else
            return MPI_BYTE;
    }();
    const bool contiguous = e.blocks <= 1 || e.length == e.stride;
    const std::size_t count = e.count() * unit / parts;
    if (count > INT_MAX || e.stride * unit > INT_MAX || (!contiguous && parts != 1) || e.count() % parts != 0)
        return MPI_ERR_COUNT;
    if (contiguous)
        return call(e.first, static_cast<int>(count), basic);
    MPI_Datatype rows = MPI_DATATYPE_NULL;
    if (const int code = MPI_Type_vector(static_cast<int>(e.blocks), static_cast<int>(e.length * unit),
                                         static_cast<int>(e.stride * unit), basic, &rows);
        code != MPI_SUCCESS)
        return code;
    int code = MPI_Type_commit(&rows);
    if (code == MPI_SUCCESS)
        code = call(e.first, 1, rows);
    MPI_Type_free(&rows);
    return code;
}

} // namespace detail

} // namespace thence

#endif
