// SPDX-License-Identifier: BSD-3-Clause
// Attaching while memory is exhausted: the call is refused, and nothing has changed. The allocation functions
// that return null are those of the pools of continuations and groups.
#include "library.hpp"
#include "scarce_memory.hpp"

#include <vector>

namespace {

using namespace thence::fake;

// Operations that are attached one after the other while memory is exhausted, until the cache of this thread is, too.
class out_of_memory : public on_fake {
protected:
    // Calls `call` with a new request until it returns an error. Returns the error.
    template <class Call> int until_refused(Call call) {
        constexpr int more_than_any_stock = 10'000;
        for (int i = 0; i < more_than_any_stock; ++i) {
            request_ = world.start();
            started_.push_back(world.ticket_of(request_));
            before_ = request_;
            const scarcity from_here;
            if (const int code = call(&request_); code != MPI_SUCCESS) {
                return code;
            }
        }
        return MPI_SUCCESS;
    }
    void expect_refused(int code) {
        EXPECT_EQ(code, MPI_ERR_NO_MEM);
        EXPECT_EQ(reported(), codes{MPI_ERR_NO_MEM});
        EXPECT_EQ(request_, before_) << "the request is still the user's";
        EXPECT_EQ(flag_, untouched);
    }
    // All that was attached runs, and the refused operation is attached now that there is memory.
    void expect_all_run(const cr &c) {
        EXPECT_EQ(thence_attach(1, &request_, &count, &runs_, 0, MPI_STATUSES_IGNORE, c, &flag_), MPI_SUCCESS);
        EXPECT_EQ(flag_, 0);
        for (const ticket &each : started_) {
            world.complete(each);
        }
        EXPECT_TRUE(eventually([&] { return runs_ == static_cast<int>(started_.size()); }));
    }
    static int count(int, MPI_Status *, void *runs) {
        ++*static_cast<int *>(runs);
        return MPI_SUCCESS;
    }

    static constexpr int untouched = -1;
    MPI_Request request_ = MPI_REQUEST_NULL;
    MPI_Request before_ = MPI_REQUEST_NULL;
    std::vector<ticket> started_;
    int runs_ = 0;
    int flag_ = untouched;
};

TEST_P(out_of_memory, attach_changes_nothing) {
    const cr c;
    expect_refused(until_refused([&](MPI_Request *request) {
        int flag = untouched;
        const int code = thence_attach(1, request, &count, &runs_, 0, MPI_STATUSES_IGNORE, c, &flag);
        flag_ = code == MPI_SUCCESS ? untouched : flag;
        return code;
    }));
    expect_all_run(c);
}

TEST_P(out_of_memory, attach_copy_changes_nothing) {
    const cr c;
    int *const data = &runs_;
    expect_refused(until_refused([&](MPI_Request *request) {
        const auto callback = [](int, MPI_Status *, void *copy) {
            ++**static_cast<int **>(copy);
            return int{MPI_SUCCESS};
        };
        int flag = untouched;
        const int code = thence_attach_copy(1, request, callback, &data, sizeof data, 0, MPI_STATUSES_IGNORE, c, &flag);
        flag_ = code == MPI_SUCCESS ? untouched : flag;
        return code;
    }));
    expect_all_run(c);
}

TEST_P(out_of_memory, attach_each_changes_nothing) {
    const cr c;
    const auto callback = [](int, int error, MPI_Status *status, void *runs) { return count(error, status, runs); };
    expect_refused(until_refused([&](MPI_Request *request) {
        int outcount = untouched;
        int index = 0;
        const int code = thence_attach_each(1, request, callback, &runs_, 0, MPI_STATUSES_IGNORE, c, &outcount, &index);
        flag_ = code == MPI_SUCCESS ? untouched : outcount;
        return code;
    }));
    expect_all_run(c);
}

THENCE_RULES(out_of_memory);

} // namespace
