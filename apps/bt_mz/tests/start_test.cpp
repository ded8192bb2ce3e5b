// SPDX-License-Identifier: BSD-3-Clause
// The first step of a zone comes after the faces of the start have been copied from it, also where a runtime takes
// steps before copies, as it does for zones that have messages: they have the higher priority.
#include "run.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>
#ifdef BT_MZ_HAVE_TBB
#include <thence/dataflow.h>
#include <thence/task_runtime.h>
#endif

namespace bt_mz {
namespace {

// A rank that has all zones of class W. As steps do where a neighbour is of another rank, all have a priority. The
// first zone comes last, so the faces that it needs are there before its own are copied.
struct OneRank {
    const Problem &problem = *find_problem("W");
    const Constants constants{problem, problem.dt};
    const std::vector<ZoneShape> shapes = make_zones(problem);
    const std::vector<int> owner = std::vector<int>(shapes.size(), 0);
    std::vector<std::unique_ptr<LocalZone>> zones = make_local_zones(shapes, owner, 0, constants);
    apps::Recorder recorder{0};
    apps::ProgressBar bar{false, "", 1};

    OneRank() {
        std::rotate(zones.begin(), zones.begin() + 1, zones.end());
        for (std::size_t i = 0; i < zones.size(); ++i) {
            zones[i]->index = static_cast<int>(i);
            zones[i]->has_remote = true;
            zones[i]->zone.initialize();
        }
    }

    std::vector<Norms> norms_after(void (*solve)(Run &), int steps) {
        Run run{problem, shapes, owner, zones, MPI_COMM_SELF, 0, 1, 1, steps, recorder, bar};
        solve(run);
        std::vector<Norms> norms;
        norms.reserve(zones.size());
        for (const auto &z : zones) {
            norms.push_back(z->zone.error_norms());
        }
        return norms;
    }
};

class Start : public testing::TestWithParam<void (*)(Run &)> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Start); // no such variant without OpenMP and oneTBB

TEST_P(Start, faces_are_copied_before_a_zone_changes) {
    EXPECT_EQ(OneRank().norms_after(GetParam(), 2), OneRank().norms_after(solve_mpi, 2));
}

#ifdef BT_MZ_HAVE_OPENMP
INSTANTIATE_TEST_SUITE_P(omp_tasks, Start, testing::Values(&solve_omp_tasks));
#endif
#ifdef BT_MZ_HAVE_TBB
INSTANTIATE_TEST_SUITE_P(dataflow, Start, testing::Values(&solve_dataflow));
#endif

} // namespace
} // namespace bt_mz

int main(int argc, char **argv) {
    testing::InitGoogleTest(&argc, argv);
#ifdef BT_MZ_HAVE_TBB
    thence_task_runtime_add(thence_flow_task_runtime());
#endif
    int granted = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
    const int failed = RUN_ALL_TESTS();
    MPI_Finalize();
    return failed;
}
