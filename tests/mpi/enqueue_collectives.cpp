// SPDX-License-Identifier: BSD-3-Clause
// Every enqueued collective gives what MPI's own gives, between functions of the queue that write its input and read
// its output.
#include "thread_queue.hpp"

#include <thence/mpix.h>

#include <cstring>

namespace {

// A collective on buffers of the same layout for all: `send` and `receive` have `size` blocks of 2 ints each.
struct collective_case {
    const char *name;
    std::function<int(const int *send, int *receive, MPI_Comm comm)> enqueued;
    std::function<int(const int *send, int *receive, MPI_Comm comm)> own;
};

std::vector<collective_case> cases(int size, int rank) {
    struct arrays {
        std::vector<int> counts, displs, byte_displs;
        std::vector<MPI_Count> large_counts;
        std::vector<MPI_Aint> large_displs, large_byte_displs;
        std::vector<MPI_Datatype> types;
    };
    static std::vector<std::unique_ptr<arrays>> kept; // arrays belong to the operation until it is done
    kept.push_back(std::make_unique<arrays>());
    arrays &a = *kept.back();
    for (int i = 0; i < size; ++i) {
        a.counts.push_back(2);
        a.displs.push_back(2 * i);
        a.byte_displs.push_back(8 * i);
        a.large_counts.push_back(2);
        a.large_displs.push_back(2 * i);
        a.large_byte_displs.push_back(8 * i);
        a.types.push_back(MPI_INT);
    }
    const int *n = a.counts.data();
    const int *d = a.displs.data();
    const int *b = a.byte_displs.data();
    const MPI_Datatype *t = a.types.data();
    const int root = size - 1;
    std::vector<collective_case> all;
#define CASE(name, ...)                                                                                                \
    all.push_back({#name, [=](const int *s, int *r, MPI_Comm c) { return MPIX_##name##_enqueue(__VA_ARGS__); },        \
                   [=](const int *s, int *r, MPI_Comm c) { return MPI_##name(__VA_ARGS__); }})
    CASE(Gather, s, 2, MPI_INT, r, 2, MPI_INT, root, c);
    CASE(Gatherv, s, 2, MPI_INT, r, n, d, MPI_INT, root, c);
    CASE(Scatter, s, 2, MPI_INT, r, 2, MPI_INT, root, c);
    CASE(Scatterv, s, n, d, MPI_INT, r, 2, MPI_INT, root, c);
    CASE(Allgather, s, 2, MPI_INT, r, 2, MPI_INT, c);
    CASE(Allgatherv, s, 2, MPI_INT, r, n, d, MPI_INT, c);
    CASE(Alltoall, s, 2, MPI_INT, r, 2, MPI_INT, c);
    CASE(Alltoallv, s, n, d, MPI_INT, r, n, d, MPI_INT, c);
    CASE(Alltoallw, s, n, b, t, r, n, b, t, c);
    CASE(Reduce, s, r, 2, MPI_INT, MPI_SUM, root, c);
    CASE(Allreduce, s, r, 2, MPI_INT, MPI_MAX, c);
    CASE(Scan, s, r, 2, MPI_INT, MPI_SUM, c);
    CASE(Reduce_scatter_block, s, r, 2, MPI_INT, MPI_SUM, c);
    CASE(Reduce_scatter, s, r, n, MPI_INT, MPI_SUM, c);
#undef CASE
    all.push_back({"Exscan",
                   [=](const int *s, int *r, MPI_Comm c) { return MPIX_Exscan_enqueue(s, r, 2, MPI_INT, MPI_SUM, c); },
                   [=](const int *s, int *r, MPI_Comm c) { return MPI_Exscan(s, r, 2, MPI_INT, MPI_SUM, c); }});
    all.push_back({"Bcast",
                   [=](const int *s, int *r, MPI_Comm c) {
                       if (rank == root) {
                           std::memcpy(r, s, 8);
                       }
                       return MPIX_Bcast_enqueue(r, 2, MPI_INT, root, c);
                   },
                   [=](const int *s, int *r, MPI_Comm c) {
                       if (rank == root) {
                           std::memcpy(r, s, 8);
                       }
                       return MPI_Bcast(r, 2, MPI_INT, root, c);
                   }});
    // The forms with large counts, where one number is enough on every MPI.
    all.push_back({"Allreduce_c",
                   [=](const int *s, int *r, MPI_Comm c) {
                       return MPIX_Allreduce_enqueue_c(s, r, MPI_Count{2}, MPI_INT, MPI_SUM, c);
                   },
                   [=](const int *s, int *r, MPI_Comm c) { return MPI_Allreduce(s, r, 2, MPI_INT, MPI_SUM, c); }});
    all.push_back({"Alltoall_c",
                   [=](const int *s, int *r, MPI_Comm c) {
                       return MPIX_Alltoall_enqueue_c(s, MPI_Count{2}, MPI_INT, r, MPI_Count{2}, MPI_INT, c);
                   },
                   [=](const int *s, int *r, MPI_Comm c) { return MPI_Alltoall(s, 2, MPI_INT, r, 2, MPI_INT, c); }});
#if defined(THENCE_MPI_LARGE_COUNTS)
    const MPI_Count *ln = a.large_counts.data();
    const MPI_Aint *ld = a.large_displs.data();
    all.push_back(
        {"Alltoallv_c",
         [=](const int *s, int *r, MPI_Comm c) {
             return MPIX_Alltoallv_enqueue_c(s, ln, ld, MPI_INT, r, ln, ld, MPI_INT, c);
         },
         [=](const int *s, int *r, MPI_Comm c) { return MPI_Alltoallv(s, n, d, MPI_INT, r, n, d, MPI_INT, c); }});
#endif
    return all;
}

class enqueue_collectives : public enqueue {};

TEST_P(enqueue_collectives, give_what_those_of_mpi_give) {
    queued_communicator q(GetParam());
    MPI_Comm plain = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &plain);
    for (const collective_case &each : cases(size, rank)) {
        const auto room = static_cast<std::size_t>(2 * size);
        std::vector<int> send(room);
        std::vector<int> got(room, -1);
        std::vector<int> right(room, -1);
        for (std::size_t i = 0; i < room; ++i) {
            send[i] = 100 * rank + static_cast<int>(i);
        }
        EXPECT_EQ(each.own(send.data(), right.data(), plain), MPI_SUCCESS) << each.name;
        EXPECT_EQ(each.enqueued(send.data(), got.data(), q.comm), MPI_SUCCESS) << each.name;
        std::vector<int> seen;
        q.queue.push([&] { seen = got; });
        q.queue.synchronize();
        EXPECT_EQ(seen, right) << each.name;
    }
    MPI_Comm_free(&plain);
}

TEST_P(enqueue_collectives, of_neighbors_give_what_those_of_mpi_give) {
    queued_communicator q(GetParam());
    // A ring. The stream communicator is made of it, so that it has its neighbors.
    const int periodic = 1;
    MPI_Comm ring = MPI_COMM_NULL;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    MPI_Comm comm = MPI_COMM_NULL;
    thence_stream_comm_create(ring, q.stream, &comm);
    const std::vector<int> send{rank, rank + 100, rank + 200, rank + 300};
    std::vector<int> got(4, -1);
    std::vector<int> right(4, -1);
    const int counts[2] = {1, 1};
    const int displs[2] = {1, 3};
    const MPI_Aint byte_displs[2] = {4, 12};
    const MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Request request =
        MPI_REQUEST_NULL; // with two processes the blocking form of Open MPI takes blocks in another order
    const auto check = [&](const char *name) {
        q.queue.synchronize();
        EXPECT_EQ(got, right) << name;
        got.assign(4, -1);
        right.assign(4, -1);
    };
    MPI_Ineighbor_allgather(send.data(), 1, MPI_INT, right.data(), 1, MPI_INT, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPIX_Neighbor_allgather_enqueue(send.data(), 1, MPI_INT, got.data(), 1, MPI_INT, comm);
    check("Neighbor_allgather");
    MPI_Ineighbor_allgatherv(send.data(), 1, MPI_INT, right.data(), counts, displs, MPI_INT, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPIX_Neighbor_allgatherv_enqueue(send.data(), 1, MPI_INT, got.data(), counts, displs, MPI_INT, comm);
    check("Neighbor_allgatherv");
    MPI_Ineighbor_alltoall(send.data(), 1, MPI_INT, right.data(), 1, MPI_INT, ring, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPIX_Neighbor_alltoall_enqueue(send.data(), 1, MPI_INT, got.data(), 1, MPI_INT, comm);
    check("Neighbor_alltoall");
    MPI_Ineighbor_alltoallv(send.data(), counts, displs, MPI_INT, right.data(), counts, displs, MPI_INT, ring,
                            &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPIX_Neighbor_alltoallv_enqueue(send.data(), counts, displs, MPI_INT, got.data(), counts, displs, MPI_INT, comm);
    check("Neighbor_alltoallv");
    MPI_Ineighbor_alltoallw(send.data(), counts, byte_displs, types, right.data(), counts, byte_displs, types, ring,
                            &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPIX_Neighbor_alltoallw_enqueue(send.data(), counts, byte_displs, types, got.data(), counts, byte_displs, types,
                                    comm);
    check("Neighbor_alltoallw");
    MPI_Comm_free(&comm);
    MPI_Comm_free(&ring);
}

TEST_P(enqueue_collectives, a_barrier_lets_no_queue_pass_before_all_are_there) {
    queued_communicator q(GetParam());
    int arrived = 0;
    MPI_Comm plain = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &plain);
    std::atomic<bool> late{false};
    if (rank == size - 1) {
        q.queue.push([&] {
            sleep_ms(50);
            late = true;
        });
    }
    EXPECT_EQ(MPIX_Barrier_enqueue(q.comm), MPI_SUCCESS);
    q.queue.synchronize();
    arrived = rank != size - 1 || late ? 1 : 0;
    EXPECT_EQ(arrived, 1);
    MPI_Comm_free(&plain);
}

#if !defined(THENCE_MPI_LARGE_COUNTS)
TEST_P(enqueue_collectives, arrays_of_large_counts_need_an_mpi_that_has_them) {
    queued_communicator q(GetParam());
    const std::vector<MPI_Count> counts(static_cast<std::size_t>(size), 1);
    int buffer = 0;
    EXPECT_EQ(class_of(thence_reduce_scatter_enqueue_c(&buffer, &buffer, counts.data(), MPI_INT, MPI_SUM, q.comm)),
              MPI_ERR_UNSUPPORTED_OPERATION);
    EXPECT_EQ(class_of(thence_bcast_enqueue_c(&buffer, MPI_Count{1} << 32, MPI_INT, 0, q.comm)), MPI_ERR_COUNT);
}
#endif

ENQUEUE_RULES(enqueue_collectives);

} // namespace
