// SPDX-License-Identifier: BSD-3-Clause
#include "core/continuation/cancel.hpp"

#include "core/continuation/continuation.hpp"
#include "core/continuation/thread_state.hpp"
#include "core/engine/engine.hpp"
#include "core/progress/progress.hpp"

namespace thence::continuation {

void cancel_all(continuation_request &cr) noexcept {
    busy_scope cancelling;
    const std::scoped_lock guard(progress::helper_in_progress);
    for_each_attached([&](continuation &c, control_word kind) {
        if (c.cr != &cr) {
            return;
        }
        for_each_operation(c, kind, [](engine::operation &op) {
            if (engine::is_watched(op)) {
                engine::current->cancel(op);
            }
        });
    });
}

} // namespace thence::continuation
