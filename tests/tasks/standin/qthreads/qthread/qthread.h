/* SPDX-License-Identifier: BSD-3-Clause */
/* A stand-in of Qthreads for tests: those functions of its documented interface that thence/qthreads.h and its tests
 * use. */
#ifndef STANDIN_QTHREAD_H
#define STANDIN_QTHREAD_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t aligned_t;
typedef unsigned short qthread_shepherd_id_t;
typedef unsigned short qthread_worker_id_t;
typedef aligned_t (*qthread_f)(void *arg);

#define QTHREAD_SUCCESS 0
#define QTHREAD_MALLOC_ERROR ENOMEM
#define QTHREAD_SPAWN_SIMPLE (1 << 1)
#define NO_SHEPHERD ((qthread_shepherd_id_t)-1)

int qthread_initialize(void); /* QT_NUM_SHEPHERDS says how many workers there are */
void qthread_finalize(void);
unsigned qthread_id(void);
qthread_shepherd_id_t qthread_shep(void);
qthread_worker_id_t qthread_num_workers(void);

int qthread_fork(qthread_f f, const void *arg, aligned_t *ret);
int qthread_spawn(qthread_f f, const void *arg, size_t arg_size, void *ret, size_t npreconds, void *preconds,
                  qthread_shepherd_id_t target_shep, unsigned int feature_flag);
#define qthread_yield() qthread_yield_(0)
void qthread_yield_(int kind);

int qthread_empty(const aligned_t *dest);
int qthread_fill(const aligned_t *dest);
int qthread_readFF(aligned_t *dest, const aligned_t *src);

#ifdef __cplusplus
}
#endif
#endif
