// SPDX-License-Identifier: BSD-3-Clause
// Operations whose end was not told yet: messages that tell when they have left, puts and gets, and the part that this
// process has in those of others. A broken engine ends them from here.
//
// Invariant: the end of each is told once, by whoever takes it out. Once it is out, or these are closed, MPI does not
// begin to use memory of the program for it, which may be gone then.
#pragma once

#include "core/base/spin_lock.hpp"

#include <thence/am.h>

namespace thence::am {

struct pending_operation {
    // What MPI may do with memory of the program for it.
    enum class use { nothing, reads, writes };

    thence_am_done *done = nullptr; // null: nobody is told
    void *done_data = nullptr;
    pending_operation *before = nullptr; // the links of the list that it is in
    pending_operation *after = nullptr;
    use used_for = use::nothing;
    bool is_pending = false;
};

class pending_operations {
public:
    pending_operations() noexcept = default;
    pending_operations &operator=(pending_operations &&) = delete;

    // The engine is broken: from now on none is added, or begins to use memory of the program.
    void close() noexcept;
    bool add(pending_operation &o) noexcept; // false: these are closed
    // Called before MPI may use memory of the program. False: its end was told, or these are closed, and MPI must not.
    bool begin(pending_operation &o, pending_operation::use used_for) noexcept;
    // False: its end was told already.
    bool take(pending_operation &o) noexcept;
    // Takes one for which MPI does this. False: there is none. The object itself may be deleted when this returns.
    bool take_any(pending_operation::use used_for, thence_am_done *&done, void *&done_data) noexcept;
    // MPI may use memory of the program for some.
    bool any_used() noexcept;

private:
    pending_operation *&list_of(pending_operation::use used_for) noexcept;
    void link(pending_operation &o, pending_operation::use used_for) noexcept;
    void unlink(pending_operation &o) noexcept;

    base::spin_lock lock_;                                      // guards these
    pending_operation *first_[3] = {nullptr, nullptr, nullptr}; // for each use
    bool are_closed_ = false;
};

} // namespace thence::am
