// SPDX-License-Identifier: BSD-3-Clause
// The rules of matching at one endpoint: order, wildcards, what a probe leaves, truncation, and all forms of data.
#include "mpix/messages/endpoint.hpp"

#include "core/continuation/thread_state.hpp"
#include "core/mpi/calls.hpp"
#include "core/progress/source.hpp"
#include "fake_mpi.hpp"
#include "mpix/messages/requests.hpp"
#include "mpix/messages/source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

namespace {

using namespace thence::messages;

decltype(thence::mpi::table.Grequest_complete) fakes_complete = nullptr;
int completed = 0;
int completed_where_callbacks_run = 0;
int complete_and_look(MPI_Request request) {
    ++completed;
    completed_where_callbacks_run += thence::continuation::free_to_run() ? 1 : 0;
    return fakes_complete(request);
}

// Counts completions of generalized requests from now on.
class completions_watched {
public:
    completions_watched() {
        completed = completed_where_callbacks_run = cancelled_ = 0;
        thence::mpi::table.Status_set_elements = [](MPI_Status *, MPI_Datatype, int) { return int{MPI_SUCCESS}; };
        thence::mpi::table.Status_set_cancelled = [](MPI_Status *, int flag) {
            cancelled_ += flag;
            return int{MPI_SUCCESS};
        };
        fakes_complete = thence::mpi::table.Grequest_complete;
        thence::mpi::table.Grequest_complete = &complete_and_look;
    }
    ~completions_watched() { thence::mpi::table.Grequest_complete = fakes_complete; }
    completions_watched(const completions_watched &) = delete;
    completions_watched &operator=(const completions_watched &) = delete;
    static int cancelled() { return cancelled_; }

private:
    static inline int cancelled_ = 0;
};

class matching : public ::testing::Test {
protected:
    matching() { thence::fake::world.begin({}); }
    ~matching() override { thence::fake::world.end(); }

    // True if the data were copied.
    bool send(p2p_operation &op, const std::vector<int> &data, int source, int tag, bool synchronous = false,
              int index = 0) {
        op.data = bytes_at(data.data(), data.size() * sizeof(int));
        return send_local(at, op, source, index, tag, synchronous);
    }
    void post(p2p_operation &op, std::vector<int> &room, pattern wanted) {
        op.data = bytes_at(room.data(), room.size() * sizeof(int));
        op.wanted = wanted;
        at.post(op);
    }

    endpoint at;
};

} // namespace

TEST_F(matching, each_size_arrives_whole) {
    for (const std::size_t n : {0U, 1U, 8U, 9U, 1000U, 1030U, 100000U}) {
        for (const bool posted_first : {true, false}) {
            for (const bool synchronous : {true, false}) {
                std::vector<int> out(n, 7);
                std::vector<int> in(n, -1);
                p2p_operation sent;
                p2p_operation received;
                if (posted_first) {
                    post(received, in, {3, 0, 5});
                }
                const bool copied = send(sent, out, 3, 5, synchronous);
                EXPECT_EQ(copied, !synchronous && n * sizeof(int) <= block::capacity);
                EXPECT_FALSE(received.done);
                if (posted_first) {
                    at.drive();
                } else {
                    post(received, in, {3, 0, 5});
                }
                EXPECT_TRUE(received.done);
                EXPECT_EQ(sent.done, !copied);
                EXPECT_EQ(in, out);
                EXPECT_EQ(received.result.bytes, n * sizeof(int));
            }
        }
    }
}

TEST_F(matching, a_receive_takes_the_oldest_message_that_matches) {
    p2p_operation unused;
    for (int i = 0; i < 6; ++i) {
        send(unused, {i}, i % 2, i);
    }
    const auto take = [&](pattern wanted) {
        std::vector<int> in{-1};
        p2p_operation received;
        post(received, in, wanted);
        EXPECT_TRUE(received.done);
        return in[0];
    };
    EXPECT_EQ(take({1, 0, MPI_ANY_TAG}), 1);
    EXPECT_EQ(take({MPI_ANY_SOURCE, 0, 4}), 4);
    EXPECT_EQ(take({MPI_ANY_SOURCE, 0, MPI_ANY_TAG}), 0);
    EXPECT_EQ(take({0, 0, MPI_ANY_TAG}), 2);
    EXPECT_EQ(take({1, 0, 5}), 5);
    EXPECT_EQ(take({MPI_ANY_SOURCE, 0, MPI_ANY_TAG}), 3);
}

TEST_F(matching, a_message_goes_to_the_oldest_receive_that_matches) {
    std::array<std::vector<int>, 4> in;
    std::array<p2p_operation, 4> ops;
    const std::array<pattern, 4> wanted{pattern{2, 0, 9}, pattern{MPI_ANY_SOURCE, 0, 1}, pattern{1, 0, MPI_ANY_TAG},
                                        pattern{MPI_ANY_SOURCE, 0, MPI_ANY_TAG}};
    for (std::size_t i = 0; i < 4; ++i) {
        in[i] = {-1};
        post(ops[i], in[i], wanted[i]);
    }
    p2p_operation unused;
    send(unused, {10}, 1, 1); // the second
    send(unused, {11}, 1, 1); // the third
    send(unused, {12}, 1, 1); // the fourth
    send(unused, {13}, 2, 9); // the first
    at.drive();
    EXPECT_EQ(in[1][0], 10);
    EXPECT_EQ(in[2][0], 11);
    EXPECT_EQ(in[3][0], 12);
    EXPECT_EQ(in[0][0], 13);
}

TEST_F(matching, the_second_number_of_a_sender_is_matched_or_any) {
    p2p_operation unused;
    send(unused, {1}, 0, 0, false, 3);
    send(unused, {2}, 0, 0, false, 4);
    std::vector<int> in{-1};
    p2p_operation fourth;
    post(fourth, in, {0, 4, 0});
    EXPECT_EQ(in[0], 2);
    p2p_operation any;
    post(any, in, {0, any_index, 0});
    EXPECT_EQ(in[0], 1);
    EXPECT_EQ(any.result.index, 3);
}

TEST_F(matching, a_probe_leaves_the_message_and_a_matched_probe_takes_it) {
    p2p_operation unused;
    outcome found;
    EXPECT_FALSE(at.probe({}, found));
    send(unused, {1, 2}, 4, 6);
    send(unused, {3}, 4, 6);
    EXPECT_TRUE(at.probe({4, 0, 6}, found));
    EXPECT_EQ(found.bytes, 2 * sizeof(int));
    EXPECT_TRUE(at.probe({}, found));
    unexpected *const taken = at.take({MPI_ANY_SOURCE, 0, 6}, found);
    ASSERT_NE(taken, nullptr);
    EXPECT_TRUE(at.probe({}, found));
    EXPECT_EQ(found.bytes, sizeof(int));
    std::vector<int> in{-1, -1};
    p2p_operation received;
    received.data = bytes_at(in.data(), sizeof(int) * 2);
    endpoint::receive_taken(taken, received);
    EXPECT_TRUE(received.done);
    EXPECT_EQ(in, (std::vector<int>{1, 2}));
    EXPECT_EQ(at.take({5, 0, 6}, found), nullptr);
}

TEST_F(matching, what_does_not_fit_is_an_error_and_is_not_written) {
    for (const std::size_t n : {2U, 100U, 5000U}) {
        p2p_operation sent;
        std::vector<int> in(n - 1, -1);
        in.push_back(-5);
        p2p_operation received;
        received.data = bytes_at(in.data(), sizeof(int) * (n - 1));
        const std::vector<int> out(n, 8);
        send(sent, out, 0, 0);
        at.post(received);
        EXPECT_EQ(received.result.error, MPI_ERR_TRUNCATE);
        EXPECT_EQ(received.result.bytes, sizeof(int) * (n - 1));
        EXPECT_EQ(in.front(), 8);
        EXPECT_EQ(in.back(), -5);
    }
}

TEST_F(matching, a_receive_is_withdrawn_unless_a_message_has_matched) {
    std::vector<int> in{-1};
    p2p_operation first;
    p2p_operation second;
    post(first, in, {0, 0, 1});
    post(second, in, {0, 0, 2});
    endpoint::deferred_work left;
    EXPECT_TRUE(at.withdraw(first, left));
    EXPECT_TRUE(left.empty());
    p2p_operation unused;
    send(unused, {5}, 0, 2);
    EXPECT_FALSE(at.withdraw(second, left));
    EXPECT_FALSE(second.done) << "MPI is not called inside its cancel function";
    left.finish();
    EXPECT_TRUE(second.done);
    send(unused, {6}, 0, 1);
    outcome found;
    EXPECT_TRUE(at.probe({0, 0, 1}, found));
}

TEST_F(matching, more_messages_than_the_queue_holds) {
    p2p_operation unused;
    for (int i = 0; i < 5000; ++i) {
        send(unused, {i}, 0, 0);
    }
    for (int i = 0; i < 5000; ++i) {
        std::vector<int> in{-1};
        p2p_operation received;
        post(received, in, {});
        ASSERT_EQ(in[0], i);
    }
}

// Random sends and receives against a list that is searched as MPI's text says.
TEST_F(matching, as_the_text_of_mpi_says) {
    struct sent {
        int source, tag, value;
    };
    std::mt19937 random(5);
    for (int round = 0; round < 300; ++round) {
        std::vector<sent> model;
        std::vector<std::unique_ptr<p2p_operation>> ops;
        std::vector<std::unique_ptr<std::vector<int>>> rooms;
        std::vector<std::pair<std::size_t, pattern>> waiting;
        std::vector<int> expected;
        p2p_operation unused;
        for (int step = 0; step < 60; ++step) {
            if (random() % 2 == 0) {
                const sent message{static_cast<int>(random() % 3), static_cast<int>(random() % 3), step};
                send(unused, {message.value}, message.source, message.tag);
                const auto match = std::ranges::find_if(waiting, [&](const auto &each) {
                    return (each.second.source == MPI_ANY_SOURCE || each.second.source == message.source) &&
                           (each.second.tag == MPI_ANY_TAG || each.second.tag == message.tag);
                });
                if (match != waiting.end()) {
                    expected[match->first] = message.value;
                    waiting.erase(match);
                } else {
                    model.push_back(message);
                }
                if (random() % 3 == 0) {
                    at.drive();
                }
                continue;
            }
            pattern wanted;
            wanted.source = random() % 3 == 0 ? MPI_ANY_SOURCE : static_cast<int>(random() % 3);
            wanted.tag = random() % 3 == 0 ? MPI_ANY_TAG : static_cast<int>(random() % 3);
            ops.push_back(std::make_unique<p2p_operation>());
            rooms.push_back(std::make_unique<std::vector<int>>(1, -1));
            expected.push_back(-1);
            const auto match = std::ranges::find_if(model, [&](const sent &each) {
                return (wanted.source == MPI_ANY_SOURCE || wanted.source == each.source) &&
                       (wanted.tag == MPI_ANY_TAG || wanted.tag == each.tag);
            });
            if (match != model.end()) {
                expected.back() = match->value;
                model.erase(match);
            } else {
                waiting.emplace_back(expected.size() - 1, wanted);
            }
            post(*ops.back(), *rooms.back(), wanted);
        }
        at.drive();
        for (std::size_t i = 0; i < expected.size(); ++i) {
            ASSERT_EQ((*rooms[i])[0], expected[i]);
            ASSERT_EQ(ops[i]->done, expected[i] != -1);
        }
        for (const auto &each : waiting) {
            endpoint::deferred_work left;
            ASSERT_TRUE(at.withdraw(*ops[each.first], left));
        }
        for (const sent &each : model) {
            std::vector<int> in{-1};
            p2p_operation received;
            post(received, in, {});
            ASSERT_EQ(in[0], each.value);
        }
    }
}

// MPI calls the cancel function under a lock which MPI_Grequest_complete takes, too.
TEST_F(matching, a_cancel_completes_nothing_itself) {
    ASSERT_TRUE(begin_use());
    std::array<p2p_operation *, 3> ops{}; // their requests delete them
    std::array<MPI_Request, 3> requests{};
    std::array<std::vector<int>, 3> in;
    for (int i = 0; i < 3; ++i) {
        const auto at_i = static_cast<std::size_t>(i);
        ops[at_i] = new p2p_operation;
        ASSERT_EQ(start_request(*ops[at_i]), MPI_SUCCESS);
        requests[at_i] = ops[at_i]->request;
        in[at_i] = {-1};
        post(*ops[at_i], in[at_i], {MPI_ANY_SOURCE, 0, i});
    }
    p2p_operation blocked; // of another thread
    std::vector<int> blocked_data{-1};
    post(blocked, blocked_data, {MPI_ANY_SOURCE, 0, 3});
    p2p_operation unused;
    for (const int tag : {1, 2, 3}) {
        EXPECT_TRUE(send(unused, {tag}, 0, tag));
    }
    const completions_watched watched;
    EXPECT_EQ(thence::mpi::table.Cancel(&requests[0]), MPI_SUCCESS); // nothing has matched it
    EXPECT_EQ(thence::mpi::table.Cancel(&requests[1]), MPI_SUCCESS); // a message has arrived
    EXPECT_EQ(completed, 0);
    EXPECT_FALSE(blocked.done);
    EXPECT_TRUE(thence::progress::any_outstanding());
    thence::progress::poll_sources(thence::progress::polled_from::outside);
    EXPECT_EQ(completed, 3);
    EXPECT_TRUE(blocked.done);
    EXPECT_FALSE(thence::progress::any_outstanding());
    for (std::size_t i = 0; i < 3; ++i) {
        MPI_Status status;
        EXPECT_EQ(thence::mpi::table.Wait(&requests[i], &status), MPI_SUCCESS);
        EXPECT_EQ(in[i][0], i == 0 ? -1 : static_cast<int>(i));
    }
    EXPECT_EQ(watched.cancelled(), 1);
    end_use();
}

// Its callback could wait for a thread that needs an endpoint for the first time, and so for the end of the drive.
TEST_F(matching, no_callback_runs_while_endpoints_are_driven_for_requests) {
    auto *const received = new p2p_operation; // its request deletes it
    ASSERT_EQ(start_request(*received), MPI_SUCCESS);
    MPI_Request request = received->request;
    std::vector<int> in(1, -1);
    post(*received, in, {});
    const completions_watched watched;
    p2p_operation sent;
    EXPECT_TRUE(send(sent, {42}, 0, 0));
    EXPECT_TRUE(drive_needed());
    EXPECT_EQ(completed, 1);
    EXPECT_EQ(completed_where_callbacks_run, 0);
    EXPECT_TRUE(thence::continuation::free_to_run());
    EXPECT_EQ(thence::mpi::table.Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(in[0], 42);
}
