// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking collectives of thread communicators: each advances by a step when messages of it are complete. The source
// of progress for messages (source.hpp) advances them. It polls only while a request is open, so each collective keeps
// one open until it ends.
//
// Invariant: one thread at a time advances them, and meanwhile neither starts one nor runs a callback. Those that other
// threads start meanwhile are put into a second list, which the next advance_scheduled() takes.
#pragma once

namespace thence::messages {

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
