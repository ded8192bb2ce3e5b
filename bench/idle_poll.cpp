// SPDX-License-Identifier: BSD-3-Clause
// The cost of a poll that finds nothing must not grow with the number of outstanding operations: 10,000 incomplete
// receives are compared with few. An engine that polls tests only some of the operations in each poll. Then the number
// of polls until it tests a given operation must be bounded.
#include "measure/benchmark.hpp"

#include <algorithm>
#include <stdexcept>
#include <thence/thence.h>
#include <vector>

namespace {

// An engine that polls tests two or four times `window` operations in each poll, among them the newest `window` if
// there are new ones.
constexpr int window = 32;

// Receives from self, each with a continuation, all registered with one CR. complete_all() completes them.
class waiting_receives {
public:
    explicit waiting_receives(long count) : buffers_(static_cast<std::size_t>(count)) {
        thence_cr_create(0, -1, MPI_INFO_NULL, &cr);
        for (int tag = 0; tag < size(); ++tag) {
            MPI_Request receive;
            int flag = 0;
            MPI_Irecv(&buffers_[tag], 1, MPI_INT, 0, tag, MPI_COMM_SELF, &receive);
            thence_attach(1, &receive, count_one, &ran, 0, MPI_STATUSES_IGNORE, cr, &flag);
        }
    }
    int size() const { return static_cast<int>(buffers_.size()); }
    void complete(int tag) {
        int out = 0;
        MPI_Send(&out, 1, MPI_INT, 0, tag, MPI_COMM_SELF);
    }
    void finish() {
        thence_wait(&cr, MPI_STATUS_IGNORE);
        thence_free(&cr);
    }
    MPI_Request cr = MPI_REQUEST_NULL;
    long ran = 0;

private:
    static int count_one(int, MPI_Status *, void *data) {
        ++*static_cast<long *>(data);
        return MPI_SUCCESS;
    }
    std::vector<int> buffers_;
};

void complete_all(waiting_receives &receives) {
    for (int tag = 0; tag < receives.size(); ++tag) {
        receives.complete(tag);
    }
    receives.finish();
}

void test(measure::work &work) {
    waiting_receives receives(work.parameter("outstanding"));
    work.count([&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            int flag = 0;
            thence_test(&receives.cr, &flag, MPI_STATUS_IGNORE);
        }
    });
    complete_all(receives);
}

void progress(measure::work &work) {
    waiting_receives receives(work.parameter("outstanding"));
    work.count([&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            thence_progress();
        }
    });
    complete_all(receives);
}

// The largest number of calls of thence_test until the continuation of a completed operation has run. Tries 50
// operations of different ages.
void polls_until_found(measure::work &work) {
    waiting_receives receives(work.parameter("outstanding"));
    const int samples = 50;
    const int step = std::max(1, receives.size() / samples);
    std::vector<bool> done(static_cast<std::size_t>(receives.size()));
    long most = 0;
    for (int tag = 0; tag < receives.size(); tag += step) {
        const long before = receives.ran;
        receives.complete(tag);
        done[tag] = true;
        long polls = 0;
        for (; receives.ran == before; ++polls) {
            int flag = 0;
            thence_test(&receives.cr, &flag, MPI_STATUS_IGNORE);
            if (polls > 100L * receives.size()) {
                throw std::runtime_error("the continuation of a completed operation does not run");
            }
        }
        most = std::max(most, polls);
    }
    for (int tag = 0; tag < receives.size(); ++tag) {
        if (!done[tag]) {
            receives.complete(tag);
        }
    }
    receives.finish();
    work.result("most", static_cast<double>(most));
}

void judge_cost(measure::session &session, const std::string &engine, const std::string &work) {
    // Where MPI pushes completions, the baseline has one operation. An engine that polls has a constant cost once its
    // windows are full. It tests two windows, or four where a test is cheap, so the baseline has four.
    const bool native = engine == "openmpi";
    const long few = native ? 1 : 4L * window;
    const long many = 10000;
    measure::job job{.work = work, .environment = {"THENCE_ENGINE=" + engine}, .few = 300, .many = 2300};
    job.parameters = {{"outstanding", few}};
    const measure::sample baseline = session.instructions(job);
    job.parameters = {{"outstanding", many}};
    const measure::sample ours = session.instructions(job);
    session.add(
        {.name = "thence_" + work + ", engine " + engine + ", 10,000 outstanding compared with " + std::to_string(few),
         .found = measure::ratio(ours, baseline),
         .unit = "times the instructions",
         .kind = measure::bar_kind::at_most,
         .bar = 1.1,
         .against = "the same poll with " + std::to_string(few) + " outstanding",
         .side_unit = "instructions per poll",
         .ours = ours.value,
         .baseline = baseline.value,
         .to_beat = "MPI_Testsome in Open MPI: 1,085 times; TAMPI 4.1: 340 times"});
}

void judge_delay(measure::session &session, const std::string &engine) {
    const long outstanding = session.quick() ? 2000 : 10000;
    const measure::numbers found = session.alone({.work = "polls_until_found",
                                                  .parameters = {{"outstanding", outstanding}},
                                                  .environment = {"THENCE_ENGINE=" + engine}});
    const double most = found.at("most");
    const long windows = (outstanding + window - 1) / window;
    const double bound = engine == "openmpi" ? 1 : static_cast<double>(windows + 1);
    session.add({.name = "engine " + engine + ", " + std::to_string(outstanding) +
                         " outstanding: polls until the callback of a completed operation has run",
                 .found = {most, most, most},
                 .unit = "polls (the maximum of 50 operations)",
                 .kind = measure::bar_kind::at_most,
                 .bar = bound,
                 .against = engine == "openmpi" ? "MPI pushes the completion: one poll"
                                                : "the documented bound: outstanding / 32, rounded up, plus one"});
}

void judge(measure::session &session) {
    const std::string chosen = session.engine();
    std::vector<std::string> engines{chosen};
    if (chosen != "testsome") {
        engines.emplace_back("testsome");
    }
    for (const std::string &engine : engines) {
        judge_cost(session, engine, "test");
        judge_cost(session, engine, "progress");
        judge_delay(session, engine);
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "idle_poll",
         .about = "cost of a poll that finds nothing, with 10,000 incomplete operations compared with few",
         .bars = "at most 1.1 times the cost; on engines that poll, each operation is tested within "
                 "a bounded number of polls",
         .pieces = {{"test", test}, {"progress", progress}, {"polls_until_found", polls_until_found}},
         .judge = judge});
}
