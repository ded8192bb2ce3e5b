// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file mpi/reduction.hpp
 *  @brief The senders of reductions. MPI's operations do not take datatypes of strided elements. So strided elements
 *         are copied into memory that the operation allocates when it starts (packed), and back when it is complete.
 *
 *  Invariant: only buffers that the operation writes are unpacked, and only if it has succeeded. */

#include <tuple>

#include <thence/mpi/on_buffers.hpp>

namespace thence::detail {

/** A strided operand of a reduction. While the operation is active, its elements are in memory that this object
 *  owns. */
template <class T, std::size_t Rank, bool Written> class packed {
public:
    explicit packed(const layout<T, Rank> &where) noexcept : where_(where) {}
    packed(const packed &other) noexcept : where_(other.where_) {} // a copy of an operand that is not packed
    packed(packed &&other) noexcept : where_(other.where_), copy_(std::exchange(other.copy_, nullptr)) {}
    packed &operator=(packed other) noexcept {
        where_ = other.where_;
        std::swap(copy_, other.copy_);
        return *this;
    }
    ~packed() { delete[] copy_; }

    /** Allocates the memory if the operand is strided. @param read whether to copy the elements into it: they are
     *  input, or the operation may leave them unchanged. @return the contiguous elements. */
    contiguous<T> pack(bool read) {
        if (where_.is_contiguous()) {
            return {where_.first, where_.count()};
        }
        copy_ = new T[where_.count()];
        T *next = copy_;
        if (read) {
            where_.for_each([&](const T &element) { *next++ = element; });
        }
        return {copy_, where_.count()};
    }
    void unpack() noexcept {
        if constexpr (Written) {
            const T *next = copy_;
            if (next != nullptr) {
                where_.for_each([&](T &element) { element = *next++; });
            }
        }
    }

private:
    layout<T, Rank> where_;
    T *copy_ = nullptr;
};

template <class T, std::size_t Rank, bool Written>
packed<T, Rank, Written> &layout_of(packed<T, Rank, Written> &held) noexcept {
    return held;
}
template <class T, std::size_t Rank, bool Written>
contiguous<T> contiguous_of(packed<T, Rank, Written> &held, bool read) {
    return held.pack(read);
}
template <class T> contiguous<T> contiguous_of(const contiguous<T> &where, bool) noexcept {
    return where;
}

template <bool Written, class T, std::size_t Rank> auto make_packed(const layout<T, Rank> &where) noexcept {
    return packed<T, Rank, Written>(where);
}
/** @return the operand as `packed` if it is strided, else unchanged. */
template <bool Written, class B> decltype(auto) operand(B &&buffer) noexcept {
    if constexpr (strided_buffer<B>) {
        return make_packed<Written>(layout_of(buffer));
    } else {
        return static_cast<B &&>(buffer);
    }
}

template <class V> auto values_to_send(V &value) {
    return std::tuple<V>(static_cast<V &&>(value));
}
template <class T, std::size_t Rank, bool Written>
std::tuple<> values_to_send(packed<T, Rank, Written> &value) noexcept {
    value.unpack();
    return {};
}
/** @return a sender that unpacks the values that are `packed` and sends the others; `sender` itself if not `Needed`. */
template <bool Needed, class S> auto then_unpack(S &&sender) {
    if constexpr (Needed) {
        return ex::let_value(static_cast<S &&>(sender), [](auto &...values) {
            return std::apply([]<class... Vs>(Vs &&...others) { return ex::just(static_cast<Vs &&>(others)...); },
                              std::tuple_cat(values_to_send(values)...));
        });
    } else {
        return static_cast<S &&>(sender);
    }
}

template <class B, class Op> consteval void check_reduction() {
    check_buffer<B>();
    static_assert(
        std::is_same_v<Op, MPI_Op> || has_mpi_type<element_type_of<B>>,
        "a reduction by a function object takes elements of arithmetic types or std::complex: for others pass "
        "an MPI_Op of your own (MPI_Op_create)");
}
/** @return the sender of a reduction in place, which `call(elements, count, datatype, request)` starts. */
template <class B, class Call> auto reduction_in_place(B &&buffer, Call call) {
    return then_unpack<strided_buffer<B>>(on_buffer(
        operand<true>(static_cast<B &&>(buffer)),
        [call](auto &&where, MPI_Request *request) -> int {
            described elements;
            if (const int code = elements.describe_numbers(contiguous_of(where, true)); code != MPI_SUCCESS) {
                return code;
            }
            return call(elements.first, elements.count, elements.type, request);
        },
        uncancellable));
}
/** @return the sender of a reduction, which `call(in, out, count, datatype, request)` starts.
 *  @param receives whether this process gets the result.
 *  @param reads    whether the operation may leave `out` unchanged, so that its elements must be packed too. */
template <class S, class R, class Call>
auto reduction(S &&in, R &&out, Call call, bool receives = true, bool reads = false) {
    check_both<S, R>();
    constexpr bool packs = strided_buffer<S> || strided_buffer<R>;
    return then_unpack<packs>(
        on_buffers(operand<false>(static_cast<S &&>(in)), operand<true>(static_cast<R &&>(out)),
                   [call, receives, reads](auto &&from, auto &&to, MPI_Request *request) -> int {
                       described elements;
                       const auto sent = contiguous_of(from, true);
                       if (const int code = elements.describe_numbers(sent); code != MPI_SUCCESS) {
                           return code;
                       }
                       if (!receives) {
                           return call(elements.first, nullptr, elements.count, elements.type, request);
                       }
                       const auto room = contiguous_of(to, reads);
                       if (room.count() != sent.count()) {
                           return MPI_ERR_COUNT;
                       }
                       return call(elements.first, room.first, elements.count, elements.type, request);
                   }));
}

} // namespace thence::detail
