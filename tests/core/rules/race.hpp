// SPDX-License-Identifier: BSD-3-Clause
// What races of attaching and completing need: operations that other threads complete, and continuations of random
// kinds that count how often they end.
#pragma once

#include "library.hpp"
#include "random_choices.hpp"

#include <chrono>
#include <mutex>
#include <random>
#include <vector>

namespace thence::fake {

inline double seconds = 0.5; // how long each race lasts on each variant

inline std::chrono::steady_clock::time_point end_of_race() {
    return std::chrono::steady_clock::now() + std::chrono::microseconds(static_cast<long>(seconds * 1e6));
}

// What has happened to one continuation: `ends` must become 1.
struct record {
    std::atomic<int> ends{0};
    std::atomic<int> operations{0}; // not complete
    MPI_Status statuses[4];
    bool reposts = false;
};

// Operations that threads complete at any time.
class open_operations {
public:
    void add(ticket t) {
        std::scoped_lock guard(mutex_);
        tickets_.push_back(t);
    }
    bool take(std::mt19937 &random, ticket &t) {
        std::scoped_lock guard(mutex_);
        if (tickets_.empty()) {
            return false;
        }
        std::swap(tickets_[random() % tickets_.size()], tickets_.back());
        t = tickets_.back();
        tickets_.pop_back();
        return true;
    }

private:
    std::mutex mutex_;
    std::vector<ticket> tickets_;
};

class race {
public:
    explicit race(unsigned number) : number_(number) {}

    MPI_Request start(std::mt19937 &random) {
        const MPI_Request r = world.start(random() % 8 == 0 ? kind::collective : kind::point_to_point);
        open_.add(world.ticket_of(r));
        return r;
    }

    static int callback(int, MPI_Status *, void *data) {
        auto &a = *static_cast<record *>(data);
        a.ends.fetch_add(1);
        return MPI_SUCCESS;
    }

    // One attaching: to one or several operations, some complete already, with any CR of `crs`.
    void attach(std::mt19937 &random, MPI_Request cr, record &a) {
        const int count = random() % 3 == 0 ? static_cast<int>(2 + random() % 3) : 1;
        MPI_Request requests[4];
        for (int i = 0; i < count; ++i) {
            requests[i] = random() % 16 == 0 ? MPI_REQUEST_NULL : start(random);
        }
        int flag = -1;
        const unsigned flags = random() % 8 == 0 ? unsigned{THENCE_MAY_RUN} : 0U;
        MPI_Status *statuses = random() % 2 == 0 ? a.statuses : MPI_STATUSES_IGNORE;
        // Complete at once and failed, it returns the operation's error.
        const int code = thence_attach(count, requests, &callback, &a, flags, statuses, cr, &flag);
        if (code != MPI_SUCCESS && flag != 1) {
            ADD_FAILURE() << "thence_attach() returned " << code;
        }
        if (flag == 1) {
            a.ends.fetch_add(1);
        }
        attached_.fetch_add(1);
    }

    // Completes open operations until `stop`. `enters`: it sometimes makes MPI's progress, too.
    void complete_until(const std::atomic<bool> &stop, unsigned which, bool enters = true) {
        std::mt19937 random(number_ * 31 + which);
        ticket t;
        while (!stop) {
            if (!open_.take(random, t)) {
                std::this_thread::yield();
                continue;
            }
            result how{static_cast<int>(random() % 100)};
            how.error = random() % 16 == 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
            if (random() % 2 == 0) {
                world.complete(t, how);
            } else {
                world.complete_in_progress(t, how); // by the next thread that makes progress
            }
            if (enters && random() % 4 == 0) {
                world.progress();
            }
        }
    }
    void complete_rest() {
        std::mt19937 random(number_);
        for (ticket t; open_.take(random, t);) {
            world.complete(t);
        }
        world.progress();
    }

    unsigned long attached() const { return attached_; }

private:
    unsigned number_;
    open_operations open_;
    std::atomic<unsigned long> attached_{0};
};

// Callbacks that attach again to their own CR, on the thread that runs them.
struct chain {
    race *r = nullptr;
    MPI_Request cr = MPI_REQUEST_NULL;
    std::atomic<int> left{0};
    std::atomic<int> ends{0};

    static int callback(int, MPI_Status *, void *data) {
        auto &c = *static_cast<chain *>(data);
        c.ends.fetch_add(1);
        c.go_on();
        return MPI_SUCCESS;
    }
    void go_on() {
        thread_local std::mt19937 random(seed + 17);
        while (left.fetch_sub(1) > 0) {
            MPI_Request request = r->start(random);
            int flag = 0;
            thence_attach(1, &request, &callback, this, 0, MPI_STATUS_IGNORE, cr, &flag);
            if (flag == 0) {
                return;
            }
            ends.fetch_add(1);
        }
    }
};

} // namespace thence::fake
