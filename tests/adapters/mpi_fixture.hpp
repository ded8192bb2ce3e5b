// SPDX-License-Identifier: BSD-3-Clause
// What the adapter tests share: operations whose completion the test decides, and a truncated message between two
// ranks.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include <thence/adapter.hpp>

inline int rank() {
    int result = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &result);
    return result;
}

inline int ranks() {
    int result = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &result);
    return result;
}

// A receive that is pending until complete() sends to it. One message of one int, to self.
class pending_receive {
public:
    explicit pending_receive(int tag) : tag_(tag) { MPI_Irecv(&value_, 1, MPI_INT, 0, tag, MPI_COMM_SELF, &request); }
    void complete(int value = 1) const { MPI_Send(&value, 1, MPI_INT, 0, tag_, MPI_COMM_SELF); }
    int value() const { return value_; }

    MPI_Request request = MPI_REQUEST_NULL;

private:
    int tag_;
    int value_ = 0;
};

// A receive that is complete, but not yet known to be by anyone who has not tested it.
class complete_receive : public pending_receive {
public:
    explicit complete_receive(int tag) : pending_receive(tag) {
        complete();
        int flag = 0;
        while (!flag)
            MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    }
};

// Between ranks 0 and 1: rank 1 receives two ints into room for one. Messages to self would not report it everywhere.
class truncated_receive {
public:
    // On rank 1: posts the receive. Call send() on rank 0 and, on rank 1, let_come() when the receive may fail.
    explicit truncated_receive(int tag) : tag_(tag) {
        if (rank() == 1)
            MPI_Irecv(&room_, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, &request);
    }
    void send_when_asked() const {
        int ask = 0;
        const std::array<int, 2> data{1, 2};
        MPI_Recv(&ask, 1, MPI_INT, 1, tag_ + 1000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(data.data(), 2, MPI_INT, 1, tag_, MPI_COMM_WORLD);
    }
    void ask() const {
        const int ask = 1;
        MPI_Send(&ask, 1, MPI_INT, 0, tag_ + 1000, MPI_COMM_WORLD);
    }

    MPI_Request request = MPI_REQUEST_NULL;

private:
    int tag_;
    int room_ = 0;
};

// Bad arguments and failed operations are returned, not fatal, while it lives.
class errors_return {
public:
    errors_return() {
        MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before_);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, thence_errors_return());
    }
    ~errors_return() {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, before_);
        MPI_Errhandler_free(&before_);
    }
    errors_return(const errors_return &) = delete;
    errors_return &operator=(const errors_return &) = delete;

private:
    MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

inline int class_of(int code) {
    int result = 0;
    MPI_Error_class(code, &result);
    return result;
}

#define NEEDS_TWO_RANKS()                                                                                              \
    if (ranks() != 2)                                                                                                  \
    GTEST_SKIP() << "two ranks only"

// Progress by a thread of its own, for tests whose subject must not make any.
class background_progress {
public:
    background_progress()
        : thread_([this] {
              while (!stop_.load()) {
                  thence_progress();
                  std::this_thread::sleep_for(std::chrono::microseconds(50));
              }
          }) {}
    ~background_progress() {
        stop_.store(true);
        thread_.join();
    }
    background_progress(const background_progress &) = delete;
    background_progress &operator=(const background_progress &) = delete;

private:
    std::atomic<bool> stop_{false};
    std::thread thread_;
};
