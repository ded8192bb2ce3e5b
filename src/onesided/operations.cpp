// SPDX-License-Identifier: BSD-3-Clause
#include "onesided/operations.hpp"

#include "onesided/memory/other_process.hpp"
#include "onesided/pieces.hpp"
#include "onesided/source.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace thence::onesided {

std::uint64_t most_in_message = std::uint64_t{1} << 30;

namespace {

const part &part_at(const location &at) noexcept {
    return at.remote_segment->part_of(at.rank);
}

// Whether an operation is an error because its target has ended. Without messages no poll asks the system for that, so
// the operations themselves do now and then: for all spaces.
bool is_gone(const location &at) noexcept {
    if (at.remote_segment->in.look_is_due()) [[unlikely]] {
        look_at_spaces_without_messages();
    }
    return at.remote_segment->in.is_gone(at.rank);
}

// What an operation leaves in its queue. It is made before anything is started, and given to the queue afterwards.
class pending_entry {
public:
    // `may_last`: the operation may be incomplete when its call returns.
    pending_entry(const location &remote, int number, const completion &how, bool may_last) noexcept
        : in_(queue_for(remote, number, how)), how_(how) {
        if (how.request != nullptr || (how.completions == 0 && !may_last)) [[likely]] {
            return;
        }
        made_ = pending::make();
        is_missing_ = made_ == nullptr;
        if (made_ != nullptr) {
            made_->tag = how.tag;
            made_->completions = how.completions;
            made_->entries = how.completions != 0 ? how.completions : how.entries;
            made_->end = how.end;
            made_->of_target = &remote.remote_segment->in.health_of(remote.rank);
        }
    }
    pending_entry &operator=(pending_entry &&) = delete;
    ~pending_entry() {
        if (made_ != nullptr) {
            pending::drop(made_);
        }
    }

    // Memory is exhausted.
    bool is_missing() const noexcept { return is_missing_; }
    bool has_room() const noexcept { return how_.has_room; }
    void complete() noexcept {
        if (how_.request != nullptr) {
            *how_.request = MPI_REQUEST_NULL;
        } else if (how_.completions != 0) {
            in_.add_complete(*std::exchange(made_, nullptr));
        } else if (how_.entries != 0) {
            in_.count_complete(how_.entries);
        }
    }
    // The request of an operation that is under way goes to its user, or to the queue. `expected`, `serial`: see
    // pending.
    void is_under_way(MPI_Request request, std::uint64_t expected, std::uint32_t serial) noexcept {
        if (how_.request != nullptr) {
            *how_.request = request;
            if (how_.serial != nullptr) {
                *how_.serial = serial;
            }
            return;
        }
        made_->request = request;
        made_->expected = expected;
        made_->serial = serial;
        if (how_.local_use != nullptr) {
            made_->local_use = how_.local_use;
            how_.local_use->fetch_add(1, std::memory_order_relaxed);
        }
        if (how_.end != nullptr) {
            how_.end->is_end = true;
        }
        in_.add(*std::exchange(made_, nullptr));
    }
    // The operation has failed, and MPI may use the memory all the same: the part stays in use for ever.
    void keeps_memory() const noexcept {
        if (how_.local_use != nullptr) {
            how_.local_use->fetch_add(1, std::memory_order_relaxed);
        }
    }

private:
    queue &in_;
    const completion &how_;
    pending *made_ = nullptr;
    bool is_missing_ = false;
};

bool put_directly(const void *from, std::uint64_t bytes, const location &to, const part &at) noexcept {
    if (at.how == way::by_memory) [[likely]] {
        if (bytes != 0) {
            std::memmove(at.memory + to.offset, from, bytes); // a rank may move data within its own part
        }
        return true;
    }
    return memory::write_to(to.remote_segment->in.peers[static_cast<std::size_t>(to.rank)].process,
                            at.address + to.offset, from, bytes);
}

bool get_directly(void *to, std::uint64_t bytes, const location &from, const part &at) noexcept {
    if (at.how == way::by_memory) {
        std::memmove(to, at.memory + from.offset, bytes);
        return true;
    }
    return memory::read_from(from.remote_segment->in.peers[static_cast<std::size_t>(from.rank)].process,
                             at.address + from.offset, to, bytes);
}

// Waits until the target has room for one more, if its user has not. Returns an error code.
int make_packet(wire::kind what, int queue, const location &at, std::uint64_t bytes, const pending_entry &rest,
                wire::packet *&made) noexcept {
    if (rest.is_missing()) {
        return MPI_ERR_NO_MEM;
    }
    if (!rest.has_room() && !at.remote_segment->in.wait_for_room(at.rank)) {
        return MPI_ERR_OTHER;
    }
    wire::packet *const p = wire::take_packet();
    if (p == nullptr) {
        return MPI_ERR_NO_MEM;
    }
    p->head = {};
    p->head.what = what;
    p->head.queue = static_cast<std::uint32_t>(queue);
    p->head.segment = at.remote_segment->number;
    p->head.offset = at.offset;
    p->head.bytes = bytes;
    p->length = sizeof p->head;
    made = p;
    return MPI_SUCCESS;
}

std::uint64_t number_of(list_of_puts *list, space &in) noexcept {
    if (list == nullptr) {
        return 0;
    }
    if (list->number == 0) {
        list->number = in.wires().next_list();
    }
    return list->number;
}

void add_signal(wire::header &h, const signal &after, std::uint64_t list) noexcept {
    h.notification = after.number;
    h.value = after.value;
    h.operands[0] = after.value != 0 ? static_cast<std::uint64_t>(after.in_segment->number) : 0;
    h.operands[1] = list;
}

int put_in_packet(const void *from, std::uint64_t bytes, const location &to, const signal &after, list_of_puts *list,
                  int queue, const completion &how) noexcept {
    pending_entry rest(to, queue, how, false);
    wire::packet *p = nullptr;
    if (const int code = make_packet(wire::kind::put, queue, to, bytes, rest, p); code != MPI_SUCCESS) {
        return code;
    }
    add_signal(p->head, after, number_of(list, to.remote_segment->in));
    if (bytes != 0) {
        std::memcpy(p->data, from, bytes);
    }
    p->length += bytes;
    const int code = to.remote_segment->in.wires().send(*p, to.rank);
    if (code == MPI_SUCCESS) {
        rest.complete();
    }
    return code;
}

int put_by_messages(const void *from, std::uint64_t bytes, const location &to, const signal &after, list_of_puts *list,
                    int queue, const completion &how) noexcept {
    if (bytes <= wire::packet::capacity) {
        return put_in_packet(from, bytes, to, after, list, queue, how);
    }
    space &in = to.remote_segment->in;
    pending_entry rest(to, queue, how, true);
    wire::packet *p = nullptr;
    int code = make_packet(wire::kind::put, queue, to, bytes, rest, p);
    if (code != MPI_SUCCESS) {
        return code;
    }
    add_signal(p->head, after, number_of(list, to.remote_segment->in));
    const std::uint32_t serial = in.wires().next_serial();
    p->head.serial = serial;
    // The data first: if MPI does not take them, nothing has been announced.
    MPI_Request data = MPI_REQUEST_NULL;
    code = in.wires().send_data(from, bytes, to.rank, serial, data);
    if (code != MPI_SUCCESS) {
        wire::give_packet(p);
        return code;
    }
    code = in.wires().send(*p, to.rank);
    if (code != MPI_SUCCESS) {
        if (!wire::transport::abandon_send(data, in.is_gone(to.rank))) {
            rest.keeps_memory();
        }
        return code;
    }
    rest.is_under_way(data, 0, serial);
    return MPI_SUCCESS;
}

// Sends a packet that is answered by a reply of as many bytes as its header says, which go to `to`.
int ask(wire::packet &p, void *to, const location &at, pending_entry &rest) noexcept {
    space &in = at.remote_segment->in;
    const std::uint32_t serial = p.head.serial = in.wires().next_serial();
    const std::uint64_t bytes = p.head.bytes;
    MPI_Request reply = MPI_REQUEST_NULL;
    int code = in.wires().receive_reply(to, bytes, at.rank, serial, reply);
    if (code != MPI_SUCCESS) {
        wire::give_packet(&p);
        return code;
    }
    code = in.wires().send(p, at.rank);
    if (code != MPI_SUCCESS) {
        if (!wire::transport::abandon(reply)) {
            rest.keeps_memory();
        }
        return code;
    }
    rest.is_under_way(reply, bytes, serial);
    return MPI_SUCCESS;
}

int get_by_messages(void *to, std::uint64_t bytes, const location &from, int queue, const completion &how) noexcept {
    pending_entry rest(from, queue, how, true);
    wire::packet *p = nullptr;
    const int code = make_packet(wire::kind::get, queue, from, bytes, rest, p);
    return code == MPI_SUCCESS ? ask(*p, to, from, rest) : code;
}

// Each operation looks at a part once: it may be announced anew meanwhile, and be shorter then. What does not fit goes
// by messages, and the target drops it.
bool is_direct(const part &at, const location &remote, std::uint64_t bytes, bool atomic) noexcept {
    return (at.how == way::by_memory || (at.how == way::by_copy && !atomic)) && remote.offset <= at.bytes &&
           bytes <= at.bytes - remote.offset && remote.remote_segment->in.may_be_direct(remote.rank);
}

// Whether its owner has deleted it, and this process has not been told of another one. A deletion beside the operation
// may come before or after it.
bool is_dropped(const part &at) noexcept {
    return (at.how == way::by_memory || at.how == way::by_copy) && at.slots.are_dropped();
}

int noted(const location &at, int code) noexcept {
    if (code != MPI_SUCCESS && code != MPI_ERR_NO_MEM) {
        at.remote_segment->in.health_of(at.rank).failed.store(true, std::memory_order_relaxed);
    }
    return code;
}

void tell_of_message(const completion &how) noexcept {
    if (how.is_message != nullptr) {
        *how.is_message = true;
    }
}

} // namespace

int put(const void *from, std::uint64_t bytes, const location &to, const signal &after, int queue,
        const completion &how) noexcept {
    if (is_gone(to)) [[unlikely]] {
        return MPI_ERR_OTHER;
    }
    const part &at = part_at(to);
    const part &notified =
        after.value == 0 || after.in_segment == to.remote_segment ? at : after.in_segment->part_of(to.rank);
    if (is_dropped(at) || is_dropped(notified)) [[unlikely]] {
        return noted(to, MPI_ERR_OTHER);
    }
    // After messages of a list only the target knows whether these have failed.
    const bool follows_messages = how.list != nullptr && how.list->number != 0;
    if (!follows_messages && is_direct(at, to, bytes, false) &&
        (after.value == 0 || (after.number < notified.notifications &&
                              (&notified == &at || is_direct(notified, {after.in_segment, to.rank, 0}, 0, false)))))
        [[likely]] {
        pending_entry rest(to, queue, how, false);
        if (rest.is_missing()) {
            return MPI_ERR_NO_MEM;
        }
        if (!put_directly(from, bytes, to, at)) {
            return noted(to, MPI_ERR_OTHER);
        }
        if (after.value != 0) {
            notification::slots(notified.slots).set(after.number, after.value);
        }
        rest.complete();
        return MPI_SUCCESS;
    }
    tell_of_message(how);
    list_of_puts own_list;
    list_of_puts *const list =
        how.list == nullptr && after.value != 0 && bytes > most_in_message ? &own_list : how.list;
    const auto transfer = [&](const void *local, std::uint64_t length, const location &remote, bool is_last,
                              const completion &of_part) {
        return put_by_messages(local, length, remote, is_last ? after : signal{}, list, queue, of_part);
    };
    return noted(to, in_pieces(static_cast<const unsigned char *>(from), bytes, to, queue, how, transfer));
}

int get(void *to, std::uint64_t bytes, const location &from, int queue, const completion &how) noexcept {
    if (is_gone(from)) [[unlikely]] {
        return MPI_ERR_OTHER;
    }
    const part &at = part_at(from);
    if (is_dropped(at)) [[unlikely]] {
        return noted(from, MPI_ERR_OTHER);
    }
    if (bytes == 0 || is_direct(at, from, bytes, false)) {
        pending_entry rest(from, queue, how, false);
        if (rest.is_missing()) {
            return MPI_ERR_NO_MEM;
        }
        if (bytes != 0 && !get_directly(to, bytes, from, at)) {
            return noted(from, MPI_ERR_OTHER);
        }
        rest.complete();
        return MPI_SUCCESS;
    }
    tell_of_message(how);
    const auto transfer = [&](void *local, std::uint64_t length, const location &remote, bool,
                              const completion &of_part) {
        return get_by_messages(local, length, remote, queue, of_part);
    };
    return noted(from, in_pieces(static_cast<unsigned char *>(to), bytes, from, queue, how, transfer));
}

int notify(int rank, const signal &what, int queue, const completion &how) noexcept {
    return put(nullptr, 0, {what.in_segment, rank, 0}, what, queue, how);
}

int atomic(wire::kind what, const std::uint64_t (&operands)[2], const location &at, std::uint64_t *old, int queue,
           const completion &how) noexcept {
    if (is_gone(at)) [[unlikely]] {
        return MPI_ERR_OTHER;
    }
    const part &remote = part_at(at);
    if (is_dropped(remote)) [[unlikely]] {
        return noted(at, MPI_ERR_OTHER);
    }
    const bool directly = is_direct(remote, at, sizeof *old, true);
    pending_entry rest(at, queue, how, !directly);
    if (rest.is_missing()) {
        return MPI_ERR_NO_MEM;
    }
    if (directly) {
        const std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t *>(remote.memory + at.offset));
        if (what == wire::kind::fetch_add) {
            *old = word.fetch_add(operands[0]);
        } else {
            std::uint64_t expected = operands[0];
            word.compare_exchange_strong(expected, operands[1]);
            *old = expected;
        }
        rest.complete();
        return MPI_SUCCESS;
    }
    wire::packet *p = nullptr;
    if (const int code = make_packet(what, queue, at, sizeof *old, rest, p); code != MPI_SUCCESS) {
        return noted(at, code);
    }
    std::copy_n(operands, 2, p->head.operands);
    return noted(at, ask(*p, old, at, rest));
}

} // namespace thence::onesided
