// SPDX-License-Identifier: BSD-3-Clause
// The runtimes that are found without the program's help, for the libraries whose functions bind operations to tasks.
#include "core/base/settings.hpp"
#include "tasks/polling_task.hpp"
#include "tasks/runtime.hpp"

#include <array>
#include <mutex>

using namespace thence;

namespace {

std::mutex counting; // guards these
int users = 0;
std::array<const thence_task_runtime *, 2> added{};

void add(const thence_task_runtime *runtime, const thence_task_runtime *&kept) noexcept {
    if (runtime != nullptr && task::slot_of(runtime) < 0 && thence_task_runtime_add(runtime) == MPI_SUCCESS) {
        kept = runtime;
    }
}

} // namespace

extern "C" {

void thence_task_runtimes_use_(void) {
    const std::scoped_lock guard(counting);
    if (users++ == 0) {
        const char *why = nullptr;
        // Tasks of a runtime with ALPI may run detached tasks of OpenMP, so those are asked first.
        add(task::alpi(why), added[0]);
        add(&task::detached_tasks, added[1]);
    }
}

void thence_task_runtimes_release_(void) {
    const std::scoped_lock guard(counting);
    if (--users == 0) {
        for (const thence_task_runtime *&each : added) {
            if (each != nullptr) {
                thence_task_runtime_remove(each);
                each = nullptr;
            }
        }
    }
}

int thence_tasks_poll_(void) {
    return base::current_settings().task_wanted && progress::has_polling_task() ? 1 : 0;
}

} // extern "C"
