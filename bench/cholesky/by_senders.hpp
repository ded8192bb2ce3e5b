// SPDX-License-Identifier: BSD-3-Clause
// The factorization as a data-flow graph: each tile is a coroutine that waits for the tiles that its next step reads,
// and does that step in a task of the pools. A finished tile is sent to the ranks of its row and of its column that use
// it. No step waits for a whole panel, so the next panels are computed while the rest of the matrix is being updated.
//
// Steps on the critical path have high priority: diagonal tiles, the panel, and the last update of a tile before it
// becomes part of the panel.
#pragma once

#include "one_shot_event.hpp"
#include "tile_operations.hpp"

#include <exception>
#include <thence/pools.hpp>
#include <vector>

namespace cholesky {

namespace ex = thence::ex;

class by_senders {
    // Only an allocation can throw here: MPI's error handler ends the program on an error of MPI.
    static constexpr auto terminate = [](const std::exception_ptr &error) noexcept { std::rethrow_exception(error); };

    auto send(int i, int k, int to) {
        return ex::just(a_.tile(i, k), static_cast<int>(a_.tile_size()), MPI_DOUBLE, to, tag(i, k), grid_.all()) |
               pools_.transform_mpi(MPI_Isend, mode_) | ex::then([](auto &&...) noexcept {}) |
               ex::upon_error(terminate);
    }
    auto receive(int i, int k) {
        return ex::just(received_[matrix::index(i, k)].data(), static_cast<int>(a_.tile_size()), MPI_DOUBLE,
                        grid_.owner(i, k), tag(i, k), grid_.all()) |
               pools_.transform_mpi(MPI_Irecv, mode_) |
               ex::then([ready = &final(i, k)](auto &&...) noexcept { ready->set(); }) | ex::upon_error(terminate);
    }

public:
    // At most one run() at a time in a communicator: tags identify tiles, not runs.
    by_senders(matrix &a, thence::pools &pools, thence::completion_mode how = {})
        : a_(a), grid_(a.over()), pools_(pools), mode_(how), final_(matrix::index(a.tiles(), 0)),
          received_(matrix::index(a.tiles(), 0)) {
        for (int k = 0; k < a_.tiles(); ++k) {
            for (int i = k; i < a_.tiles(); ++i) {
                if (!grid_.mine(i, k) && is_user(grid_.rank(), i, k)) {
                    received_[matrix::index(i, k)].resize(a_.tile_size());
                }
            }
        }
    }

    void run() {
        tile_operations todo(a_);
        ex::simple_counting_scope scope;
        final_ = std::vector<one_shot_event>(final_.size());
        for (int k = 0; k < a_.tiles(); ++k) {
            for (int i = k; i < a_.tiles(); ++i) {
                if (grid_.mine(i, k)) {
                    ex::spawn(compute(todo, scope, i, k) | ex::upon_error(terminate), scope.get_token());
                } else if (is_user(grid_.rank(), i, k)) {
                    ex::spawn(receive(i, k), scope.get_token());
                }
            }
        }
        pools_.sync_wait(scope.join());
        todo.finish();
    }

private:
    ex::task<> compute(tile_operations &todo, ex::simple_counting_scope &scope, int i, int j) {
        const auto first = pools_.workers(thence::urgency::high);
        for (int k = 0; k < j; ++k) {
            if (k == 0 || !final(i, k).is_set() || !final(j, k).is_set()) {
                co_await final(i, k);
                co_await final(j, k);
                co_await ex::schedule(k == j - 1 ? first : pools_.workers());
            }
            todo.update(i, j, k, tile(i, k), tile(j, k));
        }
        if (j == 0 || !(i == j || final(j, j).is_set())) {
            if (i > j) {
                co_await final(j, j);
            }
            co_await ex::schedule(first);
        }
        if (i == j) {
            todo.factorize_diagonal(j);
        } else {
            todo.solve(i, j, tile(j, j));
        }
        for (int rank = 0; rank < grid_.rows() * grid_.columns(); ++rank) {
            if (rank != grid_.rank() && is_user(rank, i, j)) {
                ex::spawn(send(i, j, rank), scope.get_token());
            }
        }
        final(i, j).set();
    }

    // True if `rank` owns tiles whose steps read L(i,k): tiles of row i and of column i. Column k reads L(k,k).
    bool is_user(int rank, int i, int k) const {
        for (int j = k + 1; j <= std::min(i, k + grid_.columns()); ++j) {
            if (grid_.owner(i, j) == rank) {
                return true;
            }
        }
        for (int row = std::max(i, k + 1); row < std::min(a_.tiles(), i + grid_.rows() + 1); ++row) {
            if (grid_.owner(row, i) == rank) {
                return true;
            }
        }
        return false;
    }
    one_shot_event & final(int i, int k) { return final_[matrix::index(i, k)]; }
    const double *tile(int i, int k) const {
        const double *const own = a_.tile(i, k);
        return own != nullptr ? own : received_[matrix::index(i, k)].data();
    }
    static int tag(int i, int k) { return static_cast<int>(matrix::index(i, k)); }

    matrix &a_;
    const grid &grid_;
    thence::pools &pools_;
    thence::completion_mode mode_;
    std::vector<one_shot_event> final_; // for each tile of L that this rank computes or uses: set when it is final
    std::vector<std::vector<double>> received_;
};

} // namespace cholesky
