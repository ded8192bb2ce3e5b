// SPDX-License-Identifier: BSD-3-Clause
// Detects a callback that waits for ever. Inside a callback no other callback runs on the same thread. If no other
// thread runs callbacks either, a loop in the callback that tests continuation requests until they are complete never
// ends.
//
// A loop may test several CRs in turn, so each CR is timed by itself. Invariant: an entry in use stays with its CR for
// as long as that CR is tested again and again, so some CRs are timed however many the loop tests.
#pragma once

#include "core/base/clock.hpp"
#include "core/continuation/request.hpp"
#include "core/continuation/thread_state.hpp"

namespace thence::continuation {

class deadlock_detector {
public:
    // Called at each test of `cr` inside a callback. True once no callback has run on any thread for a second, and only
    // the return of this callback could change that.
    bool detects(continuation_request &cr) noexcept {
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
        const bool stuck = is_stuck(cr);
        if (e->cr != &cr || now - e->seen > pause_ms || !stuck) {
            *e = {&cr, now, now};
        }
        e->seen = now;
        return stuck && now - e->since > patience_ms;
    }

private:
    static constexpr std::uint32_t patience_ms = 1000;
    static constexpr std::uint32_t pause_ms = 200; // after a longer pause a test begins a new wait

    struct entry {
        const continuation_request *cr;
        std::uint32_t since; // since when it is stuck
        std::uint32_t seen;  // its last test
    };

    // True if only this callback's own continuation is left in `cr`, or if something is ready and no thread runs it.
    static bool is_stuck(continuation_request &cr) noexcept {
        const bool alone = this_thread.current == &cr && cr.registered() == 1;
        return alone || !application_queue.empty() || !any_thread_queue.empty() || !cr.own_queue().empty();
    }

    // The entry of `cr`, else one that is no longer in use, else null.
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
