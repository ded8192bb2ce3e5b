// SPDX-License-Identifier: BSD-3-Clause
// What the adapter tests share: operations whose completion the test decides, and a truncated message between two
// ranks.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include <sys/resource.h>
#include <time.h>

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
        while (!flag) {
            MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
        }
    }
};

// Between ranks 0 and 1: rank 1 receives two ints into room for one. Messages to self would not report it everywhere.
class truncated_receive {
public:
    // On rank 1: posts the receive. Call send() on rank 0 and, on rank 1, let_come() when the receive may fail.
    explicit truncated_receive(int tag) : tag_(tag) {
        if (rank() == 1) {
            MPI_Irecv(&room_, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, &request);
        }
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

// What threads have used of the processors.
struct processor_use {
    double seconds;
    long sleeps; // voluntary context switches; sched_yield() makes none
};

inline processor_use processor_use_of(clockid_t clock, int who) {
    timespec used{};
    rusage counts{};
    clock_gettime(clock, &used);
    getrusage(who, &counts);
    return {static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec), counts.ru_nvcsw};
}

inline processor_use processor_use_of_process() {
    return processor_use_of(CLOCK_PROCESS_CPUTIME_ID, RUSAGE_SELF);
}

// What the thread that polls has used since its first poll. It records that with each poll.
class use_of_polling_thread {
public:
    void restart() { // before another thread polls
        const std::lock_guard lock(mutex_);
        recorded_ = false;
        used_ = {};
    }
    void record() {
        const processor_use now = processor_use_of(CLOCK_THREAD_CPUTIME_ID, RUSAGE_THREAD);
        const std::lock_guard lock(mutex_);
        if (!std::exchange(recorded_, true)) {
            first_ = now;
        }
        used_ = {now.seconds - first_.seconds, now.sleeps - first_.sleeps};
    }
    processor_use read() const {
        const std::lock_guard lock(mutex_);
        return used_;
    }

private:
    mutable std::mutex mutex_;
    bool recorded_ = false;
    processor_use first_{};
    processor_use used_{};
};

// Calls `wait`, which returns when the receive is complete. Nothing arrives for 200 ms, or several times as long, since
// the threads of a runtime may yield for a while before they sleep. Meanwhile what polls must pause: it uses less than
// 60 % of a processor, and at most 500 us between two sleeps, which says so also if other programs leave less of the
// processor. `used`: says what the threads have used that poll.
template <class Wait, class Used> void expect_pauses_while_nothing_arrives(Wait wait, Used used) {
    using clock = std::chrono::steady_clock;
    pending_receive late(1);
    double part = 1;
    double between_sleeps = 1;
    std::thread sender([&] {
        for (int i = 0; i < 10 && (part <= 0 || part >= 0.6 || between_sleeps >= 500e-6); ++i) {
            const auto begin = clock::now();
            const processor_use before = used();
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
            const processor_use after = used();
            const double seconds = after.seconds - before.seconds;
            part = seconds / std::chrono::duration<double>(clock::now() - begin).count();
            between_sleeps = seconds / static_cast<double>(std::max(1L, after.sleeps - before.sleeps));
        }
        late.complete();
    });
    wait(late.request);
    sender.join();
    EXPECT_GT(part, 0);
    EXPECT_LT(part, 0.6) << "of a processor";
    EXPECT_LT(between_sleeps, 500e-6) << "seconds";
}

template <class Wait> void expect_pauses_while_nothing_arrives(Wait wait) {
    expect_pauses_while_nothing_arrives(wait, processor_use_of_process);
}
