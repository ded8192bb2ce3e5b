// SPDX-License-Identifier: BSD-3-Clause
// Messages that MPI does not take, or loses: what their tests share.
#pragma once

#include "one_process.hpp"

#include <csignal>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace thence::fake {

// A process that stands for another rank.
class child {
public:
    child() : id_(fork()) {
        if (id_ == 0) {
            for (;;) {
                pause();
            }
        }
    }
    child &operator=(child &&) = delete;
    ~child() { end(); }
    pid_t id() const { return id_; }
    void end() {
        if (id_ != 0) {
            kill(id_, SIGKILL);
            waitpid(std::exchange(id_, 0), nullptr, 0);
        }
    }

private:
    pid_t id_;
};

class failed_messages : public one_process {
protected:
    // The sends whose tag satisfies `fails` do not start.
    static void refuse(bool (*fails)(int tag)) {
        instead_of_send = [fails](const void *buffer, int count, int tag, MPI_Comm comm, MPI_Request *request) {
            if (fails(tag)) {
                return int{MPI_ERR_OTHER};
            }
            return send_of_fake(buffer, count, MPI_BYTE, 0, tag, comm, request);
        };
    }
    // Sends are on their way until the test completes them; `last` is the request of the last one.
    static void hold(MPI_Request &last) {
        instead_of_send = [&last](const void *, int, int, MPI_Comm, MPI_Request *request) {
            *request = last = world.start();
            return int{MPI_SUCCESS};
        };
    }
    // A refusal, or a loss, comes after the put is locally complete.
    void expect_that_the_flush_tells(int queue = 0) {
        EXPECT_TRUE(eventually([&] { return thence_queue_flush(space, queue) == MPI_ERR_OTHER; }));
        EXPECT_EQ(thence_queue_flush(space, queue), MPI_SUCCESS) << "an error is reported once";
    }
    // Others work afterwards.
    void expect_that_puts_work() {
        instead_of_send = nullptr;
        EXPECT_EQ(queue_size(), 0) << "nothing is left in the queue";
        local.fill(7);
        ASSERT_EQ(thence_put_notify(local.data(), 1000, 0, segment, 0, 1, 5, 0, nullptr), MPI_SUCCESS);
        EXPECT_EQ(thence_queue_flush(space, 0), MPI_SUCCESS);
        EXPECT_TRUE(eventually([&] { return value_of(1) == 5; }));
        thence_segment other = nullptr;
        ASSERT_EQ(thence_segment_create(space, 8, 0, &other), MPI_SUCCESS);
        EXPECT_EQ(thence_segment_free(&other), MPI_SUCCESS) << "it waits for all packets that count as sent";
    }
};

inline bool is_packet(int tag) {
    return tag == 0;
}

} // namespace thence::fake
