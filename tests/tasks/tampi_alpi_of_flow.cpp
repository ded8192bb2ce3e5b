// SPDX-License-Identifier: BSD-3-Clause
// The data-flow layer by libthence-alpi, which TAMPI finds as any other runtime with ALPI. The program adds no table.
#include "flow_blocked.hpp"
#include "tampi_tasks.hpp"

#include <thence/task_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

void find_runtime() {
    if (dlopen(alpi_of_flow, RTLD_NOW | RTLD_GLOBAL) == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        std::exit(1);
    }
    spawn = reinterpret_cast<decltype(spawn)>(dlsym(RTLD_DEFAULT, "alpi_task_spawn"));
    blocked = &blocked_tasks;
}

namespace {

TEST(tampi_alpi_of_flow, is_the_runtime_that_is_found) {
    const thence_task_runtime *found = nullptr;
    const char *text = nullptr;
    EXPECT_EQ(thence_task_runtime_alpi(&found, &text), MPI_SUCCESS);
    ASSERT_NE(found, nullptr) << text;
    EXPECT_STREQ(text, "thence-tasks, ALPI 1.2");
    EXPECT_NE(found->block, nullptr);
    EXPECT_NE(found->raise_events, nullptr);
    EXPECT_NE(found->sleep_for, nullptr);
    EXPECT_GE(found->workers(), 1);
}

} // namespace
