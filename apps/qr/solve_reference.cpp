// SPDX-License-Identifier: BSD-3-Clause
// The engine without continuations that Schuchart et al. 2021 compare with (5.3, figure 5), on a window of requests for
// MPI_Testsome (common/request_window.hpp). The protocol is that of solve_messages.cpp. One thread at a time is in MPI.
#include "one_thread.hpp"
#if !defined(THENCE_SIMULATED)
#include "tasks.hpp"
#endif

#include "common/check.hpp"
#include "common/request_window.hpp"

#include <deque>
#include <mutex>
#include <optional>

namespace qr {
namespace {

class Reference {
public:
    explicit Reference(Run &r) : run(r), one_is_here(r.sequence.transfers.size()) {
        apps::check(MPI_Comm_dup(run.comm, &comm));
        window.emplace(comm, short_tag, receives, run.window);
    }
    ~Reference() {
        while (!window->is_empty()) { // short messages
            poll();
            apps::pass(poll_cost);
        }
        MPI_Barrier(comm);
        window.reset();
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
            const int count = window->poll([this](const Short &message, const MPI_Status &) { arrived(message); },
                                           [&](const Operation &o) { complete(o, ready); });
            if (count == 0) {
                return false;
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
        int number = -1; // of the transfer whose data it moves; -1: a short message
        bool leaves = false;
    };

    const Transfer &transfer(int number) const { return run.sequence.transfers[static_cast<std::size_t>(number)]; }
    static int data_tag(int number) { return 1 + number % 32000; }
    int count_of(const Transfer &t) const { return static_cast<int>(run.sequence.bytes(t.block) / sizeof(double)); }

    void send_short(int rank, const Short &message) {
        short_messages.push_back(message); // kept until the end: MPI reads it
        MPI_Request request = MPI_REQUEST_NULL;
        int flag = 0;
        apps::check(MPI_Isend(&short_messages.back(), sizeof(Short), MPI_BYTE, rank, short_tag, comm, &request));
        apps::check(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        if (flag == 0) {
            window->add(request, {});
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
            MPI_Request request = MPI_REQUEST_NULL;
            apps::check(
                MPI_Isend(run.blocks.at(t.block), count_of(t), MPI_DOUBLE, t.to, data_tag(number), comm, &request));
            window->add(request, {number, true});
        }
    }
    void arrived(const Short &message) {
        if (message.what == ask) {
            meet(message.number);
            return;
        }
        const Transfer &t = transfer(message.number);
        MPI_Request request = MPI_REQUEST_NULL;
        apps::check(MPI_Irecv(run.blocks.at(t.block), count_of(t), MPI_DOUBLE, t.from, data_tag(message.number), comm,
                              &request));
        window->add(request, {message.number, false});
    }
    void complete(const Operation &done, std::vector<int> &ready) {
        if (done.number < 0) {
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
    std::mutex mutex; // guards all below
    std::optional<apps::RequestWindow<Short, Operation>> window;
    std::vector<bool> one_is_here; // of each transfer: the request, or the task that sends
    std::deque<Short> short_messages;
    std::deque<int> waiting;
    int data_leaving = 0;
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
