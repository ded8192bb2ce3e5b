// SPDX-License-Identifier: BSD-3-Clause
// Owns the end of several operations of a queue while a call starts these.
#pragma once

#include "onesided/queue.hpp"

#include <utility>

namespace thence::onesided {

class end_of_several {
public:
    end_of_several(queue &in, bool is_needed) noexcept : in_(in), made_(is_needed ? pending::make() : nullptr) {}
    end_of_several &operator=(end_of_several &&) = delete;
    ~end_of_several() { // unless all were started: the call tells of the error
        if (made_ == nullptr) {
            return;
        }
        if (made_->is_end) { // those that were started refer to it
            made_->completions = made_->entries = 0;
            made_->value = 0;
            in_.add(*made_);
            return;
        }
        if (made_->local_use != nullptr) {
            made_->local_use->fetch_sub(1, std::memory_order_release);
        }
        pending::drop(made_);
    }

    pending *made() const noexcept { return made_; } // null: not needed, or memory is exhausted
    void all_started() noexcept {
        made_->is_end = true;
        in_.add(*std::exchange(made_, nullptr));
    }

private:
    queue &in_;
    pending *made_;
};

} // namespace thence::onesided
