// SPDX-License-Identifier: BSD-3-Clause
#include "am/network.hpp"

#include <thence/progress.h>

#include <atomic>
#include <exception>
#include <new>
#include <thread>
#include <vector>

namespace thence::am {

namespace {

// A receive that is posted ahead. It is started again when its packet is handled.
struct receive {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status{};
    network_events *to = nullptr;
    void *of = nullptr;
    lane in = lane::handlers;
    std::vector<std::uint64_t> content;
};

} // namespace

struct network::state {
    explicit state(network_events &events) noexcept : to(events) {}

    network_events &to;
    MPI_Comm packets = MPI_COMM_NULL; // a tag for each lane
    MPI_Comm data = MPI_COMM_NULL;    // each message has a tag of its own
    MPI_Comm waves = MPI_COMM_NULL;
    // One for each lane, and one for all else, which may run at once. Data that are handled in polls have that of the
    // lane `handlers`, so that a poll makes progress once: MPI may yield the processor each time that it finds nothing.
    MPI_Request of_lane[lanes] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Request at_once = MPI_REQUEST_NULL;
    std::vector<receive> receives;
    std::atomic<std::size_t> receives_left{0};
    std::atomic<std::size_t> packets_leaving{0};
    std::atomic<std::uint64_t> arrived{0}; // packets
    totals mine;
    totals all;
    MPI_Request wave = MPI_REQUEST_NULL;
    bool one_thread = false;
    std::thread::id communication_thread;

    int make_requests(unsigned flags) noexcept;
    int post(const thence_am_options &in_force, std::size_t whole);
    void start(receive &r) noexcept;
    void free_requests() noexcept;

    static int received(int error, MPI_Status *status, void *data) noexcept;
    static int packet_left(int error, MPI_Status *status, void *data) noexcept;
    static int data_has_left(int error, MPI_Status *status, void *data) noexcept;
    static int data_has_arrived(int error, MPI_Status *status, void *data) noexcept;
    static int wave_has_ended(int error, MPI_Status *status, void *data) noexcept;
};

network::network(network_events &to) noexcept : to_(to) {}
network::~network() {
    if (state_ != nullptr) {
        state_->free_requests();
    }
}

bool network::may_call() const noexcept {
    return !state_->one_thread || std::this_thread::get_id() == state_->communication_thread;
}

// Packets.

int network::state::received(int error, MPI_Status *status, void *data) noexcept {
    receive &r = *static_cast<receive *>(data);
    state &s = *static_cast<state *>(r.of);
    int length = 0;
    if (error != MPI_SUCCESS) {
        s.to.receive_failed(error);
        length = -1;
    } else {
        MPI_Get_count(status, MPI_BYTE, &length);
    }
    if (length == 0) { // of end()
        s.receives_left.fetch_sub(1, std::memory_order_release);
        return MPI_SUCCESS;
    }
    if (length > 0) {
        s.arrived.fetch_add(1, std::memory_order_relaxed);
        s.to.arrived(r.in, status->MPI_SOURCE, reinterpret_cast<unsigned char *>(r.content.data()),
                     static_cast<std::size_t>(length));
    }
    s.start(r);
    return MPI_SUCCESS;
}

void network::state::start(receive &r) noexcept {
    int code = MPI_Start(&r.request);
    if (code == MPI_SUCCESS) {
        code =
            thence_attach(1, &r.request, &received, &r, THENCE_PERSISTENT, &r.status, of_lane[index_of(r.in)], nullptr);
    }
    if (code != MPI_SUCCESS) {
        to.receive_failed(code);
        receives_left.fetch_sub(1, std::memory_order_release);
    }
}

int network::state::packet_left(int error, MPI_Status *, void *data) noexcept {
    packet &p = *static_cast<packet *>(data);
    state &s = *static_cast<state *>(p.owner);
    s.to.left(p, error);
    s.packets_leaving.fetch_sub(1, std::memory_order_release);
    return MPI_SUCCESS;
}

void network::send(packet &p) noexcept {
    state &s = *state_;
    p.owner = &s;
    int error = MPI_Isend(p.content(), static_cast<int>(p.length), MPI_BYTE, p.rank, static_cast<int>(index_of(p.in)),
                          s.packets, &p.request);
    int complete = 0;
    if (error == MPI_SUCCESS) {
        s.packets_leaving.fetch_add(1, std::memory_order_relaxed);
        error = thence_attach(1, &p.request, &state::packet_left, &p, 0, MPI_STATUSES_IGNORE, s.at_once, &complete);
        if (complete == 0 && error == MPI_SUCCESS) {
            return;
        }
        if (complete == 0) { // not attached: memory is exhausted
            error = MPI_Wait(&p.request, MPI_STATUS_IGNORE);
        }
        s.to.left(p, error);
        s.packets_leaving.fetch_sub(1, std::memory_order_release);
        return;
    }
    s.to.left(p, error);
}

// Long data.

int network::state::data_has_left(int error, MPI_Status *, void *data) noexcept {
    transfer &t = *static_cast<transfer *>(data);
    static_cast<state *>(t.owner)->to.data_left(t, error);
    return MPI_SUCCESS;
}

int network::state::data_has_arrived(int error, MPI_Status *status, void *data) noexcept {
    transfer &t = *static_cast<transfer *>(data);
    int bytes = 0;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    static_cast<state *>(t.owner)->to.data_arrived(t, error, bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
    return MPI_SUCCESS;
}

bool network::send_data(transfer &t, int &error) noexcept {
    state &s = *state_;
    t.owner = &s;
    error = MPI_Isend(t.data, static_cast<int>(t.is_void ? 0 : t.bytes), MPI_BYTE, t.rank, t.tag, s.data, &t.request);
    if (error != MPI_SUCCESS) {
        return true;
    }
    int complete = 0;
    error = thence_attach(1, &t.request, &state::data_has_left, &t, 0, &t.status, s.at_once, &complete);
    if (complete == 0 && error != MPI_SUCCESS) { // not attached: memory is exhausted
        error = MPI_Wait(&t.request, MPI_STATUS_IGNORE);
        return true;
    }
    return complete != 0;
}

void network::send_no_data(int rank, int tag) noexcept {
    MPI_Request request = MPI_REQUEST_NULL;
    if (MPI_Isend(nullptr, 0, MPI_BYTE, rank, tag, state_->data, &request) == MPI_SUCCESS) {
        MPI_Request_free(&request);
    }
}

void network::receive_data(transfer &t, bool in_polls_only) noexcept {
    state &s = *state_;
    t.owner = &s;
    int error = MPI_Irecv(t.data, static_cast<int>(t.bytes), MPI_BYTE, t.rank, t.tag, s.data, &t.request);
    if (error != MPI_SUCCESS) {
        s.to.data_arrived(t, error, 0);
        return;
    }
    int complete = 0;
    if (in_polls_only) {
        error = thence_attach(1, &t.request, &state::data_has_arrived, &t, 0, &t.status,
                              s.of_lane[index_of(lane::handlers)], nullptr);
    } else {
        error = thence_attach(1, &t.request, &state::data_has_arrived, &t, 0, &t.status, s.at_once, &complete);
    }
    if (complete != 0) {
        state::data_has_arrived(error, &t.status, &t);
    } else if (error != MPI_SUCCESS) { // not attached: memory is exhausted. To wait could be for ever.
        MPI_Cancel(&t.request);
        MPI_Wait(&t.request, MPI_STATUS_IGNORE);
        s.to.data_arrived(t, error, 0);
    }
}

// Waves.

int network::state::wave_has_ended(int error, MPI_Status *, void *data) noexcept {
    state &s = *static_cast<state *>(data);
    s.to.wave_ended(error, s.all);
    return MPI_SUCCESS;
}

void network::begin_wave(totals mine) noexcept {
    state &s = *state_;
    s.mine = mine;
    static_assert(sizeof(totals) == 2 * sizeof(std::uint64_t));
    int error = MPI_Iallreduce(&s.mine, &s.all, 2, MPI_UINT64_T, MPI_SUM, s.waves, &s.wave);
    if (error == MPI_SUCCESS) {
        int complete = 0;
        error = thence_attach(1, &s.wave, &state::wave_has_ended, &s, 0, MPI_STATUSES_IGNORE, s.at_once, &complete);
        if (complete == 0 && error == MPI_SUCCESS) {
            return;
        }
        if (complete == 0) {
            error = MPI_Wait(&s.wave, MPI_STATUS_IGNORE);
        }
    }
    to_.wave_ended(error, s.all);
}

// Progress.

namespace {

int class_of(int code) noexcept {
    int error_class = MPI_SUCCESS;
    return code == MPI_SUCCESS || MPI_Error_class(code, &error_class) != MPI_SUCCESS ? code : error_class;
}

} // namespace

// A continuation that may run inside thence_attach() does, unless this thread is in the callback of another.
bool network::in_callback() noexcept {
    static constinit thread_local unsigned runs = 0;
    const unsigned before = runs;
    MPI_Request none = MPI_REQUEST_NULL;
    const auto count = [](int, MPI_Status *, void *) {
        ++runs;
        return MPI_SUCCESS;
    };
    thence_attach(1, &none, count, nullptr, THENCE_MAY_RUN, MPI_STATUSES_IGNORE, state_->at_once, nullptr);
    return runs == before;
}

int network::poll() noexcept {
    state &s = *state_;
    int flag = 0;
    const int code = thence_test(&s.of_lane[index_of(lane::handlers)], &flag, MPI_STATUS_IGNORE);
    if (flag != 0) { // in end(): the test of an inactive continuation request makes no progress
        thence_progress();
    }
    return class_of(code) == MPI_ERR_PENDING ? MPI_ERR_PENDING : code;
}

int network::progress() noexcept {
    return thence_progress();
}

// Beginning and end.

int network::state::make_requests(unsigned flags) noexcept {
    // Those that may run at once also run on the helper thread, if it is wanted.
    const unsigned anywhere = (flags & THENCE_AM_HELPER) != 0 ? THENCE_CR_ANY_THREAD : 0U;
    constexpr unsigned restricted = THENCE_CR_POLL_ONLY | THENCE_CR_ENQUEUE_COMPLETE;
    constexpr int most_in_a_poll = 16; // between two polls what handlers have sent leaves
    const struct {
        MPI_Request &request;
        unsigned options;
        int max_poll;
    } made[] = {{of_lane[index_of(lane::handlers)], restricted, most_in_a_poll},
                {of_lane[index_of(lane::short_handlers)], THENCE_CR_ENQUEUE_COMPLETE | anywhere, -1},
                {of_lane[index_of(lane::internal)], THENCE_CR_ENQUEUE_COMPLETE | anywhere, -1},
                {at_once, anywhere, -1}};
    for (const auto &each : made) {
        const int code = thence_cr_create(each.options, each.max_poll, MPI_INFO_NULL, &each.request);
        if (code != MPI_SUCCESS) {
            return code;
        }
    }
    return MPI_SUCCESS;
}

int network::state::post(const thence_am_options &in_force, std::size_t whole) {
    receives = std::vector<receive>(static_cast<std::size_t>(in_force.receives) * lanes);
    receives_left = receives.size();
    for (std::size_t i = 0; i < receives.size(); ++i) {
        receive &r = receives[i];
        r.to = &to;
        r.of = this;
        r.in = static_cast<lane>(i % lanes);
        r.content.resize((whole + 7) / 8);
        const int code = MPI_Recv_init(r.content.data(), static_cast<int>(whole), MPI_BYTE, MPI_ANY_SOURCE,
                                       static_cast<int>(index_of(r.in)), packets, &r.request);
        if (code != MPI_SUCCESS) {
            return code;
        }
    }
    return MPI_SUCCESS;
}

void network::state::free_requests() noexcept {
    for (receive &r : receives) {
        if (r.request != MPI_REQUEST_NULL) {
            MPI_Request_free(&r.request);
        }
    }
    receives.clear();
    for (MPI_Request *const each : {&of_lane[0], &of_lane[1], &of_lane[2], &at_once}) {
        if (*each != MPI_REQUEST_NULL) {
            thence_free(each);
        }
    }
    for (MPI_Comm *const each : {&packets, &data, &waves}) {
        if (*each != MPI_COMM_NULL) {
            MPI_Comm_free(each);
        }
    }
}

int network::begin(MPI_Comm comm, const thence_am_options &in_force, std::size_t whole) noexcept {
    state_.reset(new (std::nothrow) state(to_));
    int code = state_ != nullptr ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    if (state_ != nullptr) {
        state &s = *state_;
        int level = MPI_THREAD_SINGLE;
        MPI_Query_thread(&level);
        s.one_thread = level != MPI_THREAD_MULTIPLE || (in_force.flags & THENCE_AM_ONE_THREAD) != 0;
        s.communication_thread = std::this_thread::get_id();
        code = s.make_requests(in_force.flags);
        for (MPI_Comm *const each : {&s.packets, &s.data, &s.waves}) {
            const int made = MPI_Comm_dup(comm, each);
            if (made == MPI_SUCCESS) {
                MPI_Comm_set_errhandler(*each, thence_errors_return());
            }
            code = code == MPI_SUCCESS ? made : code;
        }
        int *largest = nullptr;
        int flag = 0;
        MPI_Comm_get_attr(comm, MPI_TAG_UB, &largest, &flag);
        largest_data_tag_ = flag != 0 ? *largest : 32767;
        if (code == MPI_SUCCESS) {
            try {
                code = s.post(in_force, whole);
            } catch (const std::exception &) {
                code = MPI_ERR_NO_MEM;
            }
        }
    }
    return code;
}

// The receives of an engine that has failed elsewhere would never end.
int network::start(MPI_Comm comm, int code) noexcept {
    int failed = code != MPI_SUCCESS ? class_of(code) : 0;
    int failed_anywhere = 0;
    MPI_Allreduce(&failed, &failed_anywhere, 1, MPI_INT, MPI_MAX, comm);
    if (failed_anywhere != 0) {
        return code != MPI_SUCCESS ? code : failed_anywhere;
    }
    for (receive &r : state_->receives) {
        state_->start(r);
    }
    return MPI_SUCCESS;
}

// Empty packets to this process end the receives, since a receive that is cancelled is lost by some MPIs.
int network::end(const std::uint64_t packets_to[], std::uint64_t &arrived) noexcept {
    state &s = *state_;
    std::uint64_t expected = 0;
    MPI_Request counting = MPI_REQUEST_NULL;
    int code = MPI_Ireduce_scatter_block(packets_to, &expected, 1, MPI_UINT64_T, MPI_SUM, s.waves, &counting);
    for (int done = 0; done == 0 && code == MPI_SUCCESS;) {
        code = MPI_Test(&counting, &done, MPI_STATUS_IGNORE);
        poll();
    }
    while (code == MPI_SUCCESS && (s.arrived.load() < expected || s.packets_leaving.load() != 0)) {
        code = poll();
    }
    arrived = s.arrived.load();
    for (receive &r : s.receives) {
        MPI_Request sent = MPI_REQUEST_NULL;
        code = code == MPI_SUCCESS
                   ? MPI_Isend(nullptr, 0, MPI_BYTE, rank_, static_cast<int>(index_of(r.in)), s.packets, &sent)
                   : code;
        for (int done = 0; done == 0 && code == MPI_SUCCESS;) {
            code = MPI_Test(&sent, &done, MPI_STATUS_IGNORE);
            poll();
        }
    }
    while (code == MPI_SUCCESS && s.receives_left.load(std::memory_order_acquire) != 0) {
        code = poll();
    }
    return code;
}

} // namespace thence::am
