/* SPDX-License-Identifier: BSD-3-Clause
 * The functions of ALPI are in the process although the program calls none of them by name: a user of ALPI finds
 * them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>

typedef int check(int, int);
typedef int spawn(void (*)(void *), void *, void (*)(void *), void *, const char *, const void *);
typedef int wait_for(uint64_t, uint64_t *);

static atomic_int steps;

static void step(void *unused) {
    (void)unused;
    atomic_fetch_add(&steps, 1);
}

int main(void) {
    check *version_check = (check *)dlsym(RTLD_DEFAULT, "alpi_version_check");
    spawn *task_spawn = (spawn *)dlsym(RTLD_DEFAULT, "alpi_task_spawn");
    wait_for *waitfor_ns = (wait_for *)dlsym(RTLD_DEFAULT, "alpi_task_waitfor_ns");
    if (!version_check || !task_spawn || !waitfor_ns || version_check(1, 2) != 0) {
        return 1;
    }
    if (task_spawn(step, 0, step, 0, "a task", 0) != 0) {
        return 2;
    }
    while (atomic_load(&steps) != 2) {
        waitfor_ns(100000, 0);
    }
    return 0;
}
