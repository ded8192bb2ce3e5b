// SPDX-License-Identifier: BSD-3-Clause
// Buffers of thence/mpi.hpp on the real MPI, with any number of ranks: elements of every kind, and strided views of any
// rank and layout, whose elements arrive in the order of their indices.
#include "typed.hpp"

#include "mdspan.hpp"

#include <array>
#include <complex>
#include <functional>
#include <numeric>
#include <optional>
#include <string_view>
#include <vector>

using typed_tests::grid;
using typed_tests::layout_left;
using typed_tests::layout_right;
using typed_tests::layout_stride;
using typed_tests::particle;
using typed_tests::typed;

namespace {

TEST_F(typed, strided_columns) {
    run([&]() -> ex::task<> {
        std::array<int, 12> matrix{};
        std::iota(matrix.begin(), matrix.end(), 100 * me);
        std::array<int, 12> other{};
        const thence::strided<int> second_column(matrix.data() + 1, 3, 1, 4);
        const thence::strided<int> last_columns(other.data() + 2, 3, 2, 4);
        std::array<int, 3> column{};
        co_await comm.sendrecv(second_column, right, column, left);
        EXPECT_EQ(column, (std::array<int, 3>{100 * left + 1, 100 * left + 5, 100 * left + 9}));
        const thence::strided<int> first_columns(matrix.data(), 3, 2, 4);
        co_await comm.sendrecv(first_columns, right, last_columns, left);
        EXPECT_EQ(last_columns(2, 1), 100 * left + 9);
        EXPECT_EQ(other[8], 0);
    });
}

// The value of an element: the rank that sent it, and its indices.
template <class View> void fill(const View &view, int rank) {
    view.for_each([&](auto &element, const auto &index) {
        int digits = rank + 1;
        for (const int i : index) {
            digits = 10 * digits + i;
        }
        element = digits;
    });
}
template <class View> void expect(const View &view, int rank) {
    view.for_each([&](auto &element, const auto &index) {
        int digits = rank + 1;
        for (const int i : index) {
            digits = 10 * digits + i;
        }
        EXPECT_EQ(element, digits);
    });
}

TEST_F(typed, an_mdspan_arrives_in_any_layout_of_its_extents) {
    run([&]() -> ex::task<> {
        grid<int, 3, layout_right> right_out({2, 3, 4});
        grid<int, 3, layout_left> left_in({2, 3, 4});
        grid<int, 3, layout_stride> gaps_in({2, 3, 4}, {40, 12, 2});
        fill(right_out, me);
        co_await comm.sendrecv(right_out.view(), right, left_in.view(), left);
        expect(left_in, left);
        co_await comm.sendrecv(left_in.view(), right, gaps_in.view(), left);
        expect(gaps_in, (left + size - 1) % size);
        EXPECT_EQ(gaps_in.sum_of_others(), 0);
        grid<int, 3, layout_right> back({2, 3, 4});
        co_await comm.sendrecv(gaps_in.view(), right, back.view(), left);
        expect(back, (left + 2 * size - 2) % size);

        grid<int, 2, layout_left> matrix({3, 5});
        grid<int, 2, layout_stride> part({3, 5}, {1, 4}); // columns of a taller matrix
        fill(matrix, me);
        co_await comm.sendrecv(matrix.view(), right, part.view(), left);
        expect(part, left);
        EXPECT_EQ(part.sum_of_others(), 0);

        grid<int, 1, layout_stride> row({4}, {3});
        grid<int, 1, layout_right> packed({4});
        fill(packed, me);
        const auto view = row.view(); // a const view of elements that are not const
        co_await comm.sendrecv(packed.view(), right, view, left);
        expect(row, left);
        EXPECT_EQ(row.sum_of_others(), 0);

        grid<int, 0, layout_right> scalar({});
        grid<int, 0, layout_left> other({});
        fill(scalar, me);
        co_await comm.sendrecv(scalar.view(), right, other.view(), left);
        expect(other, left);
    });
}

TEST_F(typed, an_mdspan_of_structs_and_an_empty_one) {
    run([&]() -> ex::task<> {
        std::vector<particle> cells(12, particle{0, 0});
        const typed_tests::mdspan<particle, 2, layout_stride> every_other(cells.data(), {3, 2}, {4, 2});
        std::vector<particle> six(6);
        for (int i = 0; i != 6; ++i) {
            six[static_cast<std::size_t>(i)] = {0.5F, 10 * me + i};
        }
        co_await comm.sendrecv(six, right, every_other, left);
        EXPECT_EQ(cells[10].id, 10 * left + 5);
        EXPECT_EQ(cells[8].id, 10 * left + 4);
        EXPECT_EQ(cells[9].x, 0);
        const typed_tests::mdspan<const particle, 2, layout_stride> none(nullptr, {0, 2}, {4, 2});
        std::vector<particle> nothing;
        const thence::message_status status = co_await comm.sendrecv(none, right, nothing, left);
        EXPECT_EQ(status.count<particle>(), 0U);
    });
}

TEST_F(typed, strided_buffers_of_collectives) {
    run([&]() -> ex::task<> {
        const std::size_t n = all();
        // Each process has two rows of three; blocks are slices of rows in wider matrices.
        grid<int, 2, layout_stride> mine({2, 3}, {5, 1});
        fill(mine, me);
        std::vector<int> wide(2 * n * 4, -1);
        const thence::strided<int> every(wide.data(), 2 * n, 3, 4);
        const auto check = [&](const char *what) {
            for (std::size_t row = 0; row != 2 * n; ++row) {
                for (std::size_t column = 0; column != 3; ++column) {
                    EXPECT_EQ(every(row, column),
                              100 * static_cast<int>(row / 2 + 1) + static_cast<int>(10 * (row % 2) + column))
                        << what;
                }
                EXPECT_EQ(wide[4 * row + 3], -1) << what;
            }
        };
        co_await comm.allgather(mine.view(), every);
        check("allgather");
        std::fill(wide.begin(), wide.end(), -1);
        co_await comm.gather(mine.view(), every, size - 1);
        if (me == size - 1) {
            check("gather");
        } else {
            EXPECT_EQ(wide, std::vector<int>(wide.size(), -1));
        }
        co_await comm.bcast(every, size - 1);
        check("bcast");
        grid<int, 2, layout_left> part({2, 3});
        co_await comm.scatter(every, part.view());
        expect(part, me);
        std::vector<int> exchanged(wide.size(), -1);
        const thence::strided<int> from_all(exchanged.data(), 2 * n, 3, 4);
        co_await comm.alltoall(every, from_all);
        for (std::size_t row = 0; row != 2 * n; ++row) { // every process had the same
            EXPECT_EQ(from_all(row, 1), 100 * (me + 1) + static_cast<int>(10 * (row % 2)) + 1);
        }
        EXPECT_EQ(exchanged[3], -1);
    });
}

TEST_F(typed, blocks_of_a_strided_buffer_are_slices) {
    if (size == 1) {
        GTEST_SKIP() << "one block is the whole buffer";
    }
    std::vector<int> cells(100);
    const int own = 1;
    // A single row is contiguous, so it can be divided into blocks. Several rows can be divided only into whole rows.
    const thence::strided<int> one_row(cells.data(), 1, all(), 10);
    EXPECT_EQ(class_of_call_error(comm.allgather(own, one_row)), MPI_SUCCESS);
    const std::vector<int> three(3);
    const thence::strided<int> rows(cells.data(), 3, all(), 10);
    if (3 % size != 0) {
        EXPECT_EQ(class_of_call_error(comm.allgather(three, rows)), MPI_ERR_COUNT);
    }
}

// In read-only memory.
constexpr std::array<double, 6> constants{1, 2, -1, 3, 4, -1};

TEST_F(typed, the_input_of_a_reduction_is_not_written) {
    run([&]() -> ex::task<> {
        const thence::strided<const double> in(constants.data(), 2, 2, 3);
        std::vector<double> cells(8, -1);
        const thence::strided<double> out(cells.data(), 2, 2, 4);
        co_await comm.allreduce(in, out, std::plus<>());
        EXPECT_EQ(cells, (std::vector<double>{1.0 * size, 2.0 * size, -1, -1, 3.0 * size, 4.0 * size, -1, -1}));
    });
}

TEST_F(typed, strided_operands_of_reductions) {
    run([&]() -> ex::task<> {
        const std::vector<double> in{1, 2, 3, 4};
        std::vector<double> cells(6, -1);
        const thence::strided<double> view(cells.data(), 2, 2, 3);
        const std::vector<double> expected{1.0 * size, 2.0 * size, -1, 3.0 * size, 4.0 * size, -1};
        co_await comm.allreduce(in, view, std::plus<>());
        EXPECT_EQ(cells, expected);
        std::vector<double> flat(4);
        co_await comm.allreduce(view, flat, thence::maximum());
        EXPECT_EQ(flat, (std::vector<double>{1.0 * size, 2.0 * size, 3.0 * size, 4.0 * size}));
        EXPECT_EQ(cells, expected);
        cells = {1, 2, -1, 3, 4, -1};
        co_await comm.allreduce(view, std::plus<>());
        EXPECT_EQ(cells, expected);

        grid<int, 2, layout_left> ones({2, 3});
        grid<int, 2, layout_stride> sums({2, 3}, {1, 5});
        fill(ones, 0);
        co_await comm.reduce(ones.view(), sums.view(), std::plus<>(), size - 1);
        if (me == size - 1) {
            sums.for_each(
                [&](int &sum, const auto &index) { EXPECT_EQ(sum, size * (100 + 10 * index[0] + index[1])); });
        } else {
            EXPECT_EQ(sums.sum_of_all(), 0);
        }
        EXPECT_EQ(sums.sum_of_others(), 0);

        // A buffer that is moved in is sent as well.
        cells = {-1, -1, -1, -1, -1, -1};
        const std::vector<double> back = co_await comm.allreduce(std::vector<double>(in), view, std::plus<>());
        EXPECT_EQ(back, in);
        EXPECT_EQ(cells, expected);
        const std::vector<double> result = co_await comm.allreduce(view, std::vector<double>(4), thence::minimum());
        EXPECT_EQ(result, flat);
    });
    // A sender that is started twice packs the elements at each start.
    std::vector<int> cells{1, 0, 1, 0};
    const thence::strided<int> every_other(cells.data(), 2, 1, 2);
    const auto doubled = comm.allreduce(every_other, std::plus<>());
    thence::sync_wait(doubled);
    thence::sync_wait(doubled);
    EXPECT_EQ(cells, (std::vector<int>{size * size, 0, size * size, 0}));
}

TEST_F(typed, a_type_has_a_predefined_datatype_or_is_bytes) {
    using thence::detail::has_mpi_type;
    using thence::detail::mpi_type;
    EXPECT_EQ(mpi_type<std::complex<float>>(), MPI_CXX_FLOAT_COMPLEX);
    EXPECT_EQ(mpi_type<std::complex<double>>(), MPI_CXX_DOUBLE_COMPLEX);
    EXPECT_EQ(mpi_type<std::complex<long double>>(), MPI_CXX_LONG_DOUBLE_COMPLEX);
    EXPECT_EQ(mpi_type<unsigned short>(), MPI_UINT16_T);
    static_assert(!has_mpi_type<particle> && !has_mpi_type<std::complex<int>> && !has_mpi_type<std::array<double, 2>>);
}

TEST_F(typed, integers_without_an_mpi_datatype_are_bytes) {
#ifdef __SIZEOF_INT128__
    __extension__ using wide = __int128;
    static_assert(!thence::detail::has_mpi_type<wide> && thence::detail::sendable<wide>());
    run([&]() -> ex::task<> {
        const std::array<wide, 2> out{(static_cast<wide>(me + 1) << 100) + 5, -7};
        std::array<wide, 2> in{};
        const thence::message_status status = co_await comm.sendrecv(out, right, in, left);
        EXPECT_EQ(status.count<wide>(), 2U);
        EXPECT_TRUE(in[0] == (static_cast<wide>(left + 1) << 100) + 5);
        EXPECT_TRUE(in[1] == -7);
    });
#else
    GTEST_SKIP() << "the compiler does not have __int128";
#endif
}

class with_constructor {
public:
    explicit with_constructor(int n) : n_(n) {}
    int n() const { return n_; }

private:
    int n_;
};

struct holds_a_pointer {
    int n;
    std::array<double, 3> v;
    const double *p;
};
struct holds_it_inside {
    particle a;
    holds_a_pointer b[2];
};
struct pointer_first {
    struct {
        int n;
        int *p;
    } inner;
};
struct reference {
    int &r;
};
struct all_values {
    particle a[2];
    std::array<std::array<double, 100>, 100> m;
    std::complex<float> z;
    char name[64];
    unsigned low : 3, high : 5;
    enum { red, green } colour;
};
struct derived : particle {
    bool b;
};

} // namespace

template <> inline constexpr bool thence::as_bytes<with_constructor> = true;

namespace {

TEST_F(typed, types_with_pointers_cannot_be_sent) {
    using thence::detail::sendable;
    static_assert(sendable<particle>() && sendable<all_values>() && sendable<derived>() && sendable<const double>() &&
                  sendable<int[3]>() && sendable<with_constructor>());
    static_assert(!sendable<int *>() && !sendable<std::nullptr_t>() && !sendable<int typed_tests::particle::*>());
    static_assert(!sendable<holds_a_pointer>() && !sendable<holds_it_inside>() && !sendable<pointer_first>() &&
                  !sendable<reference>());
    static_assert(!sendable<std::reference_wrapper<int>>() && !sendable<std::string_view>() &&
                  !sendable<std::optional<int>>() && !sendable<std::vector<int>>());
    run([&]() -> ex::task<> {
        const with_constructor out(me + 10);
        with_constructor in(0);
        co_await comm.sendrecv(out, right, in, left);
        EXPECT_EQ(in.n(), left + 10);
    });
}

TEST_F(typed, more_than_two_gigabytes_of_structs_are_counted_as_elements) {
    struct large {
        std::array<char, 1 << 20> bytes;
    };
    thence::detail::described buffer;
    large *somewhere = nullptr;
    ASSERT_EQ(buffer.describe(thence::detail::contiguous<large>{somewhere, 4096}), MPI_SUCCESS);
    int bytes = 0;
    MPI_Type_size(buffer.type, &bytes);
    EXPECT_EQ(buffer.count, 4096);
    EXPECT_EQ(bytes, 1 << 20);
    thence::detail::described more;
    EXPECT_EQ(more.describe(thence::detail::contiguous<char>{nullptr, std::size_t{1} << 31}), MPI_ERR_COUNT);
}

} // namespace
