// SPDX-License-Identifier: BSD-3-Clause
// Active messages (thence/am.h): a request names the memory; the data are put there, and call a handler.
#include "one_thread.hpp"
#if !defined(THENCE_SIMULATED)
#include "tasks.hpp"
#endif

#include "common/check.hpp"

#include <cstring>
#include <thence/am.h>

namespace qr {
namespace {

class Messages {
public:
    explicit Messages(Run &r) : run(r), ends(r.sequence.transfers.size()) {
        thence_am_options options{};
        options.max_outgoing = run.outgoing;
        if constexpr (apps::simulated) {
            options.receives = 2; // each test of a receive is an event of the simulator
        }
        apps::check(thence_am_create(run.comm, &options, sizeof options, &am));
        apps::check(thence_am_register(am, request, on_request, this, 0));
        apps::check(thence_am_register(am, data, on_data, this, 0));
        for (End &each : ends) {
            each.of = this;
        }
    }
    ~Messages() { apps::check(thence_am_free(&am)); }
    Messages(const Messages &) = delete;
    Messages &operator=(const Messages &) = delete;

    void receive(int number) {
        const Transfer &t = run.sequence.transfers[static_cast<std::size_t>(number)];
        Wanted wanted{{}, number, 0};
        apps::check(thence_am_memory_register(am, run.blocks.at(t.block), run.sequence.bytes(t.block), &wanted.to));
        end(number).to = wanted.to;
        apps::check(thence_am_send(am, t.from, request, &wanted, sizeof wanted));
    }
    void send(int number) { meet(number); }
    bool poll() {
        long some = 0;
        apps::check(thence_am_progress(am, &some));
        return some > 0;
    }

private:
    enum { request, data };
    struct Wanted {
        thence_am_memory to;
        std::int32_t number, unused;
    };
    struct End {
        Messages *of = nullptr;
        thence_am_memory to{};                // the block, at the rank that receives
        std::atomic<bool> one_is_here{false}; // the request, or the task that sends
    };
    End &end(int number) { return ends[static_cast<std::size_t>(number)]; }

    // Whoever comes second, the request or the task, lets the data go.
    void meet(int number) {
        End &e = end(number);
        if (!e.one_is_here.exchange(true)) {
            return;
        }
        const Transfer &t = run.sequence.transfers[static_cast<std::size_t>(number)];
        const std::int32_t name = number;
        apps::check(thence_am_put(am, run.blocks.at(t.block), run.sequence.bytes(t.block), &e.to, 0, data, &name,
                                  sizeof name, have_left, &e));
    }
    static int on_request(const thence_am_message *m, void *self) {
        Messages &here = *static_cast<Messages *>(self);
        Wanted wanted;
        std::memcpy(&wanted, m->payload, sizeof wanted);
        here.end(wanted.number).to = wanted.to;
        here.meet(wanted.number);
        return MPI_SUCCESS;
    }
    static int on_data(const thence_am_message *m, void *self) {
        std::int32_t number = 0;
        std::memcpy(&number, m->payload, sizeof number);
        Messages &here = *static_cast<Messages *>(self);
        apps::check(thence_am_memory_forget(here.am, &here.end(number).to)); // it names one transfer
        here.run.ended(number);
        return MPI_SUCCESS;
    }
    static void have_left(int error, void *end) {
        apps::check(error);
        const End &left = *static_cast<End *>(end);
        left.of->run.ended(static_cast<int>(&left - left.of->ends.data()));
    }

    Run &run;
    std::vector<End> ends; // of the transfers, for this rank
    thence_am am = nullptr;
};

} // namespace

#if !defined(THENCE_SIMULATED)
void solve_messages(Run &run) {
    Messages engine(run);
    run.time([&] { run_tasks(run, engine); });
}
#endif

void solve_messages_alone(Run &run) {
    Messages engine(run);
    run.time([&] { run_on_one_thread(run, engine); });
}

} // namespace qr
