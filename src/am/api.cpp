// SPDX-License-Identifier: BSD-3-Clause
// The calls of <thence/am.h> on an engine: what is wrong with their arguments.
#include "am/api.hpp"
#include "core/api/sized.hpp"

#include <climits>
#include <cstring>
#include <new>

using namespace thence;
using namespace thence::am;

namespace {

constexpr failure null_handler{MPI_ERR_ARG, "handler is null"};
constexpr failure null_payload{MPI_ERR_ARG, "payload is null although bytes is not 0"};
constexpr failure null_data{MPI_ERR_ARG, "the pointer to the data is null although bytes is not 0"};
constexpr failure null_memory{MPI_ERR_ARG, "memory is null"};
constexpr failure null_done{MPI_ERR_ARG, "done is null"};
constexpr failure null_sent{MPI_ERR_ARG, "sent is null"};
constexpr failure no_such_number{MPI_ERR_ARG, "number is not one from 0 to THENCE_AM_MOST_HANDLERS - 1"};
constexpr failure number_in_use{MPI_ERR_ARG, "a handler is registered under this number already"};
constexpr failure no_handler{MPI_ERR_ARG,
                             "no handler is registered under this number in this process: register it in all"};
constexpr failure unknown_am_flags{MPI_ERR_ARG, "flags has bits that are no option of a handler"};
constexpr failure no_rank{MPI_ERR_RANK, "the communicator has no such rank"};
constexpr failure payload_too_long{
    MPI_ERR_COUNT, "the payload is longer than max_payload of the options: raise that, or put the data"};
constexpr failure data_too_long{MPI_ERR_COUNT, "more than 2 GiB - 1: transfer it in several pieces"};
constexpr failure beyond_end{MPI_ERR_ARG, "offset and bytes go beyond the end of the memory"};
constexpr failure not_registered{MPI_ERR_ARG, "this process has not registered that memory, or has forgotten it"};
constexpr failure nothing_held{MPI_ERR_ARG, "nothing is held: each thence_am_release needs a thence_am_hold before"};

constexpr std::size_t first_info = THENCE_SIZE_UP_TO(thence_am_info, outgoing);
static_assert(sizeof(thence_am_info) == first_info);

failure wrong_target(message_engine &e, int rank) noexcept {
    return rank < 0 || rank >= e.processes().size() ? no_rank : failure{};
}

failure wrong_message(thence_am am, int rank, int number, const void *payload, std::size_t bytes) noexcept {
    if (const failure f = wrong_engine(am)) {
        return f;
    }
    message_engine &e = *object_of(am);
    if (const failure f = wrong_target(e, rank)) {
        return f;
    }
    if (e.handlers().find(number) == nullptr) {
        return no_handler;
    }
    if (bytes > e.options().max_payload) {
        return payload_too_long;
    }
    return payload == nullptr && bytes != 0 ? null_payload : failure{};
}

failure wrong_transfer(thence_am am, const void *data, std::size_t bytes, const thence_am_memory *memory,
                       std::size_t offset) noexcept {
    if (const failure f = wrong_engine(am)) {
        return f;
    }
    if (memory == nullptr) {
        return null_memory;
    }
    if (data == nullptr && bytes != 0) {
        return null_data;
    }
    if (bytes > INT_MAX) {
        return data_too_long;
    }
    if (offset > memory->bytes || bytes > memory->bytes - offset) {
        return beyond_end;
    }
    return wrong_target(*object_of(am), memory->rank);
}

} // namespace

extern "C" {

int thence_am_register(thence_am handle, int number, thence_am_handler *handler, void *data, unsigned flags) {
    static const char call[] = "thence_am_register";
    if (const failure f = wrong_engine(handle)) {
        return refuse(handle, call, f);
    }
    if (handler == nullptr) {
        return refuse(handle, call, null_handler);
    }
    if ((flags & ~THENCE_AM_SHORT) != 0) {
        return refuse(handle, call, unknown_am_flags);
    }
    if (number < 0 || number >= THENCE_AM_MOST_HANDLERS) {
        return refuse(handle, call, no_such_number);
    }
    return object_of(handle)->handlers().add(number, {handler, data, flags}) ? MPI_SUCCESS
                                                                             : refuse(handle, call, number_in_use);
}

int thence_am_send(thence_am handle, int rank, int number, const void *payload, size_t bytes) {
    if (const failure f = wrong_message(handle, rank, number, payload, bytes)) [[unlikely]] {
        return refuse(handle, "thence_am_send", f);
    }
    bool sent = true;
    return ended(handle, "thence_am_send",
                 object_of(handle)->send(rank, number, {payload, bytes}, am::when_full::wait, nullptr, sent));
}

int thence_am_try_send(thence_am handle, int rank, int number, const void *payload, size_t bytes, int *sent) {
    static const char call[] = "thence_am_try_send";
    if (const failure f = wrong_message(handle, rank, number, payload, bytes)) {
        return refuse(handle, call, f);
    }
    if (sent == nullptr) {
        return refuse(handle, call, null_sent);
    }
    bool is_sent = true;
    const int code = object_of(handle)->send(rank, number, {payload, bytes}, am::when_full::give_up, nullptr, is_sent);
    if (code == MPI_SUCCESS) {
        *sent = is_sent ? 1 : 0;
    }
    return ended(handle, call, code);
}

int thence_am_send_then(thence_am handle, int rank, int number, const void *payload, size_t bytes, thence_am_done *done,
                        void *done_data) {
    static const char call[] = "thence_am_send_then";
    if (const failure f = wrong_message(handle, rank, number, payload, bytes)) {
        return refuse(handle, call, f);
    }
    if (done == nullptr) {
        return refuse(handle, call, null_done);
    }
    auto *const departure = new (std::nothrow) am::departure_callback(done, done_data);
    if (departure == nullptr) {
        return refuse(handle, call, reason::no_memory);
    }
    bool sent = true;
    const int code = object_of(handle)->send(rank, number, {payload, bytes}, am::when_full::queue, departure, sent);
    if (code != MPI_SUCCESS) {
        delete departure;
    }
    return ended(handle, call, code);
}

int thence_am_memory_register(thence_am handle, void *address, size_t bytes, thence_am_memory *memory) {
    static const char call[] = "thence_am_memory_register";
    if (const failure f = wrong_engine(handle)) {
        return refuse(handle, call, f);
    }
    if (memory == nullptr) {
        return refuse(handle, call, null_memory);
    }
    if (address == nullptr && bytes != 0) {
        return refuse(handle, call, null_data);
    }
    message_engine &e = *object_of(handle);
    std::uint64_t key = 0;
    if (!e.memory().add(address, bytes, key)) {
        return refuse(handle, call, reason::no_memory);
    }
    *memory = {bytes, key, e.processes().rank(), 0};
    return MPI_SUCCESS;
}

int thence_am_memory_forget(thence_am handle, const thence_am_memory *memory) {
    static const char call[] = "thence_am_memory_forget";
    if (const failure f = wrong_engine(handle)) {
        return refuse(handle, call, f);
    }
    if (memory == nullptr) {
        return refuse(handle, call, null_memory);
    }
    message_engine &e = *object_of(handle);
    return memory->rank == e.processes().rank() && e.memory().remove(memory->key)
               ? MPI_SUCCESS
               : refuse(handle, call, not_registered);
}

int thence_am_put(thence_am handle, const void *from, size_t bytes, const thence_am_memory *to, size_t offset,
                  int number, const void *payload, size_t payload_bytes, thence_am_done *done, void *done_data) {
    static const char call[] = "thence_am_put";
    failure f = wrong_transfer(handle, from, bytes, to, offset);
    if (!f && number != THENCE_AM_NO_HANDLER) {
        f = wrong_message(handle, to->rank, number, payload, payload_bytes);
    }
    if (f) {
        return refuse(handle, call, f);
    }
    const std::size_t kept = number != THENCE_AM_NO_HANDLER ? payload_bytes : 0;
    am::transfer *const t = am::make_transfer(kept);
    if (t == nullptr) {
        return refuse(handle, call, reason::no_memory);
    }
    t->rank = to->rank;
    t->number = number;
    t->data = const_cast<void *>(from);
    t->bytes = bytes;
    t->done = done;
    t->done_data = done_data;
    if (kept != 0) {
        std::memcpy(t->payload(), payload, kept);
    }
    return ended(handle, call, object_of(handle)->put(*t, *to, offset));
}

int thence_am_get(thence_am handle, void *to, size_t bytes, const thence_am_memory *from, size_t offset,
                  thence_am_done *done, void *done_data) {
    static const char call[] = "thence_am_get";
    if (const failure f = wrong_transfer(handle, to, bytes, from, offset)) {
        return refuse(handle, call, f);
    }
    if (done == nullptr) {
        return refuse(handle, call, null_done);
    }
    am::transfer *const t = am::make_transfer(0);
    if (t == nullptr) {
        return refuse(handle, call, reason::no_memory);
    }
    t->rank = from->rank;
    t->data = to;
    t->bytes = bytes;
    t->done = done;
    t->done_data = done_data;
    return ended(handle, call, object_of(handle)->get(*t, *from, offset));
}

int thence_am_progress(thence_am handle, long *count) {
    static const char call[] = "thence_am_progress";
    if (const failure f = wrong_engine(handle)) {
        return refuse(handle, call, f);
    }
    message_engine &e = *object_of(handle);
    if (!e.processes().may_call()) {
        return refuse(handle, call, not_communication_thread);
    }
    return e.progress_or_error(count);
}

int thence_am_hold(thence_am handle) {
    if (const failure f = wrong_engine(handle)) {
        return refuse(handle, "thence_am_hold", f);
    }
    object_of(handle)->hold();
    return MPI_SUCCESS;
}

int thence_am_release(thence_am handle) {
    if (const failure f = wrong_engine(handle)) {
        return refuse(handle, "thence_am_release", f);
    }
    return object_of(handle)->release() ? MPI_SUCCESS : refuse(handle, "thence_am_release", nothing_held);
}

int thence_am_quiesce(thence_am handle) {
    static const char call[] = "thence_am_quiesce";
    if (const failure f = wrong_engine(handle)) {
        return refuse(handle, call, f);
    }
    message_engine &e = *object_of(handle);
    if (!e.processes().may_call()) {
        return refuse(handle, call, not_communication_thread);
    }
    if (e.must_not_wait()) {
        return refuse(handle, call, in_callback);
    }
    int code = MPI_SUCCESS;
    return e.quiesce(code) ? code : refuse(handle, call, is_awaited);
}

int thence_am_quiesce_then(thence_am handle, thence_am_done *done, void *done_data) {
    static const char call[] = "thence_am_quiesce_then";
    if (const failure f = wrong_engine(handle)) {
        return refuse(handle, call, f);
    }
    if (done == nullptr) {
        return refuse(handle, call, null_done);
    }
    return object_of(handle)->quiesce_then(done, done_data) ? MPI_SUCCESS : refuse(handle, call, is_awaited);
}

int thence_am_query(thence_am handle, thence_am_info *info, size_t size) {
    static const char call[] = "thence_am_query";
    if (const failure f = wrong_engine(handle)) {
        return refuse(handle, call, f);
    }
    if (info == nullptr) {
        return refuse(handle, call, reason::null_info);
    }
    if (size < first_info) {
        return refuse(handle, call, reason::size_too_small);
    }
    thence_am_info facts{};
    object_of(handle)->query(facts);
    api::copy_sized(facts, info, size);
    return MPI_SUCCESS;
}

} // extern "C"
