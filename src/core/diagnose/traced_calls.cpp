// SPDX-License-Identifier: BSD-3-Clause
#include "core/diagnose/traced_calls.hpp"

#include "core/diagnose/process_identity.hpp"
#include "core/diagnose/symbolize.hpp"
#include "core/diagnose/thread_log.hpp"
#include "core/diagnose/trace_events.hpp"
#include "core/progress/helper_log.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace thence::diagnose {

struct traced_call {
    described_call call;
    int thread;
    std::uint64_t begun;
    std::uint64_t ended;
    long outstanding;
    long calls; // one after the other
};

namespace {

// A loop that tests does less than this between two calls.
constexpr std::uint64_t same_loop = 20'000;

std::mutex mutex; // guards what follows
std::deque<traced_call> &all_calls() {
    static auto &made = *new std::deque<traced_call>; // used until the process ends
    return made;
}
std::size_t most_calls = 0;
std::size_t dropped = 0;

bool continues(const traced_call &before, const traced_call &now) {
    return before.call.name == now.call.name && before.call.where == nullptr && now.call.where == nullptr &&
           now.begun - before.ended < same_loop;
}

void write_call(event_writer &out, const traced_call &c) {
    std::string arguments = "\"outstanding\":" + std::to_string(c.outstanding);
    if (c.calls > 1) {
        arguments += member("calls", std::to_string(c.calls));
    }
    if (c.call.where != nullptr) {
        arguments += member("called_at", quoted(location_of_call(c.call.where)));
    }
    out.event("X", c.call.name + partner_of(c.call) + communicator_of(c.call), c.thread, c.begun,
              ",\"cat\":\"call\"" + member("dur", microseconds(c.ended - c.begun)) + ",\"args\":{" + arguments + "}");
}

void write_outstanding(event_writer &out, std::vector<traced_call> calls) {
    if (calls.empty()) {
        return;
    }
    std::ranges::sort(calls, {}, &traced_call::ended);
    counter_samples samples(calls.front().ended, calls.back().ended);
    long written = -1;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        const std::uint64_t next = i + 1 < calls.size() ? calls[i + 1].ended : UINT64_MAX;
        if (samples.wants(calls[i].ended, next) && calls[i].outstanding != written) {
            written = calls[i].outstanding;
            out.event("C", "operations", process_identity().pid, calls[i].ended,
                      ",\"args\":{\"outstanding\":" + std::to_string(written) + "}");
        }
    }
}

// @return how many intervals are missing.
std::size_t write_help(event_writer &out, std::int64_t since) {
    const progress::helper_log helper = progress::read_helper_log();
    if (helper.thread != 0) {
        out.name("thread_name", helper.thread, "thence-helper");
    }
    for (const progress::helped_interval &each : helper.intervals) {
        if (each.begun >= since) {
            out.event("X", "progress for the program", helper.thread, static_cast<std::uint64_t>(each.begun),
                      ",\"cat\":\"helper\"" +
                          member("dur", microseconds(static_cast<std::uint64_t>(each.ended - each.begun))));
        }
    }
    return helper.dropped;
}

} // namespace

void set_call_limit(std::size_t limit) noexcept {
    const std::scoped_lock guard(mutex);
    most_calls = limit;
    dropped = 0;
}

void trace_call(const described_call &call, std::int64_t begun, std::int64_t ended, long outstanding) noexcept {
    thread_log &log = this_thread_log();
    const traced_call now{call,        log.thread, static_cast<std::uint64_t>(begun), static_cast<std::uint64_t>(ended),
                          outstanding, 1};
    const std::scoped_lock guard(mutex);
    if (traced_call *const last = log.last_call; last != nullptr && continues(*last, now)) {
        last->ended = now.ended;
        last->outstanding = now.outstanding;
        ++last->calls;
        return;
    }
    if (all_calls().size() >= most_calls) {
        ++dropped;
        return;
    }
    try {
        log.last_call = &all_calls().emplace_back(now); // which stays where it is
    } catch (const std::bad_alloc &) {
        ++dropped;
    }
}

written_calls write_calls(event_writer &out, std::int64_t since) {
    std::vector<traced_call> calls;
    written_calls written;
    {
        const std::scoped_lock guard(mutex);
        written.dropped = dropped;
        std::ranges::copy_if(all_calls(), std::back_inserter(calls), [since](const traced_call &each) {
            return each.begun >= static_cast<std::uint64_t>(since);
        });
    }
    written.calls = calls.size();
    for (const traced_call &each : calls) {
        write_call(out, each);
    }
    write_outstanding(out, std::move(calls));
    written.dropped_help = write_help(out, since);
    return written;
}

} // namespace thence::diagnose
