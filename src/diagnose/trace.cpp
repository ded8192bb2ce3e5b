// SPDX-License-Identifier: BSD-3-Clause
#include "diagnose/trace.hpp"

#include "diagnose/lane.hpp"
#include "diagnose/observers.hpp"
#include "diagnose/place.hpp"
#include "diagnose/self.hpp"
#include "engine/engine.hpp"
#include "progress/progress.hpp"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <time.h>
#include <utility>
#include <vector>

namespace thence::diagnose {

namespace {

std::mutex mutex; // guards what follows: MPI_Finalize and exit() may both want to write
std::FILE *file = nullptr;
std::string *file_name = nullptr;
std::uint64_t opened = 0; // what was attached before belongs to an earlier file

std::string quoted(const std::string &text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result += '\\';
        }
        if (static_cast<unsigned char>(c) < 0x20) {
            result += ' ';
        } else {
            result += c;
        }
    }
    return result + "\"";
}

// One array of events. Times become microseconds.
class event_writer {
public:
    explicit event_writer(std::FILE *out) noexcept : out_(out), process_(self().rank + 1) {}

    // `rest`: further members, each with a comma before it.
    void event(const char *phase, const std::string &name, int thread, std::uint64_t ns, const std::string &rest) {
        std::fprintf(out_, "%s\n{\"ph\":\"%s\",\"name\":%s,\"pid\":%d,\"tid\":%d,\"ts\":%" PRIu64 ".%03u%s}",
                     first_ ? "" : ",", phase, quoted(name).c_str(), process_, thread, ns / 1000,
                     static_cast<unsigned>(ns % 1000), rest.c_str());
        first_ = false;
    }
    void name(const char *what, int thread, const std::string &value) {
        event("M", what, thread, 0, ",\"args\":{\"name\":" + quoted(value) + "}");
    }

private:
    std::FILE *out_;
    int process_; // Perfetto keeps process 0 for the idle task
    bool first_ = true;
};

std::string microseconds(std::uint64_t ns) {
    char text[40];
    std::snprintf(text, sizeof text, "%" PRIu64 ".%03u", ns / 1000, static_cast<unsigned>(ns % 1000));
    return text;
}

struct taken {
    const record *r;
    int thread; // that attached it
};

std::vector<taken> take_records(std::uint64_t &dropped) {
    std::vector<taken> all;
    for_each_lane([&](const lane &l) {
        dropped += l.dropped.load(std::memory_order_relaxed);
        for (const chunk *c = l.records.load(std::memory_order_acquire); c != nullptr; c = c->older) {
            const std::uint32_t used = c->used.load(std::memory_order_acquire);
            for (std::uint32_t i = 0; i < used; ++i) {
                const record &r = c->records[i];
                if (r.attached >= opened && !r.withdrawn.load(std::memory_order_relaxed)) {
                    all.push_back({&r, l.thread});
                }
            }
        }
    });
    std::sort(all.begin(), all.end(), [](const taken &a, const taken &b) { return a.r->attached < b.r->attached; });
    return all;
}

// The places of everything that was attached or called, looked up together.
class directory {
public:
    explicit directory(const std::vector<taken> &all) {
        for (const taken &t : all) {
            texts_.try_emplace({t.r->where, true});
            texts_.try_emplace({callback(*t.r), false});
        }
        std::vector<address> wanted;
        wanted.reserve(texts_.size());
        for (const auto &entry : texts_) {
            wanted.push_back({entry.first.first, entry.first.second});
        }
        const std::vector<place> found = find_places(wanted);
        std::size_t i = 0;
        for (auto &entry : texts_) {
            entry.second = found[i++].text();
        }
    }
    const std::string &where(const record &r) const { return texts_.at({r.where, true}); }
    const std::string &called(const record &r) const { return texts_.at({callback(r), false}); }

private:
    static const void *callback(const record &r) noexcept { return reinterpret_cast<const void *>(r.callback); }
    std::map<std::pair<const void *, bool>, std::string> texts_;
};

std::string member(const char *name, const std::string &value) {
    return std::string(",\"") + name + "\":" + value;
}

void write_continuation(event_writer &out, const taken &t, std::uint64_t number, const directory &places,
                        std::uint64_t now) {
    const record &r = *t.r;
    const std::uint64_t end = r.end.load(std::memory_order_acquire);
    const std::uint64_t begin = end != 0 ? r.begin.load(std::memory_order_relaxed) : 0;
    const std::uint64_t ready = r.ready.load(std::memory_order_relaxed);
    const int run_by = end != 0 ? r.run_by.load(std::memory_order_relaxed) : t.thread;
    const std::uint64_t started = begin != 0 ? begin : end != 0 ? end : now;

    // Unique among all ranks, so that files can be joined.
    char id[32];
    std::snprintf(id, sizeof id, "\"0x%" PRIx64 "\"", (static_cast<std::uint64_t>(self().rank) << 40) | number);
    const std::string span = std::string(",\"cat\":\"continuation\",\"id\":") + id;
    const std::string queued = std::string(",\"cat\":\"ready\",\"id\":") + id;
    const char *fate = ready == 0 ? "incomplete" : end == 0 ? "not run" : "kept as failed";

    out.event("b", places.where(r), t.thread, r.attached,
              span + ",\"args\":{\"CR\":" + std::to_string(r.cr) + member("operations", std::to_string(r.operations)) +
                  (begin != 0 ? "" : member("fate", quoted(fate))) + "}");
    out.event("e", places.where(r), t.thread, ready != 0 ? ready : now, span);
    if (ready != 0 && started > ready) {
        out.event("b", "ready: " + places.where(r), run_by, ready, queued);
        out.event("e", "ready: " + places.where(r), run_by, started, queued);
    }
    if (begin != 0) {
        out.event("X", places.called(r), run_by, begin,
                  ",\"cat\":\"callback\"" + member("dur", microseconds(end - begin)) + ",\"args\":{\"id\":" + id +
                      member("attached", quoted(places.where(r))) +
                      member("waited_us", microseconds(ready - r.attached)) +
                      member("ready_us", microseconds(started - ready)) +
                      member("result", std::to_string(r.result.load(std::memory_order_relaxed))) + "}");
    }
}

// How many are outstanding over time; at most about `most` samples, each the value at that moment.
void write_counter(event_writer &out, const std::vector<taken> &all, int thread) {
    constexpr std::size_t most = 20000;
    std::vector<std::pair<std::uint64_t, int>> changes;
    for (const taken &t : all) {
        changes.emplace_back(t.r->attached, 1);
        if (const std::uint64_t end = t.r->end.load(std::memory_order_acquire)) {
            changes.emplace_back(end, -1);
        }
    }
    std::sort(changes.begin(), changes.end());
    if (changes.empty()) {
        return;
    }
    const std::uint64_t step = (changes.back().first - changes.front().first) / most;
    std::uint64_t due = 0;
    long outstanding = 0;
    for (std::size_t i = 0; i < changes.size(); ++i) {
        outstanding += changes[i].second;
        const bool last = i + 1 == changes.size() || changes[i + 1].first != changes[i].first;
        if (last && (changes[i].first >= due || i + 1 == changes.size())) {
            out.event("C", "outstanding", thread, changes[i].first,
                      ",\"args\":{\"continuations\":" + std::to_string(outstanding) + "}");
            due = changes[i].first + step;
        }
    }
}

std::string wall_clock_offset_us() {
    timespec t{};
    clock_gettime(CLOCK_REALTIME, &t);
    const std::uint64_t wall =
        static_cast<std::uint64_t>(t.tv_sec) * 1000000000U + static_cast<std::uint64_t>(t.tv_nsec);
    return microseconds(wall - now_ns());
}

void write_all(std::FILE *out) {
    std::uint64_t dropped = 0;
    const std::vector<taken> all = take_records(dropped);
    const directory places(all);
    const std::uint64_t now = now_ns();

    std::fputs("{\"displayTimeUnit\":\"ns\",\n\"traceEvents\":[", out);
    event_writer events(out);
    events.name("process_name", self().pid,
                "rank " + std::to_string(self().rank) + ", pid " + std::to_string(self().pid) + " on " + self().host);
    for_each_lane([&](const lane &l) { events.name("thread_name", l.thread, l.name); });
    std::uint64_t number = 0;
    for (const taken &t : all) {
        write_continuation(events, t, ++number, places, now);
    }
    write_counter(events, all, self().pid);
    std::fprintf(out,
                 "\n],\n\"otherData\":{\"rank\":%d,\"host\":%s,\"engine\":%s,\"hook\":%s,\"continuations\":%zu,"
                 "\"dropped\":%" PRIu64 ",\"wall_clock_minus_ts_us\":%s}}\n",
                 self().rank, quoted(self().host).c_str(), quoted(engine::current->name()).c_str(),
                 quoted(progress::hook_name()).c_str(), all.size(), dropped, wall_clock_offset_us().c_str());
    if (dropped != 0) {
        say("THENCE_TRACE: the limit of THENCE_TRACE_LIMIT was reached, so " + std::to_string(dropped) +
            " later continuations are not in " + *file_name + "\n");
    }
}

void complain(const char *what) {
    say(std::string("THENCE_TRACE: cannot ") + what + " " + *file_name + ": " + std::strerror(errno) +
        ". There is no timeline of this rank.\n");
}

} // namespace

bool open_trace(const std::string &name, std::size_t limit) {
    std::scoped_lock guard(mutex);
    if (file_name == nullptr) {
        file_name = new std::string; // never destroyed: exit() may write
    }
    *file_name = name;
    file = std::fopen(name.c_str(), "we");
    if (file == nullptr) {
        complain("write");
        return false;
    }
    opened = now_ns();
    allow_records(limit);
    return true;
}

void write_trace() noexcept {
    std::scoped_lock guard(mutex);
    std::FILE *out = std::exchange(file, nullptr);
    if (out == nullptr) {
        return;
    }
    bool whole = true;
    try {
        write_all(out);
    } catch (const std::bad_alloc &) {
        errno = ENOMEM;
        whole = false;
    }
    whole = std::ferror(out) == 0 && whole;
    if (std::fclose(out) != 0 || !whole) {
        complain("write all of");
    }
}

} // namespace thence::diagnose
