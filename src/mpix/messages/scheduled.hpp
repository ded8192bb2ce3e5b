// SPDX-License-Identifier: BSD-3-Clause
// The list of nonblocking collectives of thread communicators that have not ended. The source of progress for messages
// (source.hpp) advances them. It polls only while a request is open, so each collective keeps one open until it ends.
//
// Invariant: one thread at a time advances them, and meanwhile neither starts one nor runs a callback. Those that other
// threads start meanwhile are put into a second list, which the next advance_scheduled() takes.
#pragma once

namespace thence::messages {

// One nonblocking collective, as this list sees it. Its algorithm is a sequence of steps: each starts messages, and the
// next one is possible when these are complete. The class threadcomm::nonblocking has the algorithm and the messages.
class scheduled {
public:
    scheduled &operator=(scheduled &&) = delete;

    // Takes all steps that are possible. True: it has ended.
    virtual bool advance() noexcept = 0;
    // Called once after that, without any lock. It may delete this object.
    virtual void end() noexcept = 0;

protected:
    ~scheduled() = default;

private:
    friend class schedule;
    scheduled *next_ = nullptr;
};

// From now on any thread that makes progress may call advance() and end().
void add_scheduled(scheduled &added) noexcept;
void advance_scheduled() noexcept;

} // namespace thence::messages
