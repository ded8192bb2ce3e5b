// SPDX-License-Identifier: BSD-3-Clause
// A network of several engines in one process, in place of src/am/network.cpp. It decides at random what happens next:
// a packet or data arrive, a send completes, a wave ends. One thread, but
// where a test lets another one wait in an upcall.
#pragma once

#include "am/engine.hpp"

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace thence::am::fake {

struct packet_on_its_way {
    int from;
    lane in;
    std::vector<std::uint64_t> content;
    std::size_t length;
    bool says_broken = false;
};
struct data_on_its_way {
    int from;
    int tag;
    std::vector<unsigned char> content;
};
struct incoming {
    transfer *of;
    bool in_polls_only;
    bool has_arrived = false;
    std::size_t bytes = 0;
};

// How an operation of a test has ended: note() is its function `done`.
struct outcome {
    int ended = 0;
    int error = MPI_SUCCESS;
    static void note(int error, void *data) {
        auto &o = *static_cast<outcome *>(data);
        ++o.ended;
        o.error = error;
    }
};

// A process.
struct node {
    network_events *events = nullptr;
    std::vector<packet_on_its_way> under_way; // to this process; any may arrive next
    std::deque<packet_on_its_way> for_polls;  // have arrived
    std::vector<packet *> leaving;            // sends that are not complete
    std::vector<transfer *> data_leaving;
    std::vector<data_on_its_way> data_under_way; // to this process
    std::vector<incoming> receives;              // posted
    bool in_wave = false;
    bool may_call = true;
    bool holds_data = false;    // that leave
    bool holds_packets = false; // the same
    bool never_cancels = false; // receives: as if messages were matched with them
    totals given;
    int send_error = MPI_SUCCESS;      // of the next packets
    int late_send_error = MPI_SUCCESS; // the same, but known only when they leave
    int data_error = MPI_SUCCESS;      // of the next messages with data
    int late_data_error = MPI_SUCCESS; // the same, but known only when they have been started
    int no_data_error = MPI_SUCCESS;   // of messages in their place
    int wave_error = MPI_SUCCESS;
    std::vector<std::uint64_t> promised; // packets to each process, which network::end() was called with
    std::size_t most_receives = 0;       // for data, that are posted
    std::size_t most_for_this = 0;       // packets that were not handled, at most
    std::size_t most_data_leaving = 0;
    int progressed = 0;             // how often network::progress() was called
    std::atomic<int> in_arrived{0}; // threads
};

class world {
public:
    explicit world(int size, unsigned seed = 1) : nodes(static_cast<std::size_t>(size)), random(seed) {}
    // One thing happens, if there is any.
    bool step();
    bool step_to(int rank) { return step_of(nodes[static_cast<std::size_t>(rank)]); }
    bool is_empty() const;

    std::vector<node> nodes;
    std::mt19937 random;
    bool sends_complete_at_once = false;
    bool packets_complete_at_once = false;
    bool never_end = false;          // network::end() waits for others
    bool is_ending = false;          // it does
    std::function<void()> meanwhile; // called in each poll
    std::size_t joined = 0;
    int largest_data_tag = 32767;
    long unhandled_packets() const;

private:
    friend class thence::am::network;
    bool step_of(node &n);
    void match(node &n);
    bool end_wave();
    std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); }

    totals all_;
    std::vector<std::size_t> told_; // who still has to be told that the wave has ended
};

// Where the next engines join.
extern world *current;

// Some engines of one world, with a small progress loop.
class engines {
public:
    explicit engines(int size, thence_am_options options = {}, unsigned seed = 1);
    ~engines();
    message_engine &operator[](int rank) { return *all_[static_cast<std::size_t>(rank)]; }
    int size() const { return static_cast<int>(all_.size()); }
    // Each makes progress once, in random order, and the network does some steps.
    void run_once();
    // Until all are quiet. The codes that the engines gave.
    std::vector<int> quiesce(const std::function<void()> &meanwhile = {});
    void add(int number, thence_am_handler *handler, void *data, unsigned flags = 0);
    int send(int from, int to, int number, piece payload = {}, when_full full = when_full::queue);

    world network;
    struct told {
        int rank;
        int error;
        std::string what;
        int first;
    };
    std::vector<told> failures;
    std::function<void()> when_told; // called in place of noting a failure

private:
    void end_what_is_left_of_broken_ones();

    std::vector<std::unique_ptr<message_engine>> all_;
};

} // namespace thence::am::fake
