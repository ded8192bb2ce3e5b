// SPDX-License-Identifier: BSD-3-Clause
// The engine without continuations that Schuchart et al. 2021 compare with (5.3, figure 5): a few persistent receives for short
// messages, a fixed array of active requests for MPI_Testsome, and a list of pending ones, which enter the array when an active
// one completes. The protocol is that of solve_messages.cpp. One thread at a time is in MPI.
#include "one_thread.hpp"
#if !defined(THENCE_SIMULATED)
#include "tasks.hpp"
#endif

#include "common/check.hpp"

#include <deque>
#include <mutex>

namespace qr {
namespace {

class Reference {
public:
    explicit Reference(Run &r)
        : run(r), one_is_here(r.sequence.transfers.size()),
          requests(static_cast<std::size_t>(run.window), MPI_REQUEST_NULL), active(requests.size()),
          completed(requests.size()) {
        apps::check(MPI_Comm_dup(run.comm, &comm));
        for (int i = 0; i < receives; ++i) {
            apps::check(MPI_Recv_init(&arrived[i], 2, MPI_INT, MPI_ANY_SOURCE, short_tag, comm,
                                      &requests[static_cast<std::size_t>(i)]));
            apps::check(MPI_Start(&requests[static_cast<std::size_t>(i)]));
        }
        for (int i = run.window - 1; i >= receives; --i) {
            unused.push_back(i);
        }
    }
    ~Reference() {
        while (sends_left > 0) { // short messages
            poll();
            apps::pass(poll_cost);
        }
        MPI_Barrier(comm);
        for (int i = 0; i < receives; ++i) {
            MPI_Cancel(&requests[static_cast<std::size_t>(i)]);
            MPI_Wait(&requests[static_cast<std::size_t>(i)], MPI_STATUS_IGNORE);
            MPI_Request_free(&requests[static_cast<std::size_t>(i)]);
        }
        MPI_Comm_free(&comm);
    }
    Reference(const Reference &) = delete;
    Reference &operator=(const Reference &) = delete;

    void receive(int number) {
        const std::scoped_lock lock(mutex);
        send_short(transfer(number).from, {number, ask});
    }
    void send(int number) {
        const std::scoped_lock lock(mutex);
        meet(number);
    }
    bool poll() {
        std::vector<int> ready;
        {
            const std::unique_lock lock(mutex, std::try_to_lock);
            if (!lock.owns_lock()) {
                return false;
            }
            int count = 0;
            apps::check(MPI_Testsome(run.window, requests.data(), &count, completed.data(), MPI_STATUSES_IGNORE));
            if (count <= 0) {
                return false;
            }
            for (int i = 0; i < count; ++i) {
                complete(completed[static_cast<std::size_t>(i)], ready);
            }
            while (!unused.empty() && !pending.empty()) {
                activate(pending.front());
                pending.pop_front();
            }
        }
        for (const int number : ready) {
            run.ended(number);
        }
        return true;
    }

private:
    static constexpr int receives = 8;
    static constexpr int short_tag = 0; // those of data are above
    enum { ask, announce };
    struct Short {
        int number, what;
    };
    struct Operation {
        MPI_Request request = MPI_REQUEST_NULL;
        int number = -1; // of the transfer whose data it moves; -1: a short message
        bool leaves = false;
    };

    const Transfer &transfer(int number) const { return run.sequence.transfers[static_cast<std::size_t>(number)]; }
    static int data_tag(int number) { return 1 + number % 32000; }
    int count_of(const Transfer &t) const { return static_cast<int>(run.sequence.bytes(t.block) / sizeof(double)); }

    void activate(const Operation &o) {
        const auto at = static_cast<std::size_t>(unused.back());
        unused.pop_back();
        requests[at] = o.request;
        active[at] = o;
    }
    void add(const Operation &o) {
        if (unused.empty()) {
            pending.push_back(o);
        } else {
            activate(o);
        }
    }
    void send_short(int rank, const Short &message) {
        short_messages.push_back(message); // kept until the end: MPI reads it
        Operation o;
        int flag = 0;
        apps::check(MPI_Isend(&short_messages.back(), 2, MPI_INT, rank, short_tag, comm, &o.request));
        apps::check(MPI_Test(&o.request, &flag, MPI_STATUS_IGNORE));
        if (flag == 0) {
            ++sends_left;
            add(o);
        }
    }
    void meet(int number) {
        if (!one_is_here[static_cast<std::size_t>(number)]) {
            one_is_here[static_cast<std::size_t>(number)] = true;
            return;
        }
        waiting.push_back(number);
        let_go();
    }
    // First come first served, and few at a time.
    void let_go() {
        while (data_leaving < run.outgoing && !waiting.empty()) {
            const int number = waiting.front();
            waiting.pop_front();
            ++data_leaving;
            const Transfer &t = transfer(number);
            send_short(t.to, {number, announce});
            Operation o{MPI_REQUEST_NULL, number, true};
            apps::check(
                MPI_Isend(run.blocks.at(t.block), count_of(t), MPI_DOUBLE, t.to, data_tag(number), comm, &o.request));
            add(o);
        }
    }
    void complete(int at, std::vector<int> &ready) {
        const auto slot = static_cast<std::size_t>(at);
        if (at < receives) {
            const Short message = arrived[slot];
            apps::check(MPI_Start(&requests[slot]));
            if (message.what == ask) {
                meet(message.number);
                return;
            }
            const Transfer &t = transfer(message.number);
            Operation o{MPI_REQUEST_NULL, message.number, false};
            apps::check(MPI_Irecv(run.blocks.at(t.block), count_of(t), MPI_DOUBLE, t.from, data_tag(message.number),
                                  comm, &o.request));
            add(o);
            return;
        }
        const Operation done = active[slot];
        unused.push_back(at);
        if (done.number < 0) {
            --sends_left;
            return;
        }
        ready.push_back(done.number);
        if (done.leaves) {
            --data_leaving;
            let_go();
        }
    }

    Run &run;
    MPI_Comm comm = MPI_COMM_NULL;
    std::mutex mutex;                  // guards all below
    std::vector<bool> one_is_here;     // of each transfer: the request, or the task that sends
    std::vector<MPI_Request> requests; // the receives first
    std::vector<Operation> active;
    std::vector<int> completed, unused;
    std::deque<Operation> pending;
    std::deque<Short> short_messages;
    std::deque<int> waiting;
    Short arrived[receives] = {};
    int data_leaving = 0;
    int sends_left = 0;
};

} // namespace

#if !defined(THENCE_SIMULATED)
void solve_reference(Run &run) {
    Reference engine(run);
    run.time([&] { run_tasks(run, engine); });
}
#endif

void solve_reference_alone(Run &run) {
    Reference engine(run);
    run.time([&] { run_on_one_thread(run, engine); });
}

} // namespace qr
