// SPDX-License-Identifier: BSD-3-Clause
// Streams, their communicators, and messages on multiplex communicators: thence/stream.h.
#include <thence/enqueue.h>
#include <thence/stream.h>

#include "core/api/checks.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/error_code.hpp"
#include "core/mpi/info.hpp"
#include "mpix/queues/cuda.hpp"
#include "mpix/queues/queue.hpp"
#include "mpix/streams/communicator.hpp"
#include "mpix/streams/info.hpp"
#include "mpix/streams/multiplex.hpp"
#include "mpix/streams/multiplex_messages.hpp"
#include "mpix/streams/stream.hpp"
#include "mpix/threadcomm/communicator.hpp"

#include <memory>
#include <new>

namespace thence::api::reason {

constexpr failure null_stream{MPI_ERR_ARG, "stream is null"};
constexpr failure bad_hex{MPI_ERR_INFO_VALUE, "value is not the hexadecimal text of a handle of this type"};
constexpr failure unusable_queue{MPI_ERR_UNSUPPORTED_OPERATION, "the process cannot use such a queue"};

} // namespace thence::api::reason

using namespace thence;
using api::fail;
using api::fail_with_detail;
using api::public_call;
namespace reason = api::reason;

namespace {

bool is_complete_table(const thence_queue &queue) noexcept {
    const thence_queue_table *table = queue.table;
    return table != nullptr && table->size >= sizeof(thence_queue_table) && table->launch != nullptr &&
           table->wait != nullptr && (table->needs_copy == nullptr || table->copy != nullptr) &&
           (table->allocate == nullptr || table->release != nullptr);
}

// Reads what the info says of a queue. Returns MPI_SUCCESS, or the error that it has reported. Sets `there`.
int read_queue(const public_call &call, MPI_Info info, thence_queue &queue, bool &there) {
    const std::optional<std::string> type = mpi::value_of(info, "type");
    there = type && (*type == "thence_queue" || *type == "cudaStream_t" || *type == "hipStream_t");
    if (!there) {
        return MPI_SUCCESS;
    }
    if (*type == "hipStream_t") {
        return fail_with_detail(call, reason::unusable_queue,
                                "for HIP, pass a thence_queue with a table of the program");
    }
    const std::optional<std::string> value = mpi::value_of(info, "value");
    if (*type == "cudaStream_t") {
        void *handle = nullptr;
        if (!value || !streams::from_hex(*value, &handle, sizeof handle)) {
            return fail(call, reason::bad_hex);
        }
        const char *why = nullptr;
        queue = queues::open_cuda_stream(handle, why);
        return queue.table != nullptr ? MPI_SUCCESS : fail_with_detail(call, reason::unusable_queue, why);
    }
    if (!value || !streams::from_hex(*value, &queue, sizeof queue)) {
        return fail(call, reason::bad_hex);
    }
    return is_complete_table(queue)
               ? MPI_SUCCESS
               : fail(call,
                      {MPI_ERR_ARG,
                       "the table of the queue is null, too small, or lacks launch, wait or what needs_copy needs"});
}

int create(const public_call &call, MPI_Info info, thence_stream *stream) {
    const std::optional<std::string> native = mpi::value_of(info, "native");
    if (native && *native != "true" && *native != "false") {
        return fail(call, {MPI_ERR_INFO_VALUE, "native is neither true nor false"});
    }
    auto made = std::make_unique<streams::context>();
    if (const int code = streams::copy_assertions(info, made->assertions); code != MPI_SUCCESS) {
        return code;
    }
    thence_queue queue{};
    bool has_queue = false;
    if (const int code = read_queue(call, info, queue, has_queue); code != MPI_SUCCESS) {
        return code;
    }
    if (has_queue) {
        made->queue = queues::queue::create(queue);
        if (made->queue == nullptr) {
            return fail(call, reason::queue_refused);
        }
    } else if (!native || *native == "true") {
        made->native = streams::take_native();
    }
    const streams::context &added = *made;
    if (!streams::add(made)) {
        return fail(call, {MPI_ERR_NO_MEM, "16777216 streams exist, or memory is exhausted"});
    }
    *stream = added.handle;
    return MPI_SUCCESS;
}

// What every call checks that makes a communicator.
int check_creation(const public_call &call, MPI_Comm comm, const MPI_Comm *newcomm) {
    if (newcomm == nullptr) {
        return fail(call, reason::null_newcomm);
    }
    return comm == MPI_COMM_NULL ? fail(call, reason::null_comm) : api::set_up(call);
}

using starting = int (*)(const char *call, MPI_Comm comm, const streams::stream_message &message,
                         MPI_Request &request) noexcept;

int start(const public_call &call, starting how, MPI_Comm comm, const streams::stream_message &message,
          MPI_Request *request) noexcept {
    return request == nullptr ? fail(call, reason::null_request) : how(call.name, comm, message, *request);
}

} // namespace

extern "C" {

int thence_stream_create(MPI_Info info, thence_stream *stream) {
    static constexpr public_call call{"thence_stream_create"};
    if (stream == nullptr) {
        return fail(call, reason::null_stream);
    }
    if (const int code = api::set_up(call); code != MPI_SUCCESS) {
        return code;
    }
    try {
        return create(call, info, stream);
    } catch (const std::bad_alloc &) {
        return fail(call, reason::no_memory);
    }
}

int thence_stream_free(thence_stream *stream) {
    static constexpr public_call call{"thence_stream_free"};
    streams::context *found = stream != nullptr ? streams::find(*stream) : nullptr;
    if (found == nullptr) {
        return fail(call, stream == nullptr ? reason::null_stream : reason::no_stream);
    }
    streams::wait_for_work(*found);
    int code = MPI_SUCCESS;
    switch (streams::destroy(*found, code)) {
    case streams::freeing::done:
        *stream = THENCE_STREAM_NULL;
        return MPI_SUCCESS;
    case streams::freeing::has_communicators:
        return fail(call, {MPI_ERR_OTHER, "communicators of the stream exist"});
    case streams::freeing::has_work:
        return fail(call, {MPI_ERR_PENDING, "enqueued operations of the stream are outstanding"});
    default:
        return fail(call, {MPI_ERR_OTHER, "MPI does not free its own stream"});
    }
}

int thence_stream_comm_create(MPI_Comm comm, thence_stream stream, MPI_Comm *newcomm) {
    static constexpr public_call call{"thence_stream_comm_create"};
    if (const int code = check_creation(call, comm, newcomm); code != MPI_SUCCESS) {
        return code;
    }
    streams::context *found = streams::find(stream);
    if (found == nullptr && stream != THENCE_STREAM_NULL) {
        return fail(call, reason::no_stream);
    }
    const int code = streams::create_communicator(comm, found, *newcomm);
    return code == MPI_ERR_NO_MEM ? fail(call, reason::no_memory) : code;
}

int thence_comm_get_stream(MPI_Comm comm, int idx, thence_stream *stream) {
    static constexpr public_call call{"thence_comm_get_stream"};
    if (comm == MPI_COMM_NULL) {
        return fail(call, reason::null_comm);
    }
    if (stream == nullptr) {
        return fail(call, reason::null_stream);
    }
    if (const int code = api::set_up(call); code != MPI_SUCCESS) {
        return code;
    }
    const streams::context *found = nullptr;
    if (const streams::attachment *attached = streams::attachment_of(comm)) {
        found = idx == 0 ? attached->stream : nullptr;
    } else if (const streams::multiplex *state = streams::multiplex_of(comm)) {
        const auto &streams = state->owner.streams;
        const bool is_there = idx >= 0 && static_cast<std::size_t>(idx) < streams.size();
        found = is_there ? streams[static_cast<std::size_t>(idx)] : nullptr;
    }
    *stream = found != nullptr ? found->handle : THENCE_STREAM_NULL;
    return MPI_SUCCESS;
}

int thence_info_set_hex(MPI_Info info, const char *key, const void *value, int value_size) {
    static constexpr public_call call{"thence_info_set_hex"};
    if (info == MPI_INFO_NULL) {
        return fail(call, {MPI_ERR_INFO, "info is MPI_INFO_NULL"});
    }
    if (key == nullptr || value == nullptr || value_size < 0) {
        return fail(call, key == nullptr ? api::failure{MPI_ERR_ARG, "key is null"}
                                         : api::failure{MPI_ERR_ARG, "value is null, or value_size is negative"});
    }
    if (const int code = api::set_up(call); code != MPI_SUCCESS) {
        return code;
    }
    try {
        const std::string text = streams::to_hex(value, static_cast<std::size_t>(value_size));
        return text.size() <= MPI_MAX_INFO_VAL - 1
                   ? mpi::table.Info_set(info, key, text.c_str())
                   : fail(call, {MPI_ERR_INFO_VALUE, "the text is longer than MPI_MAX_INFO_VAL"});
    } catch (const std::bad_alloc &) {
        return fail(call, reason::no_memory);
    }
}

int thence_stream_comm_create_multiplex(MPI_Comm comm, int count, thence_stream array_of_streams[], MPI_Comm *newcomm) {
    static constexpr public_call call{"thence_stream_comm_create_multiplex"};
    if (const int code = check_creation(call, comm, newcomm); code != MPI_SUCCESS) {
        return code;
    }
    if (threadcomm::find_if_any(comm) != nullptr) {
        return mpi::report_on(comm, call.name, {MPI_ERR_COMM, "comm is a thread communicator"});
    }
    return streams::create_multiplex(call.name, comm, count, array_of_streams, newcomm);
}

#define MESSAGES(c, count_t)                                                                                           \
    int thence_stream_send##c(const void *buf, count_t count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,     \
                              int source_index, int dest_index) {                                                      \
        return streams::stream_send("thence_stream_send" #c, comm,                                                     \
                                    {buf, count, type, dest, tag, source_index, dest_index});                          \
    }                                                                                                                  \
    int thence_stream_isend##c(const void *buf, count_t count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,    \
                               int source_index, int dest_index, MPI_Request *request) {                               \
        return start("thence_stream_isend" #c, &streams::stream_isend, comm,                                           \
                     {buf, count, type, dest, tag, source_index, dest_index}, request);                                \
    }                                                                                                                  \
    int thence_stream_recv##c(void *buf, count_t count, MPI_Datatype type, int source, int tag, MPI_Comm comm,         \
                              int source_index, int dest_index, MPI_Status *status) {                                  \
        return streams::stream_receive("thence_stream_recv" #c, comm,                                                  \
                                       {buf, count, type, source, tag, source_index, dest_index}, status);             \
    }                                                                                                                  \
    int thence_stream_irecv##c(void *buf, count_t count, MPI_Datatype type, int source, int tag, MPI_Comm comm,        \
                               int source_index, int dest_index, MPI_Request *request) {                               \
        return start("thence_stream_irecv" #c, &streams::stream_ireceive, comm,                                        \
                     {buf, count, type, source, tag, source_index, dest_index}, request);                              \
    }
MESSAGES(, int)
MESSAGES(_c, MPI_Count)

} // extern "C"
