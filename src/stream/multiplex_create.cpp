// SPDX-License-Identifier: BSD-3-Clause
// Multiplex communicators from their creation to their end: the attribute, and the groups of this process.
#include "continuation/library.hpp"
#include "continuation/thread_state.hpp"
#include "endpoint/carrier.hpp"
#include "endpoint/waiting.hpp"
#include "mpi/error_code.hpp"
#include "mpi/stream_calls.hpp"
#include "stream/communicator.hpp"
#include "stream/multiplex.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>

namespace thence::stream {

namespace {

using mpi::stream_table;
using mpi::table;

std::mutex mutex; // guards these
std::vector<std::unique_ptr<group>> groups;
bool is_client = false;

std::atomic<bool> mpi_has_ended{false}; // finalize() was called since

std::mutex key_mutex; // guards the creation of the key
std::atomic<int> key{MPI_KEYVAL_INVALID};
// Changes when an attribute is set or deleted: what a thread has noted of a communicator may be wrong then.
std::atomic<unsigned long> changes{1};

int copy(MPI_Comm, int, void *, void *value, void *copied, int *flag) {
    auto &from = *static_cast<multiplex *>(value);
    multiplex *const to = from.its.copy(from);
    if (to == nullptr) {
        return MPI_ERR_NO_MEM;
    }
    changes.fetch_add(1);
    *static_cast<void **>(copied) = to;
    *flag = 1;
    return MPI_SUCCESS;
}

int remove(MPI_Comm, int, void *value, void *) {
    if (mpi_has_ended.load()) {
        return MPI_SUCCESS; // the state is gone
    }
    auto &state = *static_cast<multiplex *>(value);
    changes.fetch_add(1);
    state.its.mark_freed(state);
    return MPI_SUCCESS;
}

int find_key() noexcept {
    int known = key.load(std::memory_order_acquire);
    if (known == MPI_KEYVAL_INVALID) {
        const std::scoped_lock guard(key_mutex);
        known = key.load();
        if (known == MPI_KEYVAL_INVALID &&
            stream_table.Comm_create_keyval(&copy, &remove, &known, nullptr) == MPI_SUCCESS) {
            key.store(known, std::memory_order_release);
        }
    }
    return known;
}

multiplex *look_up(MPI_Comm comm) noexcept {
    const int known = key.load(std::memory_order_acquire);
    multiplex *state = nullptr;
    int there = 0;
    if (known == MPI_KEYVAL_INVALID ||
        stream_table.Comm_get_attr(comm, known, static_cast<void *>(&state), &there) != MPI_SUCCESS) {
        return nullptr;
    }
    return there != 0 ? state : nullptr;
}

endpoint::endpoint *route(void *data, const endpoint::wire_header &header) noexcept {
    return static_cast<group *>(data)->find(header.context, header.dest);
}

// MPI is not called under the mutex: MPI_Comm_free may call remove() under a lock of MPI.
void sweep() noexcept {
    static base::spin_lock sweeping;
    if (endpoint::is_driving() || !sweeping.try_lock()) {
        return;
    }
    const continuation::busy_scope busy; // no callback makes or frees a communicator meanwhile
    for (std::size_t i = 0;;) {
        group *each = nullptr;
        {
            const std::scoped_lock guard(mutex);
            if (i >= groups.size()) {
                break;
            }
            each = groups[i].get();
        }
        if (!each->try_end()) {
            ++i;
            continue;
        }
        std::unique_ptr<group> ended;
        {
            const std::scoped_lock guard(mutex); // only this loop removes
            std::swap(groups[i], groups.back());
            ended = std::move(groups.back());
            groups.pop_back();
        }
        endpoint::end_use();
    }
    sweeping.unlock();
}

// All processes are in MPI_Finalize, or will be. Communicators that are not freed end here. A group with pending
// operations, which is an error, stays as it is.
void finalize() noexcept {
    const std::scoped_lock guard(mutex);
    is_client = false;
    mpi_has_ended.store(true);
    for (endpoint::waiting wait;; wait()) {
        long missing = 0;
        for (const auto &each : groups) { // each begins, so the order in which they end does not matter
            missing += each->try_end_at_finalize() ? 0 : 1;
        }
        if (missing == 0) {
            break;
        }
    }
    for (auto &each : groups) {
        each->mark_all_freed();
        if (!each->try_end()) {
            each.release();
        }
        endpoint::end_use();
    }
    groups.clear();
}

void nothing() noexcept {}
constexpr continuation::client as_client{&nothing, &finalize};

// What each process says: how many streams it has, or why it refuses.
enum refusal : int { negative_count = -1, no_array = -2, no_such_stream = -3, no_source = -4, no_memory = -5 };

struct error {
    int its_class;
    const char *text;
};
error error_of(int said) noexcept {
    switch (said) {
    case negative_count:
        return {MPI_ERR_ARG, "count is negative in a process"};
    case no_array:
        return {MPI_ERR_ARG, "array_of_streams is null in a process, and its count is not 0"};
    case no_such_stream:
        return {MPI_ERR_ARG, "an entry of array_of_streams is no stream of this library"};
    case no_source:
        return {MPI_ERR_OTHER, "others have registered all sources of progress that there can be"};
    default:
        return {MPI_ERR_NO_MEM, "memory is exhausted"};
    }
}

// Allocates all that a process needs, so that afterwards none fails alone. Returns what the process says.
int prepare(int count, const int *streams, int processes, std::unique_ptr<group> &made) noexcept {
    if (count < 0 || (count != 0 && streams == nullptr)) {
        return count < 0 ? negative_count : no_array;
    }
    try {
        made = std::make_unique<group>();
        for (int i = 0; i < count; ++i) {
            context *const its = find(streams[i]);
            if (its == nullptr && streams[i] != mpi::stream_null) {
                return no_such_stream;
            }
            made->streams.push_back(its);
        }
        if (count == 0) {
            made->streams.push_back(nullptr);
        }
        made->counts.resize(static_cast<std::size_t>(processes));
    } catch (const std::exception &) {
        return no_memory;
    }
    return static_cast<int>(made->streams.size());
}

// All processes have agreed. From some point on `made` is among the groups, and null here. Then an error means that a
// process has no memory.
int make(MPI_Comm comm, std::unique_ptr<group> &made, MPI_Comm &created) noexcept {
    MPI_Comm fresh = MPI_COMM_NULL;
    MPI_Comm hidden = MPI_COMM_NULL;
    if (const int code = table.Comm_dup(comm, &fresh); code != MPI_SUCCESS) {
        return code;
    }
    remove_stream(fresh);
    remove_multiplex(fresh);
    if (made->size() > 1) {
        if (const int code = table.Comm_split(comm, 0, made->rank, &hidden); code != MPI_SUCCESS) {
            table.Comm_free(&fresh);
            return code;
        }
        made->between.emplace(hidden, &route, made.get());
    }
    multiplex *const state = made->add(0);
    int mine = state != nullptr && (!made->between || made->between->begin() == MPI_SUCCESS) &&
                       stream_table.Comm_set_attr(fresh, find_key(), state) == MPI_SUCCESS
                   ? 0
                   : 1;
    changes.fetch_add(1);
    int failed = 0;
    stream_table.Allreduce(&mine, &failed, 1, MPI_INT, MPI_SUM, comm); // no message comes before the state is there
    {
        const std::scoped_lock guard(mutex);
        groups.push_back(std::move(made)); // there is room
    }
    if (failed != 0) {
        if (mine != 0 && state != nullptr) {
            state->its.mark_freed(*state);
        }
        table.Comm_free(&fresh);
        return MPI_ERR_NO_MEM;
    }
    created = fresh;
    return MPI_SUCCESS;
}

bool make_room() noexcept {
    const std::scoped_lock guard(mutex);
    try {
        groups.reserve(groups.size() + 8);
    } catch (const std::exception &) {
        return false;
    }
    if (!is_client) {
        continuation::add_client(as_client);
        is_client = true;
        mpi_has_ended.store(false);
    }
    return true;
}

} // namespace

int create_multiplex(const char *call, MPI_Comm comm, int count, const int *streams, MPI_Comm *created) noexcept {
    int between_groups = 0;
    table.Comm_test_inter(comm, &between_groups);
    if (between_groups != 0) {
        return mpi::report_on(comm, MPI_ERR_COMM, call, "comm is an intercommunicator");
    }
    sweep();
    int processes = 0;
    table.Comm_size(comm, &processes);
    std::unique_ptr<group> made;
    int says = prepare(count, streams, processes, made);
    if (says > 0 && !make_room()) {
        says = no_memory;
    }
    const bool in_use = says > 0 && endpoint::begin_use();
    says = says > 0 && !in_use ? int{no_source} : says;
    std::vector<int> all;
    int code = MPI_SUCCESS;
    try {
        all.resize(static_cast<std::size_t>(processes));
        code = table.Allgather(&says, 1, MPI_INT, all.data(), 1, MPI_INT, comm);
    } catch (const std::exception &) { // the other processes wait in vain: no memory for a few numbers
        code = mpi::report_on(comm, MPI_ERR_NO_MEM, call, error_of(no_memory).text);
    }
    const auto refused = std::find_if(all.begin(), all.end(), [](int each) { return each < 0; });
    if (code == MPI_SUCCESS && refused != all.end()) { // all processes return the same error
        const error its = error_of(*refused);
        code = mpi::report_on(comm, its.its_class, call, its.text);
    }
    if (code == MPI_SUCCESS) {
        made->counts = std::move(all);
        made->most = *std::max_element(made->counts.begin(), made->counts.end());
        table.Comm_rank(comm, &made->rank);
        code = make(comm, made, *created);
        if (made == nullptr && code != MPI_SUCCESS) { // sweep() ends it
            return mpi::report_on(comm, MPI_ERR_NO_MEM, call, error_of(no_memory).text);
        }
    }
    if (code != MPI_SUCCESS && in_use) {
        endpoint::end_use();
    }
    return code;
}

// The state of the communicator that this thread asked for last. A state is asked for with every message.
multiplex *multiplex_of(MPI_Comm comm) noexcept {
    static thread_local constinit struct {
        MPI_Comm comm;
        unsigned long changes;
        multiplex *state;
    } noted{};
    const unsigned long now = changes.load(std::memory_order_acquire);
    if (noted.changes != now || noted.comm != comm) {
        noted = {comm, now, look_up(comm)};
    }
    return noted.state;
}

void remove_multiplex(MPI_Comm comm) noexcept {
    if (multiplex_of(comm) != nullptr) {
        stream_table.Comm_delete_attr(comm, find_key());
    }
}

} // namespace thence::stream
