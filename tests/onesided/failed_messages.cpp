// SPDX-License-Identifier: BSD-3-Clause
// Messages that MPI does not take, or loses: the operation is an error, nothing waits for it, and all others go on.
#include "failed_messages.hpp"
#include "onesided/operations.hpp"
#include "onesided/source.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>

namespace thence::fake {
namespace {

TEST_F(failed_messages, a_short_put_is_an_error) {
    refuse(&is_packet);
    EXPECT_EQ(thence_put_notify(local.data(), 8, 0, segment, 0, 1, 9, 0, nullptr), MPI_ERR_OTHER);
    EXPECT_TRUE(inside().health_of(0).failed.load());
    expect_that_puts_work();
}

TEST_F(failed_messages, a_long_put_whose_packet_is_not_sent_is_not_waited_for) {
    refuse(&is_packet);
    EXPECT_EQ(thence_put(local.data(), bytes, 0, segment, 0, 0, nullptr), MPI_ERR_OTHER);
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(thence_put(local.data(), bytes, 0, segment, 0, 0, &request), MPI_ERR_OTHER);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
    expect_that_puts_work();
}

// The receive of the old value is posted before the packet asks for it. Here it cannot be cancelled.
TEST_F(failed_messages, memory_that_MPI_may_still_write_to_stays_in_use_also_of_an_operation_with_a_request) {
    static ticket reply;
    auto &table = thence::mpi::table;
    const auto receives = table.Irecv;
    const auto cancels = table.Cancel;
    table.Irecv = [](void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                     MPI_Request *request) {
        if (is_packet(tag)) {
            return receive_of_fake(buffer, count, type, from, tag, comm, request);
        }
        *request = world.start();
        reply = world.ticket_of(*request);
        return int{MPI_SUCCESS};
    };
    table.Cancel = [](MPI_Request *) { return int{MPI_SUCCESS}; };
    refuse(&is_packet);
    std::atomic<long> uses{0};
    MPI_Request own = MPI_REQUEST_NULL;
    onesided::completion how;
    how.request = &own;
    how.local_use = &uses;
    std::uint64_t old = 77;
    EXPECT_EQ(onesided::atomic(wire::kind::fetch_add, {1, 0}, {onesided::object_of(segment), 0, 0}, &old, 0, how),
              MPI_ERR_OTHER);
    EXPECT_EQ(own, MPI_REQUEST_NULL);
    EXPECT_EQ(uses, 1);
    table.Irecv = receives;
    table.Cancel = cancels;
    world.complete(reply); // so that the fake has no request left
    expect_that_puts_work();
}

// The target dies between the data of a put and the packet that announces them.
TEST_F(failed_messages, memory_that_MPI_may_still_send_stays_in_use) {
    for (const bool dies : {true, false}) {
        ticket data{};
        instead_of_send = [&](const void *, int, int tag, MPI_Comm, MPI_Request *request) {
            if (!is_packet(tag)) {
                *request = world.start();
                data = world.ticket_of(*request);
                return int{MPI_SUCCESS};
            }
            inside().health_of(0).gone = dies;
            return int{MPI_ERR_OTHER};
        };
        std::atomic<long> uses{0};
        onesided::completion how;
        how.local_use = &uses;
        EXPECT_EQ(onesided::put(local.data(), bytes, {onesided::object_of(segment), 0, 0}, {}, 0, how), MPI_ERR_OTHER);
        EXPECT_EQ(uses, dies ? 1 : 0) << "a send to another process can be cancelled";
        inside().health_of(0).gone = false;
        if (dies) {
            world.complete(data); // so that the fake has no request left
        }
        expect_that_puts_work();
    }
}

TEST_F(failed_messages, a_long_put_whose_data_are_not_sent_is_not_announced) {
    refuse([](int tag) { return tag != 0; });
    EXPECT_EQ(thence_put_notify(local.data(), bytes, 0, segment, 0, 1, 9, 0, nullptr), MPI_ERR_OTHER);
    EXPECT_EQ(value_of(1), 0U);
    expect_that_puts_work();
}

TEST_F(failed_messages, a_get_that_is_not_asked_for_waits_for_no_reply) {
    refuse(&is_packet);
    EXPECT_EQ(thence_get(local.data(), 8, 0, segment, 0, 0, nullptr), MPI_ERR_OTHER);
    std::uint64_t old = 77;
    EXPECT_EQ(thence_fetch_add(1, 0, segment, 0, &old, 0, nullptr), MPI_ERR_OTHER);
    EXPECT_EQ(old, 77U);
    expect_that_puts_work();
}

TEST_F(failed_messages, a_flush_ends_when_the_target_is_killed) {
    MPI_Request packet = MPI_REQUEST_NULL;
    MPI_Request data = MPI_REQUEST_NULL;
    instead_of_send = [&](const void *, int, int tag, MPI_Comm, MPI_Request *request) {
        *request = world.start();
        (is_packet(tag) ? packet : data) = *request;
        return int{MPI_SUCCESS};
    };
    child killed;
    inside().health_of(0).watch(killed.id()); // as if it were the target
    EXPECT_EQ(thence_put(local.data(), bytes, 0, segment, 0, 0, nullptr), MPI_SUCCESS);
    std::thread kills([&] {
        let_run();
        killed.end();
    });
    EXPECT_EQ(thence_queue_flush(space, 0), MPI_ERR_OTHER);
    EXPECT_TRUE(inside().is_gone(0));
    kills.join();
    EXPECT_TRUE(world.complete(data)) << "it was not cancelled, and MPI has it";
    world.complete(packet, {0, 0, 0, MPI_ERR_OTHER});
    EXPECT_TRUE(eventually([&] { return inside().wires().sent_to(0) == 0; }))
        << "the end waits for what counts as sent";
    inside().health_of(0).watch(getpid()); // so that it has an end
    inside().health_of(0).gone = false;
}

TEST_F(failed_messages, a_space_whose_user_could_not_begin_is_not_polled) {
    static std::vector<MPI_Request> posted;       // receives that stay with MPI
    static auto &kept = *new std::vector<void *>; // their memory, which nobody frees
    posted.clear();
    auto &table = thence::mpi::table;
    const auto working = table.Irecv;
    table.Irecv = [](void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                     MPI_Request *request) {
        const int code = receive_of_fake(buffer, count, type, from, tag, comm, request);
        posted.push_back(*request);
        kept.push_back(buffer);
        return code;
    };
    std::unique_ptr<onesided::space> begun;
    ASSERT_EQ(onesided::space::create(MPI_COMM_WORLD, 1, true, begun), MPI_SUCCESS);
    table.Irecv = working;
    begun.reset();
    for (MPI_Request &each : posted) {
        table.Cancel(&each);
        EXPECT_EQ(table.Wait(&each, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    expect_that_puts_work();
    EXPECT_EQ(thence_segment_free(&segment), MPI_SUCCESS);
    EXPECT_EQ(thence_space_free(&space), MPI_SUCCESS);
    EXPECT_FALSE(onesided::must_poll()) << "nothing is left";
    EXPECT_EQ(thence_space_create(MPI_COMM_WORLD, 2, &space), MPI_SUCCESS);
    EXPECT_EQ(thence_segment_create(space, bytes, 8, &segment), MPI_SUCCESS);
}

TEST_F(failed_messages, a_segment_is_not_freed_if_the_processes_cannot_agree_that_all_has_arrived) {
    thence_segment other = nullptr;
    ASSERT_EQ(thence_segment_create(space, 8, 1, &other), MPI_SUCCESS);
    auto &table = thence::mpi::table;
    const auto working = table.Ialltoall;
    table.Ialltoall = [](const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm, MPI_Request *) {
        return int{MPI_ERR_OTHER};
    };
    EXPECT_EQ(thence_segment_free(&other), MPI_ERR_OTHER);
    table.Ialltoall = working;
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(thence_notify(0, other, 0, 1, 0), MPI_SUCCESS);
    EXPECT_EQ(thence_notification_wait(other, 0, 1, nullptr), MPI_SUCCESS);
    EXPECT_EQ(thence_segment_free(&other), MPI_SUCCESS);
}

TEST_F(failed_messages, a_target_that_takes_nothing_is_not_sent_more_than_4096_packets) {
    struct held {
        std::vector<unsigned char> data;
        MPI_Comm comm;
    };
    std::mutex mutex; // guards these
    std::vector<held> all;
    bool holds = true;
    instead_of_send = [&](const void *buffer, int count, int tag, MPI_Comm comm, MPI_Request *request) {
        const std::scoped_lock guard(mutex);
        if (!holds) {
            return send_of_fake(buffer, count, MPI_BYTE, 0, tag, comm, request);
        }
        const auto *const from = static_cast<const unsigned char *>(buffer);
        all.push_back({{from, from + count}, comm});
        *request = MPI_REQUEST_NULL;
        return int{MPI_SUCCESS};
    };
    constexpr unsigned most = 4096;
    for (unsigned i = 0; i < most; ++i) {
        ASSERT_EQ(thence_put(&i, sizeof i, 0, segment, 0, 0, nullptr), MPI_SUCCESS);
    }
    EXPECT_FALSE(inside().has_room_for(0));
    std::atomic<bool> sent{false};
    std::thread waits([&] {
        EXPECT_EQ(thence_notify(0, segment, 4, 1, 0), MPI_SUCCESS);
        sent = true;
    });
    for (int i = 0; i < 100; ++i) {
        let_run();
    }
    EXPECT_FALSE(sent);
    {
        const std::scoped_lock guard(mutex);
        EXPECT_EQ(all.size(), most);
        holds = false;
        for (const held &each : all) {
            MPI_Request request = MPI_REQUEST_NULL;
            send_of_fake(each.data.data(), static_cast<int>(each.data.size()), MPI_BYTE, 0, 0, each.comm, &request);
            EXPECT_EQ(thence::mpi::table.Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        }
    }
    waits.join();
    EXPECT_TRUE(eventually([&] { return value_of(4) == 1; }));
    EXPECT_TRUE(inside().has_room_for(0));
}

class two_processes : public failed_messages {
protected:
    // The other process is killed while `call` waits for it. Later it is there again.
    void expect_that_it_gives_up(const std::function<int()> &call) {
        onesided::health &other = onesided::object_of(of_two)->health_of(1);
        child killed;
        other.watch(killed.id());
        std::thread kills([&] {
            for (int i = 0; i < 5; ++i) {
                let_run();
            }
            killed.end();
        });
        EXPECT_EQ(call(), MPI_ERR_OTHER);
        EXPECT_TRUE(other.gone.load());
        kills.join();
        const auto begun = std::chrono::steady_clock::now();
        thence_segment none = nullptr;
        EXPECT_EQ(thence_segment_create(of_two, 8, 1, &none), MPI_ERR_OTHER);
        EXPECT_EQ(none, nullptr);
        EXPECT_EQ(thence_space_free(&of_two), MPI_ERR_OTHER);
        EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(150)) << "nothing is begun";
        other.watch(getpid());
        other.gone = false;
    }
    two_processes() {
        processes = 2;
        EXPECT_EQ(thence_space_create(MPI_COMM_WORLD, 2, &of_two), MPI_SUCCESS);
    }
    ~two_processes() override { processes = 1; }
    thence_space of_two = nullptr;
};

TEST_F(two_processes, collective_calls_do_not_wait_for_one_that_is_killed) {
    thence_segment reached = nullptr;
    ASSERT_EQ(thence_segment_create(of_two, 8, 1, &reached), MPI_SUCCESS);
    const auto free = [&] { return thence_segment_free(&reached); };
    { // a collective call of MPI
        static MPI_Request never = MPI_REQUEST_NULL;
        auto &table = thence::mpi::table;
        const auto working = table.Iallreduce;
        table.Iallreduce = [](const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *request) {
            *request = never = world.start();
            return int{MPI_SUCCESS};
        };
        expect_that_it_gives_up(free);
        table.Iallreduce = working;
        world.complete(never);
        EXPECT_EQ(thence::mpi::table.Wait(&never, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    { // a packet that does not leave
        MPI_Request packet = MPI_REQUEST_NULL;
        instead_of_send = [&](const void *, int, int, MPI_Comm, MPI_Request *request) {
            *request = packet = world.start();
            return int{MPI_SUCCESS};
        };
        EXPECT_EQ(thence_notify(1, reached, 0, 1, 0), MPI_SUCCESS);
        instead_of_send = nullptr;
        expect_that_it_gives_up(free);
        world.complete(packet, {0, 0, 0, MPI_ERR_OTHER});
    }
    { // one that does not arrive
        std::vector<unsigned char> packet;
        MPI_Comm on = MPI_COMM_NULL;
        instead_of_send = [&](const void *buffer, int count, int, MPI_Comm comm, MPI_Request *request) {
            const auto *const from = static_cast<const unsigned char *>(buffer);
            packet.assign(from, from + count);
            on = comm;
            *request = MPI_REQUEST_NULL;
            return int{MPI_SUCCESS};
        };
        EXPECT_EQ(thence_notify(1, reached, 0, 1, 0), MPI_SUCCESS);
        instead_of_send = nullptr;
        expect_that_it_gives_up(free);
        MPI_Request sent = MPI_REQUEST_NULL;
        send_of_fake(packet.data(), static_cast<int>(packet.size()), MPI_BYTE, 0, 0, on, &sent);
        EXPECT_EQ(thence::mpi::table.Wait(&sent, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    EXPECT_EQ(thence_segment_free(&reached), MPI_SUCCESS);
    EXPECT_EQ(thence_space_free(&of_two), MPI_SUCCESS);
}

TEST_F(two_processes, the_end_does_not_wait_for_credits_that_were_lost) {
    thence_segment reached = nullptr;
    ASSERT_EQ(thence_segment_create(of_two, 8, 1, &reached), MPI_SUCCESS);
    constexpr int for_a_credit = 512;
    for (int i = 0; i <= for_a_credit; ++i) { // no credit comes
        ASSERT_EQ(thence_notify(1, reached, 0, 1, 0), MPI_SUCCESS);
    }
    // And one of three of this process does not arrive.
    int credits = 0;
    instead_of_send = [&](const void *buffer, int count, int tag, MPI_Comm comm, MPI_Request *request) {
        const auto &sent = *static_cast<const wire::header *>(buffer);
        if (count != 0 && sent.what == wire::kind::credit && ++credits == 2) {
            return int{MPI_ERR_OTHER};
        }
        return send_of_fake(buffer, count, MPI_BYTE, 0, tag, comm, request);
    };
    for (int i = 0; i < 3 * for_a_credit; ++i) {
        onesided::object_of(of_two)->done(1, true);
    }
    EXPECT_EQ(credits, 3);
    instead_of_send = nullptr;
    EXPECT_EQ(thence_segment_free(&reached), MPI_SUCCESS);
    EXPECT_EQ(thence_space_free(&of_two), MPI_SUCCESS);
}

// A space without messages of two processes, which begins them with a segment on memory of the program.
class late_messages : public one_process {
protected:
    late_messages() : one_process("") {
        processes = 2;
        EXPECT_EQ(thence_space_create(MPI_COMM_WORLD, 2, &of_two), MPI_SUCCESS);
    }
    ~late_messages() override { processes = 1; }
    thence_space of_two = nullptr;
};

TEST_F(late_messages, that_could_not_begin_for_lack_of_memory_begin_at_the_next_call) {
    alignas(8) std::array<unsigned char, 64> memory{};
    thence_segment made = nullptr;
    refuses_receive = [](int) { return true; };
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(thence_segment_create_on(of_two, memory.data(), memory.size(), 1, &made), MPI_ERR_NO_MEM);
        EXPECT_EQ(made, nullptr);
        EXPECT_FALSE(onesided::object_of(of_two)->has_messages());
    }
    refuses_receive = nullptr;
    ASSERT_EQ(thence_segment_create_on(of_two, memory.data(), memory.size(), 1, &made), MPI_SUCCESS);
    ASSERT_TRUE(onesided::object_of(of_two)->has_messages());
    std::uint64_t old = 77;
    EXPECT_EQ(thence_fetch_add(5, 1, made, 8, &old, 0, nullptr), MPI_SUCCESS) << "the system copies no atomics";
    EXPECT_EQ(thence_queue_flush(of_two, 0), MPI_SUCCESS);
    EXPECT_EQ(old, 0U);
    EXPECT_EQ(memory[8], 5);
    EXPECT_EQ(thence_segment_free(&made), MPI_SUCCESS);
    EXPECT_EQ(thence_space_free(&of_two), MPI_SUCCESS);
}

} // namespace
} // namespace thence::fake
