// SPDX-License-Identifier: BSD-3-Clause
// What the tests on the real MPI share: a communicator and a continuation request of their own, and a record of what
// happened to one continuation.
#pragma once

#include <gtest/gtest.h>
#include <thence/thence.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

extern int asked_level; // the level that main() requires of MPI_Init_thread

inline int class_of(int code) {
    int result = MPI_SUCCESS;
    MPI_Error_class(code, &result);
    return result;
}

inline std::string library_version() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(text, &length);
    return text;
}

// The MPI that runs, which may be another than that of the header (standard ABI).
inline bool is_intel_mpi() {
    static const bool is = library_version().find("Intel") != std::string::npos;
    return is;
}

// False if this MPI and the header have different values for constants of the standard ABI. The library reports that.
inline bool constants_agree() {
#if !defined(MPI_H_ABI)
    return true;
#else
    static const bool result = [] {
        thence_info info{};
        thence_query(&info, sizeof info);
        return std::strchr(info.abi, ',') == nullptr;
    }();
    return result;
#endif
}
inline MPI_Errhandler errors_return() {
    return thence_errors_return();
}

inline void sleep_ms(int ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

// What happened to one continuation. It has ended `calls` times in a callback and `at_once` times with flag = 1.
struct outcome {
    std::atomic<int> calls{0};
    int at_once = 0;
    int error = MPI_SUCCESS;
    int code = MPI_SUCCESS;           // what the attaching call returned
    int result = MPI_SUCCESS;         // what the callback returns
    std::vector<MPI_Status> statuses; // one per operation

    int ended() const { return calls.load() + at_once; }

    static int callback(int error, MPI_Status *, void *data) {
        auto &self = *static_cast<outcome *>(data);
        self.error = error;
        self.calls.fetch_add(1);
        return self.result;
    }

    void attach(int count, MPI_Request requests[], MPI_Request cr, unsigned flags = 0) {
        statuses.resize(static_cast<std::size_t>(count));
        for (MPI_Status &status : statuses) {
            status.MPI_SOURCE = status.MPI_TAG = status.MPI_ERROR = -7777;
        }
        code = thence_attach(count, requests, &callback, this, flags, statuses.data(), cr, &at_once);
        if (at_once != 0) {
            error = code;
        }
    }
    void attach(MPI_Request &request, MPI_Request cr, unsigned flags = 0) { attach(1, &request, cr, flags); }

    int count(int i = 0, MPI_Datatype type = MPI_INT) const {
        int n = -1;
        MPI_Get_count(&statuses[static_cast<std::size_t>(i)], type, &n);
        return n;
    }
    bool cancelled(int i = 0) const {
        int flag = 0;
        MPI_Test_cancelled(&statuses[static_cast<std::size_t>(i)], &flag);
        return flag != 0;
    }
};

// A communicator where errors return, and a CR without options.
class mpi_test : public testing::Test {
protected:
    void SetUp() override {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, errors_return());
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        ASSERT_EQ(MPI_SUCCESS, thence_cr_create(0, -1, MPI_INFO_NULL, &cr));
    }
    void TearDown() override {
        EXPECT_EQ(0, registered(cr)) << "continuations are left after the test";
        EXPECT_EQ(MPI_SUCCESS, thence_free(&cr));
        EXPECT_EQ(MPI_REQUEST_NULL, cr);
        MPI_Comm_free(&comm);
    }

    // A CR with the info key mpi_continue_thread.
    static MPI_Request create_with_thread(const char *value) {
        MPI_Info info = MPI_INFO_NULL;
        MPI_Info_create(&info);
        MPI_Info_set(info, "mpi_continue_thread", value);
        MPI_Request created = MPI_REQUEST_NULL;
        EXPECT_EQ(MPI_SUCCESS, thence_cr_create(0, -1, info, &created));
        MPI_Info_free(&info);
        return created;
    }
    static long registered(MPI_Request request) {
        thence_cr_info info{};
        EXPECT_EQ(MPI_SUCCESS, thence_cr_query(request, &info, sizeof info));
        return info.registered;
    }
    // Waits for the CR, with and without interposition.
    void wait() { EXPECT_EQ(MPI_SUCCESS, thence_wait(&cr, MPI_STATUS_IGNORE)); }

    // An empty message: await() on rank `to` returns after tell() on rank `from`.
    void tell(int to) const { MPI_Send(nullptr, 0, MPI_INT, to, signal_tag, comm); }
    void await(int from) const { MPI_Recv(nullptr, 0, MPI_INT, from, signal_tag, comm, MPI_STATUS_IGNORE); }

    static constexpr int signal_tag = 30000;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Request cr = MPI_REQUEST_NULL;
    int rank = 0;
    int size = 0;
};
