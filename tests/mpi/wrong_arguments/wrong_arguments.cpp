// SPDX-License-Identifier: BSD-3-Clause
// An interposed call without a continuation request does the same as MPI's own, also if MPI refuses it: before the
// library is used, while continuations are outstanding, inside a callback, and after a continuation has completed a
// persistent request that is not tested yet.
#include "../support.hpp"

#include "table.hpp"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <thread>

namespace {

using namespace wrong_arguments;

class every_call : public testing::Test {
protected:
    void compare_all(const char *state) { compare(state, {all, w}, {all, w}); }
    world w;
    table all = all_calls(w);
};

TEST_F(every_call, every_interposed_function_is_in_the_table) {
    // Those that are called once, and those that cannot fail.
    std::set<std::string> known{"MPI_Init",        "MPI_Init_thread",   "MPI_Finalize",       "MPI_Request_c2f",
                                "MPI_Request_f2c", "MPI_Request_toint", "MPI_Request_fromint"};
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
    compare_all("unused");
}

// Keeps the helper thread, where there is one (THENCE_PROGRESS=thread), in a callback. A child that is forked does not
// have this thread, and would wait for ever for a lock of MPI that it held. In a callback it holds none.
class held_helper {
public:
    void hold(MPI_Comm comm) {
        thence_info info{};
        thence_query(&info, sizeof info);
        if (std::strcmp(info.helper, "running") != 0) {
            return;
        }
        ASSERT_EQ(MPI_SUCCESS, thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &cr_));
        for (int i = 0; i < 1000 && !held_; ++i) {
            int received = 0;
            int at_once = 0;
            MPI_Request request = MPI_REQUEST_NULL;
            ended_ = false;
            PMPI_Irecv(&received, 1, MPI_INT, 0, 1, comm, &request);
            ASSERT_EQ(MPI_SUCCESS, thence_attach(1, &request, &stay, this, 0, MPI_STATUS_IGNORE, cr_, &at_once));
            PMPI_Send(&i, 1, MPI_INT, 0, 1, comm); // it may run the callback; otherwise only the helper does
            while (at_once == 0 && !ended_ && !held_) {
                sleep_ms(1);
            }
        }
        ASSERT_TRUE(held_) << "the helper thread has run no callback";
    }
    void release() {
        release_ = true;
        if (cr_ != MPI_REQUEST_NULL) {
            EXPECT_EQ(MPI_SUCCESS, thence_wait(&cr_, MPI_STATUS_IGNORE));
            thence_free(&cr_);
        }
    }

private:
    static int stay(int, MPI_Status *, void *data) {
        auto &self = *static_cast<held_helper *>(data);
        if (std::this_thread::get_id() != self.main_) {
            self.held_ = true;
            while (!self.release_) {
                sleep_ms(1);
            }
        }
        self.ended_ = true;
        return MPI_SUCCESS;
    }

    const std::thread::id main_ = std::this_thread::get_id();
    MPI_Request cr_ = MPI_REQUEST_NULL;
    std::atomic<bool> held_{false};
    std::atomic<bool> release_{false};
    std::atomic<bool> ended_{false};
};

// An ordinary and a persistent receive have continuations and stay pending, so interposed calls take their slow path.
class used : public every_call {
public:
    void compare_in_callback() { compare_all("in a callback"); }

protected:
    void SetUp() override {
        MPI_Comm_dup(MPI_COMM_SELF, &comm);
        ASSERT_EQ(MPI_SUCCESS, thence_cr_create(0, -1, MPI_INFO_NULL, &cr));
        MPI_Request pending = MPI_REQUEST_NULL;
        MPI_Irecv(&values[0], 1, MPI_INT, 0, 2, comm, &pending);
        one.attach(pending, cr);
        another.attach(w.active, cr, THENCE_PERSISTENT);
        ASSERT_EQ(0, one.ended() + another.ended());
        helper.hold(comm);
    }
    void TearDown() override {
        helper.release();
        EXPECT_EQ(0, one.ended() + another.ended());
        MPI_Send(&values[2], 1, MPI_INT, 0, 2, comm);
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
    held_helper helper;
    int values[3] = {};
};

TEST_F(used, calls_do_what_mpis_own_do_while_continuations_are_outstanding) {
    compare_all("in use");
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

// The persistent receive is complete, its continuation has run, and the user has not tested it: the library keeps the
// result, which MPI no longer has. It must look like a receive that is complete in MPI and has had no continuation.
class answered : public every_call {
protected:
    void SetUp() override {
        ASSERT_EQ(MPI_SUCCESS, thence_cr_create(0, -1, MPI_INFO_NULL, &cr));
        done.attach(w.active, cr, THENCE_PERSISTENT);
        for (const world *each : {&w, &others}) {
            PMPI_Send(&value, 1, MPI_INT, 0, world::active_tag, each->comm);
        }
        ASSERT_EQ(MPI_SUCCESS, thence_wait(&cr, MPI_STATUS_IGNORE));
        ASSERT_EQ(1, done.ended());
        for (int i = 0; i < 100; ++i) { // it is not tested, which would change it on some MPIs
            int flag = 0;
            PMPI_Iprobe(0, world::message_tag, others.comm, &flag, MPI_STATUS_IGNORE);
        }
    }
    void TearDown() override {
        for (world *each : {&w, &others}) {
            MPI_Status status;
            status.MPI_TAG = -1;
            MPI_Wait(&each->active, &status);
            EXPECT_EQ(world::active_tag, status.MPI_TAG);
            MPI_Start(&each->active);
        }
        thence_free(&cr);
    }
    world others;
    table calls_of_others = all_calls(others);
    MPI_Request cr = MPI_REQUEST_NULL;
    outcome done;
    int value = 0;
};

TEST_F(answered, calls_do_what_mpis_own_do_after_a_continuation_has_completed_a_persistent_request) {
    compare("has completed a persistent request", {calls_of_others, others}, {all, w});
}

} // namespace
