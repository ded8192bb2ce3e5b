/* SPDX-License-Identifier: BSD-3-Clause */
/* A stand-in of Argobots for tests: those functions of its documented interface that thence/argobots.h and its tests
 * use. */
#ifndef ABT_H_INCLUDED
#define ABT_H_INCLUDED

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ABT_xstream_opaque *ABT_xstream;
typedef struct ABT_sched_opaque *ABT_sched;
typedef struct ABT_pool_opaque *ABT_pool;
typedef struct ABT_thread_opaque *ABT_thread;
typedef struct ABT_thread_attr_opaque *ABT_thread_attr;
typedef struct ABT_key_opaque *ABT_key;
typedef struct ABT_eventual_opaque *ABT_eventual;
typedef enum { ABT_UNIT_TYPE_THREAD, ABT_UNIT_TYPE_TASK, ABT_UNIT_TYPE_EXT } ABT_unit_type;

#define ABT_SCHED_NULL ((ABT_sched)0)
#define ABT_THREAD_ATTR_NULL ((ABT_thread_attr)0)
#define ABT_SUCCESS 0
#define ABT_ERR_UNINITIALIZED 1
#define ABT_ERR_MEM 2
#define ABT_ERR_INV_XSTREAM 4
#define ABT_ERR_EVENTUAL 31

int ABT_init(int argc, char **argv);
int ABT_finalize(void);
int ABT_initialized(void);
double ABT_get_wtime(void);

int ABT_xstream_create(ABT_sched sched, ABT_xstream *newxstream);
int ABT_xstream_join(ABT_xstream xstream);
int ABT_xstream_free(ABT_xstream *xstream);
int ABT_xstream_get_num(int *num_xstreams);
int ABT_xstream_get_main_pools(ABT_xstream xstream, int max_pools, ABT_pool *pools);

int ABT_self_get_xstream(ABT_xstream *xstream);
int ABT_self_get_type(ABT_unit_type *type);
int ABT_self_get_last_pool(ABT_pool *pool);
int ABT_self_get_specific(ABT_key key, void **value);
int ABT_self_set_specific(ABT_key key, void *value);

int ABT_thread_create(ABT_pool pool, void (*thread_func)(void *), void *arg, ABT_thread_attr attr,
                      ABT_thread *newthread);
int ABT_thread_free(ABT_thread *thread);
int ABT_thread_yield(void);

int ABT_key_create(void (*destructor)(void *value), ABT_key *newkey);
int ABT_key_free(ABT_key *key);

int ABT_eventual_create(int nbytes, ABT_eventual *neweventual);
int ABT_eventual_free(ABT_eventual *eventual);
int ABT_eventual_wait(ABT_eventual eventual, void **value);
int ABT_eventual_set(ABT_eventual eventual, void *value, int nbytes);
int ABT_eventual_reset(ABT_eventual eventual);

#ifdef __cplusplus
}
#endif
#endif
