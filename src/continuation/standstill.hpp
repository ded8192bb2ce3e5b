// SPDX-License-Identifier: BSD-3-Clause
// Inside a callback nothing runs on this thread. If nobody else runs it either, a loop that tests continuation requests
// until they are complete would never end: this notices.
//
// Each CR that the loop tests is timed by itself, since a loop may test several in turn. Invariant: an entry that is in
// use stays its CR's while that is tested again and again, so however many CRs the loop tests, some are timed.
#pragma once

#include "base/clock.hpp"
#include "continuation/request.hpp"
#include "continuation/thread_state.hpp"

namespace thence::continuation {

class standstill {
public:
    // To be asked at each test of `cr` inside a callback. True once only the end of the callback could help, and
    // nothing has run anywhere for a while.
    bool lasts(continuation_request &cr) noexcept {
        const std::uint32_t now = base::coarse_milliseconds();
        if (const unsigned long long done = total(&counters::completed); done != done_) {
            done_ = done;
            for (entry &e : entries_) {
                e = {};
            }
        }
        entry *e = entry_of(cr, now);
        if (e == nullptr) {
            return false;
        }
        const bool stands = is_stuck(cr);
        if (e->cr != &cr || now - e->seen > pause_ms || !stands) {
            *e = {&cr, now, now};
        }
        e->seen = now;
        return stands && now - e->since > patience_ms;
    }

private:
    static constexpr std::uint32_t patience_ms = 1000;
    static constexpr std::uint32_t pause_ms = 200; // a test after that is a new wait: other work was done meanwhile

    struct entry {
        const continuation_request *cr;
        std::uint32_t since; // when it began to stand still
        std::uint32_t seen;  // its last test
    };

    // Only this callback's own continuation is left in `cr`, or something is ready and finds no thread.
    static bool is_stuck(continuation_request &cr) noexcept {
        const bool alone = this_thread.current == &cr && cr.registered() == 1 + this_thread.held();
        return alone || !application_queue.empty() || !any_thread_queue.empty() || !cr.own_queue().empty();
    }

    // Its own entry, else one that is not in use any more, else null.
    entry *entry_of(const continuation_request &cr, std::uint32_t now) noexcept {
        entry *unused = nullptr;
        for (entry &e : entries_) {
            if (e.cr == &cr) {
                return &e;
            }
            if (e.cr == nullptr || now - e.seen > pause_ms) {
                unused = &e;
            }
        }
        return unused;
    }

    entry entries_[8]{};
    unsigned long long done_ = 0;
};

} // namespace thence::continuation
