// SPDX-License-Identifier: BSD-3-Clause
// Active messages on a window of requests for MPI_Testsome (common/request_window.hpp), as apps/qr has them. One
// thread.
//
// A send that MPI completes at once does not enter the window: that is faster than the published scheme.
#pragma once

#include "common/request_window.hpp"

#include <cstring>
#include <memory>

namespace bench_am {

class reference_engine {
public:
    static constexpr int most_bytes = 256;
    using handler = void (*)(int source, const unsigned char *payload, int bytes, void *data);

    // `window`: active requests, of which `receives` are posted for messages.
    reference_engine(MPI_Comm comm, int receives, int window, handler call, void *data)
        : comm_(comm), call_(call), data_(data), window_(comm, tag, receives, window) {}
    reference_engine(const reference_engine &) = delete;
    reference_engine &operator=(const reference_engine &) = delete;
    // No message to this process is under way.
    ~reference_engine() {
        while (!window_.is_empty()) {
            poll();
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
        } else {
            window_.add(request, std::move(copy));
        }
    }
    // Returns how many operations have completed.
    int poll() {
        return window_.poll(
            [this](const buffer &arrived, const MPI_Status &status) {
                int bytes = 0;
                MPI_Get_count(&status, MPI_BYTE, &bytes);
                call_(status.MPI_SOURCE, arrived.bytes, bytes, data_);
            },
            [this](std::unique_ptr<buffer> left) { unused_.push_back(std::move(left)); });
    }

private:
    static constexpr int tag = 77;
    struct buffer {
        alignas(8) unsigned char bytes[most_bytes];
    };
    std::unique_ptr<buffer> take() {
        if (unused_.empty()) {
            return std::make_unique<buffer>();
        }
        std::unique_ptr<buffer> taken = std::move(unused_.back());
        unused_.pop_back();
        return taken;
    }

    MPI_Comm comm_;
    handler call_;
    void *data_;
    apps::RequestWindow<buffer, std::unique_ptr<buffer>> window_;
    std::vector<std::unique_ptr<buffer>> unused_;
};

} // namespace bench_am
