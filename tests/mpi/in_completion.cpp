// SPDX-License-Identifier: BSD-3-Clause
// THENCE_CR_IN_COMPLETION: callbacks run inside MPI's progress and forward messages of all sizes. Each arrives once and
// unchanged, also if several threads make progress. The flag is in force only on MPIs that are known to support it.
#include "support.hpp"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <string>

namespace {

// A message is forwarded from rank to rank. It contains the number of times that it was sent.
class token {
public:
    token(MPI_Comm comm, int tag, int ints, long hops, MPI_Request cr)
        : comm_(comm), tag_(tag), hops_(hops), cr_(cr), message_(static_cast<std::size_t>(ints)) {
        MPI_Comm_rank(comm, &rank_);
        MPI_Comm_size(comm, &size_);
    }
    void begin(int origin) {
        expected_ = (rank_ - origin + size_) % size_; // the distance from its origin
        if (rank_ != origin) {
            post();
            return;
        }
        fill(1);
        send();
    }
    bool over() const { return over_; }
    bool wrong() const { return wrong_; }
    int deepest() const { return deepest_; }

private:
    struct inside {
        explicit inside(token &t) : of(t) { of.deepest_ = std::max(of.deepest_, ++depth); }
        ~inside() { --depth; }
        token &of;
        static thread_local int depth;
    };
    template <void (token::*next)()> static int complete(int error, MPI_Status *, void *self) {
        token &mine = *static_cast<token *>(self);
        const inside depth(mine);
        mine.wrong_ = mine.wrong_ || error != MPI_SUCCESS;
        (mine.*next)();
        return MPI_SUCCESS;
    }
    void after_receive() {
        for (const int each : message_) {
            wrong_ = wrong_ || each != expected_;
        }
        if (expected_ >= hops_) {
            over_ = true;
            return;
        }
        fill(expected_ + 1);
        send();
    }
    void after_send() {
        expected_ = message_.front() - 1 + size_;
        if (expected_ > hops_) {
            over_ = true;
        } else {
            post();
        }
    }
    void fill(int value) { std::fill(message_.begin(), message_.end(), value); }
    void post() {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(message_.data(), count(), MPI_INT, (rank_ + size_ - 1) % size_, tag_, comm_, &request);
        attach(request, &complete<&token::after_receive>);
    }
    void send() {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Isend(message_.data(), count(), MPI_INT, (rank_ + 1) % size_, tag_, comm_, &request);
        attach(request, &complete<&token::after_send>);
    }
    // With ENQUEUE_COMPLETE: a callback in any case, so that no chain of short sends grows the stack.
    void attach(MPI_Request &request, thence_callback *callback) {
        const int code = thence_attach(1, &request, callback, this, 0, MPI_STATUSES_IGNORE, cr_, nullptr);
        wrong_ = wrong_ || code != MPI_SUCCESS;
    }
    int count() const { return static_cast<int>(message_.size()); }

    MPI_Comm comm_;
    int tag_;
    long hops_;
    MPI_Request cr_;
    int rank_ = 0;
    int size_ = 1;
    int expected_ = 0;
    int deepest_ = 0;
    bool wrong_ = false;
    std::vector<int> message_;
    std::atomic<bool> over_{false};
};
thread_local int token::inside::depth = 0;

class in_completion : public mpi_test {
protected:
    void SetUp() override {
        mpi_test::SetUp();
        ASSERT_EQ(MPI_SUCCESS,
                  thence_cr_create(THENCE_CR_IN_COMPLETION | THENCE_CR_ENQUEUE_COMPLETE, -1, MPI_INFO_NULL, &promised));
    }
    void TearDown() override {
        EXPECT_EQ(MPI_SUCCESS, thence_free(&promised));
        mpi_test::TearDown();
    }
    bool in_force() const {
        thence_cr_info info{};
        EXPECT_EQ(MPI_SUCCESS, thence_cr_query(promised, &info, sizeof info));
        return (info.flags & THENCE_CR_IN_COMPLETION) != 0;
    }
    // Messages of several sizes at once, from every rank. THENCE_TEST_LAPS: how often each passes every rank.
    void rings(int threads) {
        std::deque<token> tokens;
        const int sizes[] = {1, 100, 3000, 40000};
        const char *laps = std::getenv("THENCE_TEST_LAPS");
        const long hops = (laps == nullptr ? 20L : std::atol(laps)) * size;
        for (int origin = 0; origin < size; ++origin) {
            for (int i = 0; i < 8; ++i) {
                token &added = tokens.emplace_back(comm, origin * 8 + i, sizes[i % 4], hops, promised);
                added.begin(origin);
            }
        }
        const auto all_over = [&] {
            return std::all_of(tokens.begin(), tokens.end(), [](const token &t) { return t.over(); });
        };
        std::vector<std::thread> others;
        for (int i = 1; i < threads; ++i) {
            others.emplace_back([&] {
                while (!all_over()) {
                    thence_progress();
                }
            });
        }
        while (!all_over()) {
            thence_progress();
        }
        for (std::thread &t : others) {
            t.join();
        }
        EXPECT_EQ(MPI_SUCCESS, thence_wait(&promised, MPI_STATUS_IGNORE));
        for (const token &t : tokens) {
            EXPECT_FALSE(t.wrong());
            EXPECT_EQ(t.deepest(), 1);
        }
    }
    MPI_Request promised = MPI_REQUEST_NULL;
};

TEST_F(in_completion, is_in_force_where_the_mpi_supports_it) {
    thence_info info{};
    ASSERT_EQ(MPI_SUCCESS, thence_query(&info, sizeof info));
    const int level = info.thread_level;
    EXPECT_EQ(in_force(), info.in_completion != 0);
    if (std::string(info.engine) != "openmpi" || level != MPI_THREAD_MULTIPLE) {
        EXPECT_FALSE(in_force());
    } else if (std::getenv("OMPI_MCA_pml") == nullptr && size > 1) { // in shared memory Open MPI chooses ob1 by itself
        EXPECT_TRUE(in_force());
    }
}

TEST_F(in_completion, messages_that_callbacks_forward_arrive_once_and_unchanged) {
    if (size > 1) {
        rings(1);
    }
}

// The operation may hold the last reference to it, and MPI reads it again after the callback.
TEST_F(in_completion, a_communicator_may_be_freed_before_its_last_message) {
    constexpr int many = 20;
    std::deque<outcome> ends(many);
    std::vector<std::vector<int>> buffers(many, std::vector<int>(size > 1 ? 5000 : 10));
    for (int i = 0; i < many && size > 1; ++i) {
        MPI_Comm own = MPI_COMM_NULL;
        MPI_Comm_dup(comm, &own);
        MPI_Request request = MPI_REQUEST_NULL;
        if (rank == 0) {
            MPI_Irecv(buffers[static_cast<std::size_t>(i)].data(), 5000, MPI_INT, 1, 0, own, &request);
            ends[static_cast<std::size_t>(i)].attach(request, promised);
        }
        MPI_Barrier(comm);
        if (rank == 1) {
            sleep_ms(2); // until the other one waits, most likely
            MPI_Isend(buffers[static_cast<std::size_t>(i)].data(), 10, MPI_INT, 0, 0, own, &request);
        }
        MPI_Comm_free(&own);
        if (rank == 0) {
            EXPECT_EQ(MPI_SUCCESS, thence_wait(&promised, MPI_STATUS_IGNORE));
            EXPECT_EQ(ends[static_cast<std::size_t>(i)].calls, 1);
        }
        if (rank == 1) {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
}

TEST_F(in_completion, with_several_threads_that_make_progress) {
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if (size > 1 && level == MPI_THREAD_MULTIPLE) {
        rings(3);
    }
}

} // namespace
