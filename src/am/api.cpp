// SPDX-License-Identifier: BSD-3-Clause
// The calls of <thence/am.h>: what is wrong with their arguments, and the engines of the process.
#include "am/engine.hpp"
#include "core/api/errors.hpp"
#include "core/api/sized.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <vector>

using namespace thence;
using am::message_engine;
using api::fail;
using api::failure;
namespace reason = api::reason;

namespace {

constexpr failure null_am{MPI_ERR_ARG, "am is null"};
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
constexpr failure bad_options{MPI_ERR_ARG, "an option is out of range: see thence_am_options"};
constexpr failure other_options{MPI_ERR_ARG, "window or max_payload of the options differ between processes"};
constexpr failure options_size{MPI_ERR_ARG, "size is not that of thence_am_options, or not 0 with null options"};
constexpr failure bad_comm{MPI_ERR_COMM, "comm is null, or an intercommunicator"};
constexpr failure no_rank{MPI_ERR_RANK, "the communicator has no such rank"};
constexpr failure payload_too_long{
    MPI_ERR_COUNT, "the payload is longer than max_payload of the options: raise that, or put the data"};
constexpr failure data_too_long{MPI_ERR_COUNT, "more than 2 GiB - 1: transfer it in several pieces"};
constexpr failure beyond_end{MPI_ERR_ARG, "offset and bytes go beyond the end of the memory"};
constexpr failure not_registered{MPI_ERR_ARG, "this process has not registered that memory, or has forgotten it"};
constexpr failure nothing_held{MPI_ERR_ARG, "nothing is held: each thence_am_release needs a thence_am_hold before"};
constexpr failure in_callback{MPI_ERR_PENDING, "it would wait in a handler or a callback, which must not wait"};
constexpr failure would_wait{MPI_ERR_PENDING, "it would wait for room in a callback, which must not wait: use "
                                              "thence_am_send_then or thence_am_try_send there"};
constexpr failure is_awaited{MPI_ERR_PENDING, "the end of all messages is waited for already"};
constexpr failure helper_and_one_thread{
    MPI_ERR_UNSUPPORTED_OPERATION,
    "THENCE_AM_HELPER needs an MPI with MPI_THREAD_MULTIPLE, and no THENCE_AM_ONE_THREAD"};
constexpr failure not_communication_thread{
    MPI_ERR_OTHER, "this engine has one communication thread, the one that has created it: call it there"};

constexpr std::size_t first_options = THENCE_SIZE_UP_TO(thence_am_options, failed_data);
constexpr std::size_t first_info = THENCE_SIZE_UP_TO(thence_am_info, outgoing);
static_assert(sizeof(thence_am_options) == first_options && sizeof(thence_am_info) == first_info);

constexpr std::size_t most_payload = std::size_t{1} << 20;

message_engine *object_of(thence_am handle) noexcept {
    return reinterpret_cast<message_engine *>(handle);
}

// 0 stands for the default.
template <class T> void set_default(T &value, T otherwise) noexcept {
    value = value == 0 ? otherwise : value;
}

failure wrong(const thence_am_options &o) noexcept {
    constexpr unsigned known = THENCE_AM_ONE_THREAD | THENCE_AM_HELPER;
    if ((o.flags & ~known) != 0 || o.window < 2 || o.window > 32767 || o.receives < 1 || o.receives > 4096 ||
        o.max_outgoing < 1 || o.max_payload > most_payload) {
        return bad_options;
    }
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if ((o.flags & THENCE_AM_HELPER) != 0 && ((o.flags & THENCE_AM_ONE_THREAD) != 0 || level != MPI_THREAD_MULTIPLE)) {
        return helper_and_one_thread;
    }
    return {};
}

// The worst of all processes, and whether what must not differ does.
failure wrong_anywhere(MPI_Comm comm, const thence_am_options &o, const failure &here) noexcept {
    const long mine[5] = {here ? here.error_class : 0, o.window, -static_cast<long>(o.window),
                          static_cast<long>(o.max_payload), -static_cast<long>(o.max_payload)};
    long most[5];
    MPI_Allreduce(mine, most, 5, MPI_LONG, MPI_MAX, comm);
    if (most[0] != 0) {
        return here ? here : failure{static_cast<int>(most[0]), "another process has refused its options"};
    }
    return most[1] != -most[2] || most[3] != -most[4] ? other_options : failure{};
}

failure wrong_target(message_engine &e, int rank) noexcept {
    return rank < 0 || rank >= e.processes().size() ? no_rank : failure{};
}

failure wrong_message(thence_am am, int rank, int number, const void *payload, std::size_t bytes) noexcept {
    if (am == nullptr) {
        return null_am;
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
    if (am == nullptr) {
        return null_am;
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

// An engine that is left at MPI_Finalize, which deletes the attributes of MPI_COMM_SELF before anything else, is freed
// there. All processes are in MPI_Finalize or free it, so that is collective as it must be.
constinit int keyval = MPI_KEYVAL_INVALID; // of the process
constinit std::mutex keyval_mutex;

int at_finalize(MPI_Comm, int, void *left, void *) noexcept {
    auto &engines = *static_cast<std::vector<message_engine *> *>(left);
    for (message_engine *const each : engines) {
        each->end();
        delete each;
    }
    delete &engines;
    keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

// Those of the process, in the order in which they were made. Null: there are none.
std::vector<message_engine *> *engines() noexcept {
    void *found = nullptr;
    int flag = 0;
    if (keyval != MPI_KEYVAL_INVALID) {
        MPI_Comm_get_attr(MPI_COMM_SELF, keyval, &found, &flag);
    }
    return flag != 0 ? static_cast<std::vector<message_engine *> *>(found) : nullptr;
}

void add_engine(message_engine *made) {
    const std::scoped_lock guard(keyval_mutex);
    std::vector<message_engine *> *all = engines();
    if (all == nullptr) {
        all = new std::vector<message_engine *>;
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &at_finalize, &keyval, nullptr);
        MPI_Comm_set_attr(MPI_COMM_SELF, keyval, all);
    }
    all->push_back(made);
}

void remove_engine(message_engine *freed) noexcept {
    const std::scoped_lock guard(keyval_mutex);
    if (std::vector<message_engine *> *const all = engines()) {
        std::erase(*all, freed);
    }
}

int ended(const char *call, int code) noexcept {
    if (code == MPI_SUCCESS) [[likely]] {
        return MPI_SUCCESS;
    }
    return code == MPI_ERR_NO_MEM ? fail(call, reason::no_memory)
                                  : (code == MPI_ERR_PENDING ? fail(call, would_wait) : code);
}

} // namespace

extern "C" {

int thence_am_create(MPI_Comm comm, const thence_am_options *options, size_t size, thence_am *created) {
    static const char call[] = "thence_am_create";
    if (created == nullptr) {
        return fail(call, null_am);
    }
    thence_info info{};
    if (const int code = thence_query(&info, sizeof info); code != MPI_SUCCESS) {
        return fail(call, reason::mpi_inactive);
    }
    int is_inter = 1;
    if (comm == MPI_COMM_NULL || MPI_Comm_test_inter(comm, &is_inter) != MPI_SUCCESS || is_inter != 0) {
        return fail(call, bad_comm);
    }
    thence_am_options o{};
    failure here = (options == nullptr) != (size == 0) || (size != 0 && size != sizeof o) ? options_size : failure{};
    if (options != nullptr && !here) {
        o = *options;
    }
    set_default(o.window, 16);
    set_default(o.receives, 8);
    set_default(o.max_outgoing, 8);
    set_default<std::size_t>(o.max_payload, 3840);
    set_default<std::size_t>(o.max_queued, 262144);
    if (!here) {
        here = wrong(o);
    }
    if (const failure f = wrong_anywhere(comm, o, here)) {
        return fail(call, f);
    }
    message_engine *made = nullptr;
    try {
        made = new message_engine(o);
    } catch (const std::exception &) {
        made = nullptr;
    }
    const int has_memory = made != nullptr ? 1 : 0;
    int all_have = 0;
    MPI_Allreduce(&has_memory, &all_have, 1, MPI_INT, MPI_MIN, comm);
    if (all_have == 0) {
        delete made;
        return fail(call, reason::no_memory);
    }
    if (const int code = made->begin(comm); code != MPI_SUCCESS) {
        delete made;
        return ended(call, code);
    }
    try {
        add_engine(made);
    } catch (const std::exception &) { // then it is not freed in MPI_Finalize
    }
    *created = reinterpret_cast<thence_am>(made);
    return MPI_SUCCESS;
}

int thence_am_free(thence_am *freed) {
    static const char call[] = "thence_am_free";
    if (freed == nullptr || *freed == nullptr) {
        return fail(call, null_am);
    }
    message_engine &e = *object_of(*freed);
    if (!e.processes().may_call()) {
        return fail(call, not_communication_thread);
    }
    if (e.must_not_wait()) {
        return fail(call, in_callback);
    }
    const int code = e.end();
    if (code == MPI_ERR_PENDING) {
        return fail(call, is_awaited);
    }
    remove_engine(&e);
    delete &e;
    *freed = nullptr;
    return code;
}

int thence_am_register(thence_am handle, int number, thence_am_handler *handler, void *data, unsigned flags) {
    static const char call[] = "thence_am_register";
    if (handle == nullptr) {
        return fail(call, null_am);
    }
    if (handler == nullptr) {
        return fail(call, null_handler);
    }
    if ((flags & ~THENCE_AM_SHORT) != 0) {
        return fail(call, unknown_am_flags);
    }
    if (number < 0 || number >= THENCE_AM_MOST_HANDLERS) {
        return fail(call, no_such_number);
    }
    return object_of(handle)->handlers().add(number, {handler, data, flags}) ? MPI_SUCCESS : fail(call, number_in_use);
}

int thence_am_send(thence_am handle, int rank, int number, const void *payload, size_t bytes) {
    if (const failure f = wrong_message(handle, rank, number, payload, bytes)) [[unlikely]] {
        return fail("thence_am_send", f);
    }
    bool sent = true;
    return ended("thence_am_send",
                 object_of(handle)->send(rank, number, {payload, bytes}, am::when_full::wait, nullptr, sent));
}

int thence_am_try_send(thence_am handle, int rank, int number, const void *payload, size_t bytes, int *sent) {
    static const char call[] = "thence_am_try_send";
    if (const failure f = wrong_message(handle, rank, number, payload, bytes)) {
        return fail(call, f);
    }
    if (sent == nullptr) {
        return fail(call, null_sent);
    }
    bool is_sent = true;
    const int code = object_of(handle)->send(rank, number, {payload, bytes}, am::when_full::give_up, nullptr, is_sent);
    if (code == MPI_SUCCESS) {
        *sent = is_sent ? 1 : 0;
    }
    return ended(call, code);
}

int thence_am_send_then(thence_am handle, int rank, int number, const void *payload, size_t bytes, thence_am_done *done,
                        void *done_data) {
    static const char call[] = "thence_am_send_then";
    if (const failure f = wrong_message(handle, rank, number, payload, bytes)) {
        return fail(call, f);
    }
    if (done == nullptr) {
        return fail(call, null_done);
    }
    auto *const note = new (std::nothrow) am::leaving_note{nullptr, done, done_data};
    if (note == nullptr) {
        return fail(call, reason::no_memory);
    }
    bool sent = true;
    const int code = object_of(handle)->send(rank, number, {payload, bytes}, am::when_full::queue, note, sent);
    if (code != MPI_SUCCESS) {
        delete note;
    }
    return ended(call, code);
}

int thence_am_memory_register(thence_am handle, void *address, size_t bytes, thence_am_memory *memory) {
    static const char call[] = "thence_am_memory_register";
    if (handle == nullptr) {
        return fail(call, null_am);
    }
    if (memory == nullptr) {
        return fail(call, null_memory);
    }
    if (address == nullptr && bytes != 0) {
        return fail(call, null_data);
    }
    message_engine &e = *object_of(handle);
    std::uint64_t key = 0;
    if (!e.memory().add(address, bytes, key)) {
        return fail(call, reason::no_memory);
    }
    *memory = {bytes, key, e.processes().rank(), 0};
    return MPI_SUCCESS;
}

int thence_am_memory_forget(thence_am handle, const thence_am_memory *memory) {
    static const char call[] = "thence_am_memory_forget";
    if (handle == nullptr) {
        return fail(call, null_am);
    }
    if (memory == nullptr) {
        return fail(call, null_memory);
    }
    message_engine &e = *object_of(handle);
    return memory->rank == e.processes().rank() && e.memory().remove(memory->key) ? MPI_SUCCESS
                                                                                  : fail(call, not_registered);
}

int thence_am_put(thence_am handle, const void *from, size_t bytes, const thence_am_memory *to, size_t offset,
                  int number, const void *payload, size_t payload_bytes, thence_am_done *done, void *done_data) {
    static const char call[] = "thence_am_put";
    failure f = wrong_transfer(handle, from, bytes, to, offset);
    if (!f && number != THENCE_AM_NO_HANDLER) {
        f = wrong_message(handle, to->rank, number, payload, payload_bytes);
    }
    if (f) {
        return fail(call, f);
    }
    const std::size_t kept = number != THENCE_AM_NO_HANDLER ? payload_bytes : 0;
    am::transfer *const t = am::make_transfer(kept);
    if (t == nullptr) {
        return fail(call, reason::no_memory);
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
    return ended(call, object_of(handle)->put(*t, *to, offset));
}

int thence_am_get(thence_am handle, void *to, size_t bytes, const thence_am_memory *from, size_t offset,
                  thence_am_done *done, void *done_data) {
    static const char call[] = "thence_am_get";
    if (const failure f = wrong_transfer(handle, to, bytes, from, offset)) {
        return fail(call, f);
    }
    if (done == nullptr) {
        return fail(call, null_done);
    }
    am::transfer *const t = am::make_transfer(0);
    if (t == nullptr) {
        return fail(call, reason::no_memory);
    }
    t->rank = from->rank;
    t->data = to;
    t->bytes = bytes;
    t->done = done;
    t->done_data = done_data;
    return ended(call, object_of(handle)->get(*t, *from, offset));
}

int thence_am_progress(thence_am handle, long *count) {
    static const char call[] = "thence_am_progress";
    if (handle == nullptr) {
        return fail(call, null_am);
    }
    message_engine &e = *object_of(handle);
    if (!e.processes().may_call()) {
        return fail(call, not_communication_thread);
    }
    const int code = e.progress(count);
    return code == MPI_ERR_PENDING ? MPI_SUCCESS : code; // in a callback it runs nothing
}

int thence_am_hold(thence_am handle) {
    if (handle == nullptr) {
        return fail("thence_am_hold", null_am);
    }
    object_of(handle)->hold();
    return MPI_SUCCESS;
}

int thence_am_release(thence_am handle) {
    if (handle == nullptr) {
        return fail("thence_am_release", null_am);
    }
    return object_of(handle)->release() ? MPI_SUCCESS : fail("thence_am_release", nothing_held);
}

int thence_am_quiesce(thence_am handle) {
    static const char call[] = "thence_am_quiesce";
    if (handle == nullptr) {
        return fail(call, null_am);
    }
    message_engine &e = *object_of(handle);
    if (!e.processes().may_call()) {
        return fail(call, not_communication_thread);
    }
    if (e.must_not_wait()) {
        return fail(call, in_callback);
    }
    const int code = e.quiesce();
    return code == MPI_ERR_PENDING ? fail(call, is_awaited) : code;
}

int thence_am_quiesce_then(thence_am handle, thence_am_done *done, void *done_data) {
    static const char call[] = "thence_am_quiesce_then";
    if (handle == nullptr) {
        return fail(call, null_am);
    }
    if (done == nullptr) {
        return fail(call, null_done);
    }
    return object_of(handle)->quiesce_then(done, done_data) ? MPI_SUCCESS : fail(call, is_awaited);
}

int thence_am_query(thence_am handle, thence_am_info *info, size_t size) {
    static const char call[] = "thence_am_query";
    if (handle == nullptr) {
        return fail(call, null_am);
    }
    if (info == nullptr) {
        return fail(call, reason::null_info);
    }
    if (size < first_info) {
        return fail(call, reason::size_too_small);
    }
    thence_am_info facts{};
    object_of(handle)->query(facts);
    api::copy_sized(facts, info, size);
    return MPI_SUCCESS;
}

} // extern "C"
