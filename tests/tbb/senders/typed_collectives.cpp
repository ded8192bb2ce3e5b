// SPDX-License-Identifier: BSD-3-Clause
// Collective operations of thence/mpi.hpp on the real MPI, with any number of ranks.
#include "typed.hpp"

#include <array>
#include <complex>
#include <functional>
#include <numeric>
#include <vector>

using typed_tests::particle;
using typed_tests::typed;

namespace {

TEST_F(typed, collectives) {
    run([&]() -> ex::task<> {
        std::complex<double> root(me == 0 ? 1.0 : 0.0, 2.0);
        co_await comm.bcast(root);
        EXPECT_EQ(root, std::complex<double>(1.0, 2.0));
        long sum = me;
        co_await comm.allreduce(sum, std::plus<>());
        EXPECT_EQ(sum, size * (size - 1) / 2);
        unsigned char all = 1;
        const unsigned char mine = me == 0 ? 1 : 3;
        co_await comm.allreduce(mine, all, thence::maximum());
        EXPECT_EQ(all, size == 1 ? 1 : 3);
        int largest = -1;
        co_await comm.reduce(me, largest, thence::maximum(), size - 1);
        EXPECT_EQ(largest, me == size - 1 ? size - 1 : -1);
        std::vector<int> ranks(static_cast<std::size_t>(size));
        co_await comm.allgather(me, ranks);
        EXPECT_EQ(ranks.back(), size - 1);
        std::vector<particle> particles(me == 0 ? static_cast<std::size_t>(size) : 0);
        const particle own{1.0F, me};
        co_await comm.gather(own, particles);
        EXPECT_TRUE(me != 0 || particles.back().id == size - 1);
        int part = -1;
        co_await comm.scatter(ranks, part);
        EXPECT_EQ(part, me);
        std::vector<int> to_all(static_cast<std::size_t>(size), me);
        std::vector<int> from_all(static_cast<std::size_t>(size), -1);
        co_await comm.alltoall(to_all, from_all);
        EXPECT_EQ(from_all, ranks);
        co_await comm.barrier();
    });
}

// Process r has r + 1 elements, all of them r.
TEST_F(typed, blocks_of_different_sizes) {
    run([&]() -> ex::task<> {
        std::vector<int> counts(all());
        std::iota(counts.begin(), counts.end(), 1);
        std::vector<int> expected;
        for (int r = 0; r != size; ++r) {
            expected.insert(expected.end(), static_cast<std::size_t>(r + 1), r);
        }
        const std::vector<int> mine(static_cast<std::size_t>(me + 1), me);

        std::vector<int> every(expected.size(), -1);
        co_await comm.allgatherv(mine, every, counts);
        EXPECT_EQ(every, expected);

        std::vector<int> gathered(me == size - 1 ? expected.size() : 0, -1);
        // GCC 12 destroys temporaries of a conditional expression twice if it is inside of a co_await.
        const thence::counts_displs known = me == size - 1 ? thence::counts_displs(counts) : thence::counts_displs{};
        co_await comm.gatherv(mine, gathered, known, size - 1);
        EXPECT_TRUE(me != size - 1 || gathered == expected);

        std::vector<int> part(mine.size(), -1);
        const std::span<const int> given(expected.data(), me == 0 ? expected.size() : 0);
        co_await comm.scatterv(given, counts, part);
        EXPECT_EQ(part, mine);

        // With gaps of one element between the blocks, of structs.
        std::vector<int> starts(all());
        for (std::size_t r = 1; r < all(); ++r) {
            starts[r] = starts[r - 1] + counts[r - 1] + 1;
        }
        std::vector<particle> apart(static_cast<std::size_t>(starts.back() + counts.back()), particle{0, -1});
        const std::vector<particle> own(mine.size(), particle{0.5F, me});
        co_await comm.allgatherv(own, apart, thence::counts_displs(counts, starts));
        EXPECT_EQ(apart.back().id, size - 1);
        EXPECT_EQ(apart.back().x, 0.5F);
        EXPECT_TRUE(size == 1 || (apart[1].id == -1 && apart[2].id == 1));

        // Every process sends r + 1 elements to process r.
        std::vector<int> to_all = expected;
        const std::vector<int> same(all(), me + 1);
        std::vector<int> from_all(all() * static_cast<std::size_t>(me + 1), -1);
        co_await comm.alltoallv(to_all, counts, from_all, same);
        EXPECT_EQ(from_all, std::vector<int>(from_all.size(), me));

        // A strided buffer with equal blocks, and a buffer that is moved in.
        std::vector<int> column(2 * mine.size(), me);
        const std::vector<int> back = co_await comm.allgatherv(thence::strided<int>(column.data(), mine.size(), 1, 2),
                                                               std::vector<int>(expected.size()), counts);
        EXPECT_EQ(back, expected);
    });
}

TEST_F(typed, counts_that_do_not_fit_the_buffers_are_an_error) {
    const std::vector<int> one{1};
    std::vector<int> room(all());
    using thence::counts_displs;
    const std::vector<int> ones(all(), 1);
    EXPECT_EQ(class_of_call_error(comm.allgatherv(one, room, counts_displs(std::vector<int>(all(), 2)))),
              MPI_ERR_COUNT);
    EXPECT_EQ(class_of_call_error(comm.allgatherv(one, room, counts_displs(std::vector<int>(all() + 1, 0)))),
              MPI_ERR_COUNT);
    EXPECT_EQ(class_of_call_error(comm.allgatherv(one, room, counts_displs(std::vector<int>(all(), 0)))),
              MPI_ERR_COUNT);
    EXPECT_EQ(class_of_call_error(comm.allgatherv(one, room, counts_displs(ones, std::vector<int>(all(), size)))),
              MPI_ERR_COUNT);
    EXPECT_EQ(class_of_call_error(comm.allgatherv(one, room, counts_displs(ones, std::vector<int>(all(), -1)))),
              MPI_ERR_COUNT);
    EXPECT_EQ(class_of_call_error(comm.alltoallv(room, counts_displs(std::vector<int>(all(), 2)), room, ones)),
              MPI_ERR_COUNT);
    EXPECT_FALSE(counts_displs({INT_MAX, INT_MAX}).fit(2, SIZE_MAX));
    EXPECT_FALSE(counts_displs({1, -1}).fit(2, SIZE_MAX));
    EXPECT_TRUE(counts_displs({1, 2}).fit(2, 3) && !counts_displs({1, 2}).fit(2, 2) &&
                !counts_displs({1, 2}).fit(3, 3));
}

TEST_F(typed, scans) {
    run([&]() -> ex::task<> {
        const int mine = me + 1;
        int sum = -1;
        co_await comm.scan(mine, sum, std::plus<>());
        EXPECT_EQ(sum, mine * (mine + 1) / 2);
        int before = -1;
        co_await comm.exscan(mine, before, std::plus<>());
        EXPECT_EQ(before, me == 0 ? -1 : me * mine / 2);
        std::array<double, 2> both{1.0 * me, 2.0};
        co_await comm.scan(both, thence::maximum());
        EXPECT_EQ(both, (std::array<double, 2>{1.0 * me, 2.0}));
        std::vector<int> cells{mine, -1, mine, -1};
        const thence::strided<int> view(cells.data(), 2, 1, 2);
        co_await comm.exscan(view, std::plus<>());
        EXPECT_EQ(cells[1], -1);
        EXPECT_TRUE(me == 0 || cells[2] == me * mine / 2);
    });
}

TEST_F(typed, function_objects_are_recognized_by_their_operators) {
    using thence::detail::operator_of;
    EXPECT_EQ(operator_of(std::plus<>()), MPI_SUM);
    EXPECT_EQ(operator_of(std::plus<int>()), MPI_SUM);
    EXPECT_EQ(operator_of(std::multiplies<double>()), MPI_PROD);
    EXPECT_EQ(operator_of(std::logical_and<>()), MPI_LAND);
    EXPECT_EQ(operator_of(std::logical_or<bool>()), MPI_LOR);
    EXPECT_EQ(operator_of(std::bit_and<>()), MPI_BAND);
    EXPECT_EQ(operator_of(std::bit_or<unsigned>()), MPI_BOR);
    EXPECT_EQ(operator_of(std::bit_xor<>()), MPI_BXOR);
    EXPECT_EQ(operator_of([](const auto &a, const auto &b) { return a * b; }), MPI_PROD);
    EXPECT_EQ(operator_of(thence::minimum()), MPI_MIN);
    EXPECT_EQ(operator_of(thence::maximum()), MPI_MAX);
    EXPECT_EQ(operator_of(MPI_SUM), MPI_SUM);
}

void add_particles(void *in, void *inout, int *count, MPI_Datatype *type) {
    int bytes = 0;
    MPI_Type_size(*type, &bytes);
    if (bytes != static_cast<int>(sizeof(particle))) {
        return; // not the datatype of a particle; the result is wrong then
    }
    const auto *from = static_cast<const particle *>(in);
    auto *to = static_cast<particle *>(inout);
    for (int i = 0; i != *count; ++i) {
        to[i] = {to[i].x + from[i].x, to[i].id + from[i].id};
    }
}

TEST_F(typed, a_user_defined_operation_on_structs) {
    MPI_Op sum = MPI_OP_NULL;
    MPI_Op_create(add_particles, 1, &sum);
    run([&]() -> ex::task<> {
        std::vector<particle> many(1000, particle{1.0F, me}); // large enough that MPI splits it
        const std::vector<particle> in = many;
        std::vector<particle> out(many.size());
        const particle expected{1.0F * static_cast<float>(size), size * (size - 1) / 2};
        co_await comm.allreduce(many, sum);
        EXPECT_EQ(many.back().id, expected.id);
        EXPECT_EQ(many.front().x, expected.x);
        co_await comm.reduce(in, out, sum);
        EXPECT_TRUE(me != 0 || out.back().id == expected.id);
        const thence::strided<const particle> column(in.data(), 500, 1, 2);
        std::vector<particle> half(500);
        co_await comm.allreduce(column, half, sum);
        EXPECT_EQ(half.back().id, expected.id);
        int number = me;
        MPI_Op largest = MPI_MAX;
        co_await comm.allreduce(number, largest);
        EXPECT_EQ(number, size - 1);
    });
    MPI_Op_free(&sum);
}

TEST_F(typed, characters_are_numbers_in_reductions) {
    EXPECT_EQ(thence::detail::number_type<char>(), std::is_signed_v<char> ? MPI_INT8_T : MPI_UINT8_T);
    EXPECT_EQ(thence::detail::mpi_type<char>(), MPI_CHAR);
    run([&]() -> ex::task<> {
        char letter = static_cast<char>('a' + me);
        co_await comm.allreduce(letter, thence::maximum());
        EXPECT_EQ(letter, 'a' + size - 1);
    });
}

TEST_F(typed, blocks_that_differ_are_an_error) {
    std::vector<int> room(static_cast<std::size_t>(2 * size));
    try {
        thence::sync_wait(comm.allgather(me, room));
        FAIL();
    } catch (const thence::mpi_error &e) {
        EXPECT_EQ(e.error_class(), MPI_ERR_COUNT);
        EXPECT_EQ(e.where(), thence::mpi_error::origin::call);
    }
}

} // namespace
