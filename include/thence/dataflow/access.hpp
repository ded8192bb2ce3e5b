// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file dataflow/access.hpp
 *  @brief Accesses of tasks, and the one rule that says which of them conflict. `thence/dataflow.hpp` includes it. */

// Everything else asks the functions in `detail`, so a rule for regions has to change this file, and the table that
// finds the earlier accesses (src/dataflow/key_table.hpp).

#include <thence/detail/cxx20.hpp>

namespace thence {

/** @brief What a task does with the data at an address. */
enum class access_kind : unsigned char {
    in,          /**< reads it */
    concurrent,  /**< changes it, in a way that allows others with `concurrent` at the same time (atomics, a lock) */
    commutative, /**< changes it, alone, but in any order with others that have `commutative` */
    out,         /**< writes it without reading */
    inout        /**< reads and writes it */
};

/** @brief One access of a task: a kind and the start address of the data. Make it with in(), out(), inout(),
 *         concurrent() or commutative(). The address is a key only: it is never read, and how long the data are does
 *         not matter. Two accesses are to the same data if and only if their start addresses are equal. */
struct access {
    const void *start;
    access_kind kind;
};

/** @brief The task reads the data at `start`: it runs after all earlier siblings that write there. */
inline access in(const void *start) noexcept {
    return {start, access_kind::in};
}
/** @brief The task writes the data at `start`: it runs after all earlier siblings with an access to them. */
inline access out(const void *start) noexcept {
    return {start, access_kind::out};
}
/** @brief The task reads and writes the data at `start`; the same order as with out(). */
inline access inout(const void *start) noexcept {
    return {start, access_kind::inout};
}
/** @brief The task updates the data at `start` by means that allow others to do so at the same time. Tasks with
 *         concurrent() run together, and in order with all other accesses. */
inline access concurrent(const void *start) noexcept {
    return {start, access_kind::concurrent};
}
/** @brief The task updates the data at `start` alone, and does not mind in which order with other tasks that have
 *         commutative(): they run one at a time, in any order, and in order with all other accesses. */
inline access commutative(const void *start) noexcept {
    return {start, access_kind::commutative};
}

namespace detail {

/** Whether two accesses are to the same data. */
constexpr bool same_data(const void *one, const void *other) noexcept {
    return one == other;
}

/** Whether a later access need not wait for an earlier one to the same data. It is transitive, so accesses that follow
 *  each other and are all unordered form a group. */
constexpr bool unordered(access_kind earlier, access_kind later) noexcept {
    return earlier == later && earlier != access_kind::out && earlier != access_kind::inout;
}

/** Whether tasks with this access to the same data exclude each other while they run, in addition to the order. */
constexpr bool exclusive(access_kind kind) noexcept {
    return kind == access_kind::commutative;
}

/** What two accesses of one task to the same data amount to. */
constexpr access_kind both(access_kind one, access_kind other) noexcept {
    return one == other ? one : access_kind::inout;
}

} // namespace detail
} // namespace thence
