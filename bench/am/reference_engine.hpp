// SPDX-License-Identifier: BSD-3-Clause
// The engine for active messages without continuations that Schuchart et al. 2021 compare with (5.3, figure 5): a few
// persistent receives, a fixed array of active requests for MPI_Testsome, and a list of pending operations, which enter the
// array when an active one completes. One thread.
//
// A send that MPI completes at once enters neither: that is faster than the published scheme.
#pragma once

#include <mpi.h>

#include <cstring>
#include <deque>
#include <memory>
#include <vector>

namespace bench_am {

class reference_engine {
public:
    static constexpr int most_bytes = 256;
    using handler = void (*)(int source, const unsigned char *payload, int bytes, void *data);

    // `window`: active requests, of which `receives` are posted for messages.
    reference_engine(MPI_Comm comm, int receives, int window, handler call, void *data)
        : comm_(comm), receives_(receives), call_(call), data_(data),
          requests_(static_cast<std::size_t>(window), MPI_REQUEST_NULL), buffers_(static_cast<std::size_t>(window)),
          indices_(static_cast<std::size_t>(window)), statuses_(static_cast<std::size_t>(window)) {
        for (int i = window - 1; i >= receives; --i) {
            free_.push_back(i);
        }
        for (int i = 0; i < receives; ++i) {
            const auto at = static_cast<std::size_t>(i);
            buffers_[at] = std::make_unique<buffer>();
            MPI_Recv_init(buffers_[at]->bytes, most_bytes, MPI_BYTE, MPI_ANY_SOURCE, tag, comm_, &requests_[at]);
            MPI_Start(&requests_[at]);
        }
    }
    reference_engine(const reference_engine &) = delete;
    reference_engine &operator=(const reference_engine &) = delete;
    // No message to this process is under way.
    ~reference_engine() {
        while (!pending_.empty() || free_.size() + static_cast<std::size_t>(receives_) < requests_.size()) {
            poll();
        }
        for (int i = 0; i < receives_; ++i) {
            MPI_Request &each = requests_[static_cast<std::size_t>(i)];
            MPI_Cancel(&each);
            MPI_Wait(&each, MPI_STATUS_IGNORE);
            MPI_Request_free(&each);
        }
    }

    void send(int rank, const void *payload, int bytes) {
        std::unique_ptr<buffer> copy = take();
        std::memcpy(copy->bytes, payload, static_cast<std::size_t>(bytes));
        MPI_Request request = MPI_REQUEST_NULL;
        int flag = 0;
        MPI_Isend(copy->bytes, bytes, MPI_BYTE, rank, tag, comm_, &request);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        if (flag != 0) {
            unused_.push_back(std::move(copy));
        } else if (free_.empty()) {
            pending_.push_back({request, std::move(copy)});
        } else {
            activate({request, std::move(copy)});
        }
    }
    // Returns how many operations have completed.
    int poll() {
        int count = 0;
        MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, indices_.data(), statuses_.data());
        for (int i = 0; i < count; ++i) {
            const int at = indices_[static_cast<std::size_t>(i)];
            if (at < receives_) {
                const MPI_Status &status = statuses_[static_cast<std::size_t>(i)];
                int bytes = 0;
                MPI_Get_count(&status, MPI_BYTE, &bytes);
                call_(status.MPI_SOURCE, buffers_[static_cast<std::size_t>(at)]->bytes, bytes, data_);
                MPI_Start(&requests_[static_cast<std::size_t>(at)]);
            } else {
                unused_.push_back(std::move(buffers_[static_cast<std::size_t>(at)]));
                free_.push_back(at);
            }
        }
        while (!free_.empty() && !pending_.empty()) {
            activate(std::move(pending_.front()));
            pending_.pop_front();
        }
        return count > 0 ? count : 0;
    }

private:
    static constexpr int tag = 77;
    struct buffer {
        alignas(8) unsigned char bytes[most_bytes];
    };
    struct operation {
        MPI_Request request;
        std::unique_ptr<buffer> content;
    };
    std::unique_ptr<buffer> take() {
        if (unused_.empty()) {
            return std::make_unique<buffer>();
        }
        std::unique_ptr<buffer> taken = std::move(unused_.back());
        unused_.pop_back();
        return taken;
    }
    void activate(operation o) {
        const auto at = static_cast<std::size_t>(free_.back());
        free_.pop_back();
        requests_[at] = o.request;
        buffers_[at] = std::move(o.content);
    }

    MPI_Comm comm_;
    int receives_;
    handler call_;
    void *data_;
    std::vector<MPI_Request> requests_; // the receives first
    std::vector<std::unique_ptr<buffer>> buffers_;
    std::vector<int> indices_;
    std::vector<MPI_Status> statuses_;
    std::vector<int> free_;
    std::vector<std::unique_ptr<buffer>> unused_;
    std::deque<operation> pending_;
};

} // namespace bench_am
