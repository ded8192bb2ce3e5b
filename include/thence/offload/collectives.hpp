// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file collectives.hpp
 *  @brief What the ranks of thence/offload.hpp do together: agree that all can begin, meet at the end of a step, and
 *         end.
 *
 *  Where a rank fails, no other one waits for it for ever: beginning ends in one blocking operation, in which a rank
 *  takes part even if it cannot begin. Those at the end of a step, and at the end of all, are nonblocking, so that
 *  whoever waits in one also sees the message that another rank has broken off. */

#include <cstddef>
#include <stdexcept>
#include <vector>

#include <thence/backoff.h>
#include <thence/detail/atomic.hpp>
#include <thence/error.hpp>
#include <thence/offload/errors.hpp>
#include <thence/offload/quotas.hpp>
#include <thence/offload/task_type.hpp>

namespace thence::detail {

inline void offload_check(const char *what, int code) {
    if (code != MPI_SUCCESS) {
        throw error(what, code);
    }
}

// Threads: one at a time, but is_over().
template <class Completions> class offload_collectives {
public:
    offload_collectives(Completions &completions, offload_errors &errors)
        : completions_(completions), errors_(errors) {}
    offload_collectives &operator=(offload_collectives &&) = delete;

    void begin(MPI_Comm comm, int ranks) {
        comm_ = comm;
        all_.resize(static_cast<std::size_t>(ranks));
    }
    void agree(const std::vector<const offload_type *> &types) {
        constexpr unsigned long long prime = 1099511628211; // of the hash FNV-1a
        unsigned long long mine = types.size();
        for (const offload_type *type : types) {
            mine = (mine ^ (type->metadata_bytes * 8 + static_cast<unsigned long long>(type->results))) * prime;
            for (const char *letter = type->name(); *letter != 0; ++letter) {
                mine = (mine ^ static_cast<unsigned char>(*letter)) * prime;
            }
        }
        mine &= ~0ULL >> 1;
        unsigned long long both[] = {mine, ~mine}, least[2] = {};
        offload_check("MPI_Allreduce", MPI_Allreduce(both, least, 2, MPI_UNSIGNED_LONG_LONG, MPI_MIN, comm_));
        if (least[0] != ~least[1]) {
            throw std::invalid_argument("offload: the ranks have added different types of tasks, or in another order");
        }
    }
    // All ranks come here, each with the `code` of its own begin.
    void have_begun(int code) {
        const int failed = code != MPI_SUCCESS ? 1 : 0;
        int any = 0;
        const int met = MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, comm_);
        code = code != MPI_SUCCESS ? code : met;
        code = code == MPI_SUCCESS && any != 0 ? int{MPI_ERR_OTHER} : code;
        if (!errors_.good(code)) {
            throw error("offload: a rank cannot receive tasks", code);
        }
    }

    // Each of these begins to wait for all ranks. is_over() says that it has ended without an error.
    void arrive() {
        start("MPI_Ibarrier", [&] { return MPI_Ibarrier(comm_, &request_); });
    }
    void gather(const offload_measured &measured) {
        mine_ = measured;
        constexpr int doubles = sizeof mine_ / sizeof(double);
        start("MPI_Iallgather", [&] {
            return MPI_Iallgather(&mine_, doubles, MPI_DOUBLE, all_.data(), doubles, MPI_DOUBLE, comm_, &request_);
        });
    }
    bool is_over() const { return is_over_.load(); }
    // After gather() is over.
    const std::vector<offload_measured> &of_all() const { return all_; }

    // After the last step, on all ranks. A rank frees its communicator once all have come here. One that has an error
    // before tells the others and does not come; one that has come tells nothing, since they may have freed theirs. (A
    // message for a communicator that its receiver has freed crashes Open MPI 4.1.) @return whether all have come.
    bool all_end() {
        MPI_Request all = MPI_REQUEST_NULL;
        if (errors_.code() != MPI_SUCCESS || !errors_.good(MPI_Ibarrier(comm_, &all))) {
            errors_.tell(comm_);
            return false;
        }
        thence_backoff backoff = THENCE_BACKOFF_INIT;
        for (;;) {
            int are_here = 0;
            completions_.poll();
            if (!errors_.good(MPI_Test(&all, &are_here, MPI_STATUS_IGNORE)) || errors_.code() != MPI_SUCCESS) {
                return false;
            }
            if (are_here != 0) {
                return true;
            }
            thence_backoff_pause(&backoff);
        }
    }

private:
    template <class Begin> void start(const char *what, Begin begin) {
        is_over_.store(false);
        errors_.kept(comm_, [&] {
            offload_check(what, begin());
            offload_check("thence_attach",
                          completions_.attach(1, &request_, &has_ended, this, MPI_STATUSES_IGNORE, false));
        });
    }
    static int has_ended(int code, MPI_Status *, void *data) {
        auto &self = *static_cast<offload_collectives *>(data);
        if (self.errors_.good(code)) {
            self.is_over_.store(true);
        }
        return MPI_SUCCESS;
    }

    Completions &completions_;
    offload_errors &errors_;
    MPI_Comm comm_ = MPI_COMM_NULL;
    MPI_Request request_ = MPI_REQUEST_NULL;
    offload_measured mine_;
    std::vector<offload_measured> all_;
    atomic<bool> is_over_{true};
};

} // namespace thence::detail
