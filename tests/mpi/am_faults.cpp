// SPDX-License-Identifier: BSD-3-Clause
// Wrong arguments of the calls for active messages are refused before anything is sent.
#include <thence/am.h>

#include <gtest/gtest.h>

#include <climits>
#include <string>
#include <vector>

namespace {

class am_faults : public ::testing::Test {
protected:
    void SetUp() override {
        MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, thence_errors_return());
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        ASSERT_EQ(thence_am_create(MPI_COMM_WORLD, nullptr, 0, &am), MPI_SUCCESS);
        ASSERT_EQ(thence_am_register(am, 1, &count, &handled, 0), MPI_SUCCESS);
    }
    void TearDown() override {
        if (am != nullptr) {
            EXPECT_EQ(thence_am_free(&am), MPI_SUCCESS);
        }
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
        MPI_Errhandler_free(&before);
    }
    // Nothing was sent by what was refused.
    void expect_none_sent() const {
        thence_am_info info{};
        ASSERT_EQ(thence_am_query(am, &info, sizeof info), MPI_SUCCESS);
        EXPECT_EQ(info.sent, 0U);
        EXPECT_EQ(info.packets, 0U);
    }
    static void expect(int code, int error_class, const std::string &text) {
        int found = MPI_SUCCESS;
        MPI_Error_class(code, &found);
        EXPECT_EQ(found, error_class) << text;
        char message[MPI_MAX_ERROR_STRING];
        int length = 0;
        MPI_Error_string(code, message, &length);
#if !defined(MPICH_NUMVERSION) || MPICH_NUMVERSION >= 40100000 // MPICH 4.0 returns wrong texts
        EXPECT_NE(std::string(message).find(text), std::string::npos) << message;
#endif
    }
    static int count(const thence_am_message *, void *data) {
        ++*static_cast<int *>(data);
        return MPI_SUCCESS;
    }

    MPI_Errhandler before = MPI_ERRHANDLER_NULL;
    int rank = 0;
    int size = 1;
    thence_am am = nullptr;
    int handled = 0;
};

TEST_F(am_faults, numbers_of_handlers) {
    expect(thence_am_register(am, 1, &count, nullptr, 0), MPI_ERR_ARG, "registered under this number already");
    expect(thence_am_register(am, -1, &count, nullptr, 0), MPI_ERR_ARG, "number is not one from 0");
    expect(thence_am_register(am, THENCE_AM_MOST_HANDLERS, &count, nullptr, 0), MPI_ERR_ARG,
           "number is not one from 0");
    expect(thence_am_register(am, 2, nullptr, nullptr, 0), MPI_ERR_ARG, "handler is null");
    expect(thence_am_register(am, 2, &count, nullptr, 64), MPI_ERR_ARG, "flags has bits");
    expect(thence_am_register(nullptr, 2, &count, nullptr, 0), MPI_ERR_ARG, "am is null");
    for (const int number : {-1, 2, THENCE_AM_MOST_HANDLERS}) {
        expect(thence_am_send(am, 0, number, nullptr, 0), MPI_ERR_ARG, "no handler is registered under this number");
    }
    expect_none_sent();
}

void note(int, void *calls) {
    ++*static_cast<int *>(calls);
}

TEST_F(am_faults, messages) {
    const std::vector<char> much(3841);
    int sent = 7;
    expect(thence_am_send(am, 0, 1, much.data(), much.size()), MPI_ERR_COUNT, "longer than max_payload");
    expect(thence_am_send(am, -1, 1, nullptr, 0), MPI_ERR_RANK, "no such rank");
    expect(thence_am_send(am, size, 1, nullptr, 0), MPI_ERR_RANK, "no such rank");
    expect(thence_am_send(am, 0, 1, nullptr, 8), MPI_ERR_ARG, "payload is null");
    expect(thence_am_send(nullptr, 0, 1, nullptr, 0), MPI_ERR_ARG, "am is null");
    expect(thence_am_try_send(am, 0, 1, nullptr, 0, nullptr), MPI_ERR_ARG, "sent is null");
    expect(thence_am_try_send(am, size, 1, nullptr, 0, &sent), MPI_ERR_RANK, "no such rank");
    expect(thence_am_try_send(am, 0, 1, much.data(), much.size(), &sent), MPI_ERR_COUNT, "longer than max_payload");
    EXPECT_EQ(sent, 7);
    expect(thence_am_send_then(am, 0, 1, nullptr, 0, nullptr, nullptr), MPI_ERR_ARG, "done is null");
    int calls = 0;
    expect(thence_am_send_then(am, 0, 1, much.data(), much.size(), &note, &calls), MPI_ERR_COUNT,
           "longer than max_payload");
    EXPECT_EQ(calls, 0);
    expect_none_sent();
    EXPECT_EQ(thence_am_send(am, rank, 1, much.data(), 3840), MPI_SUCCESS); // the longest
    EXPECT_EQ(thence_am_quiesce(am), MPI_SUCCESS);
    EXPECT_EQ(handled, 1);
}

TEST_F(am_faults, transfers) {
    char bytes[16] = {};
    int calls = 0; // of `done`
    thence_am_memory memory{};
    expect(thence_am_memory_register(am, nullptr, 8, &memory), MPI_ERR_ARG, "pointer to the data is null");
    expect(thence_am_memory_register(am, bytes, 8, nullptr), MPI_ERR_ARG, "memory is null");
    ASSERT_EQ(thence_am_memory_register(am, bytes, sizeof bytes, &memory), MPI_SUCCESS);
    const auto put = [&](const thence_am_memory *to, std::size_t offset, std::size_t length, const void *from,
                         int number) {
        return thence_am_put(am, from, length, to, offset, number, nullptr, 0, nullptr, nullptr);
    };
    expect(put(&memory, 9, 8, bytes, THENCE_AM_NO_HANDLER), MPI_ERR_ARG, "beyond the end");
    expect(put(&memory, SIZE_MAX, 8, bytes, THENCE_AM_NO_HANDLER), MPI_ERR_ARG, "beyond the end");
    expect(put(&memory, 0, 8, nullptr, THENCE_AM_NO_HANDLER), MPI_ERR_ARG, "pointer to the data is null");
    expect(put(&memory, 0, 8, bytes, 5), MPI_ERR_ARG, "no handler is registered");
    expect(put(nullptr, 0, 8, bytes, 1), MPI_ERR_ARG, "memory is null");
    thence_am_memory large = memory;
    large.bytes = SIZE_MAX;
    expect(put(&large, 0, std::size_t{INT_MAX} + 1, bytes, THENCE_AM_NO_HANDLER), MPI_ERR_COUNT, "2 GiB");
    thence_am_memory elsewhere = memory;
    elsewhere.rank = size;
    expect(put(&elsewhere, 0, 8, bytes, THENCE_AM_NO_HANDLER), MPI_ERR_RANK, "no such rank");
    const std::vector<char> much(3841);
    expect(thence_am_put(am, bytes, 8, &memory, 0, 1, much.data(), much.size(), &note, &calls), MPI_ERR_COUNT,
           "longer than max_payload");
    expect(thence_am_put(am, bytes, 8, &memory, 0, 1, nullptr, 8, &note, &calls), MPI_ERR_ARG, "payload is null");
    expect(thence_am_get(am, bytes, 8, &memory, 9, &note, &calls), MPI_ERR_ARG, "beyond the end");
    expect(thence_am_get(am, bytes, 8, &memory, 0, nullptr, nullptr), MPI_ERR_ARG, "done is null");
    expect(thence_am_memory_forget(am, nullptr), MPI_ERR_ARG, "memory is null");
    ASSERT_EQ(thence_am_memory_forget(am, &memory), MPI_SUCCESS);
    expect(thence_am_memory_forget(am, &memory), MPI_ERR_ARG, "has forgotten it");
    EXPECT_EQ(calls, 0);
    expect_none_sent();
}

TEST_F(am_faults, options_and_the_rest) {
    thence_am other = nullptr;
    thence_am_options options{};
    expect(thence_am_create(MPI_COMM_NULL, nullptr, 0, &other), MPI_ERR_COMM, "comm is null");
    expect(thence_am_create(MPI_COMM_WORLD, nullptr, 0, nullptr), MPI_ERR_ARG, "am is null");
    expect(thence_am_create(MPI_COMM_WORLD, &options, 3, &other), MPI_ERR_ARG, "size is not that of");
    options.flags = THENCE_AM_ONE_THREAD | THENCE_AM_HELPER;
    expect(thence_am_create(MPI_COMM_WORLD, &options, sizeof options, &other), MPI_ERR_UNSUPPORTED_OPERATION,
           "THENCE_AM_HELPER");
    if (size > 1) {
        options = {};
        options.window = 4 + rank;
        expect(thence_am_create(MPI_COMM_WORLD, &options, sizeof options, &other), MPI_ERR_ARG,
               "differ between processes");
        options.window = rank == 1 ? 1 : 4; // one process is refused, and so are all
        int error_class = 0;
        MPI_Error_class(thence_am_create(MPI_COMM_WORLD, &options, sizeof options, &other), &error_class);
        EXPECT_EQ(error_class, MPI_ERR_ARG);
    }
    EXPECT_EQ(other, nullptr);
    expect(thence_am_release(am), MPI_ERR_ARG, "nothing is held");
    expect(thence_am_progress(nullptr, nullptr), MPI_ERR_ARG, "am is null");
    expect(thence_am_hold(nullptr), MPI_ERR_ARG, "am is null");
    expect(thence_am_quiesce_then(am, nullptr, nullptr), MPI_ERR_ARG, "done is null");
    thence_am_info info{};
    expect(thence_am_query(am, nullptr, sizeof info), MPI_ERR_ARG, "info is null");
    expect(thence_am_query(am, &info, 8), MPI_ERR_ARG, "size is smaller");
    expect(thence_am_free(nullptr), MPI_ERR_ARG, "am is null");
    expect(thence_am_free(&other), MPI_ERR_ARG, "am is null");
}

// The text names the option and its range. What is just inside is accepted.
TEST_F(am_faults, ranges_of_options) {
    thence_am other = nullptr;
    const auto refuse = [&](const thence_am_options &options, const std::string &text) {
        expect(thence_am_create(MPI_COMM_WORLD, &options, sizeof options, &other), MPI_ERR_ARG, text);
        EXPECT_EQ(other, nullptr);
    };
    const auto accept = [&](const thence_am_options &options) {
        EXPECT_EQ(thence_am_create(MPI_COMM_WORLD, &options, sizeof options, &other), MPI_SUCCESS);
        EXPECT_EQ(thence_am_free(&other), MPI_SUCCESS);
    };
    thence_am_options options{};
    for (const int window : {-1, 1, 32768}) {
        options.window = window;
        refuse(options, "window of the options is not 2 to 32767");
    }
    options.window = 2;
    accept(options);
    options = {};
    for (const int receives : {-1, 4097}) {
        options.receives = receives;
        refuse(options, "receives of the options is not 1 to 4096");
    }
    options.receives = 1;
    accept(options);
    options = {};
    options.max_outgoing = -1;
    refuse(options, "max_outgoing of the options is not 1 or more");
    options = {};
    options.max_payload = (std::size_t{1} << 20) + 1;
    refuse(options, "max_payload of the options is more than 1048576 bytes");
    --options.max_payload;
    accept(options);
    options = {};
    options.flags = 4;
    refuse(options, "flags of the options has bits");
}

// A handler and a callback of a continuation must not wait; they are told so.
TEST_F(am_faults, waits_in_callbacks) {
    static int codes[2];
    ASSERT_EQ(thence_am_register(
                  am, 3,
                  [](const thence_am_message *m, void *) -> int {
                      thence_am freed = m->am;
                      codes[0] = thence_am_quiesce(m->am);
                      codes[1] = thence_am_free(&freed);
                      return MPI_SUCCESS;
                  },
                  nullptr, 0),
              MPI_SUCCESS);
    ASSERT_EQ(thence_am_send(am, rank, 3, nullptr, 0), MPI_SUCCESS);
    ASSERT_EQ(thence_am_quiesce(am), MPI_SUCCESS);
    expect(codes[0], MPI_ERR_PENDING, "must not wait");
    expect(codes[1], MPI_ERR_PENDING, "must not wait");
}

} // namespace
