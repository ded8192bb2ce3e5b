// SPDX-License-Identifier: BSD-3-Clause
// The entries for persistent requests: the operations that wait for each, or its answer. An answer is the result of a
// request that a poll has completed, until the user's own call fetches it.
//
// A hash table holds one entry per request, so each function costs the same whatever their number. Nodes of the table
// are used again: a program that starts the same requests in rounds allocates nothing after the first.
//
// Invariants between two calls:
//  - A request has an entry exactly while operations wait for it or it has an answer. It never has both: a request with
//    an answer is inactive, and operations wait for active ones only.
//  - waiting_ holds the entries that operations wait for, each at its `index`.
//  - known_requests counts each request that has an entry in any set (outside tests there is one set). A user's thread
//    reads it without a lock. The result is correct for its own request: attaching makes the entry before the user's
//    next call. The entry stays while operations wait for the request, and when a poll completes it. Only the user's
//    own next call removes it.
// One thread at a time uses a set, under the lock of the polled set.
#pragma once

#include "core/base/visibility.hpp"
#include "core/engine/handle_filter.hpp"
#include "core/engine/operation.hpp"
#include "core/mpi/persistent.hpp"
#if defined(OPEN_MPI)
#include "core/engine/openmpi_layout.hpp"
#endif

#include <mpi.h>

#include <unordered_map>
#include <vector>

namespace thence::engine {

extern THENCE_HIDDEN handle_filter<MPI_Request> known_requests;

// If the layout of requests is proved, may_be_persistent() reads whether a request is persistent: one load that MPI's
// own call needs anyway. Else any request may be persistent.
#if defined(OPEN_MPI)
extern THENCE_HIDDEN bool can_read_requests; // an engine has proved the layout of requests
inline bool may_be_persistent(MPI_Request request) noexcept {
    return openmpi::request_view(request).persistent();
}
#else
inline constexpr bool can_read_requests = false;
constexpr bool may_be_persistent(MPI_Request) noexcept {
    return true;
}
#endif

// True if the request is persistent. It is MPI's and not null.
inline bool is_persistent(MPI_Request request) noexcept {
    return can_read_requests ? may_be_persistent(request) : mpi::noted_persistent(request);
}

// True if there may be an entry for the request. Takes no lock. A null pointer is not a request; MPI itself refuses it.
inline bool may_be_known(MPI_Request request) noexcept {
    return known_requests.may_hold(request) && (!can_read_requests || may_be_persistent(request));
}
// The index of the first request for which may_be_known() is true, or `count`.
int first_that_may_be_known(int count, const MPI_Request requests[]) noexcept;

class persistent_requests {
public:
    struct entry {
        MPI_Request request;
        operation *first = nullptr; // the first operation that waits; null: there is an answer
        std::vector<operation *> others;
        int index = -1;     // in waiting_; -1 if no operation waits
        bool freed = false; // the user freed it while operations wait; MPI_Request_free is called after the last
        MPI_Status status;  // the answer
        int error = MPI_SUCCESS;

        bool is_waited_for() const noexcept { return first != nullptr; }
    };

    persistent_requests() = default;
    ~persistent_requests();
    persistent_requests &operator=(persistent_requests &&) = delete;

    // Returns null if there is no entry.
    entry *find(MPI_Request request) noexcept {
        const auto found = entries_.find(request);
        return found == entries_.end() ? nullptr : &found->second;
    }
    const entry *find(MPI_Request request) const noexcept {
        const auto found = entries_.find(request);
        return found == entries_.end() ? nullptr : &found->second;
    }

    // The entries that operations wait for. wait_for() adds one at the end; finish() and remove() put the last one into
    // the gap.
    int waiting() const noexcept { return static_cast<int>(waiting_.size()); }
    entry &waiting(int index) noexcept { return *waiting_[static_cast<std::size_t>(index)]; }
    std::size_t answers() const noexcept { return entries_.size() - waiting_.size(); }

    // `op` waits for op.request, which is active. If there is an answer, the request was started again since, and the
    // answer is dropped.
    void wait_for(operation &op);
    // `op` no longer waits. Returns false if it did not wait.
    bool remove(const operation &op) noexcept;

    // Keeps an answer for the user of `request`. No operation waits for it.
    void keep_answer(MPI_Request request, const MPI_Status &status, int error);
    void forget_answer(MPI_Request request) noexcept;

    // The request of `known` is complete. Passes each operation that waits for it to `report`, in the order in which
    // they were added. After that the operation may no longer exist. If `answer` is null the entry is erased, else it
    // keeps the answer.
    template <class Report> void finish(entry &known, const MPI_Status *answer, int error, Report &&report) {
        operation *first = known.first;
        leave_waiting(known);
        if (answer != nullptr) {
            known.status = *answer;
            known.error = error;
        }
        report(*first);
        for (operation *each : known.others) {
            report(*each);
        }
        known.others.clear();
        if (answer == nullptr) {
            erase(known);
        }
    }

private:
    using map = std::unordered_map<MPI_Request, entry>;

    entry &make(MPI_Request request);
    void erase(entry &gone) noexcept;
    void leave_waiting(entry &known) noexcept;

    map entries_;
    std::vector<map::node_type> spare_; // room for every node there is, so that erase() allocates nothing
    std::size_t nodes_ = 0;
    std::vector<entry *> waiting_;
};

} // namespace thence::engine
