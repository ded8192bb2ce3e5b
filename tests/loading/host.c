// SPDX-License-Identifier: BSD-3-Clause
// usage: host PLUGIN local|global before|after|without
//
// A program that is not linked with this library loads PLUGIN with RTLD_LOCAL or RTLD_GLOBAL, before or after its own
// MPI_Init_thread. `without`: the program is without MPI, and PLUGIN initializes it.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

int main(int argc, char **argv) {
    if (argc != 4) {
        return 64;
    }
    int mode = RTLD_NOW | (strcmp(argv[2], "local") == 0 ? RTLD_LOCAL : RTLD_GLOBAL);
    int without = strcmp(argv[3], "without") == 0;
#ifdef WITH_MPI
    int level;
    int after = strcmp(argv[3], "after") == 0;
    if (after) {
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    }
#endif
    void *library = dlopen(argv[1], mode);
    if (library == NULL) {
        printf("%s\n", dlerror());
        return 1;
    }
    int (*use_thence)(int, int);
    *(void **)&use_thence = dlsym(library, "use_thence");
#ifdef WITH_MPI
    if (!after && !without) {
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    }
#endif
    int status = use_thence(without, without);
#ifdef WITH_MPI
    if (!without) {
        MPI_Finalize();
    }
#endif
    dlclose(library); // threads and callbacks of MPI may still be in it
    return status;
}
