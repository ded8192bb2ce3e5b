// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file mpi/counts_displs.hpp
 *  @brief The counts and displacements of collective operations whose blocks differ in size. */

#include <thence/detail/cxx20.hpp>

#include <climits>
#include <initializer_list>
#include <utility>
#include <vector>

namespace thence {

/** @brief A count of elements for each process, in the order of ranks, and where its block begins. Operations copy
 *         it. */
class counts_displs {
public:
    /** @param counts the number of elements of each process; the blocks follow one another without gaps. */
    counts_displs(std::vector<int> counts) : counts_(std::move(counts)), displs_(counts_.size()) {
        long long at = 0;
        for (std::size_t i = 0; i != counts_.size(); ++i) {
            displs_[i] = static_cast<int>(at);
            at += counts_[i];
            possible_ = possible_ && counts_[i] >= 0 && at <= INT_MAX;
            at = possible_ ? at : 0;
        }
        end_ = at;
    }
    counts_displs(std::initializer_list<int> counts) : counts_displs(std::vector<int>(counts)) {}
    /** @param counts the number of elements of each process.
     *  @param displs where the block of each process begins in the buffer, in elements; of the same length. */
    counts_displs(std::vector<int> counts, std::vector<int> displs)
        : counts_(std::move(counts)), displs_(std::move(displs)) {
        possible_ = counts_.size() == displs_.size();
        for (std::size_t i = 0; possible_ && i != counts_.size(); ++i) {
            possible_ = counts_[i] >= 0 && displs_[i] >= 0;
            const long long end = static_cast<long long>(displs_[i]) + counts_[i];
            end_ = end > end_ ? end : end_;
        }
    }
    const std::vector<int> &counts() const noexcept { return counts_; }
    const std::vector<int> &displs() const noexcept { return displs_; }
    /** @return whether there is one block for each process, and all of them lie within a buffer of this size. */
    bool fit(std::size_t processes, std::size_t elements) const noexcept {
        return possible_ && counts_.size() == processes && static_cast<std::size_t>(end_) <= elements;
    }

private:
    std::vector<int> counts_, displs_;
    long long end_ = 0; // the end of the last block
    bool possible_ = true;
};

} // namespace thence
