// SPDX-License-Identifier: BSD-3-Clause
// thence/offload.hpp where an operation of MPI fails on the last rank alone, or memory is exhausted. All ranks are
// told, by an error, and none waits for ever: usage: offload_faults [killed]
// With `killed` whoever runs a task of rank 0 is killed in it: see am_killed.sh.
#include <thence/offload.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <unistd.h>

namespace {

bool fails_in_begin = false;
bool fails_in_barrier = false;
bool fails_in_gather = false;
thence::detail::atomic<int> cancelled{0}, freed{0}; // receives, communicators
thread_local int memory_for = -1;                   // so many allocations; -1: for all

} // namespace

// The linker prefers these to those of the MPI library, and of the C++ library.
extern "C" {

int MPI_Recv_init(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                  MPI_Request *request) {
    return fails_in_begin ? int{MPI_ERR_OTHER} : PMPI_Recv_init(buffer, count, type, source, tag, comm, request);
}
int MPI_Cancel(MPI_Request *request) {
    cancelled.fetch_add(1);
    return PMPI_Cancel(request);
}
int MPI_Comm_free(MPI_Comm *comm) {
    freed.fetch_add(1);
    return PMPI_Comm_free(comm);
}
int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request) {
    return fails_in_barrier ? int{MPI_ERR_OTHER} : PMPI_Ibarrier(comm, request);
}
int MPI_Iallgather(const void *from, int count, MPI_Datatype type, void *to, int counts, MPI_Datatype types,
                   MPI_Comm comm, MPI_Request *request) {
    return fails_in_gather ? int{MPI_ERR_OTHER} : PMPI_Iallgather(from, count, type, to, counts, types, comm, request);
}

} // extern "C"

// Not inlined: GCC would warn of malloc() and delete, or of new and free(), in one place.
[[gnu::noinline]] void *operator new(std::size_t bytes) {
    void *const made = memory_for == 0 ? nullptr : std::malloc(bytes);
    memory_for -= memory_for > 0 ? 1 : 0;
    if (made == nullptr) {
        throw std::bad_alloc();
    }
    return made;
}
[[gnu::noinline]] void operator delete(void *freed) noexcept {
    std::free(freed);
}
[[gnu::noinline]] void operator delete(void *freed, std::size_t) noexcept {
    std::free(freed);
}

namespace {

int rank = 0;
int size = 1;
bool is_good = true;

void expect(bool is_right, const char *what) {
    if (!is_right) {
        std::fprintf(stderr, "rank %d: not so: %s\n", rank, what);
        is_good = false;
    }
}

// Computes for a while, and has no results.
struct nothing {
    struct metadata {
        int microseconds = 0;
        bool kills = false; // another rank than 0
    };
    static std::size_t input_bytes(const metadata &) { return 0; }
    static std::array<std::size_t, 1> result_bytes(const metadata &) { return {0}; }
    static void run(const metadata &m, std::span<const std::byte>,
                    const std::array<std::span<std::byte>, 1> &) noexcept {
        if (m.kills && rank != 0) {
            std::fprintf(stderr, "rank %d is killed now\n", rank);
            std::raise(SIGKILL);
        }
        for (const double end = MPI_Wtime() + m.microseconds * 1e-6; MPI_Wtime() < end;) {
        }
    }
};

bool throws_error(const std::function<void()> &call) {
    try {
        call();
        return false;
    } catch (const thence::error &) {
        return true;
    }
}

// Begins, and finishes a step. All ranks leave it before one of them goes on: else who is told early of what comes then
// is told in this step.
template <class Offloader> void finish_first_step(Offloader &tasks, const char *what) {
    tasks.begin();
    tasks.template submit<nothing>({}, {}, {});
    expect(tasks.finish_step().own == 1, what);
    MPI_Barrier(MPI_COMM_WORLD);
}

// `fails` is set on the last rank after begin(), or before.
void one_rank_fails(bool &fails, bool in_begin, const char *what) {
    thence::offloader tasks(MPI_COMM_WORLD);
    tasks.add<nothing>();
    if (!in_begin) {
        finish_first_step(tasks, what);
    }
    fails = rank == size - 1;
    expect(throws_error([&] { in_begin ? tasks.begin() : static_cast<void>(tasks.finish_step()); }), what);
    fails = false;
    expect(throws_error([&] { tasks.work(); }), what);
}

void memory_is_exhausted() {
    thence::offloader tasks(MPI_COMM_WORLD);
    tasks.add<nothing>();
    tasks.begin();
    constexpr int submitted = 20;
    for (int i = 0; i < submitted; ++i) {
        bool is_submitted = false;
        for (int allocations = 0; !is_submitted; ++allocations) {
            memory_for = allocations;
            try {
                tasks.submit<nothing>({}, {}, {});
                is_submitted = true;
            } catch (const std::bad_alloc &) {
            }
            memory_for = -1;
        }
    }
    expect(tasks.finish_step().own == submitted, "a task that could not be submitted counts in no step");
}

// The program of the last rank leaves a step by an exception of its own: from the scope of the offloader, or to a
// handler in it after a task was submitted.
struct left_by_program {};

void program_leaves(bool leaves_scope, const char *what) {
    bool was_caught = false;
    try {
        thence::offloader tasks(MPI_COMM_WORLD);
        tasks.add<nothing>();
        finish_first_step(tasks, what);
        try {
            if (rank == size - 1) {
                if (!leaves_scope) {
                    tasks.submit<nothing>({}, {}, {});
                }
                throw left_by_program();
            }
            expect(throws_error([&] { tasks.finish_step(); }), what);
        } catch (const left_by_program &) {
            was_caught = true;
            if (leaves_scope) {
                throw;
            }
        }
    } catch (const left_by_program &) {
    }
    expect(was_caught == (rank == size - 1), what);
}

// The program of the last rank leaves the scope after the last step, so that it tells the others, which end there.
void program_leaves_after_the_last_step() {
    freed.store(0);
    for (int i = 0; i < 20; ++i) {
        try {
            thence::offloader tasks(MPI_COMM_WORLD);
            tasks.add<nothing>();
            finish_first_step(tasks, "a step ends before the program leaves");
            if (rank == size - 1) {
                throw left_by_program();
            }
        } catch (const left_by_program &) {
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    expect(freed.load() == 0, "no rank frees the communicator that the message of another one comes on");
}

// Keeps the callback of a receive for metadata, so that the receive can fail later.
class kept_receive : public thence::detail::offload_continuations {
public:
    using offload_continuations::offload_continuations;
    int attach(int count, MPI_Request requests[], thence_callback *done, void *data, MPI_Status *statuses,
               bool persistent) {
        if (persistent) { // no task comes from another rank meanwhile
            came = done, of_receive = data;
        }
        return offload_continuations::attach(count, requests, done, data, statuses, persistent);
    }
    static inline thence_callback *came = nullptr;
    static inline void *of_receive = nullptr;
};

enum class ending { good, without_barrier, after_a_failed_receive };

// All end after a step; on the last rank in this way.
void all_end(ending of_last, bool frees, const char *what) {
    cancelled.store(0), freed.store(0);
    {
        thence::basic_offloader<kept_receive> tasks(MPI_COMM_WORLD);
        tasks.add<nothing>();
        finish_first_step(tasks, what);
        fails_in_barrier = rank == size - 1 && of_last == ending::without_barrier;
        if (rank == size - 1 && of_last == ending::after_a_failed_receive) {
            kept_receive::came(MPI_ERR_OTHER, nullptr, kept_receive::of_receive);
        }
    }
    fails_in_barrier = false;
    expect(freed.load() == (frees ? 1 : 0), what);
    expect(cancelled.load() == 0, "the end cancels no receive while another thread may match it");
}

// What is written to standard error while `call` runs.
template <class Call> std::string told_by(Call call) {
    int ends[2] = {-1, -1};
    if (pipe(ends) != 0) {
        return {};
    }
    const int kept = dup(2);
    dup2(ends[1], 2);
    call();
    dup2(kept, 2);
    close(kept);
    close(ends[1]);
    std::string text(1000, '\0');
    const ssize_t length = read(ends[0], text.data(), text.size());
    text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    close(ends[0]);
    return text;
}

bool is_refused_without_mpi() {
    try {
        const thence::offloader tasks(MPI_COMM_WORLD);
        return false;
    } catch (const thence::mpi_inactive &) {
        return true;
    }
}

int others_are_killed() {
    thence::offload_settings settings;
    settings.lost_after = 2;
    thence::offloader tasks(MPI_COMM_WORLD, settings);
    tasks.add<nothing>();
    tasks.begin();
    try {
        for (bool is_killed = false; !is_killed;) { // how many go away depends on measured times
            for (int i = 0; rank == 0 && i < 20; ++i) {
                tasks.submit<nothing>({300, true}, {}, {});
            }
            is_killed = tasks.finish_step().offloaded != 0;
        }
        std::fprintf(stderr, "rank %d is told that all is quiet\n", rank);
    } catch (const std::exception &told) {
        std::fprintf(stderr, "rank %d is told of an error: %s\n", rank, told.what());
    }
    _exit(1); // other processes may be gone: MPI_Finalize could wait for them
}

} // namespace

int main(int argc, char **argv) {
    alarm(55); // before the timeout of the test
    int level = 0;
    expect(is_refused_without_mpi(), "no offloader is made before MPI_Init");
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (argc > 1 && std::strcmp(argv[1], "killed") == 0) {
        return others_are_killed();
    }
    memory_is_exhausted();
    one_rank_fails(fails_in_begin, true, "all are told that one cannot begin");
    one_rank_fails(fails_in_barrier, false, "all are told that one cannot arrive at the end of the step");
    one_rank_fails(fails_in_gather, false, "all are told that one cannot tell how long it has waited");
    program_leaves(true, "all are told that the program of one has left the scope");
    program_leaves(false, "all are told that the program of one has not finished its step");
    program_leaves_after_the_last_step();
    all_end(ending::good, true, "the end frees the communicator");
    all_end(ending::without_barrier, false, "all are told that one cannot arrive at the end");
    all_end(ending::after_a_failed_receive, false, "all are told at the end that a message of one has failed");
    auto late = std::make_unique<thence::offloader>(MPI_COMM_WORLD);
    late->add<nothing>();
    late->begin();
    // What was begun together is not over: MPI_Finalize could wait for it.
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    expect(told_by([&] { late.reset(); }).find("destroyed after MPI_Finalize") != std::string::npos,
           "whoever destroys an offloader too late is told so, and MPI is not called");
    expect(is_refused_without_mpi(), "no offloader is made after MPI_Finalize");
    return is_good ? 0 : 1;
}
