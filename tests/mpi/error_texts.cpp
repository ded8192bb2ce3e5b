// SPDX-License-Identifier: BSD-3-Clause
// A refused call returns a code whose class is documented and whose text names call, argument and reason as the user
// wrote them.
#include "error_texts.hpp"

#include <thence/error.hpp>
#include <thence/mpix_continue.h>

#include <string>
#include <vector>

namespace {

class error_texts : public mpi_test {
protected:
    void SetUp() override {
        mpi_test::SetUp();
        MPI_Irecv(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
        thence_cr_create(0, -1, MPI_INFO_NULL, &freed);
        MPI_Request copy = freed;
        thence_free(&copy);
    }
    void TearDown() override {
        MPI_Cancel(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        mpi_test::TearDown();
    }
    int attach(int count, MPI_Request *requests, thence_callback *function, unsigned flags, MPI_Request to,
               int *flag_) {
        return thence_attach(count, requests, function, nullptr, flags, MPI_STATUSES_IGNORE, to, flag_);
    }
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Request freed = MPI_REQUEST_NULL;
    int value = 0;
    int flag = 0;
    static int callback(int, MPI_Status *, void *) { return MPI_SUCCESS; }
};

const std::string is_freed = " is a continuation request that was freed";
const std::string no_cr = " is no continuation request, but MPI_REQUEST_NULL or a request of MPI's own";

TEST_F(error_texts, create) {
    MPI_Request made = MPI_REQUEST_NULL;
    const std::string call = "thence_cr_create: ";
    expect(MPI_ERR_ARG, call + "cr is null", thence_cr_create(0, -1, MPI_INFO_NULL, nullptr));
    expect(MPI_ERR_ARG, call + "flags has bits that are no option of a continuation request",
           thence_cr_create(1U << 30, -1, MPI_INFO_NULL, &made));
    expect(MPI_ERR_ARG, call + "max_poll is below -1", thence_cr_create(0, -2, MPI_INFO_NULL, &made));
    expect(MPI_ERR_INFO_VALUE, call + "max_poll is 0 together with poll-only: no continuation could ever run",
           thence_cr_create(THENCE_CR_POLL_ONLY, 0, MPI_INFO_NULL, &made));
    expect(MPI_ERR_ARG, "MPIX_Continue_init: cont_req is null", MPIX_Continue_init(nullptr, MPI_INFO_NULL));
}

TEST_F(error_texts, too_many) {
    std::vector<MPI_Request> all;
    int code = MPI_SUCCESS;
    while (code == MPI_SUCCESS && all.size() < 70'000) {
        all.push_back(MPI_REQUEST_NULL);
        code = thence_cr_create(0, -1, MPI_INFO_NULL, &all.back());
    }
    expect(MPI_ERR_NO_MEM, "thence_cr_create: 65536 continuation requests exist", code);
    all.pop_back();
    for (MPI_Request &each : all) {
        thence_free(&each);
    }
}

TEST_F(error_texts, attach) {
    const std::string call = "thence_attach: ";
    expect(MPI_ERR_REQUEST, call + "cr" + is_freed, attach(1, &request, &callback, 0, freed, &flag));
    expect(MPI_ERR_ARG, call + "count is negative", attach(-1, &request, &callback, 0, cr, &flag));
    expect(MPI_ERR_ARG, call + "requests is null", attach(1, nullptr, &callback, 0, cr, &flag));
    expect(MPI_ERR_ARG, call + "callback is null", attach(1, &request, nullptr, 0, cr, &flag));
    expect(MPI_ERR_ARG, call + "flag is null without THENCE_CR_ENQUEUE_COMPLETE or THENCE_MAY_RUN",
           attach(1, &request, &callback, 0, cr, nullptr));
    expect(MPI_ERR_ARG, call + "flags has bits that are no option of a continuation",
           attach(1, &request, &callback, 1U << 30, cr, &flag));
    MPI_Request requests[] = {cr, freed};
    expect(MPI_ERR_REQUEST, call + "cr is in requests, and would wait for itself",
           attach(1, requests, &callback, 0, cr, &flag));
    expect(MPI_ERR_REQUEST, call + "requests has a continuation request that was freed",
           attach(1, requests + 1, &callback, 0, cr, &flag));
    const auto each = [](int, int, MPI_Status *, void *) { return int{MPI_SUCCESS}; };
    expect(MPI_ERR_ARG, "thence_attach_each: indices is null without THENCE_CR_ENQUEUE_COMPLETE or THENCE_MAY_RUN",
           thence_attach_each(1, &request, each, nullptr, 0, MPI_STATUSES_IGNORE, cr, &flag, nullptr));
    expect(MPI_ERR_ARG, "thence_attach_copy: data is null although size is not 0",
           thence_attach_copy(1, &request, &callback, nullptr, 1, 0, MPI_STATUSES_IGNORE, cr, &flag));
}

TEST_F(error_texts, calls_of_the_paper_have_its_names_of_arguments) {
    const auto function = [](MPI_Status *, void *) {};
    const auto one = [&](MPI_Request *operation, MPIX_Continue_cb_function *cb, int *result, MPI_Request to) {
        return MPIX_Continue(operation, result, cb, nullptr, MPI_STATUS_IGNORE, to);
    };
    const std::string call = "MPIX_Continue: ";
    expect(MPI_ERR_REQUEST, call + "cont_req" + is_freed, one(&request, function, &flag, freed));
    expect(MPI_ERR_REQUEST, call + "cont_req" + no_cr, one(&request, function, &flag, MPI_REQUEST_NULL));
    expect(MPI_ERR_ARG, call + "op_request is null", one(nullptr, function, &flag, cr));
    expect(MPI_ERR_ARG, call + "cb is null", one(&request, nullptr, &flag, cr));
    expect(MPI_ERR_ARG, call + "flag is null without mpi_continue_enqueue_complete in the info of cont_req",
           one(&request, function, nullptr, cr));
    expect(MPI_ERR_REQUEST, call + "cont_req is in op_request, and would wait for itself",
           one(&cr, function, &flag, cr));
    const auto all = [&](int count, MPI_Request *operations) {
        return MPIX_Continueall(count, operations, &flag, function, nullptr, MPI_STATUSES_IGNORE, cr);
    };
    expect(MPI_ERR_ARG, "MPIX_Continueall: count is negative", all(-1, &request));
    expect(MPI_ERR_ARG, "MPIX_Continueall: op_requests is null", all(1, nullptr));
    expect(MPI_ERR_REQUEST, "MPIX_Continueall: op_requests has a continuation request that was freed", all(1, &freed));
}

TEST_F(error_texts, calls_on_one_cr) {
    void *data = nullptr;
    int count = 1;
    expect(MPI_ERR_ARG, "thence_test: cr is null", thence_test(nullptr, &flag, MPI_STATUS_IGNORE));
    expect(MPI_ERR_REQUEST, "thence_test: cr" + no_cr, thence_test(&request, &flag, MPI_STATUS_IGNORE));
    expect(MPI_ERR_ARG, "thence_test: flag is null", thence_test(&cr, nullptr, MPI_STATUS_IGNORE));
    expect(MPI_ERR_ARG, "thence_wait: cr is null", thence_wait(nullptr, MPI_STATUS_IGNORE));
    expect(MPI_ERR_REQUEST, "thence_wait: cr" + is_freed, thence_wait(&freed, MPI_STATUS_IGNORE));
    expect(MPI_ERR_ARG, "thence_take_complete: request is null",
           thence_take_complete(nullptr, &flag, MPI_STATUS_IGNORE));
    expect(MPI_ERR_ARG, "thence_take_complete: flag is null",
           thence_take_complete(&request, nullptr, MPI_STATUS_IGNORE));
    expect(MPI_ERR_ARG, "thence_start: cr is null", thence_start(nullptr));
    expect(MPI_ERR_REQUEST, "thence_free: cr" + is_freed, thence_free(&freed));
    expect(MPI_ERR_REQUEST, "thence_cancel: cr" + is_freed, thence_cancel(&freed));
    expect(MPI_ERR_REQUEST, "thence_get_failed: cr" + is_freed, thence_get_failed(freed, &count, &data));
    expect(MPI_ERR_ARG, "thence_get_failed: count is null", thence_get_failed(cr, nullptr, &data));
    count = -1;
    expect(MPI_ERR_ARG, "thence_get_failed: the capacity in count is negative", thence_get_failed(cr, &count, &data));
    count = 1;
    expect(MPI_ERR_ARG, "thence_get_failed: data is null although the capacity in count is not 0",
           thence_get_failed(cr, &count, nullptr));
    thence_cr_info info{};
    const std::string small = ": size is smaller than the first version of the struct: pass its sizeof";
    expect(MPI_ERR_ARG, "thence_cr_query: info is null", thence_cr_query(cr, nullptr, sizeof info));
    expect(MPI_ERR_ARG, "thence_cr_query" + small, thence_cr_query(cr, &info, 0));
    expect(MPI_ERR_ARG, "thence_progress_some: count is null", thence_progress_some(nullptr));
    thence_info facts{};
    expect(MPI_ERR_ARG, "thence_query: info is null", thence_query(nullptr, sizeof facts));
    expect(MPI_ERR_ARG, "thence_query" + small, thence_query(&facts, sizeof facts - 1));
    thence_stats_info stats{};
    expect(MPI_ERR_ARG, "thence_stats_query: info is null", thence_stats_query(nullptr, sizeof stats));
    expect(MPI_ERR_ARG, "thence_stats_query" + small, thence_stats_query(&stats, sizeof stats - 1));
    MPI_Request startable = MPI_REQUEST_NULL;
    thence_cr_create(THENCE_CR_NEEDS_START, -1, MPI_INFO_NULL, &startable);
    thence_start(&startable);
    expect(MPI_ERR_REQUEST, "thence_start: cr is a continuation request that is started already",
           thence_start(&startable));
    thence_free(&startable);
}

TEST_F(error_texts, wait_that_only_its_own_callback_could_end) {
    struct waiting {
        MPI_Request cr;
        int code = MPI_SUCCESS;
    } self{cr};
    const auto wait_inside = [](int, MPI_Status *, void *data) {
        auto &inside = *static_cast<waiting *>(data);
        inside.code = thence_wait(&inside.cr, MPI_STATUS_IGNORE);
        return int{MPI_SUCCESS};
    };
    MPI_Request another = MPI_REQUEST_NULL;
    MPI_Irecv(&value, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &another);
    thence_attach(1, &another, wait_inside, &self, 0, MPI_STATUS_IGNORE, cr, &flag);
    ASSERT_EQ(0, flag);
    MPI_Send(&rank, 1, MPI_INT, 0, 2, MPI_COMM_SELF);
    wait();
    expect(
        MPI_ERR_PENDING,
        "thence_wait: called inside a callback, and only the return of that callback lets the remaining continuations "
        "run",
        self.code);
}

// Calls on one request that is a CR.
TEST_F(error_texts, interposed_calls_name_themselves) {
    expect(MPI_ERR_REQUEST, "MPI_Test: request" + is_freed, MPI_Test(&freed, &flag, MPI_STATUS_IGNORE));
    expect(MPI_ERR_ARG, "MPI_Test: flag is null", MPI_Test(&cr, nullptr, MPI_STATUS_IGNORE));
    expect(MPI_ERR_REQUEST, "MPI_Wait: request" + is_freed, MPI_Wait(&freed, MPI_STATUS_IGNORE));
    expect(MPI_ERR_REQUEST, "MPI_Start: request" + is_freed, MPI_Start(&freed));
    expect(MPI_ERR_REQUEST, "MPI_Request_free: request" + is_freed, MPI_Request_free(&freed));
    expect(MPI_ERR_REQUEST, "MPI_Cancel: request" + is_freed, MPI_Cancel(&freed));
    expect(MPI_ERR_REQUEST, "MPI_Request_get_status: request" + is_freed,
           MPI_Request_get_status(freed, &flag, MPI_STATUS_IGNORE));
    expect(MPI_ERR_ARG, "MPI_Request_get_status: flag is null", MPI_Request_get_status(cr, nullptr, MPI_STATUS_IGNORE));
}

// Calls on several requests, of which one is a CR that was freed. Some return MPI_ERR_IN_STATUS, and the code of the
// entry in its status.
TEST_F(error_texts, interposed_calls_on_arrays_name_the_entry) {
    MPI_Request all[] = {request, freed};
    MPI_Status statuses[2];
    int index = 0;
    int number = 0;
    int indices[2];
    const std::string second = ": array_of_requests[1]" + is_freed;
    const auto expect_in_status = [&](const char *call, int entry, int code) {
        EXPECT_EQ(MPI_ERR_IN_STATUS, class_of(code)) << call;
        expect(MPI_ERR_REQUEST, call + second, statuses[entry].MPI_ERROR);
    };
    expect(MPI_ERR_REQUEST, "MPI_Testany" + second, MPI_Testany(2, all, &index, &flag, statuses));
    expect(MPI_ERR_REQUEST, "MPI_Waitany" + second, MPI_Waitany(2, all, &index, statuses));
    expect_in_status("MPI_Testsome", 0, MPI_Testsome(2, all, &number, indices, statuses));
    expect_in_status("MPI_Waitsome", 0, MPI_Waitsome(2, all, &number, indices, statuses));
    expect(MPI_ERR_REQUEST, "MPI_Testall" + second, MPI_Testall(2, all, &flag, statuses));
    all[0] = MPI_REQUEST_NULL;
    expect_in_status("MPI_Waitall", 1, MPI_Waitall(2, all, statuses));
#if defined(THENCE_MPI_GET_STATUS_FORMS)
    expect(MPI_ERR_REQUEST, "MPI_Request_get_status_any" + second,
           MPI_Request_get_status_any(2, all, &index, &flag, statuses));
    expect(MPI_ERR_REQUEST, "MPI_Request_get_status_some" + second,
           MPI_Request_get_status_some(2, all, &number, indices, statuses));
    expect(MPI_ERR_REQUEST, "MPI_Request_get_status_all" + second, MPI_Request_get_status_all(2, all, &flag, statuses));
#endif
}

TEST_F(error_texts, startall_names_the_entry_and_its_reason) {
    const std::string call = "MPI_Startall: array_of_requests";
    MPI_Request all[] = {cr, cr, freed};
    expect(MPI_ERR_REQUEST, call + "[2]" + is_freed, MPI_Startall(3, all));
    MPI_Request startable[] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    for (MPI_Request &each : startable) {
        thence_cr_create(THENCE_CR_NEEDS_START, -1, MPI_INFO_NULL, &each);
    }
    thence_start(&startable[1]);
    all[0] = startable[0];
    all[2] = startable[1];
    expect(MPI_ERR_REQUEST, call + "[2] is a continuation request that is started already", MPI_Startall(3, all));
    all[1] = startable[0];
    expect(MPI_ERR_REQUEST, call + "[1] is a continuation request that is there twice", MPI_Startall(2, all));
    for (MPI_Request &each : startable) {
        thence_free(&each);
    }
}

TEST_F(error_texts, null_pointers_beside_a_cr) {
    MPI_Request all[] = {cr};
    int index = 0;
    const std::string among = " is null, and the requests have a continuation request";
    expect(MPI_ERR_ARG, "MPI_Testany: index" + among, MPI_Testany(1, all, nullptr, &flag, MPI_STATUS_IGNORE));
    expect(MPI_ERR_ARG, "MPI_Testany: flag" + among, MPI_Testany(1, all, &index, nullptr, MPI_STATUS_IGNORE));
    expect(MPI_ERR_ARG, "MPI_Waitany: index" + among, MPI_Waitany(1, all, nullptr, MPI_STATUS_IGNORE));
    expect(MPI_ERR_ARG, "MPI_Waitsome: outcount" + among, MPI_Waitsome(1, all, nullptr, &index, MPI_STATUSES_IGNORE));
    expect(MPI_ERR_ARG, "MPI_Testsome: array_of_indices" + among,
           MPI_Testsome(1, all, &index, nullptr, MPI_STATUSES_IGNORE));
    if (MPI_STATUSES_IGNORE != nullptr) { // otherwise a null pointer is MPI_STATUSES_IGNORE
        expect(MPI_ERR_ARG, "MPI_Waitall: array_of_statuses" + among, MPI_Waitall(1, all, nullptr));
    }
}

TEST_F(error_texts, exceptions_carry_them) {
    const thence::error thrown("doing something", thence_progress_some(nullptr));
    EXPECT_EQ(MPI_ERR_ARG, thrown.error_class());
    if (mpi_keeps_texts()) {
        EXPECT_STREQ("doing something: thence_progress_some: count is null", thrown.what());
    }
}

} // namespace
