// SPDX-License-Identifier: BSD-3-Clause
#include "core/progress/threads.hpp"

#include "core/progress/progress.hpp"
#include "core/progress/source.hpp"

#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <vector>

namespace thence::progress {

namespace {

std::mutex mutex; // guards the table
std::map<int, long> &started() {
    static auto &table = *new std::map<int, long>; // used until the process ends
    return table;
}
std::atomic<long> count{0}; // of all streams
bool has_source = false;    // under the mutex, as the next
stream_service service{};

// As a source it only keeps the helper awake: continuations, the first source, let MPI make progress in every poll.
bool outstanding() noexcept {
    return count.load(std::memory_order_seq_cst) != 0;
}
bool poll(polled_from) noexcept {
    return false;
}
long run(long) noexcept {
    return 0;
}
const source as_source{"progress threads", &outstanding, &poll, &run};

} // namespace

void serve_started_streams(void (*stream_service::*how)(int) noexcept) noexcept {
    if (count.load(std::memory_order_relaxed) == 0) {
        return;
    }
    static auto &streams = *new std::vector<int>; // of the one helper thread
    void (*serve)(int) noexcept = nullptr;
    {
        const std::scoped_lock guard(mutex);
        serve = service.*how;
        streams.clear();
        try {
            for (const auto &[stream, starts] : started()) {
                streams.push_back(stream);
            }
        } catch (const std::exception &) { // no memory: the poll that follows serves all streams
        }
    }
    for (const int stream : streams) {
        serve(stream);
    }
}

thread_start start_thread(int stream, const stream_service &how) noexcept {
    const std::scoped_lock guard(mutex);
    if (!require_helper()) {
        return thread_start::not_possible;
    }
    if (!has_source && !add_source(as_source)) {
        return thread_start::no_memory;
    }
    has_source = true;
    service = how;
    try {
        ++started()[stream];
    } catch (const std::exception &) {
        return thread_start::no_memory;
    }
    count.fetch_add(1, std::memory_order_seq_cst);
    engage();
    return thread_start::done;
}

void stop_thread(int stream) noexcept {
    {
        const std::scoped_lock guard(mutex);
        const auto at = started().find(stream);
        if (at == started().end()) {
            return;
        }
        if (--at->second == 0) {
            started().erase(at);
        }
        if (count.fetch_sub(1, std::memory_order_seq_cst) != 1) {
            return;
        }
    }
    if (!on_helper_thread) {
        const std::scoped_lock out_of_mpi(helper_in_progress);
    }
}

mpi::extension_facts thread_facts() noexcept {
    return helper_possible() ? mpi::extension_facts{mpi::extension_state::ours,
                                                    "the helper thread, which pauses between polls that find nothing"}
                             : mpi::extension_facts{mpi::extension_state::not_possible, helper_state()};
}

void threads_tear_down() noexcept {
    const std::scoped_lock guard(mutex);
    if (has_source) {
        remove_source(as_source);
        has_source = false;
    }
    started().clear();
    count.store(0, std::memory_order_seq_cst);
}

} // namespace thence::progress
