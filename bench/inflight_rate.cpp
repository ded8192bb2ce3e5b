// SPDX-License-Identifier: BSD-3-Clause
// Completions per second with 1,000 receives in flight: continuations, against MPI_Testsome over all of them, and
// against the fixed window of requests that a communication thread keeps (Schuchart et al. 2021, figure 5).
//
// Rank 1 serves 1,000 clients that rank 0 plays. A client sends a request, gets its answer, and is idle until it is
// chosen again, at random; `busy` clients wait for an answer at any time. So completions come in no order that a server
// could foresee. All three servers do the same work per completion: post the receive again, send the answer.
#include "measure/benchmark.hpp"

#include <deque>
#include <random>
#include <stdexcept>
#include <thence/thence.h>

namespace {

constexpr int clients = 1000;
constexpr int window = 32; // active requests of the fixed window
constexpr int answer_tag = 0;
constexpr int last_request = -1;

// Each client has a communicator and tag of its own; several communicators keep MPI's matching short.
class channels {
public:
    static constexpr int per_communicator = 50;
    channels() : communicators_(clients / per_communicator) {
        for (MPI_Comm &each : communicators_) {
            MPI_Comm_dup(MPI_COMM_WORLD, &each);
        }
    }
    ~channels() {
        for (MPI_Comm &each : communicators_) {
            MPI_Comm_free(&each);
        }
    }
    channels(const channels &) = delete;
    channels &operator=(const channels &) = delete;
    MPI_Comm communicator(int client) const { return communicators_[client / per_communicator]; }
    static int tag(int client) { return client % per_communicator; }

private:
    std::vector<MPI_Comm> communicators_;
};

class service {
public:
    explicit service(const channels &to) : channels_(to), requests_(clients) {}
    MPI_Request post(int client) {
        MPI_Request receive;
        MPI_Irecv(&requests_[client], 1, MPI_INT, 0, channels::tag(client), channels_.communicator(client), &receive);
        return receive;
    }
    // True if the client will send again.
    bool answer(int client) {
        if (requests_[client] == last_request) {
            ++gone_;
            return false;
        }
        MPI_Send(&client, 1, MPI_INT, 0, answer_tag, MPI_COMM_WORLD);
        return true;
    }
    bool over() const { return gone_ == clients; }

private:
    const channels &channels_;
    std::vector<int> requests_;
    int gone_ = 0;
};

void serve_testsome(service &service) {
    std::vector<MPI_Request> receives(clients);
    std::vector<int> indices(clients);
    for (int client = 0; client < clients; ++client) {
        receives[client] = service.post(client);
    }
    while (!service.over()) {
        int count = 0;
        MPI_Testsome(clients, receives.data(), &count, indices.data(), MPI_STATUSES_IGNORE);
        for (int i = 0; i < count; ++i) {
            if (service.answer(indices[i])) {
                receives[indices[i]] = service.post(indices[i]);
            }
        }
    }
}

// The window holds the oldest requests; the rest are pending. As published, a pending request moves in when an active
// one completes, which never ends if all messages under way belong to pending ones. So here a window in which nothing
// is complete also gives way to the next pending requests.
void serve_window(service &service) {
    struct entry {
        MPI_Request receive;
        int client;
    };
    std::deque<entry> pending;
    for (int client = 0; client < clients; ++client) {
        pending.push_back({service.post(client), client});
    }
    std::vector<MPI_Request> active;
    std::vector<int> owner;
    std::vector<int> indices(window);
    while (!service.over()) {
        while (active.size() < window && !pending.empty()) {
            active.push_back(pending.front().receive);
            owner.push_back(pending.front().client);
            pending.pop_front();
        }
        int count = 0;
        MPI_Testsome(static_cast<int>(active.size()), active.data(), &count, indices.data(), MPI_STATUSES_IGNORE);
        for (int i = 0; i < count; ++i) {
            const int client = owner[indices[i]];
            if (service.answer(client)) {
                pending.push_back({service.post(client), client});
            }
        }
        std::size_t kept = 0;
        for (std::size_t i = 0; i < active.size(); ++i) {
            if (active[i] != MPI_REQUEST_NULL && count != 0) {
                active[kept] = active[i];
                owner[kept++] = owner[i];
            } else if (active[i] != MPI_REQUEST_NULL) {
                pending.push_back({active[i], owner[i]});
            }
        }
        active.resize(kept);
        owner.resize(kept);
    }
}

class continuation_server {
public:
    explicit continuation_server(service &serving) : service_(serving), slots_(clients) {
        thence_cr_create(THENCE_CR_ENQUEUE_COMPLETE, -1, MPI_INFO_NULL, &cr_);
    }
    void serve() {
        for (int client = 0; client < clients; ++client) {
            slots_[client] = {this, client};
            attach(slots_[client]);
        }
        thence_wait(&cr_, MPI_STATUS_IGNORE);
        thence_free(&cr_);
    }

private:
    struct slot {
        continuation_server *server;
        int client;
    };
    void attach(slot &of) {
        MPI_Request receive = service_.post(of.client);
        thence_attach(1, &receive, on_request, &of, 0, MPI_STATUSES_IGNORE, cr_, nullptr);
    }
    static int on_request(int, MPI_Status *, void *data) {
        slot &of = *static_cast<slot *>(data);
        if (of.server->service_.answer(of.client)) {
            of.server->attach(of);
        }
        return MPI_SUCCESS;
    }
    service &service_;
    std::vector<slot> slots_;
    MPI_Request cr_ = MPI_REQUEST_NULL;
};

// Rank 0: `total` requests with `busy` under way at a time. Returns the answers per second.
double play_clients(const channels &to, int busy, int total, std::mt19937 &random) {
    std::vector<int> idle(clients);
    for (int i = 0; i < clients; ++i) {
        idle[i] = i;
    }
    const auto send = [&](int client, int what) {
        MPI_Send(&what, 1, MPI_INT, 1, channels::tag(client), to.communicator(client));
    };
    const auto send_next = [&] {
        std::swap(idle[random() % idle.size()], idle.back());
        send(idle.back(), 0);
        idle.pop_back();
    };
    const double start = MPI_Wtime();
    for (int sent = 0; sent < busy; ++sent) {
        send_next();
    }
    for (int answered = 0; answered < total; ++answered) {
        int client = 0;
        MPI_Recv(&client, 1, MPI_INT, 1, answer_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        idle.push_back(client);
        if (answered + busy < total) {
            send_next();
        }
    }
    const double rate = total / (MPI_Wtime() - start);
    for (int client = 0; client < clients; ++client) {
        send(client, last_request);
    }
    return rate;
}

template <class Serve> double phase(measure::work &work, const channels &to, std::mt19937 &random, Serve &&serve) {
    const int busy = static_cast<int>(work.parameter("busy"));
    const int total = static_cast<int>(work.parameter("total"));
    double rate = 0;
    if (work.rank() == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        rate = play_clients(to, busy, total, random);
    } else {
        service serving(to);
        MPI_Barrier(MPI_COMM_WORLD);
        serve(serving);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return rate;
}

void all(measure::work &work) {
    const channels to;
    std::mt19937 random(1);
    const int rounds = work.quick() ? 5 : 15;
    std::vector<double> testsome;
    std::vector<double> windowed;
    std::vector<double> continued;
    std::vector<double> over_testsome;
    std::vector<double> over_window;
    for (int i = -1; i < rounds; ++i) {
        const double a = phase(work, to, random, serve_testsome);
        const double b = phase(work, to, random, serve_window);
        const double c = phase(work, to, random, [](service &serving) { continuation_server(serving).serve(); });
        if (i >= 0) { // the first round warms up
            testsome.push_back(a);
            windowed.push_back(b);
            continued.push_back(c);
            over_testsome.push_back(c / a);
            over_window.push_back(c / b);
        }
    }
    const auto tell = [&](const std::string &name, const std::vector<double> &values) {
        const measure::sample found = measure::median_of(values);
        work.result(name, found.value);
        work.result(name + "_low", found.low);
        work.result(name + "_high", found.high);
    };
    tell("testsome", testsome);
    tell("window", windowed);
    tell("continuations", continued);
    tell("over_testsome", over_testsome);
    tell("over_window", over_window);
}

void judge(measure::session &session) {
    const std::string engine = session.engine();
    for (const long busy : {1L, 16L}) {
        const measure::numbers found =
            session.together(2, {.work = "all", .parameters = {{"busy", busy}, {"total", 4000}}});
        const auto add = [&](const std::string &baseline, const std::string &text) {
            const std::string key = "over_" + baseline;
            session.add({.name = "engine " + engine + ", " + std::to_string(busy) + " of 1,000 active, against " + text,
                         .found = {found.at(key), found.at(key + "_low"), found.at(key + "_high")},
                         .unit = "times the completions per second",
                         .kind = measure::bar_kind::at_least,
                         .bar = 2,
                         .against = text,
                         .side_unit = "completions per second",
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
                              "completions per second with 1,000 receives in flight, against MPI_Testsome over all "
                              "and over a fixed window",
                          .bars = "at least 2 times as many",
                          .pieces = {{"all", all}},
                          .judge = judge});
}
