// SPDX-License-Identifier: BSD-3-Clause
// Receives that MPI has matched, and that are not complete, since their process is stopped or gone: they hold up nobody
// else, and no packet overtakes one of its own process.
#include "one_process.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>
#include <utility>
#include <vector>

namespace thence::fake {
namespace {

class late_receives : public one_process {
protected:
    struct posted {
        void *buffer;
        MPI_Request request;
    };

    // The first `number` receives for packets get the messages that the test gives them.
    void make_space(std::size_t number) {
        matched.clear();
        still = number;
        auto &table = thence::mpi::table;
        const auto working = table.Irecv;
        table.Irecv = [](void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                         MPI_Request *request) {
            if (tag == 0 && still != 0) {
                --still;
                of_receives = comm;
                *request = world.start();
                matched.push_back({buffer, *request});
                return int{MPI_SUCCESS};
            }
            return receive_of_fake(buffer, count, type, from, tag, comm, request);
        };
        ASSERT_EQ(thence_space_create(MPI_COMM_WORLD, 1, &made), MPI_SUCCESS);
        ASSERT_EQ(thence_segment_create(made, 8, 8, &of_made), MPI_SUCCESS);
        table.Irecv = working;
        ASSERT_EQ(matched.size(), number);
    }
    void free_space() {
        EXPECT_EQ(thence_segment_free(&of_made), MPI_SUCCESS);
        for (const posted &each : matched) { // so that it has an end
            world.complete(each.request, {0, 0, 0, MPI_ERR_OTHER});
        }
        EXPECT_EQ(thence_space_free(&made), MPI_SUCCESS);
    }
    std::uint32_t value(unsigned notification) const {
        std::uint32_t found = 0;
        EXPECT_EQ(thence_notification_reset(of_made, notification, &found), MPI_SUCCESS);
        return found;
    }

    static inline std::size_t still;
    static inline MPI_Comm of_receives;
    static inline std::atomic<MPI_Comm> waits_on; // where a probe finds a message, once
    static inline std::vector<posted> matched;
    thence_space made = nullptr;
    thence_segment of_made = nullptr;
};

TEST_F(late_receives, do_not_hold_up_other_processes) {
    make_space(3);
    for (unsigned i = 0; i < 100; ++i) {
        ASSERT_EQ(thence_notify(0, of_made, i % 8, i + 1, 0), MPI_SUCCESS);
        ASSERT_TRUE(eventually([&] { return value(i % 8) == i + 1; })) << i;
    }
    free_space();
}

TEST_F(late_receives, leave_the_window_if_a_message_waits_for_a_receive) {
    auto &table = thence::mpi::table;
    const auto working = std::exchange(table.Iprobe, [](int, int, MPI_Comm comm, int *flag, MPI_Status *) {
        *flag = comm == waits_on.load() ? 1 : 0;
        waits_on = *flag != 0 ? MPI_COMM_NULL : waits_on.load();
        return int{MPI_SUCCESS};
    });
    make_space(16); // all
    ASSERT_EQ(thence_notify(0, of_made, 1, 7, 0), MPI_SUCCESS);
    waits_on = of_receives;
    EXPECT_TRUE(eventually([&] { return value(1) == 7; }));
    free_space();
    table.Iprobe = working;
}

TEST_F(late_receives, are_not_overtaken_by_packets_of_their_process) {
    make_space(1);
    std::vector<unsigned char> first;
    instead_of_send = [&](const void *buffer, int count, int, MPI_Comm, MPI_Request *request) {
        first.assign(static_cast<const unsigned char *>(buffer), static_cast<const unsigned char *>(buffer) + count);
        *request = MPI_REQUEST_NULL;
        return int{MPI_SUCCESS};
    };
    ASSERT_EQ(thence_notify(0, of_made, 1, 7, 0), MPI_SUCCESS);
    instead_of_send = nullptr;
    ASSERT_EQ(thence_notify(0, of_made, 1, 8, 0), MPI_SUCCESS);
    const auto begun = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begun < std::chrono::milliseconds(300)) {
        let_run();
    }
    EXPECT_EQ(value(1), 0U);
    std::copy(first.begin(), first.end(), static_cast<unsigned char *>(matched[0].buffer));
    world.complete(matched[0].request, {0, 0, static_cast<int>(first.size()), MPI_SUCCESS});
    EXPECT_TRUE(eventually([&] { return value(1) == 8; })) << "the second comes last";
    matched.clear();
    free_space();
}

// What a process has sent by two threads, of which each waits for its call. Some packets are lost, and some receives
// are late.
class random_arrival final : public wire::receiver {
public:
    void run(std::uint32_t seed) {
        random_.seed(seed);
        ASSERT_TRUE(in_order_.begin(1));
        send();
        std::vector<wire::packet *> late;
        const auto take_late = [&](std::size_t i) {
            wire::packet *const taken = late[i];
            late.erase(late.begin() + static_cast<std::ptrdiff_t>(i));
            in_order_.received(*taken, true);
            if (late.empty()) {
                in_order_.none_is_late();
            }
        };
        for (wire::packet *const each : posted_) {
            if (chance(5)) {
                late.push_back(each);
            } else {
                in_order_.received(*each, !late.empty());
            }
            if (!late.empty() && chance(4)) {
                take_late(random_() % late.size());
            }
        }
        while (!late.empty()) {
            take_late(random_() % late.size());
        }
        EXPECT_EQ(handed_on_, posted_.size());
    }

private:
    bool chance(unsigned one_in) { return random_() % one_in == 0; }
    // Each packet has its number before it is sent: the other thread may send one or more meanwhile.
    void send() {
        wire::packet *numbered[2] = {};
        for (std::uint64_t next = 0; next != 40;) {
            wire::packet *&of_thread = numbered[random_() % 2];
            if (of_thread != nullptr) {
                post(std::exchange(of_thread, nullptr));
                continue;
            }
            of_thread = wire::take_packet();
            of_thread->process = 0;
            of_thread->head = {};
            of_thread->head.number = next++;
            of_thread->head.queue = &of_thread == numbered ? 0 : 1;
        }
        for (wire::packet *const each : numbered) {
            post(each);
        }
    }
    void post(wire::packet *sent) {
        if (sent != nullptr && chance(20)) {
            wire::give_packet(sent); // lost
        } else if (sent != nullptr) {
            posted_.push_back(sent);
        }
    }
    void arrived(wire::packet &p) noexcept override {
        ++handed_on_;
        std::uint64_t &next = next_[p.head.queue];
        EXPECT_GE(p.head.number, next) << "a packet of its thread has overtaken it";
        next = p.head.number + 1;
        wire::give_packet(&p);
    }
    bool poll() noexcept override { return false; }
    void lost(wire::packet &, bool) noexcept override {}

    std::mt19937 random_;
    wire::sequence in_order_{*this};
    std::vector<wire::packet *> posted_; // in the order of their receives
    std::size_t handed_on_ = 0;
    std::uint64_t next_[2] = {};
};

TEST(packets, of_one_thread_keep_their_order_whatever_is_late) {
    for (std::uint32_t seed = 0; seed < 20'000; ++seed) {
        random_arrival().run(seed);
        if (::testing::Test::HasFailure()) {
            FAIL() << "seed " << seed;
        }
    }
}

} // namespace
} // namespace thence::fake
