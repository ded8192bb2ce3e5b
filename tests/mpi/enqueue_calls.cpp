// SPDX-License-Identifier: BSD-3-Clause
// Calls of MPI on a communicator of a stream with a queue: each that communicates is enqueued, or refused by its name.
// One-sided operations are enqueued by the function that starts them.
#include "thread_queue.hpp"

#include <thence/mpix.h>

#include <array>
#include <numeric>
#include <string>
#include <vector>

namespace {

class enqueued_calls : public enqueue {};

// The queue goes on when the test says so.
struct closed_queue : queued_communicator {
    explicit closed_queue(trigger how) : queued_communicator(how) {
        queue.push([this] {
            while (!open) {
                std::this_thread::yield();
            }
        });
    }
    ~closed_queue() { open = true; }
    void go() {
        open = true;
        queue.synchronize();
    }
    std::atomic<bool> open{false};
};

TEST_P(enqueued_calls, nonblocking_messages_begin_in_the_order_of_the_queue) {
    closed_queue q(GetParam());
    int out = -1;
    int got = -1;
    q.queue.push([&] { out = 100 + rank; }); // a send that begins in the call would send -1
    std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    EXPECT_EQ(MPI_Irecv(&got, 1, MPI_INT, previous(), 1, q.comm, &requests[0]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Isend(&out, 1, MPI_INT, next(), 1, q.comm, &requests[1]), MPI_SUCCESS);
    int flag = -1;
    EXPECT_EQ(MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(flag, 0);
    q.open = true;
    EXPECT_EQ(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(got, 100 + previous());
    q.go();
}

TEST_P(enqueued_calls, a_wait_for_nonblocking_messages_can_be_enqueued) {
    closed_queue q(GetParam());
    int got = -1;
    int seen = -1;
    std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    EXPECT_EQ(MPI_Irecv(&got, 1, MPI_INT, previous(), 1, q.comm, &requests[0]), MPI_SUCCESS);
    EXPECT_EQ(MPI_Isend(&rank, 1, MPI_INT, next(), 1, q.comm, &requests[1]), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Waitall_enqueue(2, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    q.queue.push([&] { seen = got; });
    EXPECT_EQ(seen, -1);
    q.go();
    EXPECT_EQ(seen, previous());
}

TEST_P(enqueued_calls, blocking_collectives_are_enqueued) {
    closed_queue q(GetParam());
    const auto n = static_cast<std::size_t>(size);
    int number = -1;
    q.queue.push([&] { number = rank + 1; }); // what begins in the call reads -1
    int sum = -1;
    int root = -1;
    int scanned = -1;
    int before = -1;
    int part = -1;
    int share = -1;
    std::vector<int> ones(n, 1);
    std::vector<int> all(n, -1);
    std::vector<int> at_root(n, -1);
    std::vector<int> exchanged(n, -1);
    std::vector<int> counts(n, 1);
    std::vector<int> displs(n);
    std::iota(displs.begin(), displs.end(), 0);
    EXPECT_EQ(MPI_Barrier(q.comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, q.comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Reduce(&number, &root, 1, MPI_INT, MPI_MAX, 0, q.comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Bcast(&root, 1, MPI_INT, 0, q.comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Scan(&number, &scanned, 1, MPI_INT, MPI_SUM, q.comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Exscan(&number, &before, 1, MPI_INT, MPI_SUM, q.comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Allgather(&number, 1, MPI_INT, all.data(), 1, MPI_INT, q.comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Gatherv(&number, 1, MPI_INT, at_root.data(), counts.data(), displs.data(), MPI_INT, 0, q.comm),
              MPI_SUCCESS);
    EXPECT_EQ(MPI_Scatter(at_root.data(), 1, MPI_INT, &part, 1, MPI_INT, 0, q.comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Alltoall(all.data(), 1, MPI_INT, exchanged.data(), 1, MPI_INT, q.comm), MPI_SUCCESS);
    EXPECT_EQ(MPI_Reduce_scatter_block(ones.data(), &share, 1, MPI_INT, MPI_SUM, q.comm), MPI_SUCCESS);
    EXPECT_EQ(sum, -1) << "none has begun";
    q.go();
    std::vector<int> numbers(n);
    std::iota(numbers.begin(), numbers.end(), 1);
    EXPECT_EQ(sum, size * (size + 1) / 2);
    EXPECT_EQ(root, size);
    EXPECT_EQ(scanned, (rank + 1) * (rank + 2) / 2);
    EXPECT_EQ(before, rank == 0 ? -1 : rank * (rank + 1) / 2);
    EXPECT_EQ(all, numbers);
    EXPECT_EQ(part, rank + 1);
    EXPECT_EQ(exchanged, std::vector<int>(n, rank + 1));
    EXPECT_EQ(share, size);
}

// The error names the call; enqueue_refused.cpp has all of them. Nothing is started, and no output is set.
TEST_P(enqueued_calls, others_are_refused_by_name) {
    closed_queue q(GetParam());
    int x = 7;
    int y = 7;
    int flag = 7;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status{};
    const int to = next();
    const int from = previous();
    const auto refused = [](const std::string &name, int code) {
        EXPECT_EQ(class_of(code), MPI_ERR_UNSUPPORTED_OPERATION) << name;
        if (code == MPI_ERR_UNSUPPORTED_OPERATION) {
            return; // MPICH 4.0 gives no text to codes of its classes
        }
        std::array<char, MPI_MAX_ERROR_STRING> text{};
        int length = 0;
        MPI_Error_string(code, text.data(), &length);
        EXPECT_NE(std::string(text.data()).find(name + ": "), std::string::npos) << text.data();
        EXPECT_NE(std::string(text.data()).find("thence_start_enqueue"), std::string::npos) << text.data();
    };
    MPI_Comm comm = q.comm;
    refused("MPI_Ssend", MPI_Ssend(&x, 1, MPI_INT, to, 1, comm));
    refused("MPI_Rsend", MPI_Rsend(&x, 1, MPI_INT, to, 1, comm));
    refused("MPI_Bsend", MPI_Bsend(&x, 1, MPI_INT, to, 1, comm));
    refused("MPI_Sendrecv", MPI_Sendrecv(&x, 1, MPI_INT, to, 1, &y, 1, MPI_INT, from, 1, comm, &status));
    refused("MPI_Sendrecv_replace", MPI_Sendrecv_replace(&x, 1, MPI_INT, to, 1, from, 1, comm, &status));
    refused("MPI_Probe", MPI_Probe(from, 1, comm, &status));
    refused("MPI_Iprobe", MPI_Iprobe(from, 1, comm, &flag, &status));
    refused("MPI_Mprobe", MPI_Mprobe(from, 1, comm, &message, &status));
    refused("MPI_Improbe", MPI_Improbe(from, 1, comm, &flag, &message, &status));
    refused("MPI_Issend", MPI_Issend(&x, 1, MPI_INT, to, 1, comm, &request));
    refused("MPI_Ibarrier", MPI_Ibarrier(comm, &request));
    refused("MPI_Ibcast", MPI_Ibcast(&x, 1, MPI_INT, 0, comm, &request));
    refused("MPI_Iallreduce", MPI_Iallreduce(&x, &y, 1, MPI_INT, MPI_SUM, comm, &request));
    refused("MPI_Ialltoall", MPI_Ialltoall(&x, 1, MPI_INT, &y, 1, MPI_INT, comm, &request));
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    EXPECT_EQ(message, MPI_MESSAGE_NULL);
    EXPECT_EQ(flag, 7);
    EXPECT_EQ(y, 7);
    q.go();
}

// A copy of the communicator has the queue, too; one that was made by MPI_Comm_split has none.
TEST_P(enqueued_calls, calls_that_only_ask_or_make_communicators_are_done_at_once) {
    closed_queue q(GetParam());
    int ranks = 0;
    EXPECT_EQ(MPI_Comm_size(q.comm, &ranks), MPI_SUCCESS);
    EXPECT_EQ(ranks, size);
    MPI_Comm part = MPI_COMM_NULL;
    ASSERT_EQ(MPI_Comm_split(q.comm, 0, rank, &part), MPI_SUCCESS);
    int sum = 0;
    const int one = 1;
    EXPECT_EQ(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, part), MPI_SUCCESS);
    EXPECT_EQ(sum, size) << "it has no queue";
    MPI_Comm_free(&part);
    q.go();
}

// The function that starts an operation may use the communicator: the queue has reached it.
TEST_P(enqueued_calls, a_start_function_may_use_the_communicator_itself) {
    struct arguments {
        int *out;
        int *in;
        int to;
        int from;
    };
    queued_communicator q(GetParam());
    int got = -1;
    MPI_Request received = MPI_REQUEST_NULL;
    const arguments what{&rank, &got, next(), previous()};
    const auto receive = [](MPI_Comm comm, void *data, MPI_Request *request) {
        const auto &args = *static_cast<const arguments *>(data);
        return MPI_Irecv(args.in, 1, MPI_INT, args.from, 4, comm, request);
    };
    const auto send = [](MPI_Comm comm, void *data, MPI_Request *request) {
        const auto &args = *static_cast<const arguments *>(data);
        return MPI_Issend(args.out, 1, MPI_INT, args.to, 4, comm, request);
    };
    const auto barrier = [](MPI_Comm comm, void *, MPI_Request *request) { return MPI_Ibarrier(comm, request); };
    EXPECT_EQ(thence_istart_enqueue(receive, &what, sizeof what, q.comm, &received), MPI_SUCCESS);
    EXPECT_EQ(thence_start_enqueue(send, &what, sizeof what, q.comm, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(MPIX_Wait_enqueue(&received, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(thence_start_enqueue(barrier, nullptr, 0, q.comm, MPI_STATUS_IGNORE), MPI_SUCCESS);
    q.queue.synchronize();
    EXPECT_EQ(got, previous());
    int error = -1;
    EXPECT_EQ(thence_stream_get_error(q.stream, &error), MPI_SUCCESS);
    EXPECT_EQ(error, MPI_SUCCESS);
}

// The queue writes a number, and puts it into the memory of the next rank. Then it gets that of the rank before from
// there.
TEST_P(enqueued_calls, one_sided_operations_are_enqueued_by_the_function_that_starts_them) {
    struct arguments {
        int *number;
        int target;
        MPI_Win window;
    };
    queued_communicator q(GetParam());
    // MPI_Win_create on the heap first: on MPICH 4.0 over UCX rank 0 reaches itself in place of rank 1 in memory of
    // MPI_Win_allocate and of the stack, also without Thence. Open MPI 4.1 has only MPI_Win_allocate if threads may
    // call it.
    std::vector<int> own(2);
    int *memory = own.data();
    MPI_Win window = MPI_WIN_NULL;
    if (MPI_Win_create(memory, 2 * sizeof(int), sizeof(int), MPI_INFO_NULL, q.comm, &window) != MPI_SUCCESS) {
        ASSERT_EQ(MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, q.comm, &memory, &window), MPI_SUCCESS);
    }
    memory[0] = memory[1] = -1;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    int number = -1;
    int got = -1;
    const auto put = [](MPI_Comm, void *data, MPI_Request *request) {
        const auto &args = *static_cast<const arguments *>(data);
        return MPI_Rput(args.number, 1, MPI_INT, args.target, 0, 1, MPI_INT, args.window, request);
    };
    const auto get = [](MPI_Comm, void *data, MPI_Request *request) {
        const auto &args = *static_cast<const arguments *>(data);
        return MPI_Rget(args.number, 1, MPI_INT, args.target, 0, 1, MPI_INT, args.window, request);
    };
    const arguments of_put{&number, next(), window};
    const arguments of_get{&got, next(), window};
    q.queue.push([&] { number = 100 + rank; });
    EXPECT_EQ(thence_start_enqueue(put, &of_put, sizeof of_put, q.comm, MPI_STATUS_IGNORE), MPI_SUCCESS);
    q.queue.synchronize();
    MPI_Win_flush_all(window); // Rput is complete at the origin; now at the target, too
    EXPECT_EQ(thence_start_enqueue(get, &of_get, sizeof of_get, q.comm, MPI_STATUS_IGNORE), MPI_SUCCESS);
    q.queue.synchronize();
    EXPECT_EQ(got, 100 + rank);
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
    EXPECT_EQ(memory[0], 100 + previous());
    MPI_Win_unlock(rank, window);
    MPI_Win_free(&window);
}

ENQUEUE_RULES(enqueued_calls);

} // namespace
