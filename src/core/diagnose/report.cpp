// SPDX-License-Identifier: BSD-3-Clause
#include "core/diagnose/report.hpp"

#include "core/continuation/request.hpp"
#include "core/diagnose/observers.hpp"
#include "core/diagnose/process_identity.hpp"
#include "core/diagnose/symbolize.hpp"
#include "core/diagnose/tasks.hpp"
#include "core/diagnose/thread_log.hpp"
#include "core/engine/engine.hpp"
#include "core/progress/progress.hpp"

#include <algorithm>
#include <map>

namespace thence::diagnose {

namespace {

using continuation::continuation_request;
using continuation::control_word;
using engine::completion_path;
using continuation_object = continuation::continuation;

constexpr std::size_t max_groups_shown = 20;

// Continuations that were attached by the same call and registered with the same CR.
struct group {
    const void *where = nullptr;
    std::uint32_t cr = 0;
    unsigned flags = 0;
    bool active = false;
    bool freed = false;
    long registered = 0;

    long continuations = 0;
    long ready = 0;           // all operations are complete, but the callback has not run
    std::uint64_t oldest = 0; // when the oldest was attached; 0: unknown
    std::uint64_t newest = 0;
    long operations = 0; // of the continuations that are not ready
    long complete = 0, pushed = 0, polled = 0, persistent = 0, crs = 0;
    long tasks = 0;                // of task runtimes, which are blocked until their continuation runs
    const char *runtime = nullptr; // that of one of them
    std::uint32_t awaited_cr = 0;  // one of the CRs that it waits for
    long awaited_registered = 0;   // continuations registered with that CR

    bool has(unsigned flag) const noexcept { return (flags & flag) != 0; }
};

struct snapshot {
    std::map<std::pair<const void *, std::uint32_t>, group> groups; // by attaching call and CR
    long continuations = 0;                                         // in all groups
};

bool is_complete(const engine::operation &op) noexcept {
    if (engine::path_of(op) == completion_path::waiting) {
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
    switch (engine::path_of(op)) {
    case completion_path::pushed:
        ++g.pushed;
        break;
    case completion_path::polled:
        ++g.polled;
        break;
    case completion_path::persistent:
        ++g.persistent;
        break;
    case completion_path::waiting:
        ++g.crs;
        g.awaited_cr = cr_number(continuation::object_of(op.request));
        g.awaited_registered = continuation::object_of(op.request)->registered();
        break;
    case completion_path::done:
        ++g.complete; // became complete after is_complete() was asked
        break;
    }
}

bool is_ready(continuation_object &c, control_word kind) noexcept {
    return kind.is(control_word::single) ? is_complete(c.first)
                                         : c.of_group().remaining.load(std::memory_order_acquire) == 0;
}

void add(snapshot &all, continuation_object &c, control_word kind) {
    ++all.continuations;
    const continuation_request &cr = *c.cr;
    group &g = all.groups[{continuation::code_of(c.attached_by), cr_number(&cr)}];
    g.where = continuation::code_of(c.attached_by);
    g.cr = cr_number(&cr);
    g.flags = cr.flags();
    g.active = cr.active();
    g.freed = continuation_request::of_handle(cr.handle()) == nullptr;
    g.registered = cr.registered();
    const std::uint64_t attached = attached_at(c);
    g.oldest = g.continuations == 0 ? attached : std::min(g.oldest, attached);
    g.newest = std::max(g.newest, attached);
    ++g.continuations;
    if (const char *runtime = tasks->runtime_of(c, kind)) {
        ++g.tasks;
        g.runtime = runtime;
    }
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

// What has to happen before the ready continuations of the group run.
std::string condition_to_run(const group &g) {
    const std::string cr = "CR " + std::to_string(g.cr);
    if (g.has(THENCE_CR_NEEDS_START) && !g.active) {
        return "run after " + cr + " is started";
    }
    if (g.has(THENCE_CR_POLL_ONLY) && !g.freed) {
        return "run when " + cr + " is tested or waited for";
    }
    return g.has(THENCE_CR_ANY_THREAD) ? "run when the helper thread, or a thread inside MPI, is free to run it"
                                       : "run when a thread of the program calls MPI or tests a CR";
}

std::string describe(const group &g, std::uint64_t now) {
    std::string text = "  " + number(g.continuations, "continuation") + age(g, now) + ", attached at " +
                       location_of_call(g.where) + ", registered with CR " + std::to_string(g.cr) + options(g) + "\n";
    if (g.tasks != 0) {
        text += "    blocks " + number(g.tasks, "task") + " of " + g.runtime + "\n";
    }
    if (g.ready != g.continuations) {
        std::string kinds;
        join(kinds, g.pushed, "pushed by MPI");
        join(kinds, g.polled, "polled");
        join(kinds, g.persistent, "persistent, polled");
        join(kinds, g.crs, g.crs == 1 ? "CR" : "CRs");
        if (g.crs != 0) {
            kinds +=
                " (CR " + std::to_string(g.awaited_cr) + ": " + std::to_string(g.awaited_registered) + " registered)";
        }
        text += "    waiting for " + std::to_string(g.operations - g.complete) + " of " +
                number(g.operations, "operation") + (kinds.empty() ? "" : ": " + kinds) + "\n";
    }
    if (g.ready != 0) {
        text +=
            "    " + std::to_string(g.ready) + " complete, callback not run yet: will " + condition_to_run(g) + "\n";
    }
    return text;
}

std::string describe_running(std::uint64_t now, long &running) {
    std::string text;
    for_each_thread_log([&](const thread_log &log) {
        const std::uint64_t since = log.since.load(std::memory_order_acquire);
        if (since == 0) {
            return;
        }
        ++running;
        text += "  1 callback running for " + seconds(now > since ? now - since : 0) + " on thread " +
                std::to_string(log.thread) + " (" + log.name +
                "): " + location_of_function(log.callback.load(std::memory_order_relaxed)) + ", attached at " +
                location_of_call(log.where.load(std::memory_order_relaxed)) + "\n";
    });
    return text;
}

std::vector<group> oldest_first(const snapshot &all) {
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
    snapshot all;
    continuation::for_each_attached([&](continuation_object &c, control_word kind) { add(all, c, kind); });
    const std::uint64_t now = now_ns();

    std::vector<group> groups = oldest_first(all);
    long continuations_left_out = 0;
    for (std::size_t i = max_groups_shown; i < groups.size(); ++i) {
        continuations_left_out += groups[i].continuations;
    }
    const std::size_t groups_left_out = groups.size() - std::min(groups.size(), max_groups_shown);
    groups.resize(std::min(groups.size(), max_groups_shown));

    std::string text = "  pid " + std::to_string(process_identity().pid) + " on " + process_identity().host +
                       ", engine " + engine::current->name() + ", hook " + progress::hook_name() + "\n";
    for (const group &g : groups) {
        text += describe(g, now);
    }
    if (continuations_left_out != 0) {
        text += "  and " + number(continuations_left_out, "continuation") + " in " +
                number(static_cast<long>(groups_left_out), "younger group") + "\n";
    }
    long running = 0;
    text += describe_running(now, running);
    if (registered > all.continuations + running) {
        text += "  and " + std::to_string(registered - all.continuations - running) +
                " that are being attached, are running, or have just ended\n";
    }
    return text;
}

} // namespace thence::diagnose
