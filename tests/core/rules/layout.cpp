// SPDX-License-Identifier: BSD-3-Clause
// If the requests of an Open MPI differ from what the native engine knows, the engine `testsome` is used, and
// thence_query() returns why.
#include "library.hpp"

#if defined(OPEN_MPI)

#include "core/continuation/lifetime.hpp"
#include "core/engine/engine.hpp"
#include "core/progress/interposed.hpp"

#include <cstdlib>

namespace {

using namespace thence::fake;

struct difference {
    layout requests;
    const char *reason;
};

class refused_layout : public ::testing::TestWithParam<difference> {};

TEST_P(refused_layout, leads_to_testsome_with_the_reason) {
    features opal;
    opal.opal_progress = true;
    opal.requests = GetParam().requests;
    world.begin(opal);
    unsetenv("THENCE_ENGINE");
    unsetenv("THENCE_PROGRESS");
    {
        cr c;
        thence_info info{};
        EXPECT_EQ(thence_query(&info, sizeof info), MPI_SUCCESS);
        EXPECT_STREQ(info.engine, "testsome");
        EXPECT_NE(std::string(info.engine_why).find(GetParam().reason), std::string::npos) << info.engine_why;
        note n;
        const ticket t = attach_pending(n, c);
        world.complete(t);
        EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
    }
    thence::continuation::tear_down();
    thence::engine::reset();
    thence::progress::slow_path_reasons.store(0);
    world.end();
}

INSTANTIATE_TEST_SUITE_P(by, refused_layout,
                         ::testing::Values(difference{layout::other_state, "a pending receive"},
                                           difference{layout::other_status, "the status of a completed receive"},
                                           difference{layout::other_free, "MPI_Request_free did not call"},
                                           difference{layout::no_callback, "a completion callback did not fire"},
                                           difference{layout::no_wait_sync, "a wait-sync object was not counted"}));

} // namespace

#endif
