// SPDX-License-Identifier: BSD-3-Clause
// The library on the fake MPI, set up again for every test, once for each way in which MPIs report completions. And the
// helpers of rule tests.
#pragma once

#include "fake_mpi.hpp"

#include <thence/thence.h>

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

namespace thence::fake {

struct variant {
    const char *name;
    const char *engine;
    features offers;
    bool hook; // MPI's own calls run continuations

    // True if MPI calls a hook when it makes progress.
    bool has_hook() const { return offers.opal_progress || offers.async_start; }
    bool requests_can_be_read() const { return offers.opal_progress && offers.requests == layout::known; }
};
std::ostream &operator<<(std::ostream &out, const variant &v);

// All that work with the types of this MPI's header.
std::vector<variant> all_variants();
std::vector<variant> variants_where(bool (*holds)(const variant &));
std::string name_of(const ::testing::TestParamInfo<variant> &info);

// Sets the library up on the fake of variant `v`. The destructor checks that nothing is left of either.
class library {
public:
    explicit library(const variant &v);
    ~library();
    library(const library &) = delete;
    library &operator=(const library &) = delete;

private:
    bool good_ = false;
    long before_; // registered continuations that a failed test before this one has left
};

// The fixture of rule tests.
class on_fake : public ::testing::TestWithParam<variant> {
protected:
    library library_{GetParam()};
};

// Nothing before the comma, so that a test is named fixture.rule/variant.
#define THENCE_RULES(fixture)                                                                                          \
    INSTANTIATE_TEST_SUITE_P(, fixture, ::testing::ValuesIn(::thence::fake::all_variants()), ::thence::fake::name_of)
// The same for a rule of some MPIs: those for which `holds` is true.
#define THENCE_RULES_WHERE(fixture, holds)                                                                             \
    INSTANTIATE_TEST_SUITE_P(, fixture, ::testing::ValuesIn(::thence::fake::variants_where(holds)),                    \
                             ::thence::fake::name_of)

// A continuation request that its destructor frees.
class cr {
public:
    explicit cr(unsigned flags = 0, int max_poll = -1, MPI_Info info = MPI_INFO_NULL) {
        EXPECT_EQ(thence_cr_create(flags, max_poll, info, &handle), MPI_SUCCESS);
    }
    ~cr() {
        if (handle != MPI_REQUEST_NULL) {
            EXPECT_EQ(thence_free(&handle), MPI_SUCCESS);
        }
    }
    cr(const cr &) = delete;
    cr &operator=(const cr &) = delete;
    operator MPI_Request() const { return handle; }
    MPI_Request *operator&() { return &handle; }

    bool test() {
        int flag = -1;
        EXPECT_EQ(thence_test(&handle, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
        return flag == 1;
    }
    long registered() const {
        thence_cr_info info{};
        EXPECT_EQ(thence_cr_query(handle, &info, sizeof info), MPI_SUCCESS);
        return info.registered;
    }

    MPI_Request handle = MPI_REQUEST_NULL;
};

// A callback and its data: pass `&note::run` and the note. It records what the callback was called with.
struct note {
    static int run(int error, MPI_Status *statuses, void *data);

    std::atomic<int> runs{0};
    int error = -1;
    MPI_Status *statuses = nullptr;
    std::thread::id thread;
    int answer = MPI_SUCCESS;     // what the callback returns
    std::function<void()> inside; // is called in it
};

// Attaches one callback to one operation, which must succeed. Returns `flag`.
int attach(MPI_Request &request, note &n, MPI_Request cr, MPI_Status *status = MPI_STATUS_IGNORE, unsigned flags = 0);
int attach(std::vector<MPI_Request> &requests, note &n, MPI_Request cr, MPI_Status *statuses = MPI_STATUSES_IGNORE,
           unsigned flags = 0);

// Starts an operation and attaches one callback to it. Returns the operation, which is pending.
ticket attach_pending(note &n, MPI_Request cr, MPI_Status *status = MPI_STATUS_IGNORE, unsigned flags = 0);
// An operation that is complete.
MPI_Request completed(int source = 0);

// Finds completions and runs continuations, without a test of any CR.
void let_run();
// The same until `done` returns true, for at most 20 seconds. Returns false after that.
bool eventually(const std::function<bool()> &done);

thence_stats_info stats();

// The codes that error handlers have got since the last call.
inline std::vector<int> reported() {
    return world.take_reported();
}
using codes = std::vector<int>;

} // namespace thence::fake
