// SPDX-License-Identifier: BSD-3-Clause
// Packets, long data and progress.
#include "am/network_state.hpp"
#include "am/scope.hpp"

#include <thence/detail/send_alone.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

namespace thence::am {

network::network(network_events &to) : state_(std::make_unique<state>(to)), to_(to) {}
network::~network() {
    free();
}
void network::free() noexcept {
    state_->free_requests();
}

bool network::may_call() const noexcept {
    return !state_->one_thread || std::this_thread::get_id() == state_->communication_thread;
}

// Packets.

namespace {

constexpr char broken = 0; // a message of this length is that of say_broken()

// A receive that ends with such an error has taken no message. With any other it may have, and nobody could ever count
// what was in it as handled.
bool has_taken_none(int error) noexcept {
    const int error_class = class_of(error);
    bool has_none = error_class == MPI_ERR_PENDING;
#if defined(MPIX_ERR_PROC_FAILED) && defined(MPIX_ERR_PROC_FAILED_PENDING)
    has_none = has_none || error_class == MPIX_ERR_PROC_FAILED || error_class == MPIX_ERR_PROC_FAILED_PENDING;
#elif defined(MPI_ERR_PROC_FAILED) && defined(MPI_ERR_PROC_FAILED_PENDING)
    has_none = has_none || error_class == MPI_ERR_PROC_FAILED || error_class == MPI_ERR_PROC_FAILED_PENDING;
#endif
    return has_none;
}

} // namespace

int network::state::received(int error, MPI_Status *status, void *data) noexcept {
    receive &r = *static_cast<receive *>(data);
    state &s = *static_cast<state *>(r.owner);
    if (s.is_cancelled(*status)) [[unlikely]] {
        return MPI_SUCCESS;
    }
    int length = 0;
    if (error != MPI_SUCCESS) {
        if (s.give_up(r, error, !has_taken_none(error))) {
            return MPI_SUCCESS;
        }
        length = -1;
    } else {
        r.failures = 0;
        MPI_Get_count(status, MPI_BYTE, &length);
    }
    if (length == 0) { // of end()
        s.receives_left.fetch_sub(1, std::memory_order_release);
        return MPI_SUCCESS;
    }
    if (length == sizeof broken) {
        s.to.other_is_broken(status->MPI_SOURCE);
    } else if (length > 0) {
        r.is_in_upcall.store(true, std::memory_order_relaxed);
        s.arrived.fetch_add(1, std::memory_order_acq_rel);
        s.to.arrived(r.in, status->MPI_SOURCE, reinterpret_cast<unsigned char *>(r.content.data()),
                     static_cast<std::size_t>(length));
        r.is_in_upcall.store(false, std::memory_order_release);
    }
    s.start(r);
    return MPI_SUCCESS;
}

// Both sides change `arrived`, one after the other: either this one sees that the receive is in the upcall, or the
// upcall sees what was stored before this call.
bool network::is_in_arrived() noexcept {
    state &s = *state_;
    s.arrived.fetch_add(0, std::memory_order_acq_rel);
    return std::ranges::any_of(s.receives,
                               [](const receive &r) { return r.is_in_upcall.load(std::memory_order_acquire); });
}

void network::state::start(receive &r) noexcept {
    int code = MPI_SUCCESS;
    do {
        code = MPI_Irecv(r.content.data(), static_cast<int>(whole), MPI_BYTE, MPI_ANY_SOURCE,
                         static_cast<int>(index_of(r.in)), packets, &r.request);
        if (code != MPI_SUCCESS && give_up(r, code, false)) {
            return;
        }
    } while (code != MPI_SUCCESS);
    attach(r);
}

void network::state::attach(receive &r) noexcept {
    if (thence_attach(1, &r.request, &received, &r, 0, &r.status, of_lane[index_of(r.in)], nullptr) != MPI_SUCCESS) {
        r.is_unattached.store(true);
        any_unattached.store(true); // the next poll tries again: a packet may be in it already
    }
}

void network::state::attach_again() noexcept {
    any_unattached.store(false);
    for (receive &r : receives) {
        if (r.is_unattached.exchange(false)) {
            attach(r);
        }
    }
    base::linked_list<packet> some_packets;
    base::linked_list<transfer> some_transfers;
    unattached.lock();
    some_packets.add_before(unattached_packets);
    some_transfers.add_before(unattached_transfers);
    const bool has_wave = std::exchange(wave_is_unattached, false);
    unattached.unlock();
    int error = MPI_SUCCESS;
    const auto are_left = [&](const auto &list) { return !any_unattached.load() && !list.empty(); };
    while (are_left(some_packets)) {
        packet &p = *some_packets.pop();
        if (attach(p, error)) {
            packet_left(error, nullptr, &p);
        }
    }
    while (are_left(some_transfers)) {
        transfer &t = *some_transfers.pop();
        if (attach(t, error)) {
            t.leaves() ? data_has_left(error, nullptr, &t) : data_has_arrived(error, &t.status, &t);
        }
    }
    if (has_wave && attach_wave(error)) {
        wave_has_ended(error, nullptr, this);
    }
    const std::scoped_lock guard(unattached); // memory is still exhausted, or these are empty
    unattached_packets.add_before(some_packets);
    unattached_transfers.add_before(some_transfers);
}

bool network::state::give_up(receive &r, int error, bool is_lost) noexcept {
    constexpr unsigned most_failures = 8;
    const bool too_often = ++r.failures >= most_failures;
    const bool none_is_left = too_often && left_of_lane[index_of(r.in)].fetch_sub(1) == 1;
    to.receive_failed(error, is_lost || none_is_left);
    if (too_often) {
        receives_left.fetch_sub(1, std::memory_order_release);
    }
    return too_often;
}

int network::state::packet_left(int error, MPI_Status *, void *data) noexcept {
    packet &p = *static_cast<packet *>(data);
    static_cast<state *>(p.owner)->to.left(p, error);
    return MPI_SUCCESS;
}

void network::send(packet &p) noexcept {
    state &s = *state_;
    p.owner = &s;
    int error = MPI_Isend(p.content(), static_cast<int>(p.length), MPI_BYTE, p.rank, static_cast<int>(index_of(p.in)),
                          s.packets, &p.request);
    if (error != MPI_SUCCESS || s.attach(p, error)) {
        s.to.left(p, error);
    }
}

bool network::state::attach(packet &p, int &error) noexcept {
    int complete = 0;
    error = thence_attach(1, &p.request, &packet_left, &p, 0, MPI_STATUSES_IGNORE, at_once, &complete);
    if (complete == 0 && error != MPI_SUCCESS) [[unlikely]] {
        const std::scoped_lock guard(unattached);
        unattached_packets.add(p);
        any_unattached.store(true);
    }
    return complete != 0;
}

int network::say_broken(int rank) noexcept {
    state &s = *state_;
    if (s.all_are_ending.load()) {
        return MPI_SUCCESS;
    }
    return detail::send_alone(&broken, sizeof broken, rank, static_cast<int>(index_of(lane::control)), s.packets);
}

// Long data.

int network::state::data_has_left(int error, MPI_Status *, void *data) noexcept {
    transfer &t = *static_cast<transfer *>(data);
    static_cast<state *>(t.owner)->to.data_left(t, error);
    return MPI_SUCCESS;
}

int network::state::data_has_arrived(int error, MPI_Status *status, void *data) noexcept {
    transfer &t = *static_cast<transfer *>(data);
    state &s = *static_cast<state *>(t.owner);
    int bytes = 0;
    if (s.is_cancelled(*status)) [[unlikely]] {
        error = error != MPI_SUCCESS ? error : int{MPI_ERR_OTHER};
    } else {
        MPI_Get_count(status, MPI_BYTE, &bytes);
    }
    s.to.data_arrived(t, error, bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
    return MPI_SUCCESS;
}

bool network::state::is_cancelled(const MPI_Status &status) const noexcept {
    int flag = 0;
    return are_cancelled.load(std::memory_order_relaxed) && MPI_Test_cancelled(&status, &flag) == MPI_SUCCESS &&
           flag != 0;
}

void network::cancel_receives() noexcept {
    state &s = *state_;
    s.are_cancelled.store(true);
    for (const lane each : {lane::handlers, lane::short_handlers}) {
        thence_cancel(&s.of_lane[index_of(each)]);
    }
}

bool network::send_data(transfer &t, int &error) noexcept {
    state &s = *state_;
    t.owner = &s;
    error = MPI_Isend(t.data, static_cast<int>(t.is_void ? 0 : t.bytes), MPI_BYTE, t.rank, t.tag, s.data, &t.request);
    if (error != MPI_SUCCESS) {
        return true;
    }
    return s.attach(t, error);
}

bool network::state::attach(transfer &t, int &error) noexcept {
    int complete = 0;
    const MPI_Request &with =
        t.leaves() ? at_once : of_lane[index_of(t.in_polls_only ? lane::handlers : lane::short_handlers)];
    error = thence_attach(1, &t.request, t.leaves() ? &data_has_left : &data_has_arrived, &t, 0, &t.status, with,
                          &complete);
    if (complete == 0 && error != MPI_SUCCESS) [[unlikely]] {
        const std::scoped_lock guard(unattached);
        unattached_transfers.add(t);
        any_unattached.store(true);
    }
    return complete != 0;
}

int network::send_no_data(int rank, int tag) noexcept {
    return detail::send_alone(nullptr, 0, rank, tag, state_->data);
}

void network::receive_data(transfer &t, bool in_polls_only) noexcept {
    state &s = *state_;
    t.owner = &s;
    t.in_polls_only = in_polls_only;
    int error = MPI_Irecv(t.data, static_cast<int>(t.bytes), MPI_BYTE, t.rank, t.tag, s.data, &t.request);
    if (error != MPI_SUCCESS) {
        s.to.data_arrived(t, error, 0);
        return;
    }
    if (s.attach(t, error)) {
        state::data_has_arrived(error, &t.status, &t);
    }
}

// Progress.

// A continuation that may run inside thence_attach() does, unless this thread is in the callback of another.
bool network::in_callback() noexcept {
    const std::uint16_t before = scope.probes;
    MPI_Request none = MPI_REQUEST_NULL;
    const auto count = [](int, MPI_Status *, void *) -> int {
        ++scope.probes;
        return MPI_SUCCESS;
    };
    thence_attach(1, &none, count, nullptr, THENCE_MAY_RUN, MPI_STATUSES_IGNORE, state_->probe, nullptr);
    return scope.probes == before;
}

int network::poll() noexcept {
    state &s = *state_;
    int flag = 0;
    if (s.any_unattached.load(std::memory_order_relaxed)) [[unlikely]] {
        s.attach_again();
    }
    int code = thence_test(&s.of_lane[index_of(lane::handlers)], &flag, MPI_STATUS_IGNORE);
    if (flag != 0) { // in end(): the test of an inactive continuation request makes no progress
        thence_progress();
    }
    for (MPI_Request *const each :
         {&s.of_lane[index_of(lane::short_handlers)], &s.of_lane[index_of(lane::control)], &s.at_once}) {
        if (s.polls_all) {
            const int other = thence_test(each, &flag, MPI_STATUS_IGNORE);
            code = code == MPI_SUCCESS ? other : code;
        }
    }
    return class_of(code) == MPI_ERR_PENDING ? MPI_ERR_PENDING : code;
}

int network::progress() noexcept {
    return thence_progress();
}

} // namespace thence::am
