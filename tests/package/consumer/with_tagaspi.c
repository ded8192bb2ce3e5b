/* SPDX-License-Identifier: BSD-3-Clause
 * A program of TAGASPI. Outside of tasks its calls wait. */
#include <TAGASPI.h>
#include <stdio.h>

int main(void) {
    gaspi_rank_t rank = 0, size = 0;
    gaspi_notification_t value = 0;
    if (tagaspi_proc_init(GASPI_BLOCK) != GASPI_SUCCESS) {
        return 1;
    }
    gaspi_proc_rank(&rank);
    gaspi_proc_num(&size);
    if (gaspi_segment_create(0, 64, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_ALLOC_DEFAULT) != GASPI_SUCCESS ||
        tagaspi_write_notify(0, 0, (gaspi_rank_t)((rank + 1) % size), 0, 32, 32, 3, 7, 0) != GASPI_SUCCESS ||
        tagaspi_notify_iwait(0, 3, &value) != GASPI_SUCCESS || value != 7) {
        return 1;
    }
    if (rank == 0) {
        printf("TAGASPI's interface: %d ranks\n", size);
    }
    return tagaspi_proc_term(GASPI_BLOCK) == GASPI_SUCCESS ? 0 : 1;
}
