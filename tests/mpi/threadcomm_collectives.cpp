// SPDX-License-Identifier: BSD-3-Clause
// Blocking collectives on thread communicators, with roots, with MPI_IN_PLACE, with gaps, and with an operation that
// does not commute.
#include "threadcomm.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>

namespace {

int class_of(int code) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    return error_class;
}

// 2 x 2 matrices: their product does not commute.
struct matrix {
    std::int64_t a, b, c, d;
    bool operator==(const matrix &) const = default;
};
matrix product(const matrix &x, const matrix &y) {
    constexpr std::int64_t m = 10007;
    return {(x.a * y.a + x.b * y.c) % m, (x.a * y.b + x.b * y.d) % m, (x.c * y.a + x.d * y.c) % m,
            (x.c * y.b + x.d * y.d) % m};
}
void multiply(void *in, void *inout, int *n, MPI_Datatype *) {
    for (int i = 0; i < *n; ++i) {
        auto &right = static_cast<matrix *>(inout)[i];
        right = product(static_cast<const matrix *>(in)[i], right);
    }
}
matrix matrix_of(int rank) {
    return {rank + 1, rank + 2, 3, 2 * rank + 1};
}
matrix product_of(int first, int end) {
    matrix result{1, 0, 0, 1};
    for (int i = first; i < end; ++i) {
        result = product(result, matrix_of(i));
    }
    return result;
}

std::vector<int> sequence(int n, int first) {
    std::vector<int> result(static_cast<std::size_t>(n));
    std::iota(result.begin(), result.end(), first);
    return result;
}

struct padded { // more than any stack or small block has behind it
    int value;
    char padding[(1 << 22) - 4];
};
void add_padded(void *in, void *inout, int *count, MPI_Datatype *) {
    const auto *a = static_cast<const padded *>(in);
    auto *b = static_cast<padded *>(inout);
    for (int i = 0; i < *count; ++i) {
        const int sum = a[i].value + b[i].value;
        std::memcpy(&b[i], &a[i], sizeof(padded));
        b[i].value = sum;
    }
}

} // namespace

TEST(threadcomm_collectives, nobody_leaves_a_barrier_before_all_have_come) {
    threads_of t(3);
    std::atomic<int> here{0};
    t.run([&](int, int) {
        for (int round = 1; round <= 50; ++round) {
            ++here;
            ASSERT_EQ(MPI_Barrier(t.comm), MPI_SUCCESS);
            ASSERT_GE(here.load(), 3 * round);
            ASSERT_EQ(MPI_Barrier(t.comm), MPI_SUCCESS);
        }
    });
}

TEST(threadcomm_collectives, a_root_may_be_2000_broadcasts_ahead) {
    threads_of t(2);
    t.run([&](int rank, int) {
        for (int i = 0; i < 2000; ++i) {
            int value = rank == 0 ? i : -1;
            ASSERT_EQ(MPI_Bcast(&value, 1, MPI_INT, 0, t.comm), MPI_SUCCESS);
            ASSERT_EQ(value, i);
        }
    });
}

TEST(threadcomm_collectives, move_data_from_and_to_every_root) {
    threads_of t(3);
    t.run([&](int rank, int size) {
        const auto all = static_cast<std::size_t>(size);
        for (int root = 0; root < size; ++root) {
            for (const int n : {1, 3000}) {
                std::vector<int> data = sequence(n, rank == root ? root : -9);
                ASSERT_EQ(MPI_Bcast(data.data(), n, MPI_INT, root, t.comm), MPI_SUCCESS);
                ASSERT_EQ(data, sequence(n, root));
                const std::vector<int> mine = sequence(n, rank * n);
                std::vector<int> gathered(static_cast<std::size_t>(n) * all, -1);
                ASSERT_EQ(MPI_Gather(mine.data(), n, MPI_INT, rank == root ? gathered.data() : nullptr, n, MPI_INT,
                                     root, t.comm),
                          MPI_SUCCESS);
                ASSERT_EQ(gathered, rank == root ? sequence(n * size, 0)
                                                 : std::vector<int>(static_cast<std::size_t>(n) * all, -1));
                std::vector<int> part(static_cast<std::size_t>(n), -1);
                ASSERT_EQ(MPI_Scatter(gathered.data(), n, MPI_INT, part.data(), n, MPI_INT, root, t.comm), MPI_SUCCESS);
                ASSERT_EQ(part, mine);
            }
            // In place, and blocks of different lengths with gaps: rank i has i + 1 ints at 20 i.
            std::vector<int> counts(all);
            std::vector<int> places(all);
            for (std::size_t i = 0; i < all; ++i) {
                counts[i] = static_cast<int>(i) + 1;
                places[i] = 20 * static_cast<int>(i);
            }
            std::vector<int> room(20 * all, -1);
            const std::vector<int> mine = sequence(rank + 1, 100 * rank);
            std::copy(mine.begin(), mine.end(), room.begin() + 20 * rank);
            const void *const from = rank == root ? MPI_IN_PLACE : mine.data();
            ASSERT_EQ(
                MPI_Gatherv(from, rank + 1, MPI_INT, room.data(), counts.data(), places.data(), MPI_INT, root, t.comm),
                MPI_SUCCESS);
            for (std::size_t i = 0; rank == root && i < all; ++i) {
                ASSERT_EQ(room[20 * i], 100 * static_cast<int>(i));
                ASSERT_EQ(room[20 * i + i], 100 * static_cast<int>(i) + static_cast<int>(i));
                ASSERT_EQ(room[20 * i + i + 1], -1);
            }
            std::vector<int> part(all + 1, -1);
            void *const to = rank == root ? MPI_IN_PLACE : static_cast<void *>(part.data());
            ASSERT_EQ(
                MPI_Scatterv(room.data(), counts.data(), places.data(), MPI_INT, to, rank + 1, MPI_INT, root, t.comm),
                MPI_SUCCESS);
            if (rank != root) {
                ASSERT_EQ(part[0], 100 * rank);
                ASSERT_EQ(part[static_cast<std::size_t>(rank) + 1], -1);
            }
        }
    });
}

TEST(threadcomm_collectives, move_data_from_all_to_all) {
    threads_of t(3);
    t.run([&](int rank, int size) {
        const auto all = static_cast<std::size_t>(size);
        for (const int n : {1, 2000}) {
            const std::vector<int> mine = sequence(n, rank * n);
            std::vector<int> gathered(static_cast<std::size_t>(n) * all, -1);
            ASSERT_EQ(MPI_Allgather(mine.data(), n, MPI_INT, gathered.data(), n, MPI_INT, t.comm), MPI_SUCCESS);
            ASSERT_EQ(gathered, sequence(n * size, 0));
            std::vector<int> in_place(static_cast<std::size_t>(n) * all, -1);
            std::copy(mine.begin(), mine.end(), in_place.begin() + rank * n);
            ASSERT_EQ(MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, in_place.data(), n, MPI_INT, t.comm), MPI_SUCCESS);
            ASSERT_EQ(in_place, gathered);
            // Rank i sends 1000 i + j to rank j.
            std::vector<int> out(static_cast<std::size_t>(n) * all);
            for (std::size_t i = 0; i < out.size(); ++i) {
                out[i] = 1000 * rank + static_cast<int>(i) / n;
            }
            std::vector<int> in(out.size(), -1);
            ASSERT_EQ(MPI_Alltoall(out.data(), n, MPI_INT, in.data(), n, MPI_INT, t.comm), MPI_SUCCESS);
            ASSERT_EQ(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, out.data(), n, MPI_INT, t.comm), MPI_SUCCESS);
            ASSERT_EQ(in, out);
            for (std::size_t i = 0; i < in.size(); ++i) {
                ASSERT_EQ(in[i], 1000 * (static_cast<int>(i) / n) + rank);
            }
        }
        std::vector<int> counts(all, 1);
        std::vector<int> places(all);
        std::vector<int> bytes(all);
        std::vector<MPI_Datatype> types(all, MPI_INT);
        for (std::size_t i = 0; i < all; ++i) {
            places[i] = size - 1 - static_cast<int>(i); // in reverse order
            bytes[i] = places[i] * static_cast<int>(sizeof(int));
        }
        const std::vector<int> out = sequence(size, 100 * rank);
        std::vector<int> in(all, -1);
        std::vector<int> with_types(all, -1);
        ASSERT_EQ(MPI_Alltoallv(out.data(), counts.data(), places.data(), MPI_INT, in.data(), counts.data(),
                                places.data(), MPI_INT, t.comm),
                  MPI_SUCCESS);
        ASSERT_EQ(MPI_Alltoallw(out.data(), counts.data(), bytes.data(), types.data(), with_types.data(), counts.data(),
                                bytes.data(), types.data(), t.comm),
                  MPI_SUCCESS);
        ASSERT_EQ(in, with_types);
        for (int from = 0; from < size; ++from) {
            ASSERT_EQ(in[static_cast<std::size_t>(size - 1 - from)], 100 * from + size - 1 - rank);
        }
        std::vector<int> ragged(static_cast<std::size_t>(20 * size), -1);
        for (std::size_t i = 0; i < all; ++i) {
            counts[i] = static_cast<int>(i) + 1;
            places[i] = 20 * static_cast<int>(i);
        }
        const std::vector<int> mine = sequence(rank + 1, rank);
        ASSERT_EQ(MPI_Allgatherv(mine.data(), rank + 1, MPI_INT, ragged.data(), counts.data(), places.data(), MPI_INT,
                                 t.comm),
                  MPI_SUCCESS);
        for (std::size_t i = 0; i < all; ++i) {
            ASSERT_EQ(ragged[20 * i + i], 2 * static_cast<int>(i));
            ASSERT_EQ(ragged[20 * i + i + 1], -1);
        }
    });
}

TEST(threadcomm_collectives, combine_in_the_order_of_the_ranks) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(4, MPI_INT64_T, &type);
    MPI_Type_commit(&type);
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(&multiply, 0, &op);
    threads_of t(3);
    t.run([&](int rank, int size) {
        const matrix mine = matrix_of(rank);
        const matrix total = product_of(0, size);
        for (int root = 0; root < size; ++root) {
            matrix result{};
            ASSERT_EQ(MPI_Reduce(&mine, &result, 1, type, op, root, t.comm), MPI_SUCCESS);
            ASSERT_EQ(result, rank == root ? total : matrix{});
            result = mine;
            ASSERT_EQ(MPI_Reduce(rank == root ? MPI_IN_PLACE : &mine, &result, 1, type, op, root, t.comm), MPI_SUCCESS);
            ASSERT_EQ(result, rank == root ? total : mine);
        }
        matrix result = mine;
        ASSERT_EQ(MPI_Allreduce(MPI_IN_PLACE, &result, 1, type, op, t.comm), MPI_SUCCESS);
        EXPECT_EQ(result, total);
        ASSERT_EQ(MPI_Scan(&mine, &result, 1, type, op, t.comm), MPI_SUCCESS);
        EXPECT_EQ(result, product_of(0, rank + 1));
        result = mine;
        ASSERT_EQ(MPI_Exscan(MPI_IN_PLACE, &result, 1, type, op, t.comm), MPI_SUCCESS);
        EXPECT_EQ(result, rank == 0 ? mine : product_of(0, rank));
        std::vector<matrix> many(static_cast<std::size_t>(size), mine);
        ASSERT_EQ(MPI_Reduce_scatter_block(many.data(), &result, 1, type, op, t.comm), MPI_SUCCESS);
        EXPECT_EQ(result, total);
        std::vector<int> counts(static_cast<std::size_t>(size), 0);
        counts[0] = 2;
        counts.back() = std::max(size - 2, 0) + (size == 1 ? 1 : 0);
        many.assign(static_cast<std::size_t>(2 + size), mine);
        std::vector<matrix> parts(static_cast<std::size_t>(2 + size), matrix{});
        ASSERT_EQ(MPI_Reduce_scatter(many.data(), parts.data(), counts.data(), type, op, t.comm), MPI_SUCCESS);
        EXPECT_EQ(parts[0], counts[static_cast<std::size_t>(rank)] > 0 ? total : matrix{});
        std::vector<double> sums(5000, rank);
        ASSERT_EQ(MPI_Allreduce(MPI_IN_PLACE, sums.data(), 5000, MPI_DOUBLE, MPI_SUM, t.comm), MPI_SUCCESS);
        EXPECT_EQ(sums, std::vector<double>(5000, size * (size - 1) / 2.0));
    });
    MPI_Op_free(&op);
    MPI_Type_free(&type);
}

// Small and large ones, which go different ways in one process, follow each other in any order.
TEST(threadcomm_collectives, are_right_in_any_sequence) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(4, MPI_INT64_T, &type);
    MPI_Type_commit(&type);
    MPI_Datatype with_gaps = MPI_DATATYPE_NULL; // two ints of four
    MPI_Type_vector(2, 1, 2, MPI_INT, &with_gaps);
    MPI_Type_commit(&with_gaps);
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(&multiply, 0, &op);
    threads_of t(3);
    t.run([&](int rank, int size) {
        MPI_Comm copy = MPI_COMM_NULL;
        ASSERT_EQ(MPI_Comm_dup(t.comm, &copy), MPI_SUCCESS);
        std::mt19937 random(17); // the same on all ranks
        for (int i = 0; i < 300; ++i) {
            const MPI_Comm comm = random() % 2 == 0 ? t.comm : copy;
            const int root = static_cast<int>(random() % static_cast<unsigned>(size));
            const int n = static_cast<int>(random() % 16); // of 32 bytes
            switch (random() % 5) {
            case 0:
                ASSERT_EQ(MPI_Barrier(comm), MPI_SUCCESS);
                break;
            case 1: {
                std::vector<int> data = sequence(8 * n, rank == root ? i : -1);
                ASSERT_EQ(MPI_Bcast(data.data(), 8 * n, MPI_INT, root, comm), MPI_SUCCESS);
                ASSERT_EQ(data, sequence(8 * n, i));
                break;
            }
            case 2: { // the root has a row, the others gaps
                std::array<int, 4> data = {-1, -1, -1, -1};
                std::array<int, 2> row = {i, root};
                ASSERT_EQ(rank == root ? MPI_Bcast(row.data(), 2, MPI_INT, root, comm)
                                       : MPI_Bcast(data.data(), 1, with_gaps, root, comm),
                          MPI_SUCCESS);
                ASSERT_EQ(data,
                          rank == root ? (std::array<int, 4>{-1, -1, -1, -1}) : (std::array<int, 4>{i, -1, root, -1}));
                break;
            }
            case 3: {
                const std::vector<matrix> mine(static_cast<std::size_t>(n), matrix_of(rank));
                std::vector<matrix> result(static_cast<std::size_t>(n));
                ASSERT_EQ(MPI_Allreduce(mine.data(), result.data(), n, type, op, comm), MPI_SUCCESS);
                ASSERT_EQ(result, std::vector<matrix>(static_cast<std::size_t>(n), product_of(0, size)));
                break;
            }
            default: {
                struct {
                    double value;
                    int place;
                } largest = {static_cast<double>((rank + i) % size), rank};
                ASSERT_EQ(MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm), MPI_SUCCESS);
                ASSERT_EQ(largest.value, size - 1);
                ASSERT_EQ((largest.place + i) % size, size - 1);
            }
            }
        }
        ASSERT_EQ(MPI_Comm_free(&copy), MPI_SUCCESS);
    });
    MPI_Op_free(&op);
    MPI_Type_free(&with_gaps);
    MPI_Type_free(&type);
}

// The standard gives an operation elements of the datatype, so it may copy them with the padding at their end.
TEST(threadcomm_collectives, an_operation_may_copy_whole_elements) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(MPI_INT, 0, sizeof(padded), &type);
    MPI_Type_commit(&type);
    MPI_Op op = MPI_OP_NULL;
    MPI_Op_create(&add_padded, 1, &op);
    threads_of t(3);
    t.run([&](int rank, int size) {
        const auto mine = std::make_unique<padded>();
        const auto result = std::make_unique<padded>();
        const int sum = size * (size + 1) / 2;
        mine->value = rank + 1;
        ASSERT_EQ(MPI_Allreduce(mine.get(), result.get(), 1, type, op, t.comm), MPI_SUCCESS);
        EXPECT_EQ(result->value, sum);
        ASSERT_EQ(MPI_Reduce(mine.get(), result.get(), 1, type, op, size - 1, t.comm), MPI_SUCCESS);
        EXPECT_EQ(result->value, sum);
        ASSERT_EQ(MPI_Scan(mine.get(), result.get(), 1, type, op, t.comm), MPI_SUCCESS);
        EXPECT_EQ(result->value, (rank + 1) * (rank + 2) / 2);
    });
    MPI_Op_free(&op);
    MPI_Type_free(&type);
}

TEST(threadcomm_collectives, counts_that_differ_are_told) {
    threads_of t(2);
    t.run([&](int rank, int) {
        for (const int n : {10, 100}) { // the smaller and the larger way
            std::vector<int> data(static_cast<std::size_t>(n), rank);
            const int code = MPI_Bcast(data.data(), rank == 1 ? n / 2 : n, MPI_INT, 0, t.comm);
            if (rank != 1) {
                ASSERT_EQ(code, MPI_SUCCESS);
            } else {
                ASSERT_EQ(class_of(code), MPI_ERR_TRUNCATE);
                ASSERT_EQ(data.back(), rank);
            }
        }
        ASSERT_EQ(MPI_Barrier(t.comm), MPI_SUCCESS);
    });
}

TEST(threadcomm_collectives, wildcards_do_not_take_their_messages) {
    threads_of t(2);
    t.run([&](int rank, int size) {
        int in = -1;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, t.comm, &request);
        for (int i = 0; i < 20; ++i) {
            int value = rank;
            ASSERT_EQ(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, t.comm), MPI_SUCCESS);
            ASSERT_EQ(value, size * (size - 1) / 2);
        }
        MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 0, t.comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT_EQ(in, (rank + size - 1) % size);
    });
}

TEST(threadcomm_collectives, wrong_arguments_are_refused) {
    threads_of t(1);
    t.run([&](int, int size) {
        int value = 0;
        EXPECT_EQ(class_of(MPI_Bcast(&value, 1, MPI_INT, size, t.comm)), MPI_ERR_ROOT);
        EXPECT_EQ(class_of(MPI_Bcast(&value, 1, MPI_INT, -1, t.comm)), MPI_ERR_ROOT);
        int out = 0;
        EXPECT_EQ(class_of(MPI_Allreduce(&value, &out, 1, MPI_INT, MPI_OP_NULL, t.comm)), MPI_ERR_OP);
    });
    int value = 0;
    EXPECT_EQ(class_of(MPI_Bcast(&value, 1, MPI_INT, 0, t.comm)), MPI_ERR_COMM); // outside
}
