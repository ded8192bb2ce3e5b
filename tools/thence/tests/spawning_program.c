/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: spawning_program COMMAND [ARGUMENT...]: spawns one process, which is this program again, without arguments.
   Prints in how many ways libthence is loaded there and here: 0 or 1. Both make blocking collective calls together. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int has_thence(void) {
    char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        found |= strstr(line, "/libthence") != NULL && strstr(line, "/libthence-core") == NULL;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

static void meet(MPI_Comm other) {
    int one = 1, sum = 0;
    MPI_Barrier(other);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, other);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    MPI_Comm parent, child;
    MPI_Request request;
    int has = has_thence(), of_child = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        MPI_Isend(&has, 1, MPI_INT, 0, 0, parent, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        meet(parent);
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (argc < 2 || MPI_Comm_spawn(argv[1], argv + 2, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &child,
                                   MPI_ERRCODES_IGNORE) != MPI_SUCCESS) {
        printf("cannot spawn\n");
        MPI_Finalize();
        return 1;
    }
    MPI_Irecv(&of_child, 1, MPI_INT, 0, 0, child, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    meet(child);
    MPI_Comm_disconnect(&child);
    printf("the child has %d, the parent %d\n", of_child, has);
    MPI_Finalize();
    return 0;
}
