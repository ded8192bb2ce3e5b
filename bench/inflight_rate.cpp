// SPDX-License-Identifier: BSD-3-Clause
// Completions per second with 1,000 pending receives: continuations are compared with MPI_Testsome over all of them,
// and with a fixed window of active requests as a communication thread keeps it (Schuchart et al. 2021, figure 5).
//
// 1,000 clients send to a server. At most `in_flight` messages are in flight at a time, from clients chosen at random,
// so the server cannot predict the order of completions. For each message the server posts the receive again and lets
// the next client send. Server and clients are one thread of one process. The clock is the processor time of this
// thread, so other load on the machine does not count.
#include "measure/benchmark.hpp"
#include "measure/clock.hpp"

#include <deque>
#include <random>
#include <thence/thence.h>
#include <time.h>

namespace {

constexpr int clients = 1000;
constexpr int window = 32; // active requests of the fixed window

// The clients and their receives. Each client has its own pair of communicator and tag. Several communicators keep
// MPI's matching queues short.
class traffic {
public:
    traffic(int in_flight, long total)
        : communicators_(clients / per_communicator), buffers_(clients), in_flight_(in_flight), left_(total) {
        for (MPI_Comm &each : communicators_) {
            MPI_Comm_dup(MPI_COMM_SELF, &each);
        }
        for (int client = 0; client < clients; ++client) {
            idle_.push_back(client);
        }
    }
    ~traffic() {
        for (MPI_Comm &each : communicators_) {
            MPI_Comm_free(&each);
        }
    }
    traffic(const traffic &) = delete;
    traffic &operator=(const traffic &) = delete;

    MPI_Request post(int client) {
        MPI_Request receive;
        MPI_Irecv(&buffers_[client], 1, MPI_INT, 0, tag(client), communicator(client), &receive);
        return receive;
    }
    // Called when the server has the client's message. Returns true if it must post the receive again.
    bool arrived(int client) {
        --sent_;
        if (!closing_) {
            idle_.push_back(client);
        }
        return !closing_;
    }
    // Sends until the allowed number of messages is in flight. Returns false once all messages have arrived.
    bool send() {
        while (left_ > 0 && sent_ < in_flight_) {
            std::swap(idle_[random_() % idle_.size()], idle_.back());
            const int client = idle_.back();
            idle_.pop_back();
            --left_;
            ++sent_;
            send(client); // where no hook runs callbacks, it does, and they call arrived()
        }
        return sent_ > 0;
    }
    // Sends once from every client, so that no receive stays pending.
    void close() {
        closing_ = true;
        in_flight_ = clients;
        left_ = clients;
        send();
    }

private:
    static constexpr int per_communicator = 50;
    MPI_Comm communicator(int client) const { return communicators_[client / per_communicator]; }
    static int tag(int client) { return client % per_communicator; }
    void send(int client) { MPI_Send(&client, 1, MPI_INT, 0, tag(client), communicator(client)); }

    std::vector<MPI_Comm> communicators_;
    std::vector<int> buffers_;
    std::vector<int> idle_;
    std::mt19937 random_{1};
    int in_flight_;
    int sent_ = 0;
    long left_;
    bool closing_ = false;
};

class testsome_server {
public:
    explicit testsome_server(traffic &of) : traffic_(of), receives_(clients), indices_(clients) {
        for (int client = 0; client < clients; ++client) {
            receives_[client] = traffic_.post(client);
        }
    }
    void poll() {
        int count = 0;
        MPI_Testsome(clients, receives_.data(), &count, indices_.data(), MPI_STATUSES_IGNORE);
        for (int i = 0; i < count; ++i) {
            if (traffic_.arrived(indices_[i])) {
                receives_[indices_[i]] = traffic_.post(indices_[i]);
            }
        }
    }

private:
    traffic &traffic_;
    std::vector<MPI_Request> receives_;
    std::vector<int> indices_;
};

// The window holds the oldest requests; the rest are pending. In the published scheme a pending request enters the
// window only when an active one completes. That deadlocks if all messages in flight belong to pending requests. So
// here the window is also refilled with the next pending requests if none of its requests is complete.
class window_server {
public:
    explicit window_server(traffic &of) : traffic_(of), indices_(window) {
        for (int client = 0; client < clients; ++client) {
            pending_.push_back({traffic_.post(client), client});
        }
    }
    void poll() {
        while (active_.size() < window && !pending_.empty()) {
            active_.push_back(pending_.front().receive);
            owner_.push_back(pending_.front().client);
            pending_.pop_front();
        }
        int count = 0;
        MPI_Testsome(static_cast<int>(active_.size()), active_.data(), &count, indices_.data(), MPI_STATUSES_IGNORE);
        for (int i = 0; i < count; ++i) {
            const int client = owner_[indices_[i]];
            if (traffic_.arrived(client)) {
                pending_.push_back({traffic_.post(client), client});
            }
        }
        keep_active(count != 0);
    }

private:
    struct entry {
        MPI_Request receive;
        int client;
    };
    void keep_active(bool keep) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < active_.size(); ++i) {
            if (active_[i] == MPI_REQUEST_NULL) {
                continue;
            }
            if (keep) {
                active_[kept] = active_[i];
                owner_[kept++] = owner_[i];
            } else {
                pending_.push_back({active_[i], owner_[i]});
            }
        }
        active_.resize(kept);
        owner_.resize(kept);
    }
    traffic &traffic_;
    std::deque<entry> pending_;
    std::vector<MPI_Request> active_;
    std::vector<int> owner_;
    std::vector<int> indices_;
};

class continuation_server {
public:
    explicit continuation_server(traffic &of) : traffic_(of), slots_(clients) {
        thence_cr_create(THENCE_CR_ENQUEUE_COMPLETE, -1, MPI_INFO_NULL, &cr_);
        for (int client = 0; client < clients; ++client) {
            slots_[client] = {this, client};
            attach(slots_[client]);
        }
    }
    ~continuation_server() { thence_free(&cr_); }
    continuation_server(const continuation_server &) = delete;
    continuation_server &operator=(const continuation_server &) = delete;
    void poll() {
        int flag = 0;
        thence_test(&cr_, &flag, MPI_STATUS_IGNORE);
    }

private:
    struct slot {
        continuation_server *server;
        int client;
    };
    void attach(slot &of) {
        MPI_Request receive = traffic_.post(of.client);
        thence_attach(1, &receive, on_message, &of, 0, MPI_STATUSES_IGNORE, cr_, nullptr);
    }
    static int on_message(int, MPI_Status *, void *data) {
        slot &of = *static_cast<slot *>(data);
        if (of.server->traffic_.arrived(of.client)) {
            of.server->attach(of);
        }
        return MPI_SUCCESS;
    }
    traffic &traffic_;
    std::vector<slot> slots_;
    MPI_Request cr_ = MPI_REQUEST_NULL;
};

double processor_seconds() {
    return 1e-9 * static_cast<double>(measure::processor_time_of_thread());
}

// Returns completions per second.
template <class Server> double serve(long in_flight, long total) {
    traffic messages(static_cast<int>(in_flight), total);
    Server server(messages);
    const double start = processor_seconds();
    while (messages.send()) {
        server.poll();
    }
    const double rate = static_cast<double>(total) / (processor_seconds() - start);
    messages.close();
    while (messages.send()) {
        server.poll();
    }
    return rate;
}

void all(measure::work &work) {
    const long in_flight = work.parameter("in_flight");
    const long total = 4000;
    const int rounds = work.quick() ? 5 : 25;
    std::vector<double> testsome;
    std::vector<double> windowed;
    std::vector<double> continued;
    std::vector<double> over_testsome;
    std::vector<double> over_window;
    for (int i = -1; i < rounds; ++i) {
        const double a = serve<testsome_server>(in_flight, total);
        const double b = serve<window_server>(in_flight, total);
        const double c = serve<continuation_server>(in_flight, total);
        if (i >= 0) { // the first round is a warm-up
            testsome.push_back(a);
            windowed.push_back(b);
            continued.push_back(c);
            over_testsome.push_back(c / a);
            over_window.push_back(c / b);
        }
    }
    const auto add_result = [&](const std::string &name, const std::vector<double> &values) {
        const measure::sample found = measure::median_of(values);
        work.result(name, found.value);
        work.result(name + "_low", found.low);
        work.result(name + "_high", found.high);
    };
    add_result("testsome", testsome);
    add_result("window", windowed);
    add_result("continuations", continued);
    add_result("over_testsome", over_testsome);
    add_result("over_window", over_window);
}

void judge(measure::session &session) {
    const std::string engine = session.engine();
    for (const long in_flight : {1L, 16L}) {
        const measure::numbers found = session.alone({.work = "all", .parameters = {{"in_flight", in_flight}}});
        const auto add = [&](const std::string &baseline, const std::string &text) {
            const std::string key = "over_" + baseline;
            std::string name = "engine " + engine;
            name += ", messages in flight: " + std::to_string(in_flight);
            name += ", compared with " + text;
            session.add(
                {.name = name,
                 .found = {found.at(key), found.at(key + "_low"), found.at(key + "_high")},
                 .unit = "times the completions per second",
                 // With many completions per poll every server is near the speed of MPI itself, so there is no bar.
                 .kind = in_flight == 1 ? measure::bar_kind::at_least : measure::bar_kind::none,
                 .bar = 2,
                 .against = text,
                 .side_unit = "completions per second of processor time",
                 .ours = found.at("continuations"),
                 .baseline = found.at(baseline)});
        };
        add("testsome", "MPI_Testsome over all");
        add("window", "a window of 32 requests");
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "inflight_rate",
                          .about =
                              "completions per second with 1,000 pending receives, compared with MPI_Testsome over "
                              "all and over a fixed window",
                          .bars = "at least 2 times as many, where messages complete one at a time",
                          .pieces = {{"all", all}},
                          .judge = judge});
}
