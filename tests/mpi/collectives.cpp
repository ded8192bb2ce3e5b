// SPDX-License-Identifier: BSD-3-Clause
// Continuations on every nonblocking collective. The last rank comes late, after the others have attached, so that
// most continuations have to wait.
#include "support.hpp"

#include <functional>
#include <numeric>

namespace {

class collective : public mpi_test {
protected:
    std::vector<int> send, recv;
    std::vector<int> counts, displs;

    void SetUp() override {
        mpi_test::SetUp();
        send.assign(static_cast<std::size_t>(4 * size), rank + 1);
        recv.assign(static_cast<std::size_t>(4 * size), 0);
        counts.assign(static_cast<std::size_t>(size), 4);
        displs.resize(static_cast<std::size_t>(size));
        for (int i = 0; i < size; ++i) {
            displs[static_cast<std::size_t>(i)] = 4 * i;
        }
    }
    void complete(const std::function<int(MPI_Request *)> &start) {
        MPI_Request request = MPI_REQUEST_NULL;
        outcome seen;
        if (rank == size - 1) {
            for (int i = 0; i < size - 1; ++i) {
                await(i);
            }
        }
        ASSERT_EQ(MPI_SUCCESS, start(&request));
        seen.attach(request, cr);
        if (rank != size - 1) {
            tell(size - 1);
        }
        wait();
        EXPECT_EQ(1, seen.ended());
        EXPECT_EQ(MPI_SUCCESS, seen.error);
        EXPECT_EQ(MPI_REQUEST_NULL, request);
    }
    int sum() const { return size * (size + 1) / 2; }
    int from(int r) const { return recv[static_cast<std::size_t>(4 * r)]; }
    void expect_from_all() const {
        for (int r = 0; r < size; ++r) {
            EXPECT_EQ(r + 1, from(r));
            EXPECT_EQ(r + 1, recv[static_cast<std::size_t>(4 * r + 3)]);
        }
    }
};

TEST_F(collective, barrier) {
    complete([&](MPI_Request *r) { return MPI_Ibarrier(comm, r); });
}
TEST_F(collective, bcast) {
    complete([&](MPI_Request *r) { return MPI_Ibcast(send.data(), 4, MPI_INT, size - 1, comm, r); });
    EXPECT_EQ(size, send[3]);
}
TEST_F(collective, bcast_of_vector_type) {
    MPI_Datatype vector = MPI_DATATYPE_NULL;
    MPI_Type_vector(2000, 1, 2, MPI_INT, &vector);
    MPI_Type_commit(&vector);
    std::vector<int> data(4000, 0);
    for (int turn = 1; turn <= 10; ++turn) {
        std::fill(data.begin(), data.end(), rank == size - 1 ? turn : 0);
        complete([&](MPI_Request *r) { return MPI_Ibcast(data.data(), 1, vector, size - 1, comm, r); });
        for (std::size_t i = 0; i < data.size(); ++i) {
            ASSERT_EQ(rank == size - 1 || i % 2 == 0 ? turn : 0, data[i]) << "element " << i << " of turn " << turn;
        }
    }
    MPI_Type_free(&vector);
}
TEST_F(collective, allreduce_of_derived_type_and_own_operation) {
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(
        [](void *in, void *inout, int *len, MPI_Datatype *) {
            for (int i = 0; i < 2 * *len; ++i) {
                static_cast<int *>(inout)[i] += static_cast<int *>(in)[i];
            }
        },
        1, &op);
    complete([&](MPI_Request *r) { return MPI_Iallreduce(send.data(), recv.data(), 2, pair, op, comm, r); });
    EXPECT_EQ(sum(), recv[0]);
    EXPECT_EQ(sum(), recv[3]);
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
}
TEST_F(collective, gather) {
    complete([&](MPI_Request *r) { return MPI_Igather(send.data(), 4, MPI_INT, recv.data(), 4, MPI_INT, 0, comm, r); });
    if (rank == 0) {
        expect_from_all();
    }
}
TEST_F(collective, gatherv) {
    complete([&](MPI_Request *r) {
        return MPI_Igatherv(send.data(), 4, MPI_INT, recv.data(), counts.data(), displs.data(), MPI_INT, 0, comm, r);
    });
    if (rank == 0) {
        expect_from_all();
    }
}
TEST_F(collective, scatter) {
    std::iota(send.begin(), send.end(), 0);
    complete(
        [&](MPI_Request *r) { return MPI_Iscatter(send.data(), 4, MPI_INT, recv.data(), 4, MPI_INT, 0, comm, r); });
    EXPECT_EQ(4 * rank + 3, recv[3]);
}
TEST_F(collective, scatterv) {
    std::iota(send.begin(), send.end(), 0);
    complete([&](MPI_Request *r) {
        return MPI_Iscatterv(send.data(), counts.data(), displs.data(), MPI_INT, recv.data(), 4, MPI_INT, 0, comm, r);
    });
    EXPECT_EQ(4 * rank + 3, recv[3]);
}
TEST_F(collective, allgather) {
    complete([&](MPI_Request *r) { return MPI_Iallgather(send.data(), 4, MPI_INT, recv.data(), 4, MPI_INT, comm, r); });
    expect_from_all();
}
TEST_F(collective, allgatherv) {
    complete([&](MPI_Request *r) {
        return MPI_Iallgatherv(send.data(), 4, MPI_INT, recv.data(), counts.data(), displs.data(), MPI_INT, comm, r);
    });
    expect_from_all();
}
TEST_F(collective, alltoall) {
    complete([&](MPI_Request *r) { return MPI_Ialltoall(send.data(), 4, MPI_INT, recv.data(), 4, MPI_INT, comm, r); });
    expect_from_all();
}
TEST_F(collective, alltoallv) {
    complete([&](MPI_Request *r) {
        return MPI_Ialltoallv(send.data(), counts.data(), displs.data(), MPI_INT, recv.data(), counts.data(),
                              displs.data(), MPI_INT, comm, r);
    });
    expect_from_all();
}
TEST_F(collective, alltoallw) {
    std::vector<int> bytes(displs);
    for (int &displ : bytes) {
        displ *= static_cast<int>(sizeof(int));
    }
    const std::vector<MPI_Datatype> types(static_cast<std::size_t>(size), MPI_INT);
    complete([&](MPI_Request *r) {
        return MPI_Ialltoallw(send.data(), counts.data(), bytes.data(), types.data(), recv.data(), counts.data(),
                              bytes.data(), types.data(), comm, r);
    });
    expect_from_all();
}
TEST_F(collective, reduce) {
    complete([&](MPI_Request *r) { return MPI_Ireduce(send.data(), recv.data(), 4, MPI_INT, MPI_SUM, 0, comm, r); });
    if (rank == 0) {
        EXPECT_EQ(sum(), recv[3]);
    }
}
TEST_F(collective, allreduce) {
    complete([&](MPI_Request *r) { return MPI_Iallreduce(send.data(), recv.data(), 4, MPI_INT, MPI_SUM, comm, r); });
    EXPECT_EQ(sum(), recv[3]);
}
TEST_F(collective, reduce_scatter) {
    complete([&](MPI_Request *r) {
        return MPI_Ireduce_scatter(send.data(), recv.data(), counts.data(), MPI_INT, MPI_SUM, comm, r);
    });
    EXPECT_EQ(sum(), recv[3]);
}
TEST_F(collective, reduce_scatter_block) {
    complete([&](MPI_Request *r) {
        return MPI_Ireduce_scatter_block(send.data(), recv.data(), 4, MPI_INT, MPI_SUM, comm, r);
    });
    EXPECT_EQ(sum(), recv[3]);
}
TEST_F(collective, scan) {
    complete([&](MPI_Request *r) { return MPI_Iscan(send.data(), recv.data(), 4, MPI_INT, MPI_SUM, comm, r); });
    EXPECT_EQ((rank + 1) * (rank + 2) / 2, recv[3]);
}
TEST_F(collective, exscan) {
    complete([&](MPI_Request *r) { return MPI_Iexscan(send.data(), recv.data(), 4, MPI_INT, MPI_SUM, comm, r); });
    if (rank > 0) {
        EXPECT_EQ(rank * (rank + 1) / 2, recv[3]);
    }
}
TEST_F(collective, neighbours_on_a_ring) {
    MPI_Comm ring = MPI_COMM_NULL;
    const int periodic = 1;
    MPI_Cart_create(comm, 1, &size, &periodic, 0, &ring);
    std::vector<int> two(2, 0);
    complete([&](MPI_Request *r) {
        return MPI_Ineighbor_allgather(send.data(), 1, MPI_INT, two.data(), 1, MPI_INT, ring, r);
    });
    EXPECT_EQ((rank + size - 1) % size + 1, two[0]);
    EXPECT_EQ((rank + 1) % size + 1, two[1]);
    two.assign(2, 0);
    complete([&](MPI_Request *r) {
        return MPI_Ineighbor_alltoall(send.data(), 1, MPI_INT, two.data(), 1, MPI_INT, ring, r);
    });
    EXPECT_EQ((rank + 1) % size + 1, two[1]);
    MPI_Comm_free(&ring);
}
TEST_F(collective, communicator_duplication) {
    MPI_Comm copy = MPI_COMM_NULL;
    complete([&](MPI_Request *r) { return MPI_Comm_idup(comm, &copy, r); });
    int result = MPI_UNEQUAL;
    MPI_Comm_compare(comm, copy, &result);
    EXPECT_EQ(MPI_CONGRUENT, result);
    int all = 0;
    const int one = 1;
    MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, copy);
    EXPECT_EQ(size, all);
    MPI_Comm_free(&copy);
}
TEST_F(collective, several_in_flight_end_each_once) {
    constexpr std::size_t n = 16;
    std::vector<int> results(n, 0);
    std::vector<outcome> seen(n);
    for (std::size_t i = 0; i < n; ++i) {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Iallreduce(&send[0], &results[i], 1, MPI_INT, MPI_SUM, comm, &request);
        seen[i].attach(request, cr);
    }
    wait();
    for (std::size_t i = 0; i < n; ++i) {
        EXPECT_EQ(1, seen[i].ended());
        EXPECT_EQ(sum(), results[i]);
    }
}

} // namespace
