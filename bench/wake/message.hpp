// SPDX-License-Identifier: BSD-3-Clause
// One message from rank 1 to rank 0, which waits for it in MPI_Wait or sleeps while the helper thread is on. Both ranks
// read the same clock of one machine.
#pragma once

#include "measure/clock.hpp"

#include <mpi.h>
#include <semaphore>
#include <thence/thence.h>

namespace wake {

using measure::nanoseconds;
using measure::now;
using measure::processor_time;
using measure::sleep_for;

class receiver {
public:
    receiver() { thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &cr_); }
    ~receiver() { thence_free(&cr_); }
    receiver(const receiver &) = delete;
    receiver &operator=(const receiver &) = delete;

    // Each waits for one message and returns the time from its sending until the receiver is notified.
    nanoseconds by_wait() {
        MPI_Request receive;
        MPI_Irecv(&sent_, 1, MPI_LONG_LONG, 1, 0, MPI_COMM_WORLD, &receive);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        return now() - sent_;
    }
    nanoseconds by_callback() {
        MPI_Request receive;
        int complete = 0;
        MPI_Irecv(&sent_, 1, MPI_LONG_LONG, 1, 0, MPI_COMM_WORLD, &receive);
        thence_attach(1, &receive, arrived, this, 0, MPI_STATUSES_IGNORE, cr_, &complete);
        if (complete != 0) {
            known_ = now();
        } else {
            woken_.acquire(); // no MPI call: the worker sleeps
        }
        return known_ - sent_;
    }

private:
    static int arrived(int, MPI_Status *, void *data) {
        auto *self = static_cast<receiver *>(data);
        self->known_ = now();
        self->woken_.release();
        return MPI_SUCCESS;
    }
    MPI_Request cr_ = MPI_REQUEST_NULL;
    nanoseconds sent_ = 0;
    nanoseconds known_ = 0;
    std::binary_semaphore woken_{0};
};

enum class method { wait, callback };

struct wait_result {
    nanoseconds late;       // time since the message was sent
    double processor_share; // processor time divided by the time waited
};

class exchange {
public:
    explicit exchange(int rank) : rank_(rank) {}

    // Rank 1 sends after `pause`; rank 0 waits with the given method.
    wait_result once(method how, nanoseconds pause) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank_ == 1) {
            sleep_for(pause);
            nanoseconds sent = now();
            MPI_Send(&sent, 1, MPI_LONG_LONG, 0, 0, MPI_COMM_WORLD);
            return {0, 0};
        }
        const nanoseconds start = now();
        const nanoseconds processor = processor_time();
        const nanoseconds late = how == method::wait ? receiver_.by_wait() : receiver_.by_callback();
        const double share = static_cast<double>(processor_time() - processor) / static_cast<double>(now() - start);
        return {late, share};
    }

private:
    int rank_;
    receiver receiver_;
};

} // namespace wake
