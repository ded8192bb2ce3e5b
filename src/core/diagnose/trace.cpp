// SPDX-License-Identifier: BSD-3-Clause
#include "core/diagnose/trace.hpp"

#include "core/diagnose/observers.hpp"
#include "core/diagnose/process_identity.hpp"
#include "core/diagnose/symbolize.hpp"
#include "core/diagnose/thread_log.hpp"
#include "core/diagnose/trace_events.hpp"
#include "core/diagnose/traced_calls.hpp"
#include "core/engine/engine.hpp"
#include "core/progress/progress.hpp"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <unistd.h>
#include <utility>
#include <vector>

namespace thence::diagnose {

namespace {

std::mutex mutex; // guards the variables below: MPI_Finalize and exit() may write the file at the same time
std::FILE *file = nullptr;
std::string *file_name = nullptr;
std::uint64_t opened_at = 0; // records of earlier continuations are not written to this file

struct traced_continuation {
    const record *r;
    int thread; // the thread that attached it
};

std::vector<traced_continuation> collect_records(std::uint64_t &dropped) {
    std::vector<traced_continuation> all;
    for_each_thread_log([&](const thread_log &log) {
        dropped += log.dropped.load(std::memory_order_relaxed);
        for (const record_chunk *c = log.records.load(std::memory_order_acquire); c != nullptr; c = c->older) {
            const std::uint32_t used = c->used.load(std::memory_order_acquire);
            for (std::uint32_t i = 0; i < used; ++i) {
                const record &r = c->records[i];
                if (r.attached >= opened_at && !r.withdrawn.load(std::memory_order_relaxed)) {
                    all.push_back({&r, log.thread});
                }
            }
        }
    });
    std::sort(all.begin(), all.end(),
              [](const traced_continuation &a, const traced_continuation &b) { return a.r->attached < b.r->attached; });
    return all;
}

void write_continuation(event_writer &out, const traced_continuation &t, std::uint64_t number, std::uint64_t now) {
    const record &r = *t.r;
    const std::string &where = location_of_call(r.where);
    const std::uint64_t end = r.end.load(std::memory_order_acquire);
    const std::uint64_t begin = end != 0 ? r.begin.load(std::memory_order_relaxed) : 0;
    const std::uint64_t ready = r.ready.load(std::memory_order_relaxed);
    const int run_by = end != 0 ? r.run_by.load(std::memory_order_relaxed) : t.thread;
    const std::uint64_t started = begin != 0 ? begin : end != 0 ? end : now;

    // The id is unique among all ranks, so that their files can be joined.
    char id[32];
    std::snprintf(id, sizeof id, "\"0x%" PRIx64 "\"",
                  (static_cast<std::uint64_t>(process_identity().rank) << 40) | number);
    const std::string span = std::string(",\"cat\":\"continuation\",\"id\":") + id;
    const std::string queued = std::string(",\"cat\":\"ready\",\"id\":") + id;
    const char *state = ready == 0 ? "incomplete" : end == 0 ? "not run" : "kept as failed";

    out.event("b", where, t.thread, r.attached,
              span + ",\"args\":{\"CR\":" + std::to_string(r.cr) + member("operations", std::to_string(r.operations)) +
                  (begin != 0 ? "" : member("state", quoted(state))) + "}");
    out.event("e", where, t.thread, ready != 0 ? ready : now, span);
    if (ready != 0 && started > ready) {
        out.event("b", "ready: " + where, run_by, ready, queued);
        out.event("e", "ready: " + where, run_by, started, queued);
    }
    if (begin != 0) {
        out.event("X", location_of_function(reinterpret_cast<const void *>(r.callback)), run_by, begin,
                  ",\"cat\":\"callback\"" + member("dur", microseconds(end - begin)) + ",\"args\":{\"id\":" + id +
                      member("attached", quoted(where)) + member("waited_us", microseconds(ready - r.attached)) +
                      member("ready_us", microseconds(started - ready)) +
                      member("result", std::to_string(r.result.load(std::memory_order_relaxed))) + "}");
    }
}

// Writes the number of outstanding continuations over time.
void write_counter(event_writer &out, const std::vector<traced_continuation> &all, int thread) {
    std::vector<std::pair<std::uint64_t, int>> changes;
    for (const traced_continuation &t : all) {
        changes.emplace_back(t.r->attached, 1);
        if (const std::uint64_t end = t.r->end.load(std::memory_order_acquire)) {
            changes.emplace_back(end, -1);
        }
    }
    std::sort(changes.begin(), changes.end());
    if (changes.empty()) {
        return;
    }
    counter_samples samples(changes.front().first, changes.back().first);
    long outstanding = 0;
    for (std::size_t i = 0; i < changes.size(); ++i) {
        outstanding += changes[i].second;
        const std::uint64_t next = i + 1 < changes.size() ? changes[i + 1].first : UINT64_MAX;
        if (next != changes[i].first && samples.wants(changes[i].first, next)) {
            out.event("C", "outstanding", thread, changes[i].first,
                      ",\"args\":{\"continuations\":" + std::to_string(outstanding) + "}");
        }
    }
}

std::string wall_clock_offset_us() {
    return microseconds(static_cast<std::uint64_t>(base::read_clock(CLOCK_REALTIME)) - now_ns());
}

void write_all(std::FILE *out) {
    std::uint64_t dropped = 0;
    const std::vector<traced_continuation> all = collect_records(dropped);
    const std::uint64_t now = now_ns();

    std::fputs("{\"displayTimeUnit\":\"ns\",\n\"traceEvents\":[", out);
    event_writer events(out);
    events.name("process_name", process_identity().pid,
                "rank " + std::to_string(process_identity().rank) + ", pid " + std::to_string(process_identity().pid) +
                    " on " + process_identity().host);
    for_each_thread_log([&](const thread_log &log) { events.name("thread_name", log.thread, log.name); });
    std::uint64_t number = 0;
    for (const traced_continuation &t : all) {
        write_continuation(events, t, ++number, now);
    }
    write_counter(events, all, process_identity().pid);
    const written_calls calls = write_calls(events, static_cast<std::int64_t>(opened_at));
    std::fprintf(out,
                 "\n],\n\"otherData\":{\"rank\":%d,\"host\":%s,\"engine\":%s,\"hook\":%s,\"continuations\":%zu,"
                 "\"calls\":%zu,\"dropped\":%" PRIu64 ",\"wall_clock_minus_ts_us\":%s}}\n",
                 process_identity().rank, quoted(process_identity().host).c_str(),
                 quoted(engine::current->name()).c_str(), quoted(progress::hook_name()).c_str(), all.size(),
                 calls.calls, dropped + calls.dropped, wall_clock_offset_us().c_str());
    if (calls.dropped_help != 0) {
        print_to_stderr("THENCE_TRACE: " + std::to_string(calls.dropped_help) +
                        " later times in which the helper thread made progress are not in " + *file_name +
                        ": there are too many\n");
    }
    if (calls.dropped != 0) {
        print_to_stderr("THENCE_TRACE: the limit of THENCE_TRACE_LIMIT was reached, so " +
                        std::to_string(calls.dropped) + " later calls of MPI are not in " + *file_name + "\n");
    }
    if (dropped != 0) {
        print_to_stderr("THENCE_TRACE: the limit of THENCE_TRACE_LIMIT was reached, so " + std::to_string(dropped) +
                        " later continuations are not in " + *file_name + "\n");
    }
}

void report_file_error(const char *what) {
    print_to_stderr(std::string("THENCE_TRACE: cannot ") + what + " " + *file_name + ": " + std::strerror(errno) +
                    ". This rank has no timeline.\n");
}

} // namespace

std::string trace_file_name(std::string_view pattern, int rank) {
    const std::string number = std::to_string(rank);
    std::string name(pattern);
    bool replaced = false;
    for (const std::string_view placeholder : {std::string_view("%r"), std::string_view("{rank}")}) {
        for (std::size_t at = name.find(placeholder); at != std::string::npos;
             at = name.find(placeholder, at + number.size())) {
            name.replace(at, placeholder.size(), number);
            replaced = true;
        }
    }
    return replaced ? name : name + "." + number + ".json";
}

bool open_trace(const std::string &name, std::size_t limit) {
    std::scoped_lock guard(mutex);
    if (file_name == nullptr) {
        file_name = new std::string; // never destroyed, since write_trace() may run during exit()
    }
    *file_name = name;
    file = std::fopen(name.c_str(), "we");
    if (file == nullptr) {
        report_file_error("write");
        return false;
    }
    opened_at = now_ns();
    set_record_limit(limit);
    set_call_limit(limit);
    return true;
}

bool trace_is_open() noexcept {
    const std::scoped_lock guard(mutex);
    return file != nullptr;
}

void write_trace() noexcept {
    if (getpid() != process_identity().pid) {
        return; // a child of fork(), whose exit() would write to the file of its parent
    }
    std::scoped_lock guard(mutex);
    std::FILE *out = std::exchange(file, nullptr);
    if (out == nullptr) {
        return;
    }
    bool complete = true;
    try {
        write_all(out);
    } catch (const std::bad_alloc &) {
        errno = ENOMEM;
        complete = false;
    }
    complete = std::ferror(out) == 0 && complete;
    if (std::fclose(out) != 0 || !complete) {
        report_file_error("write all of");
    }
}

} // namespace thence::diagnose
