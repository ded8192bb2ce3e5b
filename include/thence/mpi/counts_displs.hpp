// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_MPI_COUNTS_DISPLS_HPP
#define THENCE_MPI_COUNTS_DISPLS_HPP
#if __cplusplus < 202002L
#error "thence/mpi/counts_displs.hpp needs C++20: compile with -std=c++20"
#else

/** @file mpi/counts_displs.hpp
 *  @brief How a buffer is divided among the processes of a collective operation whose parts differ in size. */

#include <climits>
#include <initializer_list>
#include <utility>
#include <vector>

namespace thence {

/** @brief So many elements for each process, by rank. The operation keeps its own copy. */
class parts {
public:
    /** @param counts how many elements each process has; the parts lie one after another. */
    parts(std::vector<int> counts) : counts_(std::move(counts)), starts_(counts_.size()) {
        long long at = 0;
        for (std::size_t i = 0; i != counts_.size(); ++i) {
            starts_[i] = static_cast<int>(at);
            at += counts_[i];
            possible_ = possible_ && counts_[i] >= 0 && at <= INT_MAX;
            at = possible_ ? at : 0;
        }
        end_ = at;
    }
    parts(std::initializer_list<int> counts) : parts(std::vector<int>(counts)) {}
    /** @param counts how many elements each process has.
     *  @param starts where the part of each process begins in the buffer, in elements; as many as counts. */
    parts(std::vector<int> counts, std::vector<int> starts) : counts_(std::move(counts)), starts_(std::move(starts)) {
        possible_ = counts_.size() == starts_.size();
        for (std::size_t i = 0; possible_ && i != counts_.size(); ++i) {
            possible_ = counts_[i] >= 0 && starts_[i] >= 0;
            const long long end = static_cast<long long>(starts_[i]) + counts_[i];
            end_ = end > end_ ? end : end_;
        }
    }
    const std::vector<int> &counts() const noexcept { return counts_; }
    const std::vector<int> &starts() const noexcept { return starts_; }
    /** @return whether there is one part for each of so many processes, and all lie in a buffer of that size. */
    bool fit(std::size_t processes, std::size_t elements) const noexcept {
        return possible_ && counts_.size() == processes && static_cast<std::size_t>(end_) <= elements;
    }

private:
    std::vector<int> counts_, starts_;
    long long end_ = 0; // of the last part
    bool possible_ = true;
};

} // namespace thence

#endif // C++20
#endif
