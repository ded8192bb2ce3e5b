// SPDX-License-Identifier: BSD-3-Clause
// 32 receives and 32 sends of 64 bytes to self through plain MPI calls and MPI_Waitall: the baseline of sender_pair and
// sender_pair_default, and the code that these share.
#pragma once

#include "measure/work.hpp"

#include <array>
#include <cstddef>
#include <mpi.h>
#include <new>

namespace measure {

constexpr int batch = 32;
constexpr int bytes = 64;

struct messages {
    std::array<std::array<char, bytes>, batch> in{};
    std::array<std::array<char, bytes>, batch> out{};
};

inline void raw_pairs(work &work) {
    messages m;
    work.count([&](long iterations) {
        std::array<MPI_Request, std::size_t{2} * batch> requests;
        for (long i = 0; i < iterations; ++i) {
            for (int k = 0; k < batch; ++k) {
                MPI_Irecv(m.in[k].data(), bytes, MPI_BYTE, 0, k, MPI_COMM_SELF, &requests[std::size_t{2} * k]);
                MPI_Isend(m.out[k].data(), bytes, MPI_BYTE, 0, k, MPI_COMM_SELF, &requests[std::size_t{2} * k + 1]);
            }
            MPI_Waitall(2 * batch, requests.data(), MPI_STATUSES_IGNORE);
        }
    });
}

// Storage for an operation state, which can be neither moved nor copied. start() constructs the next state in place of
// the previous one. The previous operation must be complete; its destructor has nothing to do if there was no error.
template <class Operation> class operation_storage {
public:
    template <class Make> void start(Make &&make) {
        auto *const operation = ::new (static_cast<void *>(bytes_)) Operation(make());
        operation->start();
    }

private:
    alignas(Operation) std::byte bytes_[sizeof(Operation)];
};

} // namespace measure
