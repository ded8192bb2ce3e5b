// SPDX-License-Identifier: BSD-3-Clause
// The tests' runtime of three workers, which TAMPI finds through ALPI.
#include "tampi_tasks.hpp"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>

void find_runtime() {
    if (dlopen(alpi_complete, RTLD_NOW | RTLD_GLOBAL) == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        std::exit(1);
    }
    spawn = reinterpret_cast<decltype(spawn)>(dlsym(RTLD_DEFAULT, "alpi_task_spawn"));
    blocked = reinterpret_cast<decltype(blocked)>(dlsym(RTLD_DEFAULT, "alpi_tests_blocked"));
}
