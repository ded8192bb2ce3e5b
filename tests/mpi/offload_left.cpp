// SPDX-License-Identifier: BSD-3-Clause
// A step is left by an exception while tasks are away (thence/offload.hpp). No results go into the memory of the
// program once the offloader is destroyed: here that memory stays, and is looked at.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <thence/offload.hpp>
#include <vector>

namespace {

constexpr int not_written = -1, written = 1;

int rank = 0, size = 1;
MPI_Comm control = MPI_COMM_NULL;
bool goes_on = false; // a rank with tasks of rank 0

// Where a rank begins its first task of rank 0, or has none: waits until rank 0, which gets `begins`, lets it go on.
void ask_to_go_on(int begins) {
    MPI_Send(&begins, 1, MPI_INT, 0, 0, control);
    MPI_Recv(nullptr, 0, MPI_INT, 0, 0, control, MPI_STATUS_IGNORE);
    goes_on = true;
}
int next_other() {
    int begins = 0;
    MPI_Recv(&begins, 1, MPI_INT, MPI_ANY_SOURCE, 0, control, MPI_STATUS_IGNORE);
    return begins;
}

struct held {
    struct metadata {
        int microseconds;
    };
    static std::size_t input_bytes(const metadata &) { return 0; }
    static std::array<std::size_t, 1> result_bytes(const metadata &) { return {sizeof written}; }
    static void run(const metadata &m, std::span<const std::byte>,
                    const std::array<std::span<std::byte>, 1> &results) noexcept {
        if (rank != 0 && !goes_on) {
            ask_to_go_on(1);
        }
        for (const double end = MPI_Wtime() + m.microseconds * 1e-6; MPI_Wtime() < end;) {
        }
        std::memcpy(results[0].data(), &written, sizeof written);
    }
};

// Counts tasks that are sent away, and those with receives of results. Can keep the callbacks of what was sent, as if
// the thread that runs them was slow; can cancel nothing, as if MPI had matched the receives; and can attach no
// receives of results, as if memory was exhausted.
class counted : public thence::detail::offload_continuations {
public:
    using count = thence::detail::atomic<int>;

    using offload_continuations::offload_continuations;
    int attach(int requests, MPI_Request array[], thence_callback *done, void *data, MPI_Status *statuses,
               bool persistent) {
        if (requests != 2) { // not metadata and input
            return offload_continuations::attach(requests, array, done, data, statuses, persistent);
        }
        away.fetch_add(1);
        was_sent.store(done);
        return offload_continuations::attach(requests, array, &keep, data, statuses, persistent);
    }
    int attach_results(int requests, MPI_Request array[], thence_callback *done, void *data) {
        received.fetch_add(1);
        if (!can_attach) {
            return MPI_ERR_NO_MEM;
        }
        has_returned.store(done);
        return offload_continuations::attach_results(requests, array, &end, data);
    }
    void cancel_results() {
        if (can_cancel) {
            offload_continuations::cancel_results();
        }
    }

    static void reset(bool keep_them, bool cancel_them, bool attach_them = true) {
        keeps = keep_them, can_cancel = cancel_them, can_attach = attach_them;
        for (count *each : {&away, &sent, &received, &ended}) {
            each->store(0);
        }
    }
    static void run_kept() {
        const std::scoped_lock guard(lock);
        for (void *data : kept) {
            was_sent.load()(MPI_SUCCESS, nullptr, data);
        }
        kept.clear();
    }
    static inline count away{0}, sent{0}, received{0}, ended{0};

private:
    static int keep(int code, MPI_Status *statuses, void *data) {
        if (keeps) {
            const std::scoped_lock guard(lock);
            kept.push_back(data);
        } else {
            was_sent.load()(code, statuses, data);
        }
        sent.fetch_add(1);
        return MPI_SUCCESS;
    }
    static int end(int code, MPI_Status *statuses, void *data) {
        ended.fetch_add(1);
        return has_returned.load()(code, statuses, data);
    }
    static inline bool keeps = false, can_cancel = true, can_attach = true;
    static inline thence::detail::atomic<thence_callback *> was_sent{nullptr},
        has_returned{nullptr};     // the same for all
    static inline std::mutex lock; // guards what follows
    static inline std::vector<void *> kept;
};

struct left_by_program {};

class OffloadLeft : public testing::Test {
protected:
    static void SetUpTestSuite() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        MPI_Comm_dup(MPI_COMM_WORLD, &control);
    }
    static void TearDownTestSuite() { MPI_Comm_free(&control); }

    // Leaves a step on rank 0 while another rank is in a task, and all that was sent there has left.
    static void leave(const thence::offload_settings &settings) {
        if (rank == 0) { // where a receive fails, by its error or by that of the program
            EXPECT_ANY_THROW(go_through_steps(settings));
        } else {
            go_through_steps(settings);
        }
    }
    static void go_through_steps(const thence::offload_settings &settings) {
        goes_on = false;
        thence::basic_offloader<counted> tasks(MPI_COMM_WORLD, settings);
        tasks.add<held>();
        tasks.begin();
        while (rank == 0) { // how many go away depends on measured times
            std::fill(results.begin(), results.end(), not_written);
            for (int &each : results) {
                tasks.submit<held>({300}, {}, {std::as_writable_bytes(std::span(&each, 1))});
            }
            if (counted::away.load() > 0) {
                EXPECT_EQ(next_other(), 1);
                while (counted::sent.load() < counted::away.load()) {
                    tasks.work();
                }
                throw left_by_program();
            }
            tasks.finish_step();
        }
        const auto until_told = [&] {
            for (;;) {
                tasks.finish_step();
            }
        };
        EXPECT_THROW(until_told(), thence::error);
    }
    // Lets the other ranks send their results. @return how many were written meanwhile.
    static int results_that_come_late() {
        const std::vector<int> before = results;
        if (rank == 0) {
            for (int other = 2; other < size; ++other) {
                next_other();
            }
            for (int other = 1; other < size; ++other) {
                MPI_Send(nullptr, 0, MPI_INT, other, 0, control);
            }
        } else if (!goes_on) {
            ask_to_go_on(0);
        }
        MPI_Barrier(control);
        for (int i = 0; rank == 0 && i < 100; ++i) {
            long ran = 0;
            thence_progress_some(&ran);
        }
        return static_cast<int>(std::count(results.begin(), results.end(), written) -
                                std::count(before.begin(), before.end(), written));
    }

    static inline std::vector<int> results = std::vector<int>(20, not_written);
};

TEST_F(OffloadLeft, receives_of_results_end_before_the_offloader_does) {
    counted::reset(false, true);
    leave({});
    EXPECT_EQ(counted::received.load(), counted::away.load());
    EXPECT_EQ(counted::ended.load(), counted::received.load());
    EXPECT_EQ(results_that_come_late(), 0);
}

TEST_F(OffloadLeft, no_receives_of_results_begin_after_the_offloader_has_ended) {
    counted::reset(true, true);
    leave({});
    counted::run_kept();
    EXPECT_EQ(counted::received.load(), 0);
    EXPECT_EQ(results_that_come_late(), 0);
}

TEST_F(OffloadLeft, it_is_told_where_mpi_still_receives_results_after_some_time) {
    counted::reset(false, false);
    thence::offload_settings settings;
    settings.lost_after = 0.2;
    testing::internal::CaptureStderr();
    leave(settings);
    const std::string told = testing::internal::GetCapturedStderr();
    if (rank == 0) {
        EXPECT_NE(told.find("they must stay"), std::string::npos) << told;
        EXPECT_LT(counted::ended.load(), counted::received.load());
        EXPECT_GT(results_that_come_late(), 0);
    } else {
        results_that_come_late();
    }
}

TEST_F(OffloadLeft, it_is_told_where_nobody_waits_for_a_receive_of_results) {
    counted::reset(false, true, false);
    testing::internal::CaptureStderr();
    leave({});
    const std::string told = testing::internal::GetCapturedStderr();
    if (rank == 0) {
        EXPECT_NE(told.find("they must stay"), std::string::npos) << told;
    }
    results_that_come_late(); // or not: they are those of any task
}

} // namespace
