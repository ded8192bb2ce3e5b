// SPDX-License-Identifier: BSD-3-Clause
// Multiplex communicators from their creation to their end: the attribute, and the groups of this process.
#include "core/api/errors.hpp"
#include "core/continuation/lifetime.hpp"
#include "core/continuation/thread_state.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/error_code.hpp"
#include "mpix/messages/point_to_point.hpp"
#include "mpix/messages/source.hpp"
#include "mpix/messages/waiting.hpp"
#include "mpix/streams/attribute.hpp"
#include "mpix/streams/communicator.hpp"
#include "mpix/streams/multiplex.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

namespace thence::streams {

namespace {

using mpi::table;

std::mutex mutex; // guards these
// The end of a group waits for the other processes, which a process that exits without MPI_Finalize must not.
std::vector<std::unique_ptr<group>> &groups() {
    static auto &made = *new std::vector<std::unique_ptr<group>>;
    return made;
}

std::atomic<bool> mpi_has_ended{false}; // finalize() was called since

int copy(MPI_Comm, int, void *, void *value, void *copied, int *flag);
int remove(MPI_Comm, int, void *value, void *);
constinit communicator_attribute<multiplex> attribute{&copy, &remove};

int copy(MPI_Comm, int, void *, void *value, void *copied, int *flag) {
    auto &from = *static_cast<multiplex *>(value);
    multiplex *const to = from.owner.copy(from);
    if (to == nullptr) {
        return MPI_ERR_NO_MEM;
    }
    attribute.changed();
    *static_cast<void **>(copied) = to;
    *flag = 1;
    return MPI_SUCCESS;
}

int remove(MPI_Comm, int, void *value, void *) {
    if (mpi_has_ended.load()) {
        return MPI_SUCCESS; // the state is gone
    }
    auto &state = *static_cast<multiplex *>(value);
    attribute.changed();
    state.owner.mark_freed(state);
    return MPI_SUCCESS;
}

messages::endpoint *route(void *data, const messages::wire_header &header) noexcept {
    return static_cast<group *>(data)->find(header.context, header.dest);
}

// MPI is not called under the mutex: MPI_Comm_free may call remove() under a lock of MPI.
void sweep() noexcept {
    static base::spin_lock sweeping;
    if (messages::is_driving() || !sweeping.try_lock()) {
        return;
    }
    const continuation::busy_scope busy; // no callback makes or frees a communicator meanwhile
    for (std::size_t i = 0;;) {
        group *each = nullptr;
        {
            const std::scoped_lock guard(mutex);
            if (i >= groups().size()) {
                break;
            }
            each = groups()[i].get();
        }
        if (!each->try_end()) {
            ++i;
            continue;
        }
        std::unique_ptr<group> ended;
        {
            const std::scoped_lock guard(mutex); // only this loop removes
            std::swap(groups()[i], groups().back());
            ended = std::move(groups().back());
            groups().pop_back();
        }
        messages::end_use();
    }
    sweeping.unlock();
}

// All processes are in MPI_Finalize, or will be. Communicators that are not freed end here. A group with pending
// operations, which is an error, stays as it is, and nothing polls it any more.
void finalize() noexcept {
    const std::scoped_lock guard(mutex);
    mpi_has_ended.store(true);
    attribute.forget_key();
    for (messages::waiting wait;; wait()) {
        long missing = 0;
        for (const auto &each : groups()) { // each begins, so the order in which they end does not matter
            missing += each->try_end_at_finalize() ? 0 : 1;
        }
        if (missing == 0) {
            break;
        }
    }
    for (auto &each : groups()) {
        each->mark_all_freed();
        if (!each->try_end()) {
            each->stop();
            static_cast<void>(each.release());
        }
        messages::end_use();
    }
    groups().clear();
}

constinit continuation::finalize_functions at_finalize{nullptr, &finalize};

// What each process says: how many streams it has, or why it refuses.
enum refusal : int { negative_count = -1, no_array = -2, no_such_stream = -3, no_source = -4, no_memory = -5 };

messages::failure failure_of(int said) noexcept {
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
        return {MPI_ERR_NO_MEM, "memory is exhausted in a process, or MPI has failed there"};
    }
}

// Allocates all that a process needs, so that afterwards none fails alone. Returns what the process says.
int prepare(int count, const int *streams, int processes, std::unique_ptr<group> &made) noexcept {
    if (count < 0 || (count != 0 && streams == nullptr)) {
        return count < 0 ? negative_count : no_array;
    }
    if (attribute.key() == MPI_KEYVAL_INVALID) {
        return no_memory;
    }
    try {
        made = std::make_unique<group>();
        for (int i = 0; i < count; ++i) {
            context *const stream = find(streams[i]);
            if (stream == nullptr && streams[i] != mpi::stream_null) {
                return no_such_stream;
            }
            made->streams.push_back(stream);
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

// All processes have agreed to make the communicator. Each takes part in all that follows, also after a failure of its
// own, and then all have made it, or none. From some point on `made` is among the groups, and null here.
bool make(MPI_Comm comm, std::unique_ptr<group> &made, MPI_Comm &created) noexcept {
    MPI_Comm fresh = MPI_COMM_NULL;
    MPI_Comm hidden = MPI_COMM_NULL;
    bool good = table.Comm_dup(comm, &fresh) == MPI_SUCCESS;
    if (good) {
        remove_stream(fresh);
        remove_multiplex(fresh);
    }
    if (made->size() > 1) {
        if (table.Comm_split(comm, 0, made->rank, &hidden) == MPI_SUCCESS) {
            made->between.emplace(hidden, &route, made.get());
        } else {
            good = false;
        }
    }
    multiplex *const state = good ? made->add(0) : nullptr;
    good = state != nullptr && (!made->between || made->between->begin() == MPI_SUCCESS) &&
           attribute.set(fresh, state) == MPI_SUCCESS;
    const int mine = good ? 0 : 1;
    int failed = 1;
    const bool agreed = table.Allreduce(&mine, &failed, 1, MPI_INT, MPI_MAX, comm) == MPI_SUCCESS;
    {
        const std::scoped_lock guard(mutex);
        groups().push_back(std::move(made)); // there is room
    }
    if (agreed && failed == 0) {
        created = fresh;
        return true;
    }
    if (!good && state != nullptr) {
        state->owner.mark_freed(*state);
    }
    if (fresh != MPI_COMM_NULL) {
        table.Comm_free(&fresh);
    }
    return false; // sweep() ends the group
}

bool make_room() noexcept {
    const std::scoped_lock guard(mutex);
    try {
        groups().reserve(groups().size() + 8);
    } catch (const std::exception &) {
        return false;
    }
    continuation::add_finalize_functions(at_finalize);
    mpi_has_ended.store(false);
    return true;
}

} // namespace

int create_multiplex(const char *call, MPI_Comm comm, int count, const int *streams, MPI_Comm *created) noexcept {
    int between_groups = 0;
    table.Comm_test_inter(comm, &between_groups);
    if (between_groups != 0) {
        return mpi::report_on(comm, call, api::reason::intercommunicator);
    }
    sweep();
    int processes = 0;
    table.Comm_size(comm, &processes);
    std::unique_ptr<group> made;
    int says = prepare(count, streams, processes, made);
    if (says > 0 && !make_room()) {
        says = no_memory;
    }
    const bool in_use = says > 0 && messages::begin_use();
    says = says > 0 && !in_use ? int{no_source} : says;
    int least = 0;
    int code = table.Allreduce(&says, &least, 1, MPI_INT, MPI_MIN, comm);
    if (code == MPI_SUCCESS && least < 0) { // all processes return the same error
        code = mpi::report_on(comm, call, failure_of(least));
    }
    if (code == MPI_SUCCESS) {
        code = table.Allgather(&says, 1, MPI_INT, made->counts.data(), 1, MPI_INT, comm);
    }
    if (code != MPI_SUCCESS) {
        if (in_use) {
            messages::end_use();
        }
        return code;
    }
    made->most = *std::max_element(made->counts.begin(), made->counts.end());
    table.Comm_rank(comm, &made->rank);
    return make(comm, made, *created) ? int{MPI_SUCCESS} : mpi::report_on(comm, call, failure_of(no_memory));
}

multiplex *multiplex_of(MPI_Comm comm) noexcept {
    return attribute.find(comm);
}

void remove_multiplex(MPI_Comm comm) noexcept {
    attribute.remove_from(comm);
}

mpi::extension_facts multiplex_communicators() noexcept {
    return {mpi::extension_state::ours, "messages from stream to stream are Thence's own, on any MPI"};
}

} // namespace thence::streams
