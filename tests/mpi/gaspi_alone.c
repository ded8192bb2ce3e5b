/* SPDX-License-Identifier: BSD-3-Clause */
/* A program for GASPI alone: it neither initializes MPI nor ends it. A profiling tool in it replaces gaspi_notify. */
#include <PGASPI.h>

#include <stdio.h>

static int calls = 0;

gaspi_return_t gaspi_notify(const gaspi_segment_id_t segment, const gaspi_rank_t rank,
                            const gaspi_notification_id_t notification, const gaspi_notification_t value,
                            const gaspi_queue_id_t queue, const gaspi_timeout_t timeout) {
    ++calls;
    return pgaspi_notify(segment, rank, notification, value, queue, timeout);
}

#define NEED(condition)                                                                                                \
    if (!(condition)) {                                                                                                \
        fprintf(stderr, "line %d: %s does not hold\n", __LINE__, #condition);                                          \
        return 1;                                                                                                      \
    }

int main(void) {
    gaspi_rank_t rank = 0;
    gaspi_rank_t size = 0;
    gaspi_notification_id_t id = 0;
    gaspi_notification_t value = 0;
    NEED(gaspi_proc_init(GASPI_BLOCK) == GASPI_SUCCESS);
    NEED(gaspi_proc_rank(&rank) == GASPI_SUCCESS && gaspi_proc_num(&size) == GASPI_SUCCESS);
    NEED(gaspi_segment_create(0, 100, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_ALLOC_DEFAULT) == GASPI_SUCCESS);
    NEED(gaspi_notify(0, (gaspi_rank_t)((rank + 1) % size), 5, rank + 1U, 0, GASPI_BLOCK) == GASPI_SUCCESS);
    NEED(gaspi_notify_waitsome(0, 0, 10, &id, GASPI_BLOCK) == GASPI_SUCCESS && id == 5);
    NEED(gaspi_notify_reset(0, id, &value) == GASPI_SUCCESS && value == (rank + size - 1U) % size + 1U);
    NEED(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK) == GASPI_SUCCESS);
    NEED(calls == 1);
    NEED(gaspi_proc_term(GASPI_BLOCK) == GASPI_SUCCESS);
    NEED(gaspi_proc_init(GASPI_BLOCK) == GASPI_ERROR); /* MPI does not begin again */
    return 0;
}
