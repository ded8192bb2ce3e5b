/* SPDX-License-Identifier: BSD-3-Clause
 * A program of GASPI: it knows no MPI. */
#include <GASPI.h>
#include <stdio.h>

int main(void) {
    gaspi_rank_t rank = 0, size = 0;
    gaspi_notification_id_t id = 0;
    if (gaspi_proc_init(GASPI_BLOCK) != GASPI_SUCCESS) {
        return 1;
    }
    gaspi_proc_rank(&rank);
    gaspi_proc_num(&size);
    if (gaspi_segment_create(0, 64, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_ALLOC_DEFAULT) != GASPI_SUCCESS ||
        gaspi_notify(0, (gaspi_rank_t)((rank + 1) % size), 3, 1, 0, GASPI_BLOCK) != GASPI_SUCCESS ||
        gaspi_notify_waitsome(0, 0, 4, &id, GASPI_BLOCK) != GASPI_SUCCESS || id != 3) {
        return 1;
    }
    if (rank == 0) {
        printf("GASPI's interface: %d ranks\n", size);
    }
    return gaspi_proc_term(GASPI_BLOCK) == GASPI_SUCCESS ? 0 : 1;
}
