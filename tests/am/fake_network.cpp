// SPDX-License-Identifier: BSD-3-Clause
#include "fake_network.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace thence::am {

// The process that a network belongs to.
struct network::state {
    fake::world *in = nullptr;
    fake::node *of = nullptr;
};

namespace fake {

world *current = nullptr;

namespace {

template <class T> T take_at(std::vector<T> &from, std::size_t i) {
    T taken = std::move(from[i]);
    from[i] = std::move(from.back());
    from.pop_back();
    return taken;
}

void arrive(node &n, packet_on_its_way &p) {
    ++n.in_arrived;
    n.events->arrived(p.in, p.from, reinterpret_cast<unsigned char *>(p.content.data()), p.length);
    --n.in_arrived;
}

} // namespace

bool world::is_empty() const {
    return std::all_of(nodes.begin(), nodes.end(), [](const node &n) {
        return n.under_way.empty() && n.for_polls.empty() && n.leaving.empty() && n.data_leaving.empty() &&
               n.data_under_way.empty() && n.receives.empty();
    });
}

void world::match(node &n) {
    for (std::size_t i = 0; i < n.data_under_way.size(); ++i) {
        data_on_its_way &d = n.data_under_way[i];
        const auto found = std::find_if(n.receives.begin(), n.receives.end(), [&](const incoming &r) {
            return !r.has_arrived && r.of->rank == d.from && r.of->tag == d.tag;
        });
        if (found == n.receives.end()) {
            continue;
        }
        found->has_arrived = true;
        found->bytes = d.content.size();
        if (found->bytes != 0) {
            std::memcpy(found->of->data, d.content.data(), d.content.size());
        }
        take_at(n.data_under_way, i);
        if (!found->in_polls_only) {
            const incoming arrived = *found;
            n.receives.erase(found);
            n.events->data_arrived(*arrived.of, MPI_SUCCESS, arrived.bytes);
        }
        return;
    }
}

bool world::end_wave() {
    if (told_.empty()) {
        if (!std::all_of(nodes.begin(), nodes.end(), [](const node &n) { return n.in_wave; })) {
            return false;
        }
        all_ = {};
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            all_.sent += nodes[i].given.sent;
            all_.handled += nodes[i].given.handled;
            told_.push_back(i);
        }
    }
    node &n = nodes[take_at(told_, below(told_.size()))];
    n.in_wave = false;
    n.events->wave_ended(n.wave_error, all_);
    return true;
}

bool world::step_of(node &n) {
    switch (below(4)) {
    case 0:
        if (!n.under_way.empty()) {
            packet_on_its_way p = take_at(n.under_way, below(n.under_way.size()));
            if (p.says_broken) {
                n.events->other_is_broken(p.from);
            } else if (p.in == lane::handlers) {
                n.for_polls.push_back(std::move(p));
            } else {
                arrive(n, p);
            }
            return true;
        }
        break;
    case 1:
        if (!n.leaving.empty() && !n.holds_packets) {
            n.events->left(*take_at(n.leaving, below(n.leaving.size())), n.late_send_error);
            return true;
        }
        break;
    case 2:
        if (!n.data_leaving.empty() && !n.holds_data) {
            n.events->data_left(*take_at(n.data_leaving, below(n.data_leaving.size())), n.late_data_error);
            return true;
        }
        break;
    default:
        match(n);
        break;
    }
    return false;
}

bool world::step() {
    if (below(8) == 0 && end_wave()) {
        return true;
    }
    return step_of(nodes[below(nodes.size())]);
}

long world::unhandled_packets() const {
    long count = 0;
    for (const node &n : nodes) {
        count += static_cast<long>(n.under_way.size() + n.for_polls.size());
    }
    return count;
}

// Engines.

engines::engines(int size, thence_am_options options, unsigned seed) : network(size, seed) {
    const auto set = [](auto &value, auto otherwise) { value = value == 0 ? otherwise : value; };
    set(options.window, 4);
    set(options.max_outgoing, 2);
    set(options.max_payload, std::size_t{104});
    set(options.max_queued, std::size_t{1000});
    options.failed_data = this;
    options.failed = [](const thence_am_failure *f, void *data) {
        auto &all = *static_cast<engines *>(data);
        if (all.when_told) {
            all.when_told();
            return;
        }
        all.failures.push_back({f->rank, f->error, f->what, f->first});
    };
    current = &network;
    for (int i = 0; i < size; ++i) {
        all_.push_back(std::make_unique<message_engine>(options));
        all_.back()->begin(MPI_COMM_NULL);
    }
}

// What a broken engine has left behind ends, and nobody is told. That may send packets that return credits.
void engines::end_what_is_left_of_broken_ones() {
    for (const auto &each : all_) {
        node &n = network.nodes[static_cast<std::size_t>(each->processes().rank())];
        while (each->broken() != MPI_SUCCESS && !(n.receives.empty() && n.data_leaving.empty())) {
            for (const incoming &left : std::exchange(n.receives, {})) {
                n.events->data_arrived(*left.of, MPI_ERR_OTHER, 0);
            }
            for (transfer *const left : std::exchange(n.data_leaving, {})) {
                n.events->data_left(*left, MPI_ERR_OTHER);
            }
        }
    }
}

engines::~engines() {
    const auto leave = [](const node &n) { return !n.leaving.empty(); };
    end_what_is_left_of_broken_ones();
    while (std::any_of(network.nodes.begin(), network.nodes.end(), leave)) { // packets that return credits
        network.step();
        end_what_is_left_of_broken_ones();
    }
}

void engines::run_once() {
    for (int i = 0; i < size(); ++i) {
        node &n = network.nodes[network.random() % network.nodes.size()];
        if (n.may_call) {
            all_[static_cast<std::size_t>(&n - network.nodes.data())]->progress(nullptr);
        }
        network.step();
        network.step();
    }
}

std::vector<int> engines::quiesce(const std::function<void()> &meanwhile) {
    constexpr int none = -1;
    std::vector<int> codes(all_.size(), none);
    for (std::size_t i = 0; i < all_.size(); ++i) {
        all_[i]->quiesce_then([](int error, void *data) { *static_cast<int *>(data) = error; }, &codes[i]);
    }
    while (std::find(codes.begin(), codes.end(), none) != codes.end()) {
        run_once();
        if (meanwhile) {
            meanwhile();
        }
    }
    return codes;
}

void engines::add(int number, thence_am_handler *handler, void *data, unsigned flags) {
    for (const auto &each : all_) {
        each->handlers().add(number, {handler, data, flags});
    }
}

int engines::send(int from, int to, int number, piece payload, when_full full) {
    bool sent = true;
    const int code = (*this)[from].send(to, number, payload, full, nullptr, sent);
    return code != MPI_SUCCESS ? code : (sent ? MPI_SUCCESS : MPI_ERR_PENDING);
}

} // namespace fake

// The network.

network::network(network_events &to) : to_(to) {}
network::~network() = default;

int network::begin(MPI_Comm, const thence_am_options &, std::size_t) noexcept {
    fake::world &w = *fake::current;
    state_ = std::make_unique<state>();
    state_->in = &w;
    rank_ = static_cast<int>(w.joined++);
    size_ = static_cast<int>(w.nodes.size());
    state_->of = &w.nodes[static_cast<std::size_t>(rank_)];
    state_->of->events = &to_;
    largest_data_tag_ = w.largest_data_tag;
    return MPI_SUCCESS;
}
int network::start(MPI_Comm, int code) noexcept {
    return code;
}
// The others are in it at once, or never.
int network::end(const std::uint64_t packets_to[], const std::atomic<int> &broken) noexcept {
    state_->in->is_ending = true;
    state_->of->promised.assign(packets_to, packets_to + size_);
    while (state_->in->never_end && broken.load() == MPI_SUCCESS) {
        poll();
    }
    return broken.load();
}
bool network::may_call() const noexcept {
    return state_->of->may_call;
}
bool network::in_callback() noexcept {
    return false;
}

void network::send(packet &p) noexcept {
    fake::node &me = *state_->of;
    if (me.send_error != MPI_SUCCESS) {
        to_.left(p, me.send_error);
        return;
    }
    fake::node &to = state_->in->nodes[static_cast<std::size_t>(p.rank)];
    fake::packet_on_its_way copy{rank_, p.in, std::vector<std::uint64_t>((p.length + 7) / 8), p.length};
    std::memcpy(copy.content.data(), p.content(), p.length);
    to.under_way.push_back(std::move(copy));
    to.most_for_this = std::max(to.most_for_this, to.under_way.size() + to.for_polls.size());
    if (state_->in->sends_complete_at_once || state_->in->packets_complete_at_once) {
        to_.left(p, MPI_SUCCESS);
    } else {
        me.leaving.push_back(&p);
    }
}

bool network::send_data(transfer &t, int &error) noexcept {
    error = state_->of->data_error;
    if (error != MPI_SUCCESS) {
        return true;
    }
    fake::node &me = *state_->of;
    if (me.late_data_error != MPI_SUCCESS) {
        me.data_leaving.push_back(&t);
        return false;
    }
    const auto *const begin = static_cast<const unsigned char *>(t.data);
    state_->in->nodes[static_cast<std::size_t>(t.rank)].data_under_way.push_back(
        {rank_, t.tag, std::vector<unsigned char>(begin, begin + (t.is_void ? 0 : t.bytes))});
    if (state_->in->sends_complete_at_once) {
        return true;
    }
    me.data_leaving.push_back(&t);
    me.most_data_leaving = std::max(me.most_data_leaving, me.data_leaving.size());
    return false;
}

int network::send_no_data(int rank, int tag) noexcept {
    if (state_->of->no_data_error == MPI_SUCCESS) {
        state_->in->nodes[static_cast<std::size_t>(rank)].data_under_way.push_back({rank_, tag, {}});
    }
    return state_->of->no_data_error;
}

bool network::is_in_arrived() noexcept {
    return state_->of->in_arrived != 0;
}

int network::say_broken(int rank) noexcept {
    state_->in->nodes[static_cast<std::size_t>(rank)].under_way.push_back({rank_, lane::control, {}, 1, true});
    return MPI_SUCCESS;
}

void network::receive_data(transfer &t, bool in_polls_only) noexcept {
    fake::node &me = *state_->of;
    me.receives.push_back({&t, in_polls_only});
    me.most_receives = std::max(me.most_receives, me.receives.size());
}

void network::cancel_receives() noexcept {
    fake::node &me = *state_->of;
    if (!me.never_cancels) {
        for (const fake::incoming &each : std::exchange(me.receives, {})) {
            to_.data_arrived(*each.of, MPI_ERR_OTHER, 0);
        }
    }
}

void network::begin_wave(totals mine) noexcept {
    state_->of->in_wave = true;
    state_->of->given = mine;
}

int network::poll() noexcept {
    fake::node &me = *state_->of;
    for (std::size_t some = me.for_polls.size(); some != 0; --some) {
        fake::packet_on_its_way p = std::move(me.for_polls.front());
        me.for_polls.pop_front();
        fake::arrive(me, p);
    }
    for (std::size_t i = 0; i < me.receives.size();) {
        if (me.receives[i].has_arrived) {
            const fake::incoming done = fake::take_at(me.receives, i);
            to_.data_arrived(*done.of, MPI_SUCCESS, done.bytes);
        } else {
            ++i;
        }
    }
    state_->in->step();
    if (state_->in->meanwhile) {
        state_->in->meanwhile();
    }
    return MPI_SUCCESS;
}

int network::progress() noexcept {
    ++state_->of->progressed;
    return MPI_SUCCESS;
}

} // namespace thence::am
