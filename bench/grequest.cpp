// SPDX-License-Identifier: BSD-3-Clause
// The cost of a generalized request that progress polls, from its start to the end of the wait, compared with a plain
// generalized request that the program completes itself. The work of each has ended when the request is polled for the
// first time. And the cost per completion when 1,000 are outstanding, compared with 1.
#include "measure/benchmark.hpp"

#include <dlfcn.h>
#include <thence/grequest.h>
#include <vector>

namespace {

struct item {
    MPI_Request request = MPI_REQUEST_NULL;
    bool ended = true;
};

int query(void *, MPI_Status *) {
    return MPI_SUCCESS;
}
int free_nothing(void *) {
    return MPI_SUCCESS;
}
int cancel(void *, int) {
    return MPI_SUCCESS;
}
int poll(void *state, MPI_Status *) {
    const item &operation = *static_cast<item *>(state);
    if (operation.ended) {
        MPI_Grequest_complete(operation.request);
    }
    return MPI_SUCCESS;
}
int wait_for(int, void **, double, MPI_Status *) {
    return MPI_SUCCESS;
}

void start(item &operation) {
    thence_grequest_start(query, free_nothing, cancel, poll, nullptr, &operation, &operation.request);
}

void plain(measure::work &work) {
    work.count([](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            MPI_Request request;
            MPI_Grequest_start(query, free_nothing, cancel, nullptr, &request);
            MPI_Grequest_complete(request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    });
}

// `beside`: how many others are outstanding whose work does not end meanwhile.
void polled(measure::work &work) {
    std::vector<item> others(work.parameter("beside"));
    for (item &each : others) {
        each.ended = false;
        start(each);
    }
    work.count([](long iterations) {
        item one;
        for (long i = 0; i < iterations; ++i) {
            start(one);
            MPI_Wait(&one.request, MPI_STATUS_IGNORE);
        }
    });
    for (item &each : others) {
        each.ended = true;
        MPI_Wait(&each.request, MPI_STATUS_IGNORE);
    }
}

// `together` are started, then waited for by one MPI_Waitall.
void batches(measure::work &work) {
    std::vector<item> items(work.parameter("together"));
    std::vector<MPI_Request> requests(items.size());
    work.count([&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            for (std::size_t k = 0; k < items.size(); ++k) {
                start(items[k]);
                requests[k] = items[k].request;
            }
            MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
        }
    });
}

using native_start = int (*)(MPI_Grequest_query_function *, MPI_Grequest_free_function *,
                             MPI_Grequest_cancel_function *, thence_grequest_poll_function *,
                             thence_grequest_wait_function *, void *, MPI_Request *);
native_start find_native() {
    return reinterpret_cast<native_start>(dlsym(RTLD_DEFAULT, "PMPIX_Grequest_start"));
}

void has_native(measure::work &work) {
    work.result("has", find_native() != nullptr ? 1 : 0);
}

// MPICH's own.
void native(measure::work &work) {
    const native_start start_native = find_native();
    work.count([=](long iterations) {
        item one;
        for (long i = 0; i < iterations; ++i) {
            start_native(query, free_nothing, cancel, poll, wait_for, &one, &one.request);
            MPI_Wait(&one.request, MPI_STATUS_IGNORE);
        }
    });
}

void judge_one(measure::session &session, measure::level threads) {
    const measure::sample baseline =
        session.instructions(measure::without_interposition({.work = "plain", .threads = threads}, "grequest"));
    const measure::sample ours =
        session.instructions({.work = "polled", .threads = threads, .parameters = {{"beside", 0}}});
    session.add({.name = std::string(measure::name_of(threads)) + ", start to wait, polled once",
                 .found = measure::difference(ours, baseline),
                 .unit = "instructions per request",
                 .kind = measure::bar_kind::at_most,
                 .bar = 400,
                 .against = "a generalized request that the program completes itself",
                 .side_unit = "instructions per request",
                 .ours = ours.value,
                 .baseline = baseline.value});
}

void judge(measure::session &session) {
    judge_one(session, measure::level::multiple);
    judge_one(session, measure::level::single);

    constexpr long many = 1000;
    const measure::sample one =
        session.instructions({.work = "batches", .parameters = {{"together", 1}}, .few = 300, .many = 2300});
    measure::sample together =
        session.instructions({.work = "batches", .parameters = {{"together", many}}, .few = 3, .many = 23});
    for (double *each : {&together.value, &together.low, &together.high}) {
        *each /= many;
    }
    session.add({.name = "1,000 outstanding, one MPI_Waitall",
                 .found = measure::ratio(together, one),
                 .unit = "times the instructions per completion",
                 .kind = measure::bar_kind::at_most,
                 .bar = 1.5,
                 .against = "1 outstanding",
                 .side_unit = "instructions per completion",
                 .ours = together.value,
                 .baseline = one.value});
    const measure::sample alone = session.instructions({.work = "polled", .parameters = {{"beside", 0}}});
    const measure::sample beside = session.instructions({.work = "polled", .parameters = {{"beside", many}}});
    session.add({.name = "one that ends while 1,000 others do not",
                 .found = measure::ratio(beside, alone),
                 .unit = "times the instructions per completion",
                 .kind = measure::bar_kind::at_most,
                 .bar = 1.5,
                 .against = "the same without others",
                 .side_unit = "instructions per completion",
                 .ours = beside.value,
                 .baseline = alone.value});
    if (session.alone({.work = "has_native"}).at("has") != 0) {
        const measure::sample native =
            session.instructions(measure::without_interposition({.work = "native"}, "grequest"));
        session.add({.name = "start to wait",
                     .found = measure::ratio(alone, native),
                     .unit = "times the instructions",
                     .against = "this MPI's own MPIX_Grequest_start, whose MPI_Wait makes no progress",
                     .side_unit = "instructions per request",
                     .ours = alone.value,
                     .baseline = native.value});
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "grequest",
                          .about =
                              "a generalized request that progress polls, compared with a plain one, and 1,000 of them "
                              "with 1",
                          .bars = "at most 400 instructions more; at most 1.5 times per completion",
                          .pieces = {{"plain", plain},
                                     {"polled", polled},
                                     {"batches", batches},
                                     {"has_native", has_native},
                                     {"native", native}},
                          .judge = judge});
}
