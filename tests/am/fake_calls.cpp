// SPDX-License-Identifier: BSD-3-Clause
#include "fake_calls.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>

using thence::mpi::table;

namespace thence::fake {

message_script script;

namespace {

struct posted {
    ticket operation;
    void *buffer;
    int bytes;
    int tag;
    MPI_Comm comm;
};
struct sent {
    std::vector<char> content;
    int tag;
    MPI_Comm comm;
};
struct held {
    MPI_Request request;
    result how;
};

constinit std::mutex mutex; // guards what follows
std::deque<posted> receives;
std::deque<sent> messages;
std::vector<held> held_back;
auto &attributes = *new std::map<int, void *>; // they live as long as the process

void match(const posted &r, const sent &m) {
    const int bytes = std::min(r.bytes, static_cast<int>(m.content.size()));
    if (bytes != 0) {
        std::memcpy(r.buffer, m.content.data(), static_cast<std::size_t>(bytes));
    }
    const bool is_whole = m.content.size() <= static_cast<std::size_t>(r.bytes);
    world.complete_in_progress(r.operation, {0, m.tag, bytes, is_whole ? MPI_SUCCESS : MPI_ERR_TRUNCATE, false});
}

void post(const posted &r) {
    if (const int error = script.receive_error.load(); error != MPI_SUCCESS) {
        world.complete_in_progress(r.operation, {0, r.tag, 0, error, false});
        return;
    }
    const std::scoped_lock guard(mutex);
    const auto found =
        std::ranges::find_if(messages, [&](const sent &m) { return m.tag == r.tag && m.comm == r.comm; });
    if (found == messages.end()) {
        receives.push_back(r);
        return;
    }
    match(r, *found);
    messages.erase(found);
}

void complete_unless(bool is_held, MPI_Request request, const result &how) {
    if (is_held) {
        const std::scoped_lock guard(mutex);
        held_back.push_back({request, how});
    } else {
        world.complete_in_progress(request, how);
    }
}

// A collective operation of one process.
int copy(const void *from, void *to, std::size_t bytes, MPI_Request *request) {
    std::memcpy(to, from, bytes);
    *request = world.start(kind::collective);
    complete_unless(script.holds_collectives, *request, {});
    return MPI_SUCCESS;
}

} // namespace

void begin_messages() {
    const std::scoped_lock guard(mutex);
    receives.clear();
    messages.clear();
    held_back.clear();
    script.send_error = nullptr;
    script.receive_error = MPI_SUCCESS;
    script.holds_sends = script.holds_collectives = false;
    script.largest_tag = 32767;
}

void release() {
    const std::scoped_lock guard(mutex);
    script.holds_sends = script.holds_collectives = false;
    for (const held &each : std::exchange(held_back, {})) {
        world.complete_in_progress(each.request, each.how);
    }
}

void fail_posted(int error, int kept) {
    const std::scoped_lock guard(mutex);
    for (const posted &each : std::exchange(receives, {})) {
        if (each.bytes == kept) {
            receives.push_back(each);
        } else {
            world.complete_in_progress(each.operation, {0, each.tag, 0, error, false});
        }
    }
}

} // namespace thence::fake

using namespace thence::fake;

// The linker prefers these to those of the MPI library.
extern "C" {

int MPI_Query_thread(int *level) {
    return table.Query_thread(level);
}
int MPI_Comm_rank(MPI_Comm, int *rank) {
    *rank = 0;
    return MPI_SUCCESS;
}
int MPI_Comm_size(MPI_Comm, int *size) {
    *size = 1;
    return MPI_SUCCESS;
}
int MPI_Comm_test_inter(MPI_Comm, int *flag) {
    *flag = 0;
    return MPI_SUCCESS;
}
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy) {
    return table.Comm_dup(comm, copy);
}
int MPI_Comm_free(MPI_Comm *comm) {
    return table.Comm_free(comm);
}
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
    return table.Comm_set_errhandler(comm, handler);
}
int MPI_Error_class(int code, int *error_class) {
    *error_class = code;
    return MPI_SUCCESS;
}
int MPI_Comm_create_keyval(MPI_Comm_copy_attr_function *, MPI_Comm_delete_attr_function *, int *keyval, void *) {
    static int last = 1000;
    *keyval = ++last;
    return MPI_SUCCESS;
}
int MPI_Comm_set_attr(MPI_Comm, int keyval, void *value) {
    const std::scoped_lock guard(mutex);
    attributes[keyval] = value;
    return MPI_SUCCESS;
}
int MPI_Comm_get_attr(MPI_Comm, int keyval, void *value, int *flag) {
    const std::scoped_lock guard(mutex);
    *flag = 1;
    if (keyval == MPI_TAG_UB) {
        *static_cast<int **>(value) = &script.largest_tag;
    } else {
        *static_cast<void **>(value) = attributes[keyval];
    }
    return MPI_SUCCESS;
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype, int, int tag, MPI_Comm comm, MPI_Request *request) {
    const int error = script.send_error ? script.send_error(tag, count) : int{MPI_SUCCESS};
    *request = world.start();
    if (error == MPI_SUCCESS) {
        const char *const from = static_cast<const char *>(buffer);
        sent m{count != 0 ? std::vector<char>(from, from + count) : std::vector<char>(), tag, comm};
        const std::scoped_lock guard(mutex);
        const auto found =
            std::ranges::find_if(receives, [&](const posted &r) { return r.tag == tag && r.comm == comm; });
        if (found == receives.end()) {
            messages.push_back(std::move(m));
        } else {
            match(*found, m);
            receives.erase(found);
        }
    }
    complete_unless(script.holds_sends, *request, {0, tag, count, error, false});
    return MPI_SUCCESS;
}
int MPI_Irecv(void *buffer, int count, MPI_Datatype, int, int tag, MPI_Comm comm, MPI_Request *request) {
    *request = world.start();
    post({world.ticket_of(*request), buffer, count, tag, comm});
    return MPI_SUCCESS;
}
int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count) {
    return table.Get_count(status, type, count);
}
int MPI_Test_cancelled(const MPI_Status *status, int *flag) {
    return table.Test_cancelled(status, flag);
}
int MPI_Request_free(MPI_Request *request) {
    return table.Request_free(request);
}
int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op, MPI_Comm) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * (type == MPI_INT ? sizeof(int) : sizeof(long)));
    return MPI_SUCCESS;
}
int MPI_Iallreduce(const void *from, void *to, int count, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *request) {
    return copy(from, to, static_cast<std::size_t>(count) * sizeof(std::uint64_t), request);
}
int MPI_Ireduce_scatter_block(const void *from, void *to, int count, MPI_Datatype, MPI_Op, MPI_Comm,
                              MPI_Request *request) {
    return copy(from, to, static_cast<std::size_t>(count) * sizeof(std::uint64_t), request);
}

} // extern "C"
