// SPDX-License-Identifier: BSD-3-Clause
// Work that goes on step by step when messages have come: nonblocking collectives of thread communicators. It goes on
// whenever messages are polled as a source of progress (source.hpp), so its operation has a request, too.
//
// Invariant: one thread at a time advances such work. Meanwhile it starts none and runs no callback; what other threads
// start is put into a list of its own, which the next advance_scheduled() takes.
#pragma once

namespace thence::messages {

class scheduled {
public:
    scheduled() = default;
    scheduled(const scheduled &) = delete;
    scheduled &operator=(const scheduled &) = delete;

    // Goes on as far as possible. True: it has ended.
    virtual bool advance() noexcept = 0;
    // Called once after that, without any lock. It may delete this object.
    virtual void end() noexcept = 0;

protected:
    ~scheduled() = default;

private:
    friend class schedule;
    scheduled *next_ = nullptr;
};

// From now on others call advance() and end().
void add_scheduled(scheduled &added) noexcept;
void advance_scheduled() noexcept;

} // namespace thence::messages
