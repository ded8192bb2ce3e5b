// SPDX-License-Identifier: BSD-3-Clause
// Persistent requests under races: threads that start, continue, test, wait for, start anew and free their own
// requests, while others complete operations and poll. Every continuation ends once with the
// status of its own start, and the completion of a start is reported to the user at most once, with its status.
//
// usage: persistent_races [--seconds=S] [--seed=N] [GoogleTest options]
#include "library.hpp"
#include "random_choices.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <mutex>
#include <random>

namespace {

using namespace thence::fake;
using clock_type = std::chrono::steady_clock;

double seconds = 0.5; // per variant

// Operations that threads complete, each with a status that identifies its start.
class open_operations {
public:
    void add(ticket t, int source) {
        std::scoped_lock guard(mutex_);
        open_.push_back({t, source});
    }
    void complete_one(std::mt19937 &random) {
        started next;
        {
            std::scoped_lock guard(mutex_);
            if (open_.empty()) {
                return;
            }
            std::swap(open_[random() % open_.size()], open_.back());
            next = open_.back();
            open_.pop_back();
        }
        world.complete(next.operation, {next.source});
    }
    bool empty() {
        std::scoped_lock guard(mutex_);
        return open_.empty();
    }

private:
    struct started {
        ticket operation;
        int source;
    };
    std::mutex mutex_;
    std::vector<started> open_;
};

struct account {
    std::atomic<int> ends{0};
    MPI_Status status;
    static int callback(int, MPI_Status *, void *data) {
        static_cast<account *>(data)->ends.fetch_add(1, std::memory_order_release);
        return MPI_SUCCESS;
    }
};

MPI_Request make() {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Recv_init(nullptr, 0, MPI_CHAR, 0, 0, MPI_COMM_SELF, &request);
    return request;
}

// A persistent request of one thread, and the continuations of its current start.
class owned {
public:
    owned(open_operations &open, MPI_Request cr, std::mt19937 &random) : open_(open), cr_(cr), random_(random) {}
    ~owned() {
        drain();
        if (request_ != MPI_REQUEST_NULL) {
            EXPECT_EQ(MPI_Request_free(&request_), MPI_SUCCESS);
        }
    }
    owned(const owned &) = delete;
    owned &operator=(const owned &) = delete;

    void start(int source) {
        drain();
        if (request_ == MPI_REQUEST_NULL) {
            request_ = make();
        }
        source_ = source;
        told_ = false;
        EXPECT_EQ(MPI_Start(&request_), MPI_SUCCESS);
        const ticket t = world.ticket_of(request_);
        const unsigned before = random_() % 3; // attached before it can be complete
        for (unsigned i = 0; i < before; ++i) {
            attach();
        }
        open_.add(t, source);
        for (unsigned i = random_() % 3; i != 0; --i) {
            attach();
        }
    }
    bool pending() const { return request_ != MPI_REQUEST_NULL && source_ != 0 && !told_; }

    // Any call that may report the completion to the user.
    void ask(MPI_Request unrelated) {
        int flag = 0;
        int index = 0;
        MPI_Status status[2];
        MPI_Request both[2] = {unrelated, request_};
        switch (random_() % 6) {
        case 0:
            EXPECT_EQ(MPI_Test(&request_, &flag, status), MPI_SUCCESS);
            break;
        case 1:
            EXPECT_EQ(MPI_Wait(&request_, status), MPI_SUCCESS);
            flag = 1;
            break;
        case 2:
            EXPECT_EQ(MPI_Testany(2, both, &index, &flag, status), MPI_SUCCESS);
            EXPECT_TRUE(flag == 0 || index == 1);
            break;
        case 3:
            EXPECT_EQ(MPI_Testsome(1, &request_, &flag, &index, status), MPI_SUCCESS);
            EXPECT_NE(flag, MPI_UNDEFINED) << "it was not reported yet";
            break;
        case 4:
            EXPECT_EQ(MPI_Testall(1, &request_, &flag, status), MPI_SUCCESS);
            break;
        default:
            EXPECT_EQ(MPI_Waitall(1, &request_, status), MPI_SUCCESS);
            flag = 1;
        }
        if (flag == 1) {
            EXPECT_EQ(status[0].MPI_SOURCE, source_) << "the status of this start";
            told_ = true;
            EXPECT_EQ(MPI_Test(&request_, &flag, status), MPI_SUCCESS);
            EXPECT_EQ(flag, 1);
            EXPECT_EQ(status[0].MPI_SOURCE, MPI_ANY_SOURCE) << "reported once";
        }
    }
    void look() {
        int flag = 0;
        MPI_Status status;
        EXPECT_EQ(MPI_Request_get_status(request_, &flag, &status), MPI_SUCCESS);
        EXPECT_TRUE(flag == 0 || status.MPI_SOURCE == source_);
    }
    // If it has continuations, it is released after the last.
    void free() {
        EXPECT_EQ(MPI_Request_free(&request_), MPI_SUCCESS);
        EXPECT_EQ(request_, MPI_REQUEST_NULL);
    }

private:
    void attach() {
        account &a = accounts_.emplace_back();
        int flag = -1;
        MPI_Request request = request_;
        EXPECT_EQ(thence_attach(1, &request, &account::callback, &a, THENCE_PERSISTENT, &a.status, cr_, &flag),
                  MPI_SUCCESS);
        EXPECT_EQ(request, request_);
        if (flag == 1) {
            a.ends.fetch_add(1);
        }
    }
    // The start has completed, and every continuation of it has ended once.
    void drain() {
        if (pending() && accounts_.empty()) {
            EXPECT_EQ(MPI_Wait(&request_, MPI_STATUS_IGNORE), MPI_SUCCESS);
        }
        const auto end = clock_type::now() + std::chrono::seconds(20);
        for (account &each : accounts_) {
            while (each.ends.load(std::memory_order_acquire) == 0 && clock_type::now() < end) {
                std::this_thread::yield();
                thence_progress();
            }
            EXPECT_EQ(each.ends.load(), 1);
            EXPECT_EQ(each.status.MPI_SOURCE, source_);
        }
        accounts_.clear();
        source_ = 0;
    }

    open_operations &open_;
    MPI_Request cr_;
    std::mt19937 &random_;
    MPI_Request request_ = MPI_REQUEST_NULL;
    int source_ = 0; // the source in the status of the current start; 0: not started
    bool told_ = false;
    std::deque<account> accounts_;
};

class persistent_races : public on_fake {};

TEST_P(persistent_races, every_continuation_ends_once_and_every_start_is_reported_once) {
    open_operations open;
    std::atomic<bool> stop{false};
    cr c;
    std::vector<std::thread> threads;
    const auto end = clock_type::now() + std::chrono::duration<double>(seconds);
    std::atomic<int> working{2};
    std::atomic<long> starts{0};
    for (unsigned number = 0; number < 2; ++number) {
        threads.emplace_back([&, number] {
            std::mt19937 random(seed + number);
            MPI_Request unrelated = world.start();
            const ticket last = world.ticket_of(unrelated);
            {
                std::deque<owned> requests;
                for (int i = 0; i < 100; ++i) { // more than one poll tests
                    requests.emplace_back(open, c, random);
                }
                for (int source = 1; clock_type::now() < end; ++source) {
                    owned &mine = requests[random() % requests.size()];
                    if (!mine.pending() || random() % 4 == 0) {
                        mine.start(source);
                        starts.fetch_add(1, std::memory_order_relaxed);
                        continue;
                    }
                    switch (random() % 4) {
                    case 0:
                        mine.look();
                        break;
                    case 1:
                        mine.free();
                        break;
                    default:
                        mine.ask(unrelated);
                    }
                }
            }
            world.complete(last);
            EXPECT_EQ(MPI_Wait(&unrelated, MPI_STATUS_IGNORE), MPI_SUCCESS);
            working.fetch_sub(1);
        });
    }
    threads.emplace_back([&] {
        std::mt19937 random(seed + 10);
        while (working.load() != 0 || !open.empty()) {
            open.complete_one(random);
            std::this_thread::yield();
        }
    });
    threads.emplace_back([&] {
        while (working.load() != 0) {
            thence_progress();
            std::this_thread::yield();
        }
    });
    for (std::thread &each : threads) {
        each.join();
    }
    EXPECT_TRUE(eventually([&] { return c.test(); }));
    RecordProperty("starts", static_cast<int>(starts.load()));
    EXPECT_GT(starts.load(), 10);
}

THENCE_RULES(persistent_races);

} // namespace

int main(int argc, char **argv) {
    return run_from_seed(argc, argv, "--seconds=%lf", seconds,
                         "usage: persistent_races [--seconds=S] [--seed=N] [GoogleTest options]\n"
                         "Races on the fake MPI, S seconds (0.5) for each engine, from seed N.\n");
}
