// SPDX-License-Identifier: BSD-3-Clause
#include "onesided/operations.hpp"

#include "core/mpi/calls.hpp"
#include "onesided/memory/other_process.hpp"

#include <algorithm>
#include <cstring>

namespace thence::onesided {

namespace {

const part &part_at(const place &at) noexcept {
    return at.of->parts[static_cast<std::size_t>(at.rank)];
}

void report_complete(space &in, int queue, const completion &how) noexcept {
    if (how.request != nullptr) {
        *how.request = MPI_REQUEST_NULL;
    }
    if (how.completions != 0) {
        in.queue_of(queue).add_complete(how.tag, how.completions);
    }
}

// The request of an operation that is under way goes to its user, or to the queue.
void report_later(space &in, int queue, const completion &how, const pending &started) noexcept {
    if (how.request != nullptr) {
        *how.request = started.request;
    } else {
        pending added = started;
        added.tag = how.tag;
        added.completions = how.completions;
        in.queue_of(queue).add(added);
    }
}

bool put_directly(const void *from, std::uint64_t bytes, const place &to) noexcept {
    const part &at = part_at(to);
    if (at.how == way::by_memory) [[likely]] {
        if (bytes != 0) {
            std::memcpy(at.memory + to.offset, from, bytes);
        }
        return true;
    }
    return memory::write_to(to.of->in.peers[static_cast<std::size_t>(to.rank)].process, at.address + to.offset, from,
                            bytes);
}

wire::packet *make_packet(wire::kind what, int queue, const place &at, std::uint64_t bytes) noexcept {
    wire::packet *const p = wire::take_packet();
    if (p != nullptr) {
        p->head = {};
        p->head.what = what;
        p->head.queue = static_cast<std::uint32_t>(queue);
        p->head.segment = at.of->number;
        p->head.offset = at.offset;
        p->head.bytes = bytes;
        p->length = sizeof p->head;
    }
    return p;
}

void add_signal(wire::header &h, const signal &after) noexcept {
    h.notification = after.number;
    h.value = after.value;
    h.operands[0] = after.value != 0 ? static_cast<std::uint64_t>(after.of->number) : 0;
}

int put_in_packet(const void *from, std::uint64_t bytes, const place &to, const signal &after, int queue,
                  const completion &how) noexcept {
    wire::packet *const p = make_packet(wire::kind::put, queue, to, bytes);
    if (p == nullptr) {
        return MPI_ERR_NO_MEM;
    }
    add_signal(p->head, after);
    if (bytes != 0) {
        std::memcpy(p->data, from, bytes);
    }
    p->length += bytes;
    const int code = to.of->in.wires().send(*p, to.rank);
    if (code == MPI_SUCCESS) {
        report_complete(to.of->in, queue, how);
    }
    return code;
}

int put_by_messages(const void *from, std::uint64_t bytes, const place &to, const signal &after, int queue,
                    const completion &how) noexcept {
    if (bytes <= wire::packet::capacity) {
        return put_in_packet(from, bytes, to, after, queue, how);
    }
    space &in = to.of->in;
    wire::packet *const p = make_packet(wire::kind::put, queue, to, bytes);
    if (p == nullptr) {
        return MPI_ERR_NO_MEM;
    }
    add_signal(p->head, after);
    const std::uint32_t serial = in.wires().next_serial();
    p->head.serial = serial;
    // The data first: if MPI does not take them, nothing has been announced.
    pending started;
    int code = in.wires().send_data(from, bytes, to.rank, serial, started.request);
    if (code != MPI_SUCCESS) {
        wire::give_packet(p);
        return code;
    }
    code = in.wires().send(*p, to.rank);
    report_later(in, queue, how, started);
    return code;
}

// Sends a packet that is answered by a reply of as many bytes as its header says, which go to `to`.
int ask(wire::packet &p, void *to, const place &at, pending started, int queue, const completion &how) noexcept {
    space &in = at.of->in;
    p.head.serial = in.wires().next_serial();
    started.expected = p.head.bytes;
    int code = in.wires().receive_reply(to, p.head.bytes, at.rank, p.head.serial, started.request);
    if (code != MPI_SUCCESS) {
        wire::give_packet(&p);
        return code;
    }
    code = in.wires().send(p, at.rank);
    report_later(in, queue, how, started);
    return code;
}

int get_by_messages(void *to, std::uint64_t bytes, const place &from, const signal &here, int queue,
                    const completion &how) noexcept {
    wire::packet *const p = make_packet(wire::kind::get, queue, from, bytes);
    if (p == nullptr) {
        return MPI_ERR_NO_MEM;
    }
    pending started;
    started.notification = here.number;
    started.value = here.value;
    if (here.value != 0) {
        started.here = here.of->own.notifications;
    }
    return ask(*p, to, from, started, queue, how);
}

// Transfers in pieces that fit a message; the caller has refused more than one with a request. The last one has the
// notification, and completes the operation.
template <class Byte, class ByMessages>
int in_pieces(Byte *local, std::uint64_t bytes, place remote, const signal &last, int queue, const completion &how,
              ByMessages transfer) noexcept {
    for (; bytes > most_in_message; bytes -= most_in_message) {
        const int code = transfer(local, most_in_message, remote, signal{}, queue, completion{});
        if (code != MPI_SUCCESS) {
            return code;
        }
        local += most_in_message;
        remote.offset += most_in_message;
    }
    return transfer(local, bytes, remote, last, queue, how);
}

} // namespace

bool is_direct(const place &at, bool atomic) noexcept {
    const way how = part_at(at).how;
    return (how == way::by_memory || (how == way::by_copy && !atomic)) && at.of->in.may_be_direct(at.rank);
}

int put(const void *from, std::uint64_t bytes, const place &to, const signal &after, int queue,
        const completion &how) noexcept {
    if (is_direct(to, false) && (after.value == 0 || after.of == to.of || is_direct({after.of, to.rank, 0}, false)))
        [[likely]] {
        if (!put_directly(from, bytes, to)) {
            return MPI_ERR_OTHER;
        }
        if (after.value != 0) {
            notification::slots(after.of->parts[static_cast<std::size_t>(to.rank)].slots)
                .set(after.number, after.value);
        }
        report_complete(to.of->in, queue, how);
        return MPI_SUCCESS;
    }
    return in_pieces(static_cast<const unsigned char *>(from), bytes, to, after, queue, how, &put_by_messages);
}

int get(void *to, std::uint64_t bytes, const place &from, const signal &here, int queue,
        const completion &how) noexcept {
    space &in = from.of->in;
    if (bytes == 0 || is_direct(from, false)) {
        const part &at = part_at(from);
        if (bytes != 0 && at.how == way::by_memory) {
            std::memcpy(to, at.memory + from.offset, bytes);
        } else if (bytes != 0 && !memory::read_from(in.peers[static_cast<std::size_t>(from.rank)].process,
                                                    at.address + from.offset, to, bytes)) {
            return MPI_ERR_OTHER;
        }
        if (here.value != 0) {
            notification::slots(here.of->own.notifications).set(here.number, here.value);
        }
        report_complete(in, queue, how);
        return MPI_SUCCESS;
    }
    return in_pieces(static_cast<unsigned char *>(to), bytes, from, here, queue, how, &get_by_messages);
}

int notify(int rank, const signal &what, int queue, const completion &how) noexcept {
    return put(nullptr, 0, {what.of, rank, 0}, what, queue, how);
}

int atomic(wire::kind what, const std::uint64_t (&operands)[2], const place &at, std::uint64_t *old, int queue,
           const completion &how) noexcept {
    space &in = at.of->in;
    if (is_direct(at, true)) {
        const std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t *>(part_at(at).memory + at.offset));
        if (what == wire::kind::fetch_add) {
            *old = word.fetch_add(operands[0]);
        } else {
            std::uint64_t expected = operands[0];
            word.compare_exchange_strong(expected, operands[1]);
            *old = expected;
        }
        report_complete(in, queue, how);
        return MPI_SUCCESS;
    }
    wire::packet *const p = make_packet(what, queue, at, sizeof *old);
    if (p == nullptr) {
        return MPI_ERR_NO_MEM;
    }
    std::copy_n(operands, 2, p->head.operands);
    return ask(*p, old, at, {}, queue, how);
}

} // namespace thence::onesided
