// SPDX-License-Identifier: BSD-3-Clause
// On MPICH the engine testsome sets MPI to make progress once per test of many requests, not every eight requests,
// unless the user has set MPIR_CVAR_REQUEST_POLL_FREQ. Run with and without that variable.
#include "support.hpp"

#include <cstdlib>

namespace {

class poll_setting : public mpi_test {
protected:
    // The setting that MPI's tool interface reports, or -1 if it has none.
    static int in_force() {
        int level = 0;
        MPI_T_init_thread(MPI_THREAD_MULTIPLE, &level);
        int index = 0;
        int value = -1;
        if (MPI_T_cvar_get_index("MPIR_CVAR_REQUEST_POLL_FREQ", &index) == MPI_SUCCESS) {
            MPI_T_cvar_handle setting = MPI_T_CVAR_HANDLE_NULL;
            int count = 0;
            MPI_T_cvar_handle_alloc(index, nullptr, &setting, &count);
            MPI_T_cvar_read(setting, &value);
            MPI_T_cvar_handle_free(&setting);
        }
        MPI_T_finalize();
        return value;
    }
};

TEST_F(poll_setting, is_once_per_call_unless_the_user_has_set_it) {
#if !defined(MPICH_VERSION) || defined(I_MPI_VERSION)
    GTEST_SKIP() << "this MPI has no such setting";
#endif
    thence_info info{};
    ASSERT_EQ(MPI_SUCCESS, thence_query(&info, sizeof info));
    ASSERT_STREQ("testsome", info.engine);
    const char *chosen = std::getenv("MPIR_CVAR_REQUEST_POLL_FREQ");
    EXPECT_EQ(chosen != nullptr ? std::atoi(chosen) : 128, in_force());
}

// Progress once per call is enough for any number of operations.
TEST_F(poll_setting, many_operations_complete) {
    constexpr int count = 1000;
    std::vector<int> in(count, -1);
    std::vector<MPI_Request> requests(count);
    std::vector<outcome> seen(count);
    for (std::size_t i = 0; i < count; ++i) {
        MPI_Irecv(&in[i], 1, MPI_INT, rank, static_cast<int>(i), comm, &requests[i]);
        seen[i].attach(1, &requests[i], cr);
    }
    std::vector<MPI_Request> sends(count);
    for (int i = count - 1; i >= 0; --i) {
        MPI_Isend(&rank, 1, MPI_INT, rank, i, comm, &sends[static_cast<std::size_t>(i)]);
    }
    EXPECT_EQ(MPI_SUCCESS, MPI_Waitall(count, sends.data(), MPI_STATUSES_IGNORE));
    EXPECT_EQ(MPI_SUCCESS, MPI_Wait(&cr, MPI_STATUS_IGNORE));
    for (const outcome &o : seen) {
        EXPECT_EQ(1, o.ended());
    }
}

} // namespace
