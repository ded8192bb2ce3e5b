// SPDX-License-Identifier: BSD-3-Clause
#include "onesided/wire/transport.hpp"

#include "core/base/clock.hpp"
#include "core/continuation/run.hpp"
#include "core/mpi/calls.hpp"
#include "core/progress/backoff.hpp"

#include <algorithm>
#include <exception>
#include <mutex>

namespace thence::wire {

namespace {

using mpi::table;

} // namespace

int transport::begin() noexcept {
    int processes = 0;
    table.Comm_size(comm_, &processes);
    table.Comm_rank(comm_, &rank_);
    int *largest = nullptr;
    int flag = 0;
    table.Comm_get_attr(comm_, MPI_TAG_UB, &largest, &flag);
    if (flag != 0) {
        serials_ = static_cast<std::uint32_t>(*largest) / 2 - 1;
    }
    try {
        sent_ = std::vector<std::atomic<std::uint64_t>>(static_cast<std::size_t>(processes));
        operations_sent_ = std::vector<std::atomic<std::uint64_t>>(static_cast<std::size_t>(processes));
        numbers_ = std::vector<std::atomic<std::uint64_t>>(static_cast<std::size_t>(processes));
    } catch (const std::exception &) {
        return MPI_ERR_NO_MEM;
    }
    if (!arrived_.begin(processes)) {
        return MPI_ERR_NO_MEM;
    }
    const std::scoped_lock guard(polling_);
    return post() ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

bool transport::post() noexcept {
    return ending_ || window_.post(comm_, packet_tag, &take_packet);
}

bool transport::take_arrived() noexcept {
    bool some = window_.take(window, &may_be_complete, [this](packet &p, const MPI_Status &status) {
        take(p, status, late_number_ != 0);
        post();
    });
    some = (late_number_ != 0 && take_late()) || some;
    if (some) {
        idle_polls_ = 0;
        return true;
    }
#if defined(SMPI_H) // no process stops there, and a probe takes simulated time
    return false;
#else
    return has_taken_nothing_for_long() && look_for_late();
#endif
}

void transport::take(packet &p, const MPI_Status &status, bool any_late) noexcept {
    int length = 0;
    table.Get_count(&status, MPI_BYTE, &length);
    p.process = status.MPI_SOURCE;
    p.length = static_cast<std::size_t>(length);
    if (length == 0) {
        give_packet(&p); // of end()
    } else {
        arrived_.received(p, any_late);
    }
}

// Tests some, the others next time.
bool transport::take_late() noexcept {
    bool some = false;
    for (std::size_t tested = std::min(late_number_, window); tested != 0; --tested) {
        packet &each = *late_.pop();
        int flag = 0;
        int code = MPI_SUCCESS;
        MPI_Status status;
        if (may_be_complete(each.request)) {
            code = table.Test(&each.request, &flag, &status);
        }
        if (code == MPI_SUCCESS && flag == 0) {
            late_.add(each);
            continue;
        }
        --late_number_;
        some = true;
        if (code == MPI_SUCCESS) {
            take(each, status, true);
        } else {
            give_packet(&each);
        }
    }
    if (late_number_ == 0) {
        arrived_.none_is_late();
    }
    return some;
}

bool transport::has_taken_nothing_for_long() noexcept {
    if (++idle_polls_ % polls_of_clock != 0) {
        return false;
    }
    const std::uint32_t now = base::coarse_milliseconds();
    const bool is_first = idle_polls_ == polls_of_clock;
    if (!is_first && now - idle_since_ < (late_number_ != 0 ? milliseconds_to_next : milliseconds_to_first)) {
        return false;
    }
    idle_since_ = now;
    return !is_first;
}

// A message that waits to be received says that all receives are matched.
bool transport::look_for_late() noexcept {
    const auto is_late = [this](packet &p) {
        late_.add(p);
        ++late_number_;
    };
    const auto take_it = [this](packet &p, const MPI_Status &status) { take(p, status, late_number_ != 0); };
    if (window_.take_any(&may_be_complete, take_it, is_late)) {
        return true;
    }
    int waits = 0;
    if (table.Iprobe(MPI_ANY_SOURCE, packet_tag, comm_, &waits, MPI_STATUS_IGNORE) != MPI_SUCCESS || waits == 0) {
        return false;
    }
    window_.all_are_late(is_late);
    return true;
}

void transport::look_at_sent() noexcept {
    base::linked_list<packet> looked_at;
    {
        const std::scoped_lock guard(lock_);
        looked_at.add_before(sending_);
    }
    // A few that have not left end it, so that it does not cost more with many; they are the last next time.
    constexpr int most = 16;
    int not_left = 0;
    base::linked_list<packet> left;
    while (packet *const each = not_left != most ? looked_at.pop() : nullptr) {
        int code = MPI_SUCCESS;
        if (!may_be_complete(each->request) || !mpi::has_ended(each->request, code)) {
            left.add(*each);
            ++not_left;
            continue;
        }
        has_left(*each, code, false);
        under_way_.fetch_sub(1, std::memory_order_release);
    }
    const std::scoped_lock guard(lock_);
    left.add_before(looked_at);
    left.add_before(sending_); // what was sent meanwhile is not older
    sending_.add_before(left);
}

bool transport::poll() noexcept {
    if (!polling_.try_lock()) {
        return false;
    }
    const continuation::busy_scope busy; // a callback that waits for a message would wait for this poll
    post();
    bool some = take_arrived();
    some = to_.poll() || some;
    if (under_way_.load(std::memory_order_relaxed) != 0) {
        look_at_sent();
    }
    polling_.unlock();
    return some;
}

void transport::count_sent(const packet &p, int process, std::uint64_t change) noexcept {
    const auto at = static_cast<std::size_t>(process);
    if (is_counted(p.head.what)) {
        sent_[at].fetch_add(change, std::memory_order_seq_cst);
    }
    if (is_operation(p.head.what)) {
        operations_sent_[at].fetch_add(change, std::memory_order_seq_cst);
    }
}

// The target counts no packet that was lost, so it is not counted here either.
void transport::has_left(packet &p, int code, bool in_send) noexcept {
    if (code == MPI_SUCCESS) {
        give_packet(&p);
        return;
    }
    count_sent(p, p.process, ~std::uint64_t{0}); // minus one
    to_.lost(p, in_send);
}

int transport::send(packet &p, int process) noexcept {
    count_sent(p, process, 1);
    p.process = process;
    p.head.number = numbers_[static_cast<std::size_t>(process)].fetch_add(1, std::memory_order_relaxed);
    p.request = MPI_REQUEST_NULL;
    int code = table.Isend(p.buffer(), static_cast<int>(p.length), MPI_BYTE, process, packet_tag, comm_, &p.request);
    if (code != MPI_SUCCESS || mpi::has_ended(p.request, code)) {
        has_left(p, code, true);
        return code;
    }
    const std::scoped_lock guard(lock_);
    sending_.add(p);
    under_way_.fetch_add(1, std::memory_order_release);
    return MPI_SUCCESS;
}

bool transport::abandon(MPI_Request &request) noexcept {
    table.Cancel(&request);
    if (mpi::has_ended(request)) {
        return true;
    }
    table.Request_free(&request);
    return false;
}

bool transport::abandon_send(MPI_Request &request, bool is_receiver_gone) noexcept {
    if (!is_receiver_gone) {
        return abandon(request);
    }
    table.Request_free(&request);
    return false;
}

std::uint32_t transport::next_serial() noexcept {
    const std::uint32_t next = last_serial_.fetch_add(1, std::memory_order_relaxed) + 1;
    return next != 0 ? next : next_serial();
}

int transport::send_data(const void *from, std::uint64_t bytes, int process, std::uint32_t serial,
                         MPI_Request &request) noexcept {
    return table.Isend(from, static_cast<int>(bytes), MPI_BYTE, process, data_tag(serial), comm_, &request);
}
int transport::receive_data(void *to, std::uint64_t bytes, int process, std::uint32_t serial,
                            MPI_Request &request) noexcept {
    return table.Irecv(to, static_cast<int>(bytes), MPI_BYTE, process, data_tag(serial), comm_, &request);
}
int transport::send_reply(const void *from, std::uint64_t bytes, int process, std::uint32_t serial,
                          MPI_Request &request) noexcept {
    return table.Isend(from, static_cast<int>(bytes), MPI_BYTE, process, reply_tag(serial), comm_, &request);
}
int transport::receive_reply(void *to, std::uint64_t bytes, int process, std::uint32_t serial,
                             MPI_Request &request) noexcept {
    return table.Irecv(to, static_cast<int>(bytes), MPI_BYTE, process, reply_tag(serial), comm_, &request);
}

bool transport::has_ended() noexcept {
    if (!polling_.try_lock()) {
        return false;
    }
    const bool all_here = window_.none_posted() && late_number_ == 0;
    polling_.unlock();
    return all_here && !any_under_way();
}

void transport::end() noexcept {
    between_polls([this] { ending_ = true; });
    base::spin_wait wait;
    for (std::size_t i = 0; i < window; ++i) {
        packet *p = take_packet();
        for (; p == nullptr; p = take_packet()) {
            wait();
        }
        p->length = 0;
        p->head.what = kind::credit; // so it is not counted
        send(*p, rank_);
    }
    for (thence_backoff backoff = progress::backoff_of_short_wait(); !has_ended();) {
        continuation::make_progress_or_pause(backoff);
        poll();
    }
}

// After begin() without end() MPI has receives for the packets of the window: they stay in memory.
transport::~transport() {
    if (window_.none_posted()) {
        for (packet *each : window_.messages()) {
            if (each != nullptr) {
                give_packet(each);
            }
        }
    }
}

} // namespace thence::wire
