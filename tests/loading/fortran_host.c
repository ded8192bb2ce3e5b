/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: fortran_host LIBRARY TEXT: loads the library (fortran_library.c) before the first call of Thence. TEXT is how
 * `fortran` of thence_query() begins then. If it is that calls come to libthence, they must, and the library stays
 * loaded; else they must not, and it can be unloaded, as any other. */
#define _GNU_SOURCE /* dladdr */
#include <thence/thence.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int faults = 0;
#define EXPECT(condition)                                                                                              \
    ((condition) ? (void)0 : (void)(++faults, printf("line %d: not true: %s\n", __LINE__, #condition)))

static int calls = 0;
static int callback(int error, MPI_Status *statuses, void *data) {
    (void)statuses, (void)data;
    ++calls;
    return error;
}

static int is_in(void *function, const char *file) {
    Dl_info found;
    return function != NULL && dladdr(function, &found) != 0 && strstr(found.dli_fname, file) != NULL;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL) {
        printf("cannot load the library: %s\n", dlerror());
        return 1;
    }
    int (*test)(MPI_Request *, int *) = NULL;
    int (*wait_for)(MPI_Request *) = NULL;
    void *(*address_of_wait)(void) = NULL;
    void *(*address_of_get_version)(void) = NULL;
    *(void **)&test = dlsym(library, "test");
    *(void **)&wait_for = dlsym(library, "wait_for");
    *(void **)&address_of_wait = dlsym(library, "address_of_wait");
    *(void **)&address_of_get_version = dlsym(library, "address_of_get_version");
    EXPECT(!is_in(address_of_wait(), "libthence")); /* so that what follows shows something */

    thence_info info;
    thence_query(&info, sizeof info);
    if (strncmp(info.fortran, argv[2], strlen(argv[2])) != 0) {
        printf("fortran is \"%s\", expected \"%s\"\n", info.fortran, argv[2]);
        ++faults;
    }
    const int come = strcmp(info.fortran, "calls come to libthence") == 0;
    EXPECT(is_in(address_of_wait(), "libthence") == come);
    EXPECT(!is_in(address_of_get_version(), "libthence"));
    if (come) {
        int in = 0, out = 42, flag = 1;
        MPI_Request cr, receive;
        thence_cr_create(0, -1, MPI_INFO_NULL, &cr);
        MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &receive);
        thence_attach(1, &receive, callback, NULL, 0, MPI_STATUSES_IGNORE, cr, &flag);
        EXPECT(test(&cr, &flag) == MPI_SUCCESS && flag == 0);
        MPI_Send(&out, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
        EXPECT(wait_for(&cr) == MPI_SUCCESS);
        EXPECT(calls == 1 && in == 42 && flag == 0);
        MPI_Request_free(&cr);
    }
    dlclose(library);
    library = dlopen(argv[1], RTLD_LAZY | RTLD_NOLOAD);
    EXPECT((library != NULL) == come);
    MPI_Finalize();
    return faults != 0;
}
