// SPDX-License-Identifier: BSD-3-Clause
// Heap use of continuations: allocations in steady state, and bytes per outstanding continuation. The program replaces
// the allocation functions of the process, so it counts the allocations of Thence and of MPI. Those of MPI are
// subtracted: they are measured by the same work without continuations.
#include "measure/benchmark.hpp"

#include <atomic>
#include <cstdlib>
#include <thence/mpix_continue.h>
#include <vector>

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
}

namespace {

std::atomic<long> allocations{0};
std::atomic<long> bytes{0};

void count_allocation(size_t size) {
    allocations.fetch_add(1, std::memory_order_relaxed);
    bytes.fetch_add(static_cast<long>(size), std::memory_order_relaxed);
}

} // namespace

extern "C" {
void *malloc(size_t size) {
    count_allocation(size);
    return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    count_allocation(count * size);
    return __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) {
    count_allocation(size);
    return __libc_realloc(old, size);
}
void *memalign(size_t alignment, size_t size) {
    count_allocation(size);
    return __libc_memalign(alignment, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}
int posix_memalign(void **result, size_t alignment, size_t size) {
    *result = memalign(alignment, size);
    return *result == nullptr ? 12 /* ENOMEM */ : 0;
}
}

namespace {

void nothing(MPI_Status *, void *) {}

class receives {
public:
    explicit receives(int count) : requests_(count), buffers_(count) {}
    // Posts all receives. Unless `cr` is null, attaches a continuation to each and registers it with `cr`.
    void post(MPI_Request cr) {
        for (int i = 0; i < size(); ++i) {
            int flag = 0;
            MPI_Irecv(&buffers_[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests_[i]);
            if (cr != MPI_REQUEST_NULL) {
                MPIX_Continue(&requests_[i], &flag, nothing, nullptr, MPI_STATUS_IGNORE, cr);
            }
        }
    }
    void complete(MPI_Request cr) {
        for (int i = 0; i < size(); ++i) {
            MPI_Send(&buffers_[i], 0, MPI_INT, 0, i, MPI_COMM_SELF);
        }
        if (cr != MPI_REQUEST_NULL) {
            MPI_Wait(&cr, MPI_STATUS_IGNORE);
        } else {
            MPI_Waitall(size(), requests_.data(), MPI_STATUSES_IGNORE);
        }
    }
    int size() const { return static_cast<int>(requests_.size()); }

private:
    std::vector<MPI_Request> requests_;
    std::vector<int> buffers_;
};

MPI_Request make_cr(measure::work &work) {
    MPI_Request cr = MPI_REQUEST_NULL;
    if (work.parameter("continued") != 0) {
        MPIX_Continue_init(&cr, MPI_INFO_NULL);
    }
    return cr;
}

void free_cr(MPI_Request cr) {
    if (cr != MPI_REQUEST_NULL) {
        MPI_Request_free(&cr);
    }
}

void steady(measure::work &work) {
    MPI_Request cr = make_cr(work);
    receives batch(64);
    const auto rounds = [&](int count) {
        for (int i = 0; i < count; ++i) {
            batch.post(cr);
            batch.complete(cr);
        }
    };
    rounds(100);
    const long before = allocations.load();
    rounds(1000);
    work.result("allocations", static_cast<double>(allocations.load() - before));
    free_cr(cr);
}

void outstanding(measure::work &work) {
    MPI_Request cr = make_cr(work);
    receives first(64);
    first.post(cr);
    first.complete(cr);
    receives many(static_cast<int>(work.parameter("count")));
    const long before = bytes.load();
    many.post(cr);
    work.result("bytes", static_cast<double>(bytes.load() - before));
    many.complete(cr);
    free_cr(cr);
}

double value_of(measure::session &session, const std::string &work, bool continued, const std::string &engine,
                const std::string &name) {
    const std::map<std::string, long> parameters{{"continued", continued ? 1 : 0}, {"count", 10000}};
    return session.alone({.work = work, .parameters = parameters, .environment = {"THENCE_ENGINE=" + engine}}).at(name);
}

void judge_engine(measure::session &session, const std::string &engine) {
    const double continuations = 64.0 * 1000;
    const double ours = value_of(session, "steady", true, engine, "allocations") / continuations;
    const double baseline = value_of(session, "steady", false, engine, "allocations") / continuations;
    const double added = ours - baseline;
    session.add({.name = "heap allocations in steady state, engine " + engine,
                 .found = {added, added, added},
                 .unit = "allocations per continuation",
                 .kind = measure::bar_kind::at_most,
                 .bar = 0,
                 .against = "the same receives completed with MPI_Waitall",
                 .side_unit = "allocations per message",
                 .ours = ours,
                 .baseline = baseline});
    const double held = value_of(session, "outstanding", true, engine, "bytes") / 10000;
    const double held_by_mpi = value_of(session, "outstanding", false, engine, "bytes") / 10000;
    const double each = held - held_by_mpi;
    session.add({.name = "memory of 10,000 outstanding continuations, engine " + engine,
                 .found = {each, each, each},
                 .unit = "bytes each",
                 .kind = measure::bar_kind::at_most,
                 .bar = 128,
                 .against = "the same receives without continuations",
                 .side_unit = "bytes per receive",
                 .ours = held,
                 .baseline = held_by_mpi});
}

void judge(measure::session &session) {
    const std::string chosen = session.engine();
    judge_engine(session, chosen);
    if (chosen != "testsome") {
        judge_engine(session, "testsome");
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(argc, argv,
                         {.name = "memory",
                          .about = "heap allocations and bytes per continuation, in addition to those of the receives",
                          .bars = "no allocation in steady state; at most 128 bytes per outstanding continuation",
                          .pieces = {{"steady", steady}, {"outstanding", outstanding}},
                          .judge = judge});
}
