// SPDX-License-Identifier: BSD-3-Clause
// Interposed calls with a continuation request and a wrong argument: they return an error and change nothing.
#include "../support.hpp"

namespace {

class with_a_cr : public mpi_test {
protected:
    void SetUp() override {
        mpi_test::SetUp();
        ASSERT_EQ(MPI_SUCCESS, thence_cr_create(THENCE_CR_NEEDS_START, -1, MPI_INFO_NULL, &startable));
        MPI_Irecv(&value, 1, MPI_INT, 0, 1, comm, &request);
        seen.attach(request, cr);
        MPI_Recv_init(&another, 1, MPI_INT, 0, 2, comm, &persistent);
        all[0] = cr;
    }
    void TearDown() override {
        MPI_Send(&rank, 1, MPI_INT, 0, 1, comm);
        wait();
        EXPECT_EQ(1, seen.calls.load());
        MPI_Request_free(&persistent);
        thence_free(&startable);
        mpi_test::TearDown();
    }
    static bool has_started(MPI_Request handle) {
        if (thence_is_cr(handle) != 0) {
            thence_cr_info info{};
            thence_cr_query(handle, &info, sizeof info);
            return info.active != 0;
        }
        int flag = 0;
        PMPI_Request_get_status(handle, &flag, MPI_STATUS_IGNORE);
        return flag == 0;
    }
    // Starts both and expects that nothing has started.
    void expect_none_starts(MPI_Request first, MPI_Request second) {
        MPI_Request both[] = {first, second};
        EXPECT_EQ(MPI_ERR_REQUEST, class_of(MPI_Startall(2, both)));
        EXPECT_FALSE(has_started(startable));
        EXPECT_FALSE(has_started(persistent));
        EXPECT_EQ(first, both[0]);
        EXPECT_EQ(second, both[1]);
    }

    MPI_Request startable = MPI_REQUEST_NULL; // a CR
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Request persistent = MPI_REQUEST_NULL;
    MPI_Request all[1];
    int value = 0;
    int another = 0;
    outcome seen;
};

TEST_F(with_a_cr, output_pointers_that_are_null_are_refused) {
    int index = -1;
    int flag = -1;
    int number = -1;
    int indices[1] = {-1};
    MPI_Status status;
    const auto refused = [&](const char *call, int code) {
        EXPECT_EQ(MPI_ERR_ARG, class_of(code)) << call;
        EXPECT_EQ(-1, index) << call;
        EXPECT_EQ(-1, flag) << call;
        EXPECT_EQ(-1, number) << call;
        EXPECT_EQ(-1, indices[0]) << call;
        EXPECT_EQ(cr, all[0]) << call;
    };
    refused("Test", MPI_Test(all, nullptr, &status));
    refused("Testany, index", MPI_Testany(1, all, nullptr, &flag, &status));
    refused("Testany, flag", MPI_Testany(1, all, &index, nullptr, &status));
    refused("Waitany", MPI_Waitany(1, all, nullptr, &status));
    refused("Testsome, count", MPI_Testsome(1, all, nullptr, indices, &status));
    refused("Testsome, indices", MPI_Testsome(1, all, &number, nullptr, &status));
    refused("Waitsome, count", MPI_Waitsome(1, all, nullptr, indices, &status));
    refused("Waitsome, indices", MPI_Waitsome(1, all, &number, nullptr, &status));
    refused("Testall", MPI_Testall(1, all, nullptr, &status));
    refused("Request_get_status", MPI_Request_get_status(cr, nullptr, &status));
    if (MPI_STATUS_IGNORE != nullptr) { // otherwise a null pointer is MPI_STATUS_IGNORE
        refused("Test, status", MPI_Test(all, &flag, nullptr));
        refused("Wait, status", MPI_Wait(all, nullptr));
        refused("Request_get_status, status", MPI_Request_get_status(cr, &flag, nullptr));
        refused("Testany, status", MPI_Testany(1, all, &index, &flag, nullptr));
        refused("Waitany, status", MPI_Waitany(1, all, &index, nullptr));
        refused("Testsome, statuses", MPI_Testsome(1, all, &number, indices, nullptr));
        refused("Waitsome, statuses", MPI_Waitsome(1, all, &number, indices, nullptr));
        refused("Testall, statuses", MPI_Testall(1, all, &flag, nullptr));
        refused("Waitall, statuses", MPI_Waitall(1, all, nullptr));
#if defined(THENCE_MPI_GET_STATUS_FORMS)
        refused("Request_get_status_any, status", MPI_Request_get_status_any(1, all, &index, &flag, nullptr));
        refused("Request_get_status_some, statuses", MPI_Request_get_status_some(1, all, &number, indices, nullptr));
        refused("Request_get_status_all, statuses", MPI_Request_get_status_all(1, all, &flag, nullptr));
#endif
    }
#if defined(THENCE_MPI_GET_STATUS_FORMS)
    refused("Request_get_status_any, index", MPI_Request_get_status_any(1, all, nullptr, &flag, &status));
    refused("Request_get_status_any, flag", MPI_Request_get_status_any(1, all, &index, nullptr, &status));
    refused("Request_get_status_some, count", MPI_Request_get_status_some(1, all, nullptr, indices, &status));
    refused("Request_get_status_some, indices", MPI_Request_get_status_some(1, all, &number, nullptr, &status));
    refused("Request_get_status_all", MPI_Request_get_status_all(1, all, nullptr, &status));
#endif
}

TEST_F(with_a_cr, startall_starts_all) {
    MPI_Request both[] = {startable, persistent};
    ASSERT_EQ(MPI_SUCCESS, MPI_Startall(2, both));
    EXPECT_TRUE(has_started(both[0]));
    EXPECT_TRUE(has_started(both[1]));
    MPI_Send(&rank, 1, MPI_INT, 0, 2, comm);
    EXPECT_EQ(MPI_SUCCESS, MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
    EXPECT_FALSE(has_started(both[0]));
    persistent = both[1];
}

TEST_F(with_a_cr, startall_starts_none_if_one_is_wrong) {
    expect_none_starts(startable, MPI_REQUEST_NULL);
    expect_none_starts(MPI_REQUEST_NULL, startable);
    expect_none_starts(startable, startable);
    MPI_Request stale = MPI_REQUEST_NULL;
    thence_cr_create(0, -1, MPI_INFO_NULL, &stale);
    MPI_Request freed = stale;
    thence_free(&freed);
    expect_none_starts(startable, stale);
    expect_none_starts(persistent, stale);
    MPI_Request active = MPI_REQUEST_NULL;
    thence_cr_create(THENCE_CR_NEEDS_START, -1, MPI_INFO_NULL, &active);
    MPI_Start(&active);
    expect_none_starts(persistent, active);
    expect_none_starts(startable, active);
    thence_free(&active);
}

} // namespace
