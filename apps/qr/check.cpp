// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 gets all blocks, multiplies Q with R and with the identity, and compares.
#include "run.hpp"

#include "common/check.hpp"

#include <algorithm>
#include <cblas.h>
#include <cmath>

namespace qr {

namespace {

using Memory = std::vector<std::vector<double>>;

// Where an element is in its tile, which is stored by columns.
std::size_t in_tile(int row, int column, int edge) {
    return static_cast<std::size_t>(column % edge) * static_cast<std::size_t>(edge) +
           static_cast<std::size_t>(row % edge);
}

Memory gather(const Run &run) {
    Memory all(run.rank == 0 ? static_cast<std::size_t>(run.sequence.blocks()) : 0);
    for (int b = 0; b < run.sequence.blocks(); ++b) {
        const int holder = run.sequence.holders[static_cast<std::size_t>(b)];
        const int count = static_cast<int>(run.sequence.bytes(b) / sizeof(double));
        if (holder < 0) {
            continue;
        }
        if (run.rank == 0) {
            std::vector<double> &to = all[static_cast<std::size_t>(b)];
            to.resize(static_cast<std::size_t>(count));
            if (holder == 0) {
                std::copy_n(run.blocks.at(b), count, to.data());
            } else {
                MPI_Recv(to.data(), count, MPI_DOUBLE, holder, 0, run.comm, MPI_STATUS_IGNORE);
            }
        } else if (holder == run.rank) {
            MPI_Send(run.blocks.at(b), count, MPI_DOUBLE, 0, 0, run.comm);
        }
    }
    return all;
}

class Product {
public:
    Product(const Sequence &sequence, Memory &factors) : s(sequence), f(factors), x(f.size()) {}

    // Q X, where X has the elements `of(row, column)`.
    template <class Element> const Memory &apply(Element of) {
        const Shape &h = s.shape;
        const auto edge = static_cast<std::size_t>(h.tile);
        for (int i = 0; i < h.tile_rows(); ++i) {
            for (int j = 0; j < h.tile_columns(); ++j) {
                std::vector<double> &tile = at(i, j);
                tile.assign(edge * edge, 0.0);
                for (int c = 0; c < h.width(j); ++c) {
                    for (int r = 0; r < h.height(i); ++r) {
                        tile[static_cast<std::size_t>(c) * edge + static_cast<std::size_t>(r)] =
                            of(i * h.tile + r, j * h.tile + c);
                    }
                }
            }
        }
        for (auto t = s.tasks.rbegin(); t != s.tasks.rend(); ++t) {
            for (int j = 0; j < h.tile_columns(); ++j) {
                apply(*t, j);
            }
        }
        return x;
    }
    double value(int row, int column) {
        const int edge = s.shape.tile;
        return at(row / edge, column / edge)[in_tile(row, column, edge)];
    }

private:
    std::vector<double> &at(int i, int j) { return x[static_cast<std::size_t>(s.tile(i, j))]; }
    double *factor(int block) { return f[static_cast<std::size_t>(block)].data(); }
    void apply(const Task &t, int j) {
        const Shape &h = s.shape;
        const int columns = h.width(t.k);
        if (t.kind == Task::geqrt) {
            gemqrt(false, h.height(t.upper), h.width(j), std::min(columns, h.height(t.upper)),
                   factor(s.tile(t.upper, t.k)), factor(s.factor(t.upper, t.k)), at(t.upper, j).data(), h.tile);
        } else if (t.kind == Task::tpqrt) {
            tpmqrt(false, t.triangular, h.height(t.lower), h.width(j), columns, factor(s.tile(t.lower, t.k)),
                   factor(s.second_factor(t.lower, t.k)), at(t.upper, j).data(), at(t.lower, j).data(), h.tile);
        }
    }
    const Sequence &s;
    Memory &f;
    Memory x;
};

} // namespace

Errors check(const Run &run) {
    Memory factors = gather(run);
    Errors errors;
    if (run.rank != 0) {
        return errors;
    }
    const Shape &h = run.sequence.shape;
    const Sequence &s = run.sequence;
    Product product(s, factors);
    product.apply([&](int row, int column) {
        const std::vector<double> &tile = factors[static_cast<std::size_t>(s.tile(row / h.tile, column / h.tile))];
        return row <= column ? tile[in_tile(row, column, h.tile)] : 0.0;
    });
    double difference = 0;
    double norm = 0;
    for (int c = 0; c < h.columns; ++c) {
        for (int r = 0; r < h.rows; ++r) {
            const double expected = element(r, c);
            const double off = product.value(r, c) - expected;
            difference += off * off;
            norm += expected * expected;
        }
    }
    errors.residual = std::sqrt(difference / norm);
    product.apply([](int row, int column) { return row == column ? 1.0 : 0.0; });
    std::vector<double> q(static_cast<std::size_t>(h.rows) * static_cast<std::size_t>(h.columns));
    for (int c = 0; c < h.columns; ++c) {
        for (int r = 0; r < h.rows; ++r) {
            q[static_cast<std::size_t>(c) * static_cast<std::size_t>(h.rows) + static_cast<std::size_t>(r)] =
                product.value(r, c);
        }
    }
    std::vector<double> gram(static_cast<std::size_t>(h.columns) * static_cast<std::size_t>(h.columns));
    cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, h.columns, h.columns, h.rows, 1, q.data(), h.rows, q.data(),
                h.rows, 0, gram.data(), h.columns);
    double off = 0;
    for (int c = 0; c < h.columns; ++c) {
        for (int r = 0; r < h.columns; ++r) {
            const double d =
                gram[static_cast<std::size_t>(c) * static_cast<std::size_t>(h.columns) + static_cast<std::size_t>(r)] -
                (r == c ? 1.0 : 0.0);
            off += d * d;
        }
    }
    errors.orthogonality = std::sqrt(off / h.columns);
    return errors;
}

} // namespace qr
