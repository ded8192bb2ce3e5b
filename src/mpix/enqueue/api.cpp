// SPDX-License-Identifier: BSD-3-Clause
// Enqueued messages, waits, and operations of any kind: thence/enqueue.h.
#include <thence/enqueue.h>

#include "mpix/enqueue/enqueue_operation.hpp"
#include "mpix/queues/enqueued_requests.hpp"

#include <algorithm>

namespace thence::api::reason {

constexpr failure null_start{MPI_ERR_ARG, "start is null"};

} // namespace thence::api::reason

using namespace thence;
using api::fail;
using api::public_call;
namespace reason = api::reason;
using enqueue::buffer_use;

namespace {

int enqueue_message(const public_call &call, queues::message m, bool receives, MPI_Comm comm, MPI_Status *status,
                    MPI_Request *request, const void *call_site) {
    if (m.count < 0) {
        return fail(call, reason::negative_count);
    }
#if !defined(THENCE_MPI_LARGE_COUNTS)
    if (m.count > std::numeric_limits<int>::max()) {
        return fail(call, reason::count_too_large);
    }
#endif
    return enqueue::enqueue_operation(
        call, {receives ? &queues::start_receive : &queues::start_send, &m, sizeof m, comm, nullptr, call_site},
        [&] {
            return std::array{buffer_use{&m.buffer, m.count, m.type, !receives, receives}};
        },
        status, request);
}

int check_request(const public_call &call, const MPI_Request *request) {
    return request == nullptr ? fail(call, reason::null_request) : MPI_SUCCESS;
}

// `requests` are not null.
int wait(const public_call &call, int count, MPI_Request requests[], MPI_Status *statuses) {
    queues::queue *queue = nullptr;
    for (int i = 0; i < count; ++i) {
        if (requests[i] == MPI_REQUEST_NULL) {
            continue;
        }
        const queues::item *operation = queues::item_of(requests[i]);
        if (operation == nullptr || operation->owner->is_closed()) {
            return fail(call, operation == nullptr
                                  ? api::failure{MPI_ERR_REQUEST, "the request is not that of an enqueued operation, or"
                                                                  " was waited for already"}
                                  : api::failure{MPI_ERR_REQUEST, "the stream of the enqueued operation was freed:"
                                                                  " wait by a call of MPI"});
        }
        if ((queue != nullptr && operation->owner != queue) ||
            std::find(requests, requests + i, requests[i]) != requests + i) {
            return fail(call, {MPI_ERR_REQUEST, "the requests are not all of one queue, or one is there twice"});
        }
        queue = operation->owner;
    }
    if (queue == nullptr) {
        for (int i = 0; i < count && statuses != MPI_STATUSES_IGNORE && statuses != nullptr; ++i) {
            statuses[i] = mpi::empty_status();
        }
        return MPI_SUCCESS;
    }
    return enqueue::result_of(call, queue->enqueue_wait(count, requests, statuses));
}

} // namespace

extern "C" {

int thence_stream_get_error(thence_stream stream, int *error) {
    static constexpr public_call call{"thence_stream_get_error"};
    const streams::context *found = streams::find(stream);
    if (found == nullptr || error == nullptr) {
        return fail(call, found == nullptr ? reason::no_stream : api::failure{MPI_ERR_ARG, "error is null"});
    }
    if (found->queue == nullptr) {
        return fail(call, {MPI_ERR_OTHER, "stream has no queue"});
    }
    *error = found->queue->take_error();
    return MPI_SUCCESS;
}

int thence_start_enqueue(thence_start_function *start, const void *data, size_t size, MPI_Comm comm,
                         MPI_Status *status) {
    static constexpr public_call call{"thence_start_enqueue"};
    if (start == nullptr || (data == nullptr && size != 0)) {
        return fail(call, start == nullptr ? reason::null_start : reason::null_data_to_copy);
    }
    return enqueue::enqueue_operation(
        call, {start, data, size, comm, nullptr, __builtin_return_address(0)},
        [] { return std::array<buffer_use, 0>{}; }, status);
}

int thence_istart_enqueue(thence_start_function *start, const void *data, size_t size, MPI_Comm comm,
                          MPI_Request *request) {
    static constexpr public_call call{"thence_istart_enqueue"};
    if (start == nullptr || (data == nullptr && size != 0)) {
        return fail(call, start == nullptr ? reason::null_start : reason::null_data_to_copy);
    }
    if (const int code = check_request(call, request); code != MPI_SUCCESS) {
        return code;
    }
    return enqueue::enqueue_operation(
        call, {start, data, size, comm, nullptr, __builtin_return_address(0)},
        [] { return std::array<buffer_use, 0>{}; }, nullptr, request);
}

#define MESSAGES(c, count_t)                                                                                           \
    int thence_send_enqueue##c(const void *buf, count_t count, MPI_Datatype datatype, int dest, int tag,               \
                               MPI_Comm comm) {                                                                        \
        return enqueue_message("thence_send_enqueue" #c, {buf, count, datatype, dest, tag}, false, comm,               \
                               MPI_STATUS_IGNORE, nullptr, __builtin_return_address(0));                               \
    }                                                                                                                  \
    int thence_recv_enqueue##c(void *buf, count_t count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,    \
                               MPI_Status *status) {                                                                   \
        return enqueue_message("thence_recv_enqueue" #c, {buf, count, datatype, source, tag}, true, comm, status,      \
                               nullptr, __builtin_return_address(0));                                                  \
    }                                                                                                                  \
    int thence_isend_enqueue##c(const void *buf, count_t count, MPI_Datatype datatype, int dest, int tag,              \
                                MPI_Comm comm, MPI_Request *request) {                                                 \
        const int code = check_request("thence_isend_enqueue" #c, request);                                            \
        return code != MPI_SUCCESS ? code                                                                              \
                                   : enqueue_message("thence_isend_enqueue" #c, {buf, count, datatype, dest, tag},     \
                                                     false, comm, nullptr, request, __builtin_return_address(0));      \
    }                                                                                                                  \
    int thence_irecv_enqueue##c(void *buf, count_t count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,   \
                                MPI_Request *request) {                                                                \
        const int code = check_request("thence_irecv_enqueue" #c, request);                                            \
        return code != MPI_SUCCESS ? code                                                                              \
                                   : enqueue_message("thence_irecv_enqueue" #c, {buf, count, datatype, source, tag},   \
                                                     true, comm, nullptr, request, __builtin_return_address(0));       \
    }
MESSAGES(, int)
MESSAGES(_c, MPI_Count)

int thence_wait_enqueue(MPI_Request *request, MPI_Status *status) {
    static constexpr public_call call{"thence_wait_enqueue"};
    const int code = check_request(call, request);
    return code != MPI_SUCCESS ? code : wait(call, 1, request, status);
}

int thence_waitall_enqueue(int count, MPI_Request array_of_requests[], MPI_Status *array_of_statuses) {
    static constexpr public_call call{"thence_waitall_enqueue"};
    if (count < 0) {
        return fail(call, reason::negative_count);
    }
    if (array_of_requests == nullptr && count != 0) {
        return fail(call, reason::null_requests);
    }
    return wait(call, count, array_of_requests, array_of_statuses);
}

} // extern "C"
