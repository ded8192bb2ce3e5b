// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file mpi/on_buffers.hpp
 *  @brief The senders of operations on one or two buffers. An rvalue that owns its elements is moved into the sender
 *         and sent as a value. Of any other buffer the sender keeps the address and layout.
 *
 *  Invariant: no operation refers to an rvalue of the caller. */

#include <thence/mpi/buffer.hpp>
#include <thence/mpi/counts_displs.hpp>
#include <thence/transform_mpi.hpp>

namespace thence::detail {

/** @return the sender of an operation on one buffer, which `call(layout, request)` starts. */
template <class B, class Call, class... Given> auto on_buffer(B &&buffer, Call call, Given... options) {
    if constexpr (moves_in<B>) {
        return transform_mpi(
            ex::just(static_cast<B &&>(buffer)),
            [call = static_cast<Call &&>(call)](std::remove_cvref_t<B> &held, MPI_Request *request) {
                return call(layout_of(held), request);
            },
            options...);
    } else {
        return transform_mpi(
            ex::just(),
            [call = static_cast<Call &&>(call), where = layout_of(buffer)](MPI_Request *request) {
                return call(where, request);
            },
            options...);
    }
}

/** @return the sender of an operation on two buffers, which `call(layout of in, layout of out, request)` starts. */
template <class S, class R, class Call> auto on_buffers(S &&in, R &&out, Call call) {
    using held_in = std::remove_cvref_t<S>;
    using held_out = std::remove_cvref_t<R>;
    if constexpr (moves_in<S> && moves_in<R>) {
        return transform_mpi(
            ex::just(static_cast<S &&>(in), static_cast<R &&>(out)),
            [call = static_cast<Call &&>(call)](held_in &from, held_out &to, MPI_Request *request) {
                return call(layout_of(from), layout_of(to), request);
            },
            uncancellable);
    } else if constexpr (moves_in<S>) {
        return transform_mpi(
            ex::just(static_cast<S &&>(in)),
            [call = static_cast<Call &&>(call), to = layout_of(out)](held_in &from, MPI_Request *request) {
                return call(layout_of(from), to, request);
            },
            uncancellable);
    } else if constexpr (moves_in<R>) {
        return transform_mpi(
            ex::just(static_cast<R &&>(out)),
            [call = static_cast<Call &&>(call), from = layout_of(in)](held_out &to, MPI_Request *request) {
                return call(from, layout_of(to), request);
            },
            uncancellable);
    } else {
        return transform_mpi(
            ex::just(),
            [call = static_cast<Call &&>(call), from = layout_of(in), to = layout_of(out)](MPI_Request *request) {
                return call(from, to, request);
            },
            uncancellable);
    }
}

template <class S, class R> consteval void check_both() {
    check_buffer<S>();
    check_buffer<R>();
    static_assert(writable<std::remove_reference_t<R>>(), "the buffer to receive into is const");
    static_assert(std::is_same_v<element_type_of<S>, element_type_of<R>>,
                  "both buffers must have elements of the same type");
}

/** The number of blocks of a buffer that this process does not use in a collective operation. It may have any size. */
inline constexpr std::size_t unused = 0;

/** @return the sender of a collective operation from one buffer to another, each with a number of equal blocks.
 *          `call(in, out, request)` starts it, with both buffers as `described`. */
template <class S, class R, class Call>
auto exchange(S &&in, std::size_t send_blocks, R &&out, std::size_t receive_blocks, Call call) {
    check_both<S, R>();
    return on_buffers(static_cast<S &&>(in), static_cast<R &&>(out),
                      [=](const auto &from, const auto &to, MPI_Request *request) -> int {
                          described sent;
                          described received;
                          int code = send_blocks == unused ? MPI_SUCCESS : sent.describe(from, send_blocks);
                          if (code == MPI_SUCCESS && receive_blocks != unused) {
                              code = received.describe(to, receive_blocks);
                          }
                          if (code != MPI_SUCCESS) {
                              return code;
                          }
                          if (send_blocks != unused && receive_blocks != unused &&
                              from.count() / send_blocks != to.count() / receive_blocks) {
                              return MPI_ERR_COUNT; // the blocks differ in size
                          }
                          return call(sent, received, request);
                      });
}

template <class B> consteval void check_contiguous() {
    static_assert(!strided_buffer<B>, "a buffer whose blocks differ in size must be contiguous");
}
/** Which of the two buffers has blocks that may differ in size. */
enum class varying_side { in, out };
/** The blocks of that buffer, whether this process uses them, and the number of processes and rank to check them by. */
struct varying_blocks {
    counts_displs all;
    bool used;
    std::size_t processes, rank;
};

/** As exchange(), if the blocks of one buffer differ in size. `call(in, out, blocks, request)` starts it. The datatype
 *  of that buffer is that of one element. */
template <varying_side Side, class S, class R, class Call>
auto exchange_varying(S &&in, R &&out, varying_blocks p, Call call) {
    check_both<S, R>();
    check_contiguous<std::conditional_t<Side == varying_side::in, S, R>>();
    return on_buffers(
        static_cast<S &&>(in), static_cast<R &&>(out),
        [call, p = static_cast<varying_blocks &&>(p)](const auto &from, const auto &to, MPI_Request *request) -> int {
            const auto fits = [&p](std::size_t all, std::size_t own) {
                return p.all.fit(p.processes, all) && static_cast<std::size_t>(p.all.counts()[p.rank]) == own;
            };
            described sent;
            described received;
            int code = MPI_SUCCESS;
            if constexpr (Side == varying_side::out) {
                code = sent.describe(from);
                if (code == MPI_SUCCESS && p.used) {
                    code = fits(to.count(), from.count()) ? received.describe_elements(to) : MPI_ERR_COUNT;
                }
            } else {
                code = received.describe(to);
                if (code == MPI_SUCCESS && p.used) {
                    code = fits(from.count(), to.count()) ? sent.describe_elements(from) : MPI_ERR_COUNT;
                }
            }
            return code == MPI_SUCCESS ? call(sent, received, p.all, request) : code;
        });
}

} // namespace thence::detail
