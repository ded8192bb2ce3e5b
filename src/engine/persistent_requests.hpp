// SPDX-License-Identifier: BSD-3-Clause
// What is known of persistent requests: the operations that wait for each, and how it ended if a poll completed it and
// its user has not asked yet (its answer).
//
// A hash table holds one entry per request, so each function costs the same whatever their number. Nodes of the table
// are used again: a program that starts the same requests in rounds allocates nothing after the first.
//
// Invariants between two calls:
//  - A request has an entry exactly while operations wait for it or it has an answer. It never has both: a request with
//    an answer is inactive, and operations wait for active ones only.
//  - waiting_ holds the entries that operations wait for, each at its `place`.
//  - known_requests counts each request that has an entry in any set (there is one set beside tests). A user's thread
//  reads it without a lock and gets
//    the truth for its own request: attaching makes the entry and comes before the user's next call; the entry stays
//    while operations wait for the request and when a poll completes it; it goes by the user's own next call.
// One thread at a time uses a set; all else in here is under the lock of the polled set.
#pragma once

#include "base/visibility.hpp"
#include "engine/handle_filter.hpp"
#include "engine/operation.hpp"
#if defined(OPEN_MPI)
#include "engine/openmpi_layout.hpp"
#endif

#include <mpi.h>

#include <unordered_map>
#include <vector>

namespace thence::engine {

extern THENCE_HIDDEN handle_filter<MPI_Request> known_requests;

// Where a request itself tells whether it is persistent: one load that MPI's own call needs anyway, and never wrong.
// Else every request may be.
#if defined(OPEN_MPI)
extern THENCE_HIDDEN bool requests_tell_persistent; // set by an engine that has proved the layout of requests
inline bool may_be_persistent(MPI_Request request) noexcept {
    return openmpi::request_view(request).persistent();
}
#else
inline constexpr bool requests_tell_persistent = false;
constexpr bool may_be_persistent(MPI_Request) noexcept {
    return true;
}
#endif

// May there be an entry for the request? A look without a lock. A null pointer is no request, and MPI says so.
inline bool may_be_known(MPI_Request request) noexcept {
    return known_requests.may_hold(request) && (!requests_tell_persistent || may_be_persistent(request));
}
// The index of the first of them for which that may be so, or count.
int first_that_may_be_known(int count, const MPI_Request requests[]) noexcept;

class persistent_requests {
public:
    struct entry {
        MPI_Request request;
        operation *first = nullptr; // of those that wait; null: there is an answer
        std::vector<operation *> others;
        int place = -1;
        bool freed = false; // by its user, while operations wait; MPI frees it after the last
        MPI_Status status;  // the answer
        int error = MPI_SUCCESS;

        bool is_waited_for() const noexcept { return first != nullptr; }
    };

    persistent_requests() = default;
    ~persistent_requests();
    persistent_requests(const persistent_requests &) = delete;
    persistent_requests &operator=(const persistent_requests &) = delete;

    // Null if nothing is known of it.
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
    entry &waiting(int place) noexcept { return *waiting_[static_cast<std::size_t>(place)]; }
    std::size_t answers() const noexcept { return entries_.size() - waiting_.size(); }

    // `op` waits for op.request, which is active: an answer from before it was started anew is forgotten.
    void wait_for(operation &op);
    // It no longer does. False: it did not.
    bool remove(const operation &op) noexcept;

    // Keeps an answer for the user of `request`, which nothing waits for.
    void keep_answer(MPI_Request request, const MPI_Status &status, int error);
    void forget_answer(MPI_Request request) noexcept;

    // The request of `of` is complete: passes each operation that waits for it to `report`, in the order in which they
    // came. The operation may be gone once it is reported. The entry goes; with `answer`, it keeps that instead.
    template <class Report> void finish(entry &of, const MPI_Status *answer, int error, Report &&report) {
        operation *first = of.first;
        leave_waiting(of);
        if (answer != nullptr) {
            of.status = *answer;
            of.error = error;
        }
        report(*first);
        for (operation *each : of.others) {
            report(*each);
        }
        of.others.clear();
        if (answer == nullptr) {
            erase(of);
        }
    }

private:
    using map = std::unordered_map<MPI_Request, entry>;

    entry &make(MPI_Request request);
    void erase(entry &gone) noexcept;
    void leave_waiting(entry &of) noexcept;

    map entries_;
    std::vector<map::node_type> spare_; // room for every node there is, so that erase() allocates nothing
    std::size_t nodes_ = 0;
    std::vector<entry *> waiting_;
};

} // namespace thence::engine
