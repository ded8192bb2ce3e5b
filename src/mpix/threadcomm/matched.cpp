// SPDX-License-Identifier: BSD-3-Clause
// Messages that a matching probe has taken out. The handle is an MPI_Message that MPI never uses: the address of an
// entry of a static array, or, where handles are integers, its index below a prefix that means an invalid kind (as the
// handles of continuation requests, see core/continuation/handle.hpp).
#include "core/api/errors.hpp"
#include "mpix/threadcomm/message_calls.hpp"

#include "core/base/free_list.hpp"
#include "core/mpi/handles.hpp"
#include "core/progress/reaches_libthence.hpp"
#include "mpix/messages/requests.hpp"
#include "mpix/messages/waiting.hpp"

#include <algorithm>
#include <memory>
#include <new>

namespace thence::threadcomm {

namespace {

struct entry {
    messages::unexpected *what = nullptr; // null: the entry is free
    member *receiver = nullptr;           // lives as long as `what` is not null, see has_matched_messages()
    entry *next = nullptr;                // free too
};

constexpr std::size_t most = 4096;
constexpr std::uint32_t prefix = 0x2d000000;
entry entries[most];
base::spin_lock lock; // guards these
base::free_list<entry> free_entries;
std::size_t used = 0;

entry *take_entry() noexcept {
    const std::scoped_lock guard(lock);
    entry *const given = free_entries.take();
    return given == nullptr && used < most ? &entries[used++] : given;
}

void fill_entry(entry &taken, messages::unexpected &what, member &receiver) noexcept {
    const std::scoped_lock guard(lock);
    taken.what = &what;
    taken.receiver = &receiver;
}

void give_entry(entry &given) noexcept {
    const std::scoped_lock guard(lock);
    given.what = nullptr;
    free_entries.give(given);
}

template <class Handle> Handle handle_of(const entry &e) noexcept {
    if constexpr (std::is_integral_v<Handle>) {
        return static_cast<Handle>(prefix | static_cast<std::uint32_t>(&e - entries));
    } else {
        return reinterpret_cast<Handle>(reinterpret_cast<std::uintptr_t>(&e));
    }
}

// Null for any other handle.
template <class Handle> entry *entry_of(Handle message) noexcept {
    if constexpr (std::is_integral_v<Handle>) {
        const std::uint32_t index = static_cast<std::uint32_t>(message) - prefix;
        return index < most ? &entries[index] : nullptr;
    } else {
        const auto offset = reinterpret_cast<std::uintptr_t>(message) - reinterpret_cast<std::uintptr_t>(entries);
        return offset < sizeof entries && offset % sizeof(entry) == 0 ? entries + offset / sizeof(entry) : nullptr;
    }
}

} // namespace

bool has_matched_messages(const communicator &comm) noexcept {
    const std::scoped_lock guard(lock);
    return std::any_of(entries, entries + used,
                       [&](const entry &each) { return each.what != nullptr && each.receiver->comm == &comm; });
}

bool is_own(MPI_Message message) noexcept {
    progress::note_if_probing();
    return entry_of(message) != nullptr;
}

int matched_probe(const char *call, communicator &comm, int source, int tag, int *flag, MPI_Message *message,
                  MPI_Status *status) noexcept {
    int code = MPI_SUCCESS;
    member *const me = check_source(call, comm, source, tag, code);
    if (me == nullptr) {
        return code;
    }
    if (message == nullptr) {
        return fail(comm.handle, call, MPI_ERR_ARG, "message is null");
    }
    if (source == MPI_PROC_NULL) {
        *message = MPI_MESSAGE_NO_PROC;
        messages::set_status(status, messages::no_message());
        if (flag != nullptr) {
            *flag = 1;
        }
        return MPI_SUCCESS;
    }
    entry *const receipt = take_entry();
    if (receipt == nullptr) {
        return fail(comm.handle, call, MPI_ERR_NO_MEM, "4096 messages are matched and not received");
    }
    messages::outcome found;
    messages::unexpected *taken = nullptr;
    bool last_try = false;
    for (messages::waiting wait;;) {
        taken = me->user.take({source, 0, tag}, found);
        if (taken != nullptr || last_try) {
            break;
        }
        if (flag != nullptr) {
            messages::poll_transports();
            last_try = true;
        } else {
            wait();
        }
    }
    if (flag != nullptr) {
        *flag = taken != nullptr ? 1 : 0;
    }
    if (taken == nullptr) {
        give_entry(*receipt);
        return MPI_SUCCESS;
    }
    fill_entry(*receipt, *taken, *me);
    *message = handle_of<MPI_Message>(*receipt);
    messages::set_status(status, found);
    return MPI_SUCCESS;
}

int receive_matched(const char *call, const message_arguments &into, MPI_Message *message, MPI_Status *status,
                    MPI_Request *request) noexcept {
    entry *const from = entry_of(*message);
    if (from == nullptr || from->what == nullptr) {
        return fail(MPI_COMM_WORLD, call, MPI_ERR_REQUEST, "the message was received already");
    }
    member &owner = *from->receiver;
    communicator &comm = *owner.comm;
    std::unique_ptr<messages::p2p_operation> op(new (std::nothrow) messages::p2p_operation);
    if (op == nullptr) {
        return fail(comm.handle, call, api::reason::out_of_memory);
    }
    if (messages::failure wrong; !describe(into, op->data, wrong)) {
        return report(comm, call, wrong);
    }
    if (request != nullptr) {
        if (const int error = messages::start_request(*op); error != MPI_SUCCESS) {
            return fail(comm.handle, call, error, "MPI makes no request");
        }
        *request = op->request;
    }
    messages::unexpected *const taken = from->what;
    give_entry(*from);
    *message = MPI_MESSAGE_NULL;
    messages::p2p_operation &receive = request != nullptr ? *op.release() : *op;
    messages::endpoint::receive_taken(taken, receive);
    if (request != nullptr) {
        return MPI_SUCCESS;
    }
    wait_for_receive(owner.user, receive);
    messages::set_status(status, receive.result);
    return report(comm, call, messages::failure_of(receive.result.error));
}

} // namespace thence::threadcomm
