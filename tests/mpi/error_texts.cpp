// SPDX-License-Identifier: BSD-3-Clause
// A refused call returns a code whose class is documented and whose text names call and reason.
#include "support.hpp"

#include <thence/error.hpp>
#include <thence/mpix_continue.h>

#include <string>
#include <vector>

namespace {

std::string text_of(int code) {
    std::string text(MPI_MAX_ERROR_STRING + 1, '\0');
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    text.resize(static_cast<std::size_t>(length));
    return text;
}

// MPICH 4.0 gives a user's code of a predefined class the text of another error. There the class itself is returned.
bool mpi_keeps_texts() {
    static const bool result = [] {
        int code = MPI_SUCCESS;
        MPI_Add_error_code(MPI_ERR_ARG, &code);
        MPI_Add_error_string(code, "a text of this test");
        return text_of(code) == "a text of this test";
    }();
    return result;
}

void expect(int error_class, const std::string &text, int code) {
    EXPECT_EQ(error_class, class_of(code)) << text;
    if (mpi_keeps_texts()) {
        EXPECT_EQ(text, text_of(code));
    } else {
        EXPECT_EQ(error_class, code) << text;
    }
}

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

const std::string not_live =
    "no live continuation request: it was freed, or is MPI_REQUEST_NULL or a request of MPI's own";
const std::string null_pointer = "the pointer to the continuation request is null";

TEST_F(error_texts, create) {
    MPI_Request made = MPI_REQUEST_NULL;
    const std::string call = "thence_cr_create: ";
    expect(MPI_ERR_ARG, call + null_pointer, thence_cr_create(0, -1, MPI_INFO_NULL, nullptr));
    expect(MPI_ERR_ARG, call + "flags has bits that are no option of a continuation request",
           thence_cr_create(1U << 30, -1, MPI_INFO_NULL, &made));
    expect(MPI_ERR_ARG, call + "max_poll is below -1", thence_cr_create(0, -2, MPI_INFO_NULL, &made));
    expect(MPI_ERR_INFO_VALUE, call + "max_poll is 0 together with poll-only: no continuation could ever run",
           thence_cr_create(THENCE_CR_POLL_ONLY, 0, MPI_INFO_NULL, &made));
    expect(MPI_ERR_ARG, "MPIX_Continue_init: " + null_pointer, MPIX_Continue_init(nullptr, MPI_INFO_NULL));
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
    expect(MPI_ERR_REQUEST, call + not_live, attach(1, &request, &callback, 0, freed, &flag));
    expect(MPI_ERR_ARG, call + "count is negative", attach(-1, &request, &callback, 0, cr, &flag));
    expect(MPI_ERR_ARG, call + "requests is null", attach(1, nullptr, &callback, 0, cr, &flag));
    expect(MPI_ERR_ARG, call + "callback is null", attach(1, &request, nullptr, 0, cr, &flag));
    expect(MPI_ERR_ARG, call + "flag is null without THENCE_CR_ENQUEUE_COMPLETE or THENCE_MAY_RUN",
           attach(1, &request, &callback, 0, cr, nullptr));
    expect(MPI_ERR_ARG, call + "flags has bits that are no option of a continuation",
           attach(1, &request, &callback, 1U << 30, cr, &flag));
    MPI_Request requests[] = {cr, freed};
    expect(MPI_ERR_REQUEST, call + "the continuation request is itself among the requests",
           attach(1, requests, &callback, 0, cr, &flag));
    expect(MPI_ERR_REQUEST, call + "a continuation request among the requests was freed",
           attach(1, requests + 1, &callback, 0, cr, &flag));
    const auto each = [](int, int, MPI_Status *, void *) { return int{MPI_SUCCESS}; };
    expect(MPI_ERR_ARG, "thence_attach_each: indices is null without THENCE_CR_ENQUEUE_COMPLETE or THENCE_MAY_RUN",
           thence_attach_each(1, &request, each, nullptr, 0, MPI_STATUSES_IGNORE, cr, &flag, nullptr));
    expect(MPI_ERR_ARG, "thence_attach_copy: data is null although size is not 0",
           thence_attach_copy(1, &request, &callback, nullptr, 1, 0, MPI_STATUSES_IGNORE, cr, &flag));
    const auto paper = [](MPI_Status *, void *) {};
    expect(MPI_ERR_ARG, "MPIX_Continue: callback is null",
           MPIX_Continue(&request, &flag, nullptr, nullptr, MPI_STATUS_IGNORE, cr));
    expect(MPI_ERR_ARG, "MPIX_Continueall: count is negative",
           MPIX_Continueall(-1, &request, &flag, paper, nullptr, MPI_STATUSES_IGNORE, cr));
}

TEST_F(error_texts, calls_on_one_cr) {
    void *data = nullptr;
    int count = 1;
    expect(MPI_ERR_ARG, "thence_test: " + null_pointer, thence_test(nullptr, &flag, MPI_STATUS_IGNORE));
    expect(MPI_ERR_REQUEST, "thence_test: " + not_live, thence_test(&request, &flag, MPI_STATUS_IGNORE));
    expect(MPI_ERR_ARG, "thence_test: flag is null", thence_test(&cr, nullptr, MPI_STATUS_IGNORE));
    expect(MPI_ERR_ARG, "thence_wait: " + null_pointer, thence_wait(nullptr, MPI_STATUS_IGNORE));
    expect(MPI_ERR_REQUEST, "thence_wait: " + not_live, thence_wait(&freed, MPI_STATUS_IGNORE));
    expect(MPI_ERR_ARG, "thence_take_complete: request is null",
           thence_take_complete(nullptr, &flag, MPI_STATUS_IGNORE));
    expect(MPI_ERR_ARG, "thence_take_complete: flag is null",
           thence_take_complete(&request, nullptr, MPI_STATUS_IGNORE));
    expect(MPI_ERR_ARG, "thence_start: " + null_pointer, thence_start(nullptr));
    expect(MPI_ERR_REQUEST, "thence_free: " + not_live, thence_free(&freed));
    expect(MPI_ERR_REQUEST, "thence_cancel: " + not_live, thence_cancel(&freed));
    expect(MPI_ERR_REQUEST, "thence_get_failed: " + not_live, thence_get_failed(freed, &count, &data));
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
    expect(MPI_ERR_REQUEST, "thence_start: the continuation request is started already", thence_start(&startable));
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

TEST_F(error_texts, interposed_calls) {
    MPI_Request all[] = {cr};
    int index = 0;
    const std::string among = " is null, and the requests have a continuation request";
    expect(MPI_ERR_ARG, "MPI_Testany: index" + among, MPI_Testany(1, all, nullptr, &flag, MPI_STATUS_IGNORE));
    expect(MPI_ERR_ARG, "MPI_Testany: flag" + among, MPI_Testany(1, all, &index, nullptr, MPI_STATUS_IGNORE));
    expect(MPI_ERR_ARG, "MPI_Waitsome: outcount" + among, MPI_Waitsome(1, all, nullptr, &index, MPI_STATUSES_IGNORE));
    expect(MPI_ERR_REQUEST, "MPI_Startall: a continuation request was freed, is started already, or is there twice",
           MPI_Startall(1, &freed));
    expect(MPI_ERR_REQUEST, "MPI_Request_get_status: the continuation request was freed",
           MPI_Request_get_status(freed, &flag, MPI_STATUS_IGNORE));
}

TEST_F(error_texts, exceptions_carry_them) {
    const thence::error thrown("doing something", thence_progress_some(nullptr));
    EXPECT_EQ(MPI_ERR_ARG, thrown.error_class());
    if (mpi_keeps_texts()) {
        EXPECT_STREQ("doing something: thence_progress_some: count is null", thrown.what());
    }
}

} // namespace
