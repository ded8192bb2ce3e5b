// SPDX-License-Identifier: BSD-3-Clause
// Every call that creates a persistent request is interposed: on an MPI that cannot tell such a request from another,
// a continuation must not release it, either. No test here passes THENCE_PERSISTENT.
#include "support.hpp"

#include <functional>
#include <string>

namespace {

class persistent_kinds : public mpi_test {
protected:
    std::vector<int> in = std::vector<int>(64), out = std::vector<int>(64);
    // One element per rank or neighbor. The same array gives displacements in elements.
    std::vector<int> counts = std::vector<int>(8, 1), displs{0, 1, 2, 3, 4, 5, 6, 7},
                     bytes{0, 4, 8, 12, 16, 20, 24, 28};
    std::vector<MPI_Aint> addresses{0, 4, 8, 12, 16, 20, 24, 28}, far_places{0, 1, 2, 3, 4, 5, 6, 7};
    std::vector<MPI_Count> far_counts = std::vector<MPI_Count>(8, 1);
    std::vector<MPI_Datatype> types = std::vector<MPI_Datatype>(8, MPI_INT);
    MPI_Comm ring = MPI_COMM_NULL; // two neighbors

    void SetUp() override {
        mpi_test::SetUp();
        const int periodic = 1;
        MPI_Cart_create(comm, 1, &size, &periodic, 0, &ring);
    }
    void TearDown() override {
        MPI_Comm_free(&ring);
        mpi_test::TearDown();
    }

    void stays_usable(const std::string &name, const std::function<void(MPI_Request *)> &create,
                      const std::function<void(MPI_Request *)> &after_start = {}) {
        SCOPED_TRACE(name);
        MPI_Request request = MPI_REQUEST_NULL;
        create(&request);
        ASSERT_NE(MPI_REQUEST_NULL, request);
        for (int turn = 0; turn < 3; ++turn) {
            ASSERT_EQ(MPI_SUCCESS, MPI_Start(&request));
            if (after_start) {
                after_start(&request);
            }
            outcome seen;
            seen.attach(request, cr);
            ASSERT_NE(MPI_REQUEST_NULL, request) << "turn " << turn << ": a persistent request stays the user's";
            wait();
            EXPECT_EQ(1, seen.ended());
            EXPECT_EQ(MPI_SUCCESS, seen.error);
        }
        EXPECT_EQ(MPI_SUCCESS, MPI_Request_free(&request));
    }
    // A send to this rank itself.
    void send_stays_usable(const std::string &name, const std::function<void(MPI_Request *)> &create) {
        MPI_Request receive = MPI_REQUEST_NULL;
        MPI_Recv_init(out.data(), 1, MPI_INT, rank, 1, comm, &receive);
        stays_usable(name, create, [&](MPI_Request *) {
            MPI_Start(&receive);
            MPI_Wait(&receive, MPI_STATUS_IGNORE);
        });
        MPI_Request_free(&receive);
    }
};

#define CREATED_BY(name, ...) stays_usable(#name, [&](MPI_Request *r) { MPI_##name(__VA_ARGS__, r); })

TEST_F(persistent_kinds, sends_and_receives) {
    const auto send = [&](MPI_Request *) { MPI_Send(in.data(), 1, MPI_INT, rank, 1, comm); };
    stays_usable(
        "Recv_init", [&](MPI_Request *r) { MPI_Recv_init(out.data(), 1, MPI_INT, rank, 1, comm, r); }, send);
    send_stays_usable("Send_init", [&](MPI_Request *r) { MPI_Send_init(in.data(), 1, MPI_INT, rank, 1, comm, r); });
    send_stays_usable("Ssend_init", [&](MPI_Request *r) { MPI_Ssend_init(in.data(), 1, MPI_INT, rank, 1, comm, r); });
}

#if defined(THENCE_MPI_LARGE_COUNTS)
TEST_F(persistent_kinds, sends_and_receives_with_large_counts) {
    const auto send = [&](MPI_Request *) { MPI_Send(in.data(), 1, MPI_INT, rank, 1, comm); };
    stays_usable(
        "Recv_init_c", [&](MPI_Request *r) { MPI_Recv_init_c(out.data(), 1, MPI_INT, rank, 1, comm, r); }, send);
    send_stays_usable("Send_init_c", [&](MPI_Request *r) { MPI_Send_init_c(in.data(), 1, MPI_INT, rank, 1, comm, r); });
    send_stays_usable("Ssend_init_c",
                      [&](MPI_Request *r) { MPI_Ssend_init_c(in.data(), 1, MPI_INT, rank, 1, comm, r); });
}
#endif

#if defined(THENCE_MPI_PERSISTENT_COLLECTIVES)
#define ALL_TO_ALL(name, suffix, counts, displs, displs_w, comm)                                                       \
    CREATED_BY(name##gather_init##suffix, in.data(), 1, MPI_INT, out.data(), 1, MPI_INT, comm, MPI_INFO_NULL);         \
    CREATED_BY(name##gatherv_init##suffix, in.data(), 1, MPI_INT, out.data(), counts.data(), displs.data(), MPI_INT,   \
               comm, MPI_INFO_NULL);                                                                                   \
    CREATED_BY(name##toall_init##suffix, in.data(), 1, MPI_INT, out.data(), 1, MPI_INT, comm, MPI_INFO_NULL);          \
    CREATED_BY(name##toallv_init##suffix, in.data(), counts.data(), displs.data(), MPI_INT, out.data(), counts.data(), \
               displs.data(), MPI_INT, comm, MPI_INFO_NULL);                                                           \
    CREATED_BY(name##toallw_init##suffix, in.data(), counts.data(), displs_w.data(), types.data(), out.data(),         \
               counts.data(), displs_w.data(), types.data(), comm, MPI_INFO_NULL);

#define WITH_ROOT(suffix, counts, displs)                                                                              \
    CREATED_BY(Bcast_init##suffix, in.data(), 4, MPI_INT, 0, comm, MPI_INFO_NULL);                                     \
    CREATED_BY(Gather_init##suffix, in.data(), 1, MPI_INT, out.data(), 1, MPI_INT, 0, comm, MPI_INFO_NULL);            \
    CREATED_BY(Gatherv_init##suffix, in.data(), 1, MPI_INT, out.data(), counts.data(), displs.data(), MPI_INT, 0,      \
               comm, MPI_INFO_NULL);                                                                                   \
    CREATED_BY(Scatter_init##suffix, in.data(), 1, MPI_INT, out.data(), 1, MPI_INT, 0, comm, MPI_INFO_NULL);           \
    CREATED_BY(Scatterv_init##suffix, in.data(), counts.data(), displs.data(), MPI_INT, out.data(), 1, MPI_INT, 0,     \
               comm, MPI_INFO_NULL);                                                                                   \
    CREATED_BY(Reduce_init##suffix, in.data(), out.data(), 1, MPI_INT, MPI_SUM, 0, comm, MPI_INFO_NULL);

#define REDUCTIONS(suffix, counts)                                                                                     \
    CREATED_BY(Allreduce_init##suffix, in.data(), out.data(), 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL);               \
    CREATED_BY(Scan_init##suffix, in.data(), out.data(), 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL);                    \
    CREATED_BY(Exscan_init##suffix, in.data(), out.data(), 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL);                  \
    CREATED_BY(Reduce_scatter_block_init##suffix, in.data(), out.data(), 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL);    \
    CREATED_BY(Reduce_scatter_init##suffix, in.data(), out.data(), counts.data(), MPI_INT, MPI_SUM, comm,              \
               MPI_INFO_NULL);

TEST_F(persistent_kinds, collectives) {
    stays_usable("Barrier_init", [&](MPI_Request *r) { MPI_Barrier_init(comm, MPI_INFO_NULL, r); });
    WITH_ROOT(, counts, displs)
    REDUCTIONS(, counts)
    ALL_TO_ALL(All, , counts, displs, bytes, comm)
}

TEST_F(persistent_kinds, neighborhood_collectives){ALL_TO_ALL(Neighbor_all, , counts, displs, addresses, ring)}
#endif

#if defined(THENCE_MPI_LARGE_COUNTS)
TEST_F(persistent_kinds, collectives_with_large_counts) {
    WITH_ROOT(_c, far_counts, far_places)
    REDUCTIONS(_c, far_counts)
    ALL_TO_ALL(All, _c, far_counts, far_places, addresses, comm)
    ALL_TO_ALL(Neighbor_all, _c, far_counts, far_places, addresses, ring)
}
#endif

} // namespace
