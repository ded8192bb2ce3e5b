/* SPDX-License-Identifier: BSD-3-Clause */
/* As through_library.c, but the library that calls MPI is loaded at run time: when the program is linked, nobody calls
 * what is interposed. */
#include "ring.h"
#include <dlfcn.h>

int main(int argc, char **argv) {
    MPI_Request cr;
    int number, received = -1;
    CHECK(MPI_Init(&argc, &argv));
    void *plugin = dlopen("libwaiter.so", RTLD_NOW);
    int (*wait_elsewhere)(MPI_Request *) = NULL;
    if (plugin != NULL) {
        *(void **)&wait_elsewhere = dlsym(plugin, "wait_elsewhere");
    }
    if (wait_elsewhere == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        MPI_Abort(MPI_COMM_WORLD, 1);
        return EXIT_FAILURE;
    }
    int expected = start_ring(&cr, &number, &received);
    CHECK(wait_elsewhere(&cr));
    CHECK(thence_free(&cr));
    return finish_ring(expected, received);
}
