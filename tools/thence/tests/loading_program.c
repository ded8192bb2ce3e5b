/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that is not linked with MPI, and loads it.
   usage: loading_program LIBRARY local|global handle|default
   The last argument says where it looks MPI's functions up: in the library that it has loaded, or as the loader does.
   Prints whether MPI has MPI_THREAD_MULTIPLE, which the program does not ask for. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define FUNCTION(name) __extension__(__typeof__(&name)) dlsym(from, #name)

int main(int argc, char **argv) {
    int level = 0;
    if (argc != 4) {
        fputs("usage: loading_program LIBRARY local|global handle|default\n", stderr);
        return 2;
    }
    void *const library = dlopen(argv[1], RTLD_NOW | (strcmp(argv[2], "global") == 0 ? RTLD_GLOBAL : RTLD_LOCAL));
    if (library == NULL) {
        fprintf(stderr, "loading_program: %s\n", dlerror());
        return 1;
    }
    void *const from = strcmp(argv[3], "handle") == 0 ? library : RTLD_DEFAULT;
    __typeof__(&MPI_Init) const init = FUNCTION(MPI_Init);
    __typeof__(&PMPI_Query_thread) const query = FUNCTION(PMPI_Query_thread);
    __typeof__(&MPI_Finalize) const finalize = FUNCTION(MPI_Finalize);
    if (init == NULL || query == NULL || finalize == NULL || init(&argc, &argv) != MPI_SUCCESS) {
        fputs("loading_program: MPI cannot be initialized\n", stderr);
        return 1;
    }
    query(&level);
    puts(level == MPI_THREAD_MULTIPLE ? "the level is raised" : "the level is not raised");
    return finalize() == MPI_SUCCESS ? 0 : 1;
}
