// SPDX-License-Identifier: BSD-3-Clause
// One-sided communication of one process with itself, by messages of the fake MPI, whose sends fail when a test says
// so.
#pragma once

#include "core/mpi/calls.hpp"
#include "library.hpp"
#include "onesided/checks.hpp"

#include <thence/notify.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

namespace thence::fake {

// A function that a test sets while the helper thread may call it.
class replaceable {
public:
    using function = std::function<int(const void *, int, int tag, MPI_Comm, MPI_Request *)>;
    replaceable &operator=(function set) {
        const std::scoped_lock guard(mutex_);
        now_ = std::move(set);
        return *this;
    }
    function now() const {
        const std::scoped_lock guard(mutex_);
        return now_;
    }

private:
    mutable std::mutex mutex_;
    function now_;
};

// Called in place of MPI_Isend, if it is set.
inline replaceable instead_of_send;
inline decltype(thence::mpi::table.Isend) send_of_fake = nullptr;
// True: a receive with this tag does not start.
inline std::atomic<bool (*)(int tag)> refuses_receive{nullptr};
inline decltype(thence::mpi::table.Irecv) receive_of_fake = nullptr;
// How many processes a space has, 1 or 2. Messages to the other one come back from this one, so what the other one is
// told of them holds for this one.
inline int processes = 1;

inline int send_or_fail(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                        MPI_Request *request) {
    const replaceable::function instead = instead_of_send.now();
    return instead ? instead(buffer, count, tag, comm, request)
                   : send_of_fake(buffer, count, type, to, tag, comm, request);
}

inline void hear_from_all(const void *from, int bytes, void *to) {
    for (int i = 0; i < processes; ++i) {
        std::memcpy(static_cast<unsigned char *>(to) + static_cast<std::ptrdiff_t>(i) * bytes, from,
                    static_cast<std::size_t>(bytes));
    }
}

// Collective calls.
inline void install_collectives() {
    auto &table = thence::mpi::table;
    table.Comm_size = [](MPI_Comm, int *size) {
        *size = processes;
        return int{MPI_SUCCESS};
    };
    table.Comm_test_inter = [](MPI_Comm, int *flag) {
        *flag = 0;
        return int{MPI_SUCCESS};
    };
    table.Iallgather = [](const void *from, int count, MPI_Datatype, void *to, int, MPI_Datatype, MPI_Comm,
                          MPI_Request *request) {
        hear_from_all(from, count, to);
        *request = MPI_REQUEST_NULL;
        return int{MPI_SUCCESS};
    };
    table.Ialltoall = [](const void *from, int count, MPI_Datatype, void *to, int, MPI_Datatype, MPI_Comm,
                         MPI_Request *request) {
        for (int i = 0; i < processes; ++i) {
            const std::ptrdiff_t last = processes - 1;
            std::memcpy(static_cast<unsigned char *>(to) + (last - i) * count,
                        static_cast<const unsigned char *>(from) + std::ptrdiff_t{i} * count,
                        static_cast<std::size_t>(count));
        }
        *request = MPI_REQUEST_NULL;
        return int{MPI_SUCCESS};
    };
    table.Iallreduce = [](const void *from, void *to, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *request) {
        std::memcpy(to, from, sizeof(int));
        *request = MPI_REQUEST_NULL;
        return int{MPI_SUCCESS};
    };
    table.Ibarrier = [](MPI_Comm, MPI_Request *request) {
        *request = MPI_REQUEST_NULL;
        return int{MPI_SUCCESS};
    };
    receive_of_fake = table.Irecv;
    table.Irecv = [](void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                     MPI_Request *request) {
        const auto refuses = refuses_receive.load();
        return refuses != nullptr && refuses(tag) ? int{MPI_ERR_OTHER}
                                                  : receive_of_fake(buffer, count, type, from, tag, comm, request);
    };
    send_of_fake = table.Isend;
    table.Isend = &send_or_fail;
}

// The library on the fake MPI, and one segment that is reached by messages, or as memory is elsewhere.
class one_process : public ::testing::Test {
protected:
    static constexpr std::size_t bytes = 100'000;

    explicit one_process(const char *how = "messages") {
        setenv("THENCE_ONESIDED", how, 1);
        library_.emplace(variant{"opal_hook", "testsome", with_hook(), true});
        install_collectives();
        world.handler = MPI_ERRORS_RETURN;
        EXPECT_EQ(thence_space_create(MPI_COMM_WORLD, 2, &space), MPI_SUCCESS);
        EXPECT_EQ(thence_segment_create(space, bytes, 8, &segment), MPI_SUCCESS);
    }
    ~one_process() override {
        instead_of_send = nullptr;
        refuses_receive = nullptr;
        world.take_reported(); // each test looks at the codes itself
        EXPECT_EQ(thence_segment_free(&segment), MPI_SUCCESS);
        EXPECT_EQ(thence_space_free(&space), MPI_SUCCESS);
        library_.reset();
        unsetenv("THENCE_ONESIDED");
    }
    static features with_hook() {
        features made;
        made.opal_progress = true;
        return made;
    }
    onesided::space &inside() const { return *onesided::object_of(space); }
    int queue_size(int queue = 0) const {
        int count = -1;
        EXPECT_EQ(thence_queue_size(space, queue, &count), MPI_SUCCESS);
        return count;
    }
    std::uint32_t value_of(unsigned notification) const {
        std::uint32_t value = 0;
        EXPECT_EQ(thence_notification_reset(segment, notification, &value), MPI_SUCCESS);
        return value;
    }

    std::optional<library> library_;
    thence_space space = nullptr;
    thence_segment segment = nullptr;
    std::array<unsigned char, bytes> local{};
};

} // namespace thence::fake
