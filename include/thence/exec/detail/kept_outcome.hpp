// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// The stored completion of a sender. It is delivered later: on another scheduler (continues_on), to several receivers
// (split), or when the future is started (spawn_future). If storing it throws, that exception is the outcome.

#include <exception>

#include <thence/exec/completion_signatures.hpp>
#include <thence/exec/detail/variant.hpp>

namespace thence::exec::detail {

using failed_to_keep = std::tuple<set_error_t, std::exception_ptr>;

/** Storage for any of Completions, or for a tuple of `More`. */
template <class Completions, class... More>
using kept_outcome_t =
    rename_t<unique_list_t<concat_t<typename kept_list<Completions>::type, list<More...>,
                                    std::conditional_t<kept_list<Completions>::nothrow, list<>, list<failed_to_keep>>>>,
             variant>;

template <class Tag, class Outcome, class... As> void keep(Outcome &outcome, As &&...as) noexcept {
    using kept = std::tuple<Tag, std::decay_t<As>...>;
    if constexpr ((nothrow_decay_copy<As> && ...)) {
        outcome.template emplace<kept>(Tag(), static_cast<As &&>(as)...);
    } else {
        try {
            outcome.template emplace<kept>(Tag(), static_cast<As &&>(as)...);
        } catch (...) {
            outcome.template emplace<failed_to_keep>(set_error_t(), std::current_exception());
        }
    }
}

} // namespace thence::exec::detail
