// SPDX-License-Identifier: BSD-3-Clause
// One-sided communication of one process with itself, by messages of the fake MPI, whose sends fail when a test says
// so.
#pragma once

#include "core/mpi/calls.hpp"
#include "library.hpp"
#include "onesided/checks.hpp"

#include <thence/notify.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>

namespace thence::fake {

// Called in place of MPI_Isend, if it is set.
inline std::function<int(const void *, int, int tag, MPI_Comm, MPI_Request *)> instead_of_send;
inline decltype(thence::mpi::table.Isend) send_of_fake = nullptr;
// True: a receive with this tag does not start.
inline bool (*refuses_receive)(int tag) = nullptr;
inline decltype(thence::mpi::table.Irecv) receive_of_fake = nullptr;

inline int send_or_fail(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                        MPI_Request *request) {
    return instead_of_send ? instead_of_send(buffer, count, tag, comm, request)
                           : send_of_fake(buffer, count, type, to, tag, comm, request);
}

// Collective calls of one process.
inline void install_collectives() {
    auto &table = thence::mpi::table;
    table.Comm_size = [](MPI_Comm, int *size) {
        *size = 1;
        return int{MPI_SUCCESS};
    };
    table.Comm_test_inter = [](MPI_Comm, int *flag) {
        *flag = 0;
        return int{MPI_SUCCESS};
    };
    table.Iallgather = [](const void *from, int count, MPI_Datatype, void *to, int, MPI_Datatype, MPI_Comm,
                          MPI_Request *request) {
        std::memcpy(to, from, static_cast<std::size_t>(count));
        *request = MPI_REQUEST_NULL;
        return int{MPI_SUCCESS};
    };
    table.Ialltoall = table.Iallgather;
    table.Iallreduce = [](const void *from, void *to, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *request) {
        std::memcpy(to, from, sizeof(int));
        *request = MPI_REQUEST_NULL;
        return int{MPI_SUCCESS};
    };
    receive_of_fake = table.Irecv;
    table.Irecv = [](void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                     MPI_Request *request) {
        return refuses_receive != nullptr && refuses_receive(tag)
                   ? int{MPI_ERR_OTHER}
                   : receive_of_fake(buffer, count, type, from, tag, comm, request);
    };
    send_of_fake = table.Isend;
    table.Isend = &send_or_fail;
}

// The library on the fake MPI, and one segment that is reached by messages.
class one_process : public ::testing::Test {
protected:
    static constexpr std::size_t bytes = 100'000;

    one_process() {
        setenv("THENCE_ONESIDED", "messages", 1);
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
