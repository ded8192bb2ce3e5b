// SPDX-License-Identifier: BSD-3-Clause
// Streams and stream communicators on the real MPI, under MPICH's names.
#include "support.hpp"

#include <thence/mpix.h>

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

class streams : public ::testing::Test {
protected:
    streams() {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before_);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, errors_return());
    }
    ~streams() override { MPI_Comm_set_errhandler(MPI_COMM_WORLD, before_); }

    static MPIX_Stream create(MPI_Info info = MPI_INFO_NULL) {
        MPIX_Stream stream = MPIX_STREAM_NULL;
        EXPECT_EQ(MPIX_Stream_create(info, &stream), MPI_SUCCESS);
        EXPECT_NE(stream, MPIX_STREAM_NULL);
        return stream;
    }
    static MPI_Comm communicator(MPIX_Stream stream, MPI_Comm of = MPI_COMM_WORLD) {
        MPI_Comm comm = MPI_COMM_NULL;
        EXPECT_EQ(MPIX_Stream_comm_create(of, stream, &comm), MPI_SUCCESS);
        return comm;
    }
    static MPIX_Stream stream_of(MPI_Comm comm, int index = 0) {
        MPIX_Stream stream = -1;
        EXPECT_EQ(MPIX_Comm_get_stream(comm, index, &stream), MPI_SUCCESS);
        return stream;
    }
    static void free_all(MPI_Comm comm, MPIX_Stream stream) {
        EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
        EXPECT_EQ(MPIX_Stream_free(&stream), MPI_SUCCESS);
        EXPECT_EQ(stream, MPIX_STREAM_NULL);
    }
    // Each process sends its rank to the next one.
    void pass_around(MPI_Comm comm) const {
        int got = -1;
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 5, &got, 1, MPI_INT, (rank + size - 1) % size, 5, comm,
                     MPI_STATUS_IGNORE);
        EXPECT_EQ(got, (rank + size - 1) % size);
    }

    int rank = 0;
    int size = 1;

private:
    MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

TEST_F(streams, have_communicators_of_their_own) {
    const MPIX_Stream stream = create();
    const MPI_Comm comm = communicator(stream);
    int result = -1;
    MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
    EXPECT_EQ(result, MPI_CONGRUENT);
    EXPECT_EQ(stream_of(comm), stream);
    EXPECT_EQ(stream_of(comm, 1), MPIX_STREAM_NULL);
    EXPECT_EQ(stream_of(comm, -1), MPIX_STREAM_NULL);
    EXPECT_EQ(stream_of(MPI_COMM_WORLD), MPIX_STREAM_NULL);
    pass_around(comm);
    int sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    EXPECT_EQ(sum, size * (size - 1) / 2);
    free_all(comm, stream);
}

// Stock MPICH has none until MPIR_CVAR_CH4_RESERVE_VCIS is set, and 64 at most.
TEST_F(streams, never_run_short) {
    std::vector<MPIX_Stream> all;
    for (int i = 0; i < 1000; ++i) {
        all.push_back(create());
    }
    std::vector<MPI_Comm> comms;
    for (std::size_t i = 0; i < all.size(); i += 100) {
        comms.push_back(communicator(all[i]));
        EXPECT_EQ(stream_of(comms.back()), all[i]);
        pass_around(comms.back());
    }
    for (MPI_Comm &each : comms) {
        MPI_Comm_free(&each);
    }
    for (MPIX_Stream &each : all) {
        EXPECT_EQ(MPIX_Stream_free(&each), MPI_SUCCESS);
    }
}

TEST_F(streams, stay_with_copies_of_the_communicator) {
    const MPIX_Stream stream = create();
    MPI_Comm comm = communicator(stream);
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(comm, &copy);
    EXPECT_EQ(stream_of(copy), stream);
    MPI_Comm later = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_idup(copy, &later, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(stream_of(later), stream);
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(comm, 0, 0, &part);
    EXPECT_EQ(stream_of(part), MPIX_STREAM_NULL) << "MPI copies attributes to copies only";
    pass_around(later);
    MPI_Comm_free(&part);

    MPIX_Stream refused = stream;
    MPI_Comm_free(&comm);
    EXPECT_EQ(class_of(MPIX_Stream_free(&refused)), MPI_ERR_OTHER);
    MPI_Comm_free(&copy);
    EXPECT_EQ(class_of(MPIX_Stream_free(&refused)), MPI_ERR_OTHER);
    EXPECT_EQ(refused, stream) << "nothing has changed";
    free_all(later, stream);
}

TEST_F(streams, of_some_processes_may_be_null) {
    MPIX_Stream stream = rank % 2 == 0 ? create() : MPIX_STREAM_NULL;
    MPI_Comm comm = communicator(stream);
    EXPECT_EQ(stream_of(comm), stream);
    pass_around(comm);
    // A communicator without a stream, made from one that has one.
    MPI_Comm plain = communicator(MPIX_STREAM_NULL, comm);
    EXPECT_EQ(stream_of(plain), MPIX_STREAM_NULL);
    MPIX_Stream other = create();
    MPI_Comm second = communicator(other, comm);
    EXPECT_EQ(stream_of(second), other) << "and not the stream of the communicator that it was made from";
    MPI_Comm_free(&plain);
    free_all(second, other);
    MPI_Comm_free(&comm);
    if (stream != MPIX_STREAM_NULL) {
        EXPECT_EQ(MPIX_Stream_free(&stream), MPI_SUCCESS);
    }
}

TEST_F(streams, give_their_communicators_what_the_program_promises) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Info_set(info, "unknown_key", "1");
    const MPIX_Stream stream = create(info);
    MPI_Info_free(&info);
    const MPI_Comm comm = communicator(stream);
    MPI_Info used = MPI_INFO_NULL;
    MPI_Comm_get_info(comm, &used);
    char value[8] = {};
    int there = 0;
    MPI_Info_get(used, "mpi_assert_no_any_tag", 7, value, &there);
    if (there != 0) { // an MPI need not keep it
        EXPECT_STREQ(value, "true");
    }
    MPI_Info_free(&used);
    pass_around(comm);
    free_all(comm, stream);
}

TEST_F(streams, of_threads_do_not_meet) {
    int level = 0;
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_MULTIPLE || size < 2) {
        GTEST_SKIP() << "needs two processes and MPI_THREAD_MULTIPLE";
    }
    constexpr int threads = 4; // as in the paper: one stream communicator each, 100 characters
    std::array<MPIX_Stream, threads> all{};
    std::array<MPI_Comm, threads> comms{};
    for (std::size_t i = 0; i < threads; ++i) {
        all[i] = create();
        comms[i] = communicator(all[i]);
    }
    std::array<std::array<char, 100>, threads> buffers{};
    std::vector<std::thread> team;
    for (std::size_t i = 0; i < threads; ++i) {
        team.emplace_back([&, i] {
            if (rank == 0) {
                buffers[i].fill(static_cast<char>('a' + i));
                MPI_Send(buffers[i].data(), 100, MPI_CHAR, 1, 0, comms[i]);
            } else if (rank == 1) {
                MPI_Recv(buffers[i].data(), 100, MPI_CHAR, 0, MPI_ANY_TAG, comms[i], MPI_STATUS_IGNORE);
            }
        });
    }
    for (std::thread &each : team) {
        each.join();
    }
    for (std::size_t i = 0; i < threads; ++i) {
        if (rank < 2) {
            EXPECT_EQ(buffers[i][99], 'a' + static_cast<char>(i));
        }
        free_all(comms[i], all[i]);
    }
}

// The test mpi_streams_endpoints sets the variable, so there all tests of this file run on endpoints. MPICH has streams
// since 4.1, and endpoints with its device ch4.
TEST_F(streams, use_the_endpoints_that_mpich_reserves) {
    if (std::getenv("MPIR_CVAR_CH4_RESERVE_VCIS") == nullptr) {
        GTEST_SKIP() << "no endpoints are asked for";
    }
    const std::string library = library_version();
    const bool has_them =
        dlsym(RTLD_DEFAULT, "MPIX_Stream_create") != nullptr && library.find("ch4:") != std::string::npos;
    thence_extension_info row{};
    int index = 0;
    do {
        ASSERT_EQ(thence_extension_query(index++, &row, sizeof row), MPI_SUCCESS);
        ASSERT_NE(row.name, nullptr);
    } while (std::strcmp(row.name, "streams") != 0);
    EXPECT_STREQ(row.state, has_them ? "native" : "ours") << library;

    // One process declines them, so the communicator is none of an endpoint.
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "native", rank == 0 ? "false" : "true");
    const MPIX_Stream stream = create(info);
    MPI_Info_free(&info);
    const MPI_Comm comm = communicator(stream);
    pass_around(comm);
    free_all(comm, stream);
}

TEST_F(streams, refuse_wrong_arguments) {
    MPIX_Stream stream = create();
    MPIX_Stream none = MPIX_STREAM_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    EXPECT_EQ(class_of(MPIX_Stream_create(MPI_INFO_NULL, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPIX_Stream_free(nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPIX_Stream_free(&none)), MPI_ERR_ARG);
    MPIX_Stream other = static_cast<MPIX_Stream>(0xbc000001); // as those of MPICH
    EXPECT_EQ(class_of(MPIX_Stream_free(&other)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPIX_Stream_comm_create(MPI_COMM_WORLD, other, &comm)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPIX_Stream_comm_create(MPI_COMM_NULL, stream, &comm)), MPI_ERR_COMM);
    EXPECT_EQ(class_of(MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPIX_Comm_get_stream(MPI_COMM_NULL, 0, &other)), MPI_ERR_COMM);
    EXPECT_EQ(class_of(MPIX_Comm_get_stream(MPI_COMM_WORLD, 0, nullptr)), MPI_ERR_ARG);
    EXPECT_EQ(comm, MPI_COMM_NULL);
    MPIX_Stream freed = stream;
    EXPECT_EQ(MPIX_Stream_free(&stream), MPI_SUCCESS);
    EXPECT_EQ(class_of(MPIX_Stream_free(&freed)), MPI_ERR_ARG);
}

std::string hex_of(const void *bytes, int size) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    EXPECT_EQ(MPIX_Info_set_hex(info, "value", bytes, size), MPI_SUCCESS);
    char text[MPI_MAX_INFO_VAL + 1] = {};
    int there = 0;
    MPI_Info_get(info, "value", MPI_MAX_INFO_VAL, text, &there);
    MPI_Info_free(&info);
    EXPECT_EQ(there, 1);
    return text;
}

TEST_F(streams, hexadecimal_texts_are_those_of_mpich) {
    const unsigned char number[8] = {0x34, 0x12, 0, 0, 0, 0, 0, 0};
    EXPECT_EQ(hex_of(number, 8), "3412[6]");
    const unsigned char mixed[6] = {0, 0xab, 0, 0, 0xcd, 0};
    EXPECT_EQ(hex_of(mixed, 6), "00AB[2]CD00");
    const unsigned char zeros[2] = {0, 0};
    EXPECT_EQ(hex_of(zeros, 2), "[2]");
    MPI_Info info = MPI_INFO_NULL;
    EXPECT_EQ(class_of(MPIX_Info_set_hex(info, "value", number, 8)), MPI_ERR_INFO);
    MPI_Info_create(&info);
    EXPECT_EQ(class_of(MPIX_Info_set_hex(info, nullptr, number, 8)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPIX_Info_set_hex(info, "value", nullptr, 8)), MPI_ERR_ARG);
    EXPECT_EQ(class_of(MPIX_Info_set_hex(info, "value", number, -1)), MPI_ERR_ARG);
    const std::vector<unsigned char> long_value(2000, 1);
    EXPECT_EQ(class_of(MPIX_Info_set_hex(info, "value", long_value.data(), 2000)), MPI_ERR_INFO_VALUE);

    MPIX_Stream stream = MPIX_STREAM_NULL;
    MPI_Info_set(info, "type", "thence_queue");
    for (const char *wrong : {"12", "zz", "[999]", "[", "[16"}) {
        MPI_Info_set(info, "value", wrong);
        EXPECT_EQ(class_of(MPIX_Stream_create(info, &stream)), MPI_ERR_INFO_VALUE) << wrong;
    }
    const thence_queue empty{};
    MPIX_Info_set_hex(info, "value", &empty, sizeof empty);
    EXPECT_EQ(class_of(MPIX_Stream_create(info, &stream)), MPI_ERR_ARG) << "it has no table";
    EXPECT_EQ(stream, MPIX_STREAM_NULL);
    MPI_Info_set(info, "type", "something else");
    MPI_Info_set(info, "native", "perhaps");
    EXPECT_EQ(class_of(MPIX_Stream_create(info, &stream)), MPI_ERR_INFO_VALUE);
    MPI_Info_set(info, "native", "false");
    stream = create(info);
    MPIX_Stream_free(&stream);
    MPI_Info_free(&info);
}

} // namespace
