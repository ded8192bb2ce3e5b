// SPDX-License-Identifier: BSD-3-Clause
// What the tests of one-sided communication share: a space over all ranks, and a segment in it.
#pragma once

#include "support.hpp"

#include <thence/notify.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

inline bool only_messages() {
    const char *const setting = std::getenv("THENCE_ONESIDED");
    return setting != nullptr && std::string_view(setting) == "messages";
}

// Whether a process is on the host of this one. Collective.
inline std::vector<bool> on_this_host() {
    int size = 1;
    int length = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    MPI_Get_processor_name(name.data(), &length);
    std::vector<std::array<char, MPI_MAX_PROCESSOR_NAME>> all(static_cast<std::size_t>(size));
    MPI_Allgather(name.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, all.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR,
                  MPI_COMM_WORLD);
    std::vector<bool> here;
    for (const auto &each : all) {
        here.push_back(each == name);
    }
    return here;
}

struct space_over_all {
    explicit space_over_all(int queues = 2) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        EXPECT_EQ(thence_space_create(MPI_COMM_WORLD, queues, &space), MPI_SUCCESS);
    }
    space_over_all(const space_over_all &) = delete;
    space_over_all &operator=(const space_over_all &) = delete;
    ~space_over_all() {
        EXPECT_EQ(thence_space_free(&space), MPI_SUCCESS);
        EXPECT_EQ(space, nullptr);
    }
    int next() const { return (rank + 1) % size; }
    int previous() const { return (rank + size - 1) % size; }

    thence_space space = nullptr;
    int rank = 0;
    int size = 1;
};

struct segment_of : space_over_all {
    segment_of(std::size_t bytes, unsigned notifications, int queues = 2) : space_over_all(queues) {
        EXPECT_EQ(thence_segment_create(space, bytes, notifications, &segment), MPI_SUCCESS);
        memory = static_cast<unsigned char *>(about(rank).memory);
    }
    ~segment_of() { EXPECT_EQ(thence_segment_free(&segment), MPI_SUCCESS); }

    thence_segment_info about(int of_rank) const {
        thence_segment_info info{};
        EXPECT_EQ(thence_segment_query(segment, of_rank, &info, sizeof info), MPI_SUCCESS);
        return info;
    }
    // Waits for one notification, and takes it.
    std::uint32_t await(unsigned notification) const {
        std::uint32_t value = 0;
        unsigned found = 0;
        EXPECT_EQ(thence_notification_wait(segment, notification, 1, &found), MPI_SUCCESS);
        EXPECT_EQ(found, notification);
        EXPECT_EQ(thence_notification_reset(segment, notification, &value), MPI_SUCCESS);
        return value;
    }

    thence_segment segment = nullptr;
    unsigned char *memory = nullptr;
};
