// SPDX-License-Identifier: BSD-3-Clause
// An interposed call without a continuation request does the same as MPI's own, also if MPI refuses it: before the
// library is used, while continuations are outstanding, and inside a callback.
#include "../support.hpp"

#include "table.hpp"

#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <string>

namespace {

using namespace wrong_arguments;

class every_call : public testing::Test {
protected:
    every_call() {
        add_requests(all, w);
        add_messages(all, w);
        add_persistent(all, w);
        add_collectives(all, w);
        add_communicators(all, w);
        add_windows(all, w);
        add_files(all, w);
    }
    world w;
    table all;
};

TEST_F(every_call, every_interposed_function_is_in_the_table) {
    std::set<std::string> known{"MPI_Finalize"}; // it has no argument
    for (const call &each : all.calls()) {
        known.insert(each.function);
    }
    const std::unique_ptr<FILE, int (*)(FILE *)> symbols(popen(THENCE_LIST_SYMBOLS, "r"), &pclose);
    ASSERT_NE(nullptr, symbols);
    int found = 0;
    char name[200];
    while (std::fscanf(symbols.get(), "%*s %*s %199s", name) == 1) {
        if (std::strncmp(name, "MPI_", 4) == 0) {
            ++found;
            EXPECT_EQ(1U, known.count(name)) << name << " is interposed: give it a row";
        }
    }
    EXPECT_GT(found, 50) << "are these the names that libthence exports? " THENCE_LIST_SYMBOLS;
}

TEST_F(every_call, do_what_mpis_own_do_before_first_use) {
    compare("unused", all, w);
}

// An ordinary and a persistent receive have continuations and stay pending, so interposed calls take their slow path.
class used : public every_call {
public:
    void compare_in_callback() { compare("in a callback", all, w); }

protected:
    void SetUp() override {
        MPI_Comm_dup(MPI_COMM_SELF, &comm);
        ASSERT_EQ(MPI_SUCCESS, thence_cr_create(0, -1, MPI_INFO_NULL, &cr));
        MPI_Request pending = MPI_REQUEST_NULL;
        MPI_Irecv(&values[0], 1, MPI_INT, 0, 1, comm, &pending);
        one.attach(pending, cr);
        another.attach(w.active, cr, THENCE_PERSISTENT);
        ASSERT_EQ(0, one.ended() + another.ended());
    }
    void TearDown() override {
        EXPECT_EQ(0, one.ended() + another.ended());
        MPI_Send(&values[2], 1, MPI_INT, 0, 1, comm);
        MPI_Send(&values[2], 1, MPI_INT, 0, world::active_tag, w.comm);
        EXPECT_EQ(MPI_SUCCESS, thence_wait(&cr, MPI_STATUS_IGNORE));
        EXPECT_EQ(2, one.ended() + another.ended());
        MPI_Wait(&w.active, MPI_STATUS_IGNORE);
        MPI_Start(&w.active);
        thence_free(&cr);
        MPI_Comm_free(&comm);
    }
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Request cr = MPI_REQUEST_NULL;
    outcome one;
    outcome another;
    int values[3] = {};
};

TEST_F(used, calls_do_what_mpis_own_do_while_continuations_are_outstanding) {
    compare("in use", all, w);
}

TEST_F(used, calls_do_what_mpis_own_do_in_a_callback) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Request callbacks = MPI_REQUEST_NULL;
    ASSERT_EQ(MPI_SUCCESS, thence_cr_create(0, -1, MPI_INFO_NULL, &callbacks));
    MPI_Irecv(&values[2], 1, MPI_INT, 0, 3, comm, &request);
    int flag = 0;
    const auto in_callback = [](int, MPI_Status *, void *data) {
        static_cast<used *>(data)->compare_in_callback();
        return int{MPI_SUCCESS};
    };
    thence_attach(1, &request, in_callback, this, 0, MPI_STATUS_IGNORE, callbacks, &flag);
    ASSERT_EQ(0, flag);
    MPI_Send(&values[0], 1, MPI_INT, 0, 3, comm);
    EXPECT_EQ(MPI_SUCCESS, thence_wait(&callbacks, MPI_STATUS_IGNORE));
    thence_free(&callbacks);
}

} // namespace
