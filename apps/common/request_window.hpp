// SPDX-License-Identifier: BSD-3-Clause
// What an engine without continuations has, as Schuchart et al. 2021 compare with (5.3, figure 5): a few persistent
// receives for short messages, a fixed array of active requests for MPI_Testsome, and a list of pending operations,
// which enter the array when an active one completes. One thread at a time. An error of MPI goes to the error handler
// of the communicator.
#pragma once

#include <deque>
#include <mpi.h>
#include <utility>
#include <vector>

namespace apps {

// `Message`: plain bytes, the longest short message. `Operation`: what is kept of one that is under way; moved.
template <class Message, class Operation> class RequestWindow {
public:
    // `window`: active requests, of which `receives` are posted for short messages with this tag.
    RequestWindow(MPI_Comm comm, int tag, int receives, int window)
        : receives_(receives), requests_(static_cast<std::size_t>(window), MPI_REQUEST_NULL), active_(requests_.size()),
          arrived_(static_cast<std::size_t>(receives)), indices_(requests_.size()), statuses_(requests_.size()) {
        for (int i = window - 1; i >= receives; --i) {
            unused_.push_back(i);
        }
        for (std::size_t i = 0; i < arrived_.size(); ++i) {
            MPI_Recv_init(&arrived_[i], sizeof(Message), MPI_BYTE, MPI_ANY_SOURCE, tag, comm, &requests_[i]);
            MPI_Start(&requests_[i]);
        }
    }
    // It is empty, and no message to this process is under way.
    ~RequestWindow() {
        for (std::size_t i = 0; i < arrived_.size(); ++i) {
            MPI_Cancel(&requests_[i]);
            MPI_Wait(&requests_[i], MPI_STATUS_IGNORE);
            MPI_Request_free(&requests_[i]);
        }
    }
    RequestWindow(const RequestWindow &) = delete;
    RequestWindow &operator=(const RequestWindow &) = delete;

    // Also in the functions that poll() calls.
    void add(MPI_Request request, Operation o) {
        if (unused_.empty()) {
            pending_.emplace_back(request, std::move(o));
        } else {
            activate(request, std::move(o));
        }
    }
    // No operation is active or pending.
    bool is_empty() const {
        return pending_.empty() && unused_.size() + static_cast<std::size_t>(receives_) == requests_.size();
    }
    // Calls `arrived(message, status)` for each short message, whose buffer is received into again when that has
    // returned, and `done(operation)` for each operation that is complete. Returns how many of both.
    template <class Arrived, class Done> int poll(Arrived arrived, Done done) {
        int count = 0;
        MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, indices_.data(), statuses_.data());
        for (int i = 0; i < count; ++i) {
            const int at = indices_[static_cast<std::size_t>(i)];
            const auto slot = static_cast<std::size_t>(at);
            if (at < receives_) {
                arrived(arrived_[slot], statuses_[static_cast<std::size_t>(i)]);
                MPI_Start(&requests_[slot]);
            } else {
                Operation complete = std::move(active_[slot]);
                unused_.push_back(at);
                done(std::move(complete));
            }
        }
        while (!unused_.empty() && !pending_.empty()) {
            activate(pending_.front().first, std::move(pending_.front().second));
            pending_.pop_front();
        }
        return count > 0 ? count : 0;
    }

private:
    void activate(MPI_Request request, Operation o) {
        const auto at = static_cast<std::size_t>(unused_.back());
        unused_.pop_back();
        requests_[at] = request;
        active_[at] = std::move(o);
    }

    int receives_;
    std::vector<MPI_Request> requests_; // the receives first
    std::vector<Operation> active_;
    std::vector<Message> arrived_;
    std::vector<int> indices_;
    std::vector<MPI_Status> statuses_;
    std::vector<int> unused_; // places
    std::deque<std::pair<MPI_Request, Operation>> pending_;
};

} // namespace apps
