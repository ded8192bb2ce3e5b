// SPDX-License-Identifier: BSD-3-Clause
#include "diagnose/report.hpp"

#include "continuation/request.hpp"
#include "diagnose/lane.hpp"
#include "diagnose/observers.hpp"
#include "diagnose/place.hpp"
#include "diagnose/self.hpp"
#include "engine/engine.hpp"
#include "progress/progress.hpp"

#include <algorithm>
#include <cstdio>
#include <map>

namespace thence::diagnose {

namespace {

using continuation::continuation_request;
using continuation::control_word;
using engine::tending;
using subject = continuation::continuation;

constexpr std::size_t most_groups = 20;

// Continuations that were attached at one place and registered with one CR.
struct group {
    const void *where = nullptr;
    std::uint32_t cr = 0;
    unsigned flags = 0;
    bool active = false;
    bool freed = false;
    long registered = 0;

    long continuations = 0;
    long ready = 0;           // all operations complete, not run yet
    std::uint64_t oldest = 0; // when attached; 0: unknown
    std::uint64_t newest = 0;
    long operations = 0; // of those that are not ready
    long complete = 0, pushed = 0, polled = 0, kept = 0, crs = 0;
    std::uint32_t awaited_cr = 0; // one of the CRs waited for
    long awaited_registered = 0;

    bool has(unsigned flag) const noexcept { return (flags & flag) != 0; }
};

struct picture {
    std::map<std::pair<const void *, std::uint32_t>, group> groups;
    long seen = 0;
};

bool is_complete(const engine::operation &op) noexcept {
    if (engine::how(op) == tending::waiting) {
        const continuation_request *cr = continuation::object_of(op.request);
        return cr->idle();
    }
    return engine::current->known_complete(op);
}

void count_operation(group &g, const engine::operation &op) {
    if (is_complete(op)) {
        ++g.complete;
        return;
    }
    switch (engine::how(op)) {
    case tending::pushed:
        ++g.pushed;
        break;
    case tending::polled:
        ++g.polled;
        break;
    case tending::kept:
        ++g.kept;
        break;
    case tending::waiting:
        ++g.crs;
        g.awaited_cr = cr_number(continuation::object_of(op.request));
        g.awaited_registered = continuation::object_of(op.request)->registered();
        break;
    case tending::done:
        ++g.complete; // since we looked
        break;
    }
}

bool is_ready(subject &c, control_word kind) noexcept {
    return kind.is(control_word::single) ? is_complete(c.first)
                                         : c.of_group().remaining.load(std::memory_order_acquire) == 0;
}

void add(picture &all, subject &c, control_word kind) {
    ++all.seen;
    const continuation_request &cr = *c.cr;
    group &g = all.groups[{c.where, cr_number(&cr)}];
    g.where = c.where;
    g.cr = cr_number(&cr);
    g.flags = cr.flags();
    g.active = cr.active();
    g.freed = continuation_request::from(cr.handle()) == nullptr;
    g.registered = cr.registered();
    const std::uint64_t attached = attached_at(c);
    g.oldest = g.continuations == 0 ? attached : std::min(g.oldest, attached);
    g.newest = std::max(g.newest, attached);
    ++g.continuations;
    if (is_ready(c, kind)) {
        ++g.ready;
        return;
    }
    continuation::for_each_operation(c, kind, [&](const engine::operation &op) {
        ++g.operations;
        count_operation(g, op);
    });
}

std::string number(long n, const char *thing) {
    return std::to_string(n) + " " + thing + (n == 1 ? "" : "s");
}

std::string seconds(std::uint64_t ns) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(ns) * 1e-9);
    return text;
}

std::string age(const group &g, std::uint64_t now) {
    if (g.oldest == 0 || now < g.oldest) {
        return "";
    }
    const std::string oldest = seconds(now - g.oldest);
    const std::string newest = seconds(now - std::min(g.newest, now));
    return " for " + (oldest == newest ? oldest : newest + " to " + oldest);
}

void join(std::string &list, long n, const char *what) {
    if (n != 0) {
        list += (list.empty() ? "" : ", ") + std::to_string(n) + " " + what;
    }
}

std::string options(const group &g) {
    std::string text;
    for (const auto &[flag, name] :
         {std::pair{THENCE_CR_POLL_ONLY, "poll-only"}, std::pair{THENCE_CR_ANY_THREAD, "any thread"},
          std::pair{THENCE_CR_NEEDS_START, g.active ? "started" : "not started"}}) {
        if (g.has(flag)) {
            text += std::string(text.empty() ? "" : ", ") + name;
        }
    }
    if (g.freed) {
        text += std::string(text.empty() ? "" : ", ") + "freed";
    }
    return text.empty() ? "" : " (" + text + ")";
}

// What would have to happen for those that are ready to run.
std::string needed(const group &g) {
    const std::string cr = "CR " + std::to_string(g.cr);
    if (g.has(THENCE_CR_NEEDS_START) && !g.active) {
        return "run after " + cr + " is started";
    }
    if (g.has(THENCE_CR_POLL_ONLY) && !g.freed) {
        return "run when " + cr + " is tested or waited for";
    }
    return g.has(THENCE_CR_ANY_THREAD) ? "run when the helper or any thread in MPI gets to it"
                                       : "run when a thread of the program enters MPI or tests a CR";
}

std::string describe(const group &g, const place &where, std::uint64_t now) {
    std::string text = "  " + number(g.continuations, "continuation") + age(g, now) + ", attached at " + where.text() +
                       ", registered with CR " + std::to_string(g.cr) + options(g) + "\n";
    if (g.ready != g.continuations) {
        std::string kinds;
        join(kinds, g.pushed, "pushed by MPI");
        join(kinds, g.polled, "polled");
        join(kinds, g.kept, "persistent, polled");
        join(kinds, g.crs, g.crs == 1 ? "CR" : "CRs");
        if (g.crs != 0) {
            kinds +=
                " (CR " + std::to_string(g.awaited_cr) + ": " + std::to_string(g.awaited_registered) + " registered)";
        }
        text += "    waiting for " + std::to_string(g.operations - g.complete) + " of " +
                number(g.operations, "operation") + (kinds.empty() ? "" : ": " + kinds) + "\n";
    }
    if (g.ready != 0) {
        text += "    " + std::to_string(g.ready) + " complete, not run: will " + needed(g) + "\n";
    }
    return text;
}

std::string describe_running(std::uint64_t now, long &running) {
    std::string text;
    for_each_lane([&](const lane &l) {
        const std::uint64_t since = l.since.load(std::memory_order_acquire);
        if (since == 0) {
            return;
        }
        ++running;
        const auto places = find_places(
            {{l.callback.load(std::memory_order_relaxed), false}, {l.where.load(std::memory_order_relaxed), true}});
        text += "  1 callback running for " + seconds(now > since ? now - since : 0) + " on thread " +
                std::to_string(l.thread) + " (" + l.name + "): " + places[0].text() + ", attached at " +
                places[1].text() + "\n";
    });
    return text;
}

std::vector<group> oldest_first(const picture &all) {
    std::vector<group> sorted;
    sorted.reserve(all.groups.size());
    for (const auto &entry : all.groups) {
        sorted.push_back(entry.second);
    }
    std::stable_sort(sorted.begin(), sorted.end(), [](const group &a, const group &b) { return a.oldest < b.oldest; });
    return sorted;
}

} // namespace

std::string describe_outstanding() {
    const long registered = continuation_request::registered_in_all();
    picture all;
    continuation::for_each_attached([&](subject &c, control_word kind) { add(all, c, kind); });
    const std::uint64_t now = now_ns();

    std::vector<group> groups = oldest_first(all);
    long left_out = 0;
    for (std::size_t i = most_groups; i < groups.size(); ++i) {
        left_out += groups[i].continuations;
    }
    const std::size_t places_left_out = groups.size() - std::min(groups.size(), most_groups);
    groups.resize(std::min(groups.size(), most_groups));
    std::vector<address> addresses;
    addresses.reserve(groups.size());
    for (const group &g : groups) {
        addresses.push_back({g.where, true});
    }
    const std::vector<place> places = find_places(addresses);

    std::string text = "  pid " + std::to_string(self().pid) + " on " + self().host + ", engine " +
                       engine::current->name() + ", hook " + progress::hook_name() + "\n";
    for (std::size_t i = 0; i < groups.size(); ++i) {
        text += describe(groups[i], places[i], now);
    }
    if (left_out != 0) {
        text += "  and " + number(left_out, "continuation") + " in " +
                number(static_cast<long>(places_left_out), "younger group") + "\n";
    }
    long running = 0;
    text += describe_running(now, running);
    if (registered > all.seen + running) {
        text += "  and " + std::to_string(registered - all.seen - running) +
                " being attached, running, or over but not yet counted\n";
    }
    return text;
}

} // namespace thence::diagnose
