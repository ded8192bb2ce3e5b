// SPDX-License-Identifier: BSD-3-Clause
// Rounds of persistent receives with a continuation each. The cost per continuation must not grow with the number of
// receives. Persistent requests whose continuation has run, and which the program has neither tested nor restarted,
// must not slow MPI_Test and MPI_Waitall on other requests.
#include "measure/benchmark.hpp"
#include "measure/clock.hpp"

#include <algorithm>
#include <thence/thence.h>
#include <time.h>
#include <vector>

namespace {

constexpr long few_requests = 500;
constexpr long many_requests = 16000;

int nothing(int, MPI_Status *, void *) {
    return MPI_SUCCESS;
}

// Persistent receives from self on a communicator of their own. Messages are sent in the order of the receives, so that
// MPI matches each with the first receive of its queue.
class receives {
public:
    explicit receives(long count) : requests_(count), buffers_(count) {
        MPI_Comm_dup(MPI_COMM_SELF, &comm_);
        for (long i = 0; i < count; ++i) {
            MPI_Recv_init(&buffers_[i], 1, MPI_LONG, 0, 0, comm_, &requests_[i]);
        }
    }
    ~receives() {
        for (MPI_Request &each : requests_) {
            MPI_Request_free(&each);
        }
        MPI_Comm_free(&comm_);
    }
    receives(const receives &) = delete;
    receives &operator=(const receives &) = delete;

    void start() { MPI_Startall(count(), requests_.data()); }
    void send() {
        for (long i = 0; i < count(); ++i) {
            MPI_Send(&i, 1, MPI_LONG, 0, 0, comm_);
        }
    }
    void round_of_waitall() {
        start();
        send();
        MPI_Waitall(count(), requests_.data(), MPI_STATUSES_IGNORE);
    }
    // Afterwards every request is complete, but the program has not tested it.
    void round_of_continuations(MPI_Request &cr) {
        start();
        for (MPI_Request &each : requests_) {
            thence_attach(1, &each, nothing, nullptr, THENCE_PERSISTENT, MPI_STATUSES_IGNORE, cr, nullptr);
        }
        send();
        thence_wait(&cr, MPI_STATUS_IGNORE);
    }

private:
    int count() const { return static_cast<int>(requests_.size()); }
    std::vector<MPI_Request> requests_;
    std::vector<long> buffers_;
    MPI_Comm comm_ = MPI_COMM_NULL;
};

class continuation_request {
public:
    continuation_request() { thence_cr_create(THENCE_CR_ENQUEUE_COMPLETE, -1, MPI_INFO_NULL, &handle); }
    ~continuation_request() { thence_free(&handle); }
    continuation_request(const continuation_request &) = delete;
    continuation_request &operator=(const continuation_request &) = delete;
    MPI_Request handle = MPI_REQUEST_NULL;
};

void waitall_rounds(measure::work &work) {
    receives all(work.parameter("requests"));
    work.count([&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            all.round_of_waitall();
        }
    });
}

void rounds(measure::work &work) {
    continuation_request cr;
    receives all(work.parameter("requests"));
    work.count([&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            all.round_of_continuations(cr.handle);
        }
    });
}

// Counts `body` while the given number of persistent requests is complete and not tested by the program.
template <class Prepare, class Body>
void count_beside_complete_requests(measure::work &work, Prepare &&prepare, Body &&body) {
    continuation_request cr;
    receives answered(work.parameter("answered"));
    if (work.parameter("answered") != 0) {
        answered.round_of_continuations(cr.handle);
    }
    work.count(prepare, body);
}

void test_pending(measure::work &work) {
    int in = 0;
    MPI_Request receive = MPI_REQUEST_NULL;
    const int sent = 1; // a buffer of its own, which MPICH asks for
    MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &receive);
    count_beside_complete_requests(
        work, [](long) {},
        [&](long iterations) {
            for (long i = 0; i < iterations; ++i) {
                int flag = 0;
                MPI_Test(&receive, &flag, MPI_STATUS_IGNORE);
            }
        });
    MPI_Send(&sent, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
}

// Ordinary receives that are complete, one per iteration.
class complete_receives {
public:
    void post(long count) {
        requests.resize(count);
        buffers_.resize(count);
        for (long i = 0; i < count; ++i) {
            MPI_Irecv(&buffers_[i], 1, MPI_LONG, 0, 0, MPI_COMM_SELF, &requests[i]);
        }
        for (long i = 0; i < count; ++i) {
            MPI_Send(&i, 1, MPI_LONG, 0, 0, MPI_COMM_SELF);
        }
    }
    std::vector<MPI_Request> requests;

private:
    std::vector<long> buffers_;
};

void test_complete(measure::work &work) {
    complete_receives others;
    count_beside_complete_requests(
        work, [&](long count) { others.post(count); },
        [&](long) {
            for (MPI_Request &each : others.requests) {
                int flag = 0;
                MPI_Test(&each, &flag, MPI_STATUS_IGNORE);
            }
        });
}

void waitall(measure::work &work) {
    complete_receives others;
    count_beside_complete_requests(
        work, [&](long count) { others.post(count); },
        [&](long count) { MPI_Waitall(static_cast<int>(count), others.requests.data(), MPI_STATUSES_IGNORE); });
}

double processor_seconds() {
    return 1e-9 * static_cast<double>(measure::processor_time_of_thread());
}

template <class Body> double seconds_of(Body &&body) {
    const double start = processor_seconds();
    body();
    return processor_seconds() - start;
}

// Processor time per request. Runs with few and with many requests, with continuations and with MPI_Waitall, alternate.
void times(measure::work &work) {
    continuation_request cr;
    receives few(few_requests);
    receives many(many_requests);
    std::vector<double> ratios;
    std::vector<double> by_waitall;
    const int turns = work.quick() ? 5 : 15;
    constexpr int share = many_requests / few_requests;
    for (int i = -1; i < turns; ++i) {
        const double with_few = seconds_of([&] {
            for (int k = 0; k < share; ++k) {
                few.round_of_continuations(cr.handle);
            }
        });
        const double with_many = seconds_of([&] { many.round_of_continuations(cr.handle); });
        const double waitall_few = seconds_of([&] {
            for (int k = 0; k < share; ++k) {
                few.round_of_waitall();
            }
        });
        const double waitall_many = seconds_of([&] { many.round_of_waitall(); });
        if (i >= 0) { // the first turn is a warm-up
            ratios.push_back(with_many / with_few);
            by_waitall.push_back(waitall_many / waitall_few);
        }
    }
    const measure::sample found = measure::median_of(ratios);
    work.result("ratio", found.value);
    work.result("ratio_low", found.low);
    work.result("ratio_high", found.high);
    work.result("by_waitall", measure::median_of(by_waitall).value);
}

// The cost of a continuation in addition to that of MPI_Waitall on the same persistent receives.
measure::sample per_continuation(measure::session &session, long requests,
                                 const std::vector<std::string> &environment) {
    const long rounds = many_requests / requests; // so that the number of continuations is the same
    measure::job job{.work = "rounds",
                     .parameters = {{"requests", requests}},
                     .environment = environment,
                     .few = rounds,
                     .many = 3 * rounds,
                     .limit = std::chrono::minutes(20)}; // without a hook each call polls, 64 requests at a time
    const measure::sample ours = session.instructions(job);
    job.work = "waitall_rounds";
    const measure::sample baseline = session.instructions(measure::without_interposition(job, "persistent_rounds"));
    return measure::difference(ours, baseline, static_cast<double>(requests));
}

void compare_rounds(measure::session &session, const std::string &engine, const std::vector<std::string> &environment) {
    const measure::sample many = per_continuation(session, many_requests, environment);
    const measure::sample few = per_continuation(session, few_requests, environment);
    session.add({.name = "engine " + engine + ", a continuation of 16,000 persistent requests",
                 .found = measure::ratio(many, few),
                 .unit = "times the instructions",
                 .kind = measure::bar_kind::at_most,
                 .bar = 1.3,
                 .against = "one of 500, both without the cost of MPI_Waitall on the same requests",
                 .side_unit = "instructions per continuation",
                 .ours = many.value,
                 .baseline = few.value});
    const measure::numbers time = session.alone({.work = "times", .environment = environment});
    session.add({.name = "engine " + engine + ", processor time including messages",
                 .found = {time.at("ratio"), time.at("ratio_low"), time.at("ratio_high")},
                 .unit = "times the processor time",
                 .against = "500 requests; MPI_Waitall alone takes " +
                            std::to_string(time.at("by_waitall")).substr(0, 4) + " times as long per request"});
}

void compare_others(measure::session &session, const std::string &engine, const std::vector<std::string> &environment) {
    const struct {
        const char *work;
        const char *text;
        const char *side_unit;
        long few; // number of calls or receives
        long many;
    } cases[] = {
        // So many calls that the progress hook is removed; that happens some calls after the last continuation.
        {"test_pending", "MPI_Test on a pending receive", "instructions per call", 5000, 15000},
        {"test_complete", "MPI_Test on a complete receive", "instructions per call", 200, 1200},
        {"waitall", "MPI_Waitall on 1,000 complete receives", "instructions per receive", 200, 1200},
    };
    for (const auto &each : cases) {
        measure::job job{.work = each.work, .environment = environment, .few = each.few, .many = each.many};
        job.parameters = {{"answered", many_requests}};
        const measure::sample beside = session.instructions(job);
        job.parameters = {{"answered", 0}};
        const measure::sample alone = session.instructions(job);
        session.add({.name = "engine " + engine + ", " + each.text + "; 16,000 complete persistent requests not tested",
                     .found = measure::ratio(beside, alone),
                     .unit = "times the instructions",
                     .kind = measure::bar_kind::at_most,
                     .bar = 1.1,
                     .against = "the same without persistent requests",
                     .side_unit = each.side_unit,
                     .ours = beside.value,
                     .baseline = alone.value});
    }
}

void judge(measure::session &session) {
    const std::string chosen = session.engine();
    compare_rounds(session, chosen, {});
    compare_others(session, chosen, {});
    if (chosen != "testsome") {
        compare_rounds(session, "testsome", {"THENCE_ENGINE=testsome"});
        compare_others(session, "testsome", {"THENCE_ENGINE=testsome"});
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "persistent_rounds",
         .about =
             "cost of continuations on 16,000 persistent requests compared with 500, and their cost for other requests",
         .bars = "at most 1.3 times the instructions per continuation; MPI_Test and MPI_Waitall on "
                 "other requests at most 1.1 times",
         .pieces = {{"waitall_rounds", waitall_rounds},
                    {"rounds", rounds},
                    {"test_pending", test_pending},
                    {"test_complete", test_complete},
                    {"waitall", waitall},
                    {"times", times}},
         .judge = judge});
}
