// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/requests/known_requests.hpp"

#include "core/continuation/handle.hpp"
#include "core/mpi/handles.hpp"

#include <atomic>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

namespace thence::interpose {

namespace {

using table = std::unordered_map<std::uintptr_t, known_request>;

std::mutex mutex; // guards what follows
table &all() {
    static auto &made = *new table; // used until the process ends
    return made;
}
std::uint64_t last_serial = 0;
// Entries that were forgotten, for the next ones: while no more operations are outstanding than before, nothing is
// allocated.
constexpr std::size_t most_spare = 1024;
std::vector<table::node_type> &spare() {
    static auto &kept = *new std::vector<table::node_type>; // used until the process ends
    return kept;
}

std::atomic<bool> any{false};

bool is_own(MPI_Request request) noexcept {
    return request != MPI_REQUEST_NULL && !continuation::is_cr_handle(request);
}

// With the mutex.
void enter(MPI_Request request, known_request entry) {
    any.store(true, std::memory_order_relaxed);
    entry.serial = ++last_serial;
    const std::uintptr_t handle = mpi::bits(request);
    if (const auto at = all().find(handle); at != all().end()) {
        at->second = entry;
    } else if (!spare().empty()) {
        table::node_type node = std::move(spare().back());
        spare().pop_back();
        node.key() = handle;
        node.mapped() = entry;
        all().insert(std::move(node));
    } else {
        all().emplace(handle, entry);
        spare().reserve(most_spare);
    }
}
void forget(table::iterator entry) noexcept {
    table::node_type node = all().extract(entry);
    if (spare().size() < spare().capacity()) {
        spare().push_back(std::move(node));
    }
}

} // namespace

bool any_known_request() noexcept {
    return any.load(std::memory_order_relaxed);
}

void know_persistent(MPI_Request created, std::int64_t bytes) noexcept {
    if (!is_own(created)) {
        return;
    }
    try {
        const std::scoped_lock guard(mutex);
        known_request entry;
        entry.persistent = true;
        entry.active = false;
        entry.bytes = bytes;
        enter(created, entry);
    } catch (const std::bad_alloc &) { // as the header says
    }
}

known_request know_started(MPI_Request before, MPI_Request after) noexcept {
    known_request known;
    known.persistent = true;
    known.active = false;
    try {
        const std::scoped_lock guard(mutex);
        const auto at = all().find(mpi::bits(before));
        if (at != all().end() && before == after) {
            known = at->second;
            at->second.persistent = at->second.active = true;
            at->second.serial = ++last_serial;
            return known;
        }
        if (at != all().end()) {
            known = at->second;
            forget(at);
        }
        known_request started = known;
        started.persistent = started.active = true;
        enter(after, started);
    } catch (const std::bad_alloc &) { // as the header says
    }
    return known;
}

void know_start(MPI_Request started, const measured_start &start, bool persistent) noexcept {
    try {
        const std::scoped_lock guard(mutex);
        if (persistent) {
            all()[mpi::bits(started)].start = start;
        } else {
            known_request entry;
            entry.start = start;
            enter(started, entry);
        }
    } catch (const std::bad_alloc &) { // as the header says
    }
}

known_request find_known(MPI_Request request) noexcept {
    asked_request asked;
    asked.request = request;
    find_known(1, &asked);
    return asked.known;
}

void find_known(int count, asked_request asked[]) noexcept {
    const std::scoped_lock guard(mutex);
    for (int i = 0; i < count; ++i) {
        if (!is_own(asked[i].request)) {
            continue;
        }
        if (const auto at = all().find(mpi::bits(asked[i].request)); at != all().end()) {
            asked[i].known = at->second;
        }
    }
}

known_request take_known(MPI_Request request) noexcept {
    known_request taken;
    const std::scoped_lock guard(mutex);
    if (const auto at = all().find(mpi::bits(request)); at != all().end()) {
        taken = at->second;
        forget(at);
    }
    return taken;
}

void put_back_known(MPI_Request request, const known_request &taken) noexcept {
    if (taken.serial == 0) {
        return;
    }
    try {
        const std::scoped_lock guard(mutex);
        all().emplace(mpi::bits(request), taken);
    } catch (const std::bad_alloc &) { // as the header says
    }
}

void end_known(int count, const asked_request asked[]) noexcept {
    const std::scoped_lock guard(mutex);
    for (int i = 0; i < count; ++i) {
        if (!asked[i].ended || asked[i].known.serial == 0) {
            continue;
        }
        const auto at = all().find(mpi::bits(asked[i].request));
        if (at == all().end() || at->second.serial != asked[i].known.serial) {
            continue; // MPI has given the handle to the next request
        }
        if (at->second.persistent) {
            at->second.active = false;
            at->second.start = {};
        } else {
            forget(at);
        }
    }
}

void forget_measured() noexcept {
    const std::scoped_lock guard(mutex);
    std::erase_if(all(), [](const auto &each) { return !each.second.persistent; });
}

} // namespace thence::interpose
