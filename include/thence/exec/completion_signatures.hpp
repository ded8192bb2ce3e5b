// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file exec/completion_signatures.hpp
 *  @brief The ways in which a sender may complete, as a type: `completion_signatures<set_value_t(int),
 *         set_error_t(std::exception_ptr), set_stopped_t()>`.
 *
 *  Source: C++26 [exec.cmplsig]. */

#include <exception>

#include <thence/exec/receivers.hpp>

namespace thence::exec {

namespace detail {

template <class> inline constexpr bool is_signature = false;
template <class... Vs> inline constexpr bool is_signature<set_value_t(Vs...)> = true;
template <class E> inline constexpr bool is_signature<set_error_t(E)> = true;
template <> inline constexpr bool is_signature<set_stopped_t()> = true;

} // namespace detail

template <class... Sigs> struct completion_signatures {
    static_assert((detail::is_signature<Sigs> && ...),
                  "completion_signatures takes set_value_t(Values...), set_error_t(Error) and set_stopped_t()");
};

namespace detail {

template <class> inline constexpr bool is_completions = false;
template <class... Sigs> inline constexpr bool is_completions<completion_signatures<Sigs...>> = true;

template <class Completions> struct signature_list;
template <class... Sigs> struct signature_list<completion_signatures<Sigs...>> { using type = list<Sigs...>; };

/** The union of several `completion_signatures`: each signature once. */
template <class... Completions>
using join_completions_t =
    rename_t<unique_list_t<concat_t<typename signature_list<Completions>::type...>>, completion_signatures>;

using exception_completion = completion_signatures<set_error_t(std::exception_ptr)>;

/** set_error_t(std::exception_ptr) unless `Nothrow`. */
template <bool Nothrow>
using completions_if_throwing = std::conditional_t<Nothrow, completion_signatures<>, exception_completion>;

/** set_value_t(Result); set_value_t() for void. */
template <class Result> struct result_signature { using type = completion_signatures<set_value_t(Result)>; };
template <> struct result_signature<void> { using type = completion_signatures<set_value_t()>; };

/** Applies `Map<Signature>::type`, a `completion_signatures`, to each signature, and joins the results. */
template <class Completions, template <class> class Map> struct map_completions;
template <class... Sigs, template <class> class Map> struct map_completions<completion_signatures<Sigs...>, Map> {
    using type = join_completions_t<typename Map<Sigs>::type...>;
};

/** Whether `Condition<Signature>::value` holds for each signature. */
template <class Completions, template <class> class Condition> inline constexpr bool all_signatures = false;
template <class... Sigs, template <class> class Condition>
inline constexpr bool all_signatures<completion_signatures<Sigs...>, Condition> = (Condition<Sigs>::value && ...);

/** A list with `Item<Args...>` for each signature `Tag(Args...)`. */
template <class Tag, class Sig, template <class...> class Item> struct gather_one { using type = list<>; };
template <class Tag, class... As, template <class...> class Item> struct gather_one<Tag, Tag(As...), Item> {
    using type = list<Item<As...>>;
};
template <class Tag, class Completions, template <class...> class Item> struct gather;
template <class Tag, class... Sigs, template <class...> class Item>
struct gather<Tag, completion_signatures<Sigs...>, Item> {
    using type = concat_t<typename gather_one<Tag, Sigs, Item>::type...>;
};
template <class Tag, class Completions, template <class...> class Item>
using gather_t = typename gather<Tag, Completions, Item>::type;

template <class... As> using decayed_tuple = std::tuple<std::decay_t<As>...>;
template <class T> using identity_t = T;

/** A tuple that stores a completion with this signature: the tag and the decayed arguments. */
template <class Sig> struct kept;
template <class Tag, class... As> struct kept<Tag(As...)> {
    using type = std::tuple<Tag, std::decay_t<As>...>;
    static constexpr bool nothrow = (nothrow_decay_copy<As> && ...);
};
/** The list of tuples that store any of these completions, and whether storing one cannot throw. */
template <class Completions> struct kept_list;
template <class... Sigs> struct kept_list<completion_signatures<Sigs...>> {
    using type = unique_t<typename kept<Sigs>::type...>;
    static constexpr bool nothrow = (kept<Sigs>::nothrow && ...);
};

/** The signature with which a stored completion is delivered: the decayed arguments, as rvalues. */
template <class Sig> struct decayed_signature;
template <class Tag, class... As> struct decayed_signature<Tag(As...)> {
    using type = completion_signatures<Tag(std::decay_t<As>...)>;
};

/** Completes a receiver with a stored completion. The receiver may destroy the tuple. */
template <class R, class Tag, class... As> void deliver(R &&receiver, std::tuple<Tag, As...> &kept) noexcept {
    std::apply([&receiver](Tag tag, As &...as) { tag(static_cast<R &&>(receiver), static_cast<As &&>(as)...); }, kept);
}

} // namespace detail

} // namespace thence::exec
