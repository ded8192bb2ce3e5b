// SPDX-License-Identifier: BSD-3-Clause
// One-sided communication as a source of progress: it polls the messages of all spaces, finds notifications that are
// waited for, and calls what waits for them.
#pragma once

#include "core/base/visibility.hpp"
#include "onesided/notification/waiters.hpp"

#include <cstdint>

namespace thence::onesided {

class segment;
class space;

// Registers the source, if it is not registered. False if there are too many. The library is set up.
THENCE_INTERNAL bool set_up() noexcept;

// A space is polled between these two. The second waits for polls that look at it.
// False if memory is exhausted.
bool add_space(space &added) noexcept;
void remove_space(space &removed) noexcept;
// Asks the system which processes of this node are gone, for all spaces that no poll asks for, if no thread has asked
// for 50 ms.
void look_at_spaces_without_messages() noexcept;
// The space has messages. The helper thread starts with the first.
void messages_begin() noexcept;
void messages_end() noexcept;

// Lists a waiter for [first, first + count) of a segment of this process, which has room; see waiters::add(). Its
// `arrived` calls no_longer_waits(). Nothing that waits is called here.
THENCE_INTERNAL notification::waiters::result wait_for(segment &at, notification::waiter &added, unsigned first,
                                                       unsigned count, std::uint32_t *values) noexcept;
// Calls `arrived` of an object that is in no list in the next run in which callbacks may run. It calls
// no_longer_waits(). In a poll of a space with messages.
THENCE_INTERNAL void call_later(notification::waiter &called) noexcept;
// Something that waits was added: polls look for it until no_longer_waits().
void one_more_waits() noexcept;
THENCE_INTERNAL void no_longer_waits() noexcept;

// While it exists, no callback runs on this thread. For the libraries above.
class THENCE_INTERNAL no_callbacks {
public:
    no_callbacks() noexcept;
    no_callbacks &operator=(no_callbacks &&) = delete;
    ~no_callbacks();
};

// Calls what waits: waiters of callbacks if callbacks may run on this thread, else they wait in a list for the next
// run. Returns how many it has called.
long call(notification::arrived_list &ready, long limit) noexcept;

// True if a request or a callback waits for notifications or for a list.
THENCE_INTERNAL bool any_waits() noexcept;
// True if anything must be polled: a wait that looks at memory alone then makes progress too.
bool must_poll() noexcept;

} // namespace thence::onesided
