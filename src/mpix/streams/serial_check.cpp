// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/streams/serial_check.hpp"

#include "core/base/per_thread.hpp"
#include "core/base/settings.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/handles.hpp"
#include "mpix/streams/communicator.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>

namespace thence::streams {

namespace {

struct thread_identity {
    thread_identity() noexcept : number(static_cast<int>(syscall(SYS_gettid))) {
        pthread_getname_np(pthread_self(), name, sizeof name);
    }
    int number;
    char name[16] = "";
};

// Null if memory is exhausted.
const thread_identity *this_thread() noexcept {
    return base::rare_per_thread<thread_identity>::get();
}

std::mutex mutex; // guards the table
std::unordered_map<std::uintptr_t, context *> &streams_by_request = *new std::unordered_map<std::uintptr_t, context *>;

void set(MPI_Request request, context *stream) noexcept {
    const std::scoped_lock guard(mutex);
    try {
        stream != nullptr ? void(streams_by_request.insert_or_assign(mpi::bits(request), stream))
                          : void(streams_by_request.erase(mpi::bits(request)));
    } catch (const std::bad_alloc &) { // calls with this request are not checked
    }
}

context *stream_of_request(MPI_Request request) noexcept {
    const std::scoped_lock guard(mutex);
    const auto at = streams_by_request.find(mpi::bits(request));
    return at != streams_by_request.end() ? at->second : nullptr;
}

// Its queue orders the calls of a stream that has one.
context *serial_stream_of(MPI_Comm comm) noexcept {
    const attachment *attached = comm != MPI_COMM_NULL ? attachment_of(comm) : nullptr;
    return attached != nullptr && attached->stream->queue == nullptr ? attached->stream : nullptr;
}

} // namespace

bool serial_use::enter(const char *call, int handle) noexcept {
    const thread_identity *const known = this_thread();
    const thread_identity mine = known != nullptr ? *known : thread_identity{};
    const std::scoped_lock guard(lock_);
    if (depth_ == 0) {
        call_ = call;
        thread_ = mine.number;
        std::memcpy(name_, mine.name, sizeof name_);
    } else if (thread_ != mine.number) {
        if (!reported_) {
            reported_ = true;
            std::fprintf(stderr,
                         "thence: two threads are in calls of the serial stream 0x%x at the same time: %s on thread %d"
                         " (%s), and %s on thread %d (%s)\n",
                         static_cast<unsigned>(handle), call_, thread_, name_, call, mine.number, mine.name);
        }
        return false;
    }
    ++depth_;
    return true;
}

void serial_use::leave() noexcept {
    const std::scoped_lock guard(lock_);
    --depth_;
}

void serial_call::enter(const char *call, context *stream) noexcept {
    if (stream != nullptr && entered_ < most &&
        std::find(streams_, streams_ + entered_, stream) == streams_ + entered_ &&
        stream->use.enter(call, stream->handle)) {
        streams_[entered_++] = stream;
    }
}

void serial_call::enter(const char *call, MPI_Comm comm) noexcept {
    enter(call, serial_stream_of(comm));
}

void serial_call::enter(const char *call, int count, const MPI_Request requests[]) noexcept {
    for (int i = 0; requests != nullptr && i < count && known_ < most; ++i) {
        if (context *stream = requests[i] != MPI_REQUEST_NULL ? stream_of_request(requests[i]) : nullptr;
            stream != nullptr) {
            requests_[known_++] = {requests + i, requests[i]};
            enter(call, stream);
        }
    }
}

void serial_call::leave() noexcept {
    for (int i = 0; i < known_; ++i) {
        if (*requests_[i].where == MPI_REQUEST_NULL) {
            set(requests_[i].request, nullptr);
        }
    }
    for (int i = 0; i < entered_; ++i) {
        streams_[i]->use.leave();
    }
}

void note_request(context *stream, const MPI_Request *request) noexcept {
    if (request != nullptr && *request != MPI_REQUEST_NULL) {
        set(*request, stream);
    }
}

void note_request(MPI_Comm comm, const MPI_Request *request, bool started) noexcept {
    context *stream = serial_stream_of(comm);
    int complete = 0;
    if (stream != nullptr && started && request != nullptr && *request != MPI_REQUEST_NULL) {
        mpi::table.Request_get_status(*request, &complete, MPI_STATUS_IGNORE);
    }
    note_request(complete != 0 ? nullptr : stream, request);
}

void forget_requests_of(const context &stream) noexcept {
    const std::scoped_lock guard(mutex);
    std::erase_if(streams_by_request, [&](const auto &entry) { return entry.second == &stream; });
}

void check_streams_if_asked() noexcept {
    if (!base::current_settings().check_streams || streams_are_checked()) {
        return;
    }
    progress::add_own_communicators(); // to the end of the process
    progress::slow_path_reasons.fetch_or(progress::streams_checked);
    if (!progress::interposed.communicators) {
        std::fprintf(stderr, "thence: THENCE_CHECK_STREAMS: calls of MPI are not checked: %s\n",
                     progress::interposed.communicators_why_not);
    }
}

} // namespace thence::streams
