/* SPDX-License-Identifier: BSD-3-Clause
 * The example of Zhou et al. 2024, section "Derived Datatypes": a part of a volume as a datatype, and where its bytes
 * lie. It runs as it would on MPICH, but with -1 for all segments, as the paper says, which MPICH refuses. */
#include <stdio.h>
#include <stdlib.h>

#include <thence/mpix.h>

struct value {
    double a;
    double b;
};

int main(int argc, char **argv) {
    const int full_sizes[3] = {1000, 1000, 1000}, part_sizes[3] = {100, 100, 100}, part_offsets[3] = {300, 300, 300};
    MPI_Datatype value_type, volume_type;
    MPI_Count iov_len, iov_bytes, actual_iov_len;
    MPIX_Iov iov[4];
    int right;

    MPI_Init(&argc, &argv);
    MPI_Type_contiguous(sizeof(struct value), MPI_BYTE, &value_type);
    MPI_Type_create_subarray(3, full_sizes, part_sizes, part_offsets, MPI_ORDER_C, value_type, &volume_type);
    MPI_Type_commit(&volume_type);

    MPIX_Type_iov_len(volume_type, -1, &iov_len, &iov_bytes);
    printf("iov_len = %ld, iov_bytes = %ld\n", (long)iov_len, (long)iov_bytes);
    right = iov_len == 100L * 100 && iov_bytes == 100L * 100 * 100 * 16;

    MPIX_Type_iov(volume_type, 0, iov, 4, &actual_iov_len);
    for (int i = 0; i < (int)actual_iov_len; i++) {
        const long first = ((300L * 1000 + 300 + i) * 1000 + 300) * 16; /* one row after the other */
        printf("iov[%d]: %p - %ld\n", i, iov[i].iov_base, (long)iov[i].iov_len);
        right = right && (long)(size_t)iov[i].iov_base == first && iov[i].iov_len == 100L * 16;
    }
    right = right && actual_iov_len == 4;

    MPI_Type_free(&volume_type);
    MPI_Type_free(&value_type);
    MPI_Finalize();
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
