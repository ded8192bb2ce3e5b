// SPDX-License-Identifier: BSD-3-Clause
#include "../ults.hpp"

#include "abt.h"

#include <chrono>
#include <vector>

struct ABT_eventual_opaque {
    bool ready = false;
    std::vector<standin::ult *> waiters;
};
struct ABT_key_opaque {
    char unused;
};

namespace {

// One pool for all streams, and what a handle of either points to.
char the_stream;
char the_pool;

ABT_thread handle_of(standin::ult *each) {
    return reinterpret_cast<ABT_thread>(each);
}

} // namespace

int ABT_init(int, char **) {
    standin::start(1);
    return ABT_SUCCESS;
}
int ABT_finalize() {
    standin::stop();
    return ABT_SUCCESS;
}
int ABT_initialized() {
    return standin::workers() > 0 ? ABT_SUCCESS : ABT_ERR_UNINITIALIZED;
}
double ABT_get_wtime() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int ABT_xstream_create(ABT_sched, ABT_xstream *newxstream) {
    standin::add_worker();
    *newxstream = reinterpret_cast<ABT_xstream>(&the_stream);
    return ABT_SUCCESS;
}
int ABT_xstream_join(ABT_xstream) {
    standin::remove_worker();
    return ABT_SUCCESS;
}
int ABT_xstream_free(ABT_xstream *xstream) {
    *xstream = nullptr;
    return ABT_SUCCESS;
}
int ABT_xstream_get_num(int *num_xstreams) {
    *num_xstreams = standin::workers();
    return ABT_SUCCESS;
}
int ABT_xstream_get_main_pools(ABT_xstream, int max_pools, ABT_pool *pools) {
    for (int i = 0; i < max_pools; ++i) {
        pools[i] = reinterpret_cast<ABT_pool>(&the_pool);
    }
    return ABT_SUCCESS;
}

int ABT_self_get_xstream(ABT_xstream *xstream) {
    *xstream = reinterpret_cast<ABT_xstream>(&the_stream);
    return standin::current() != nullptr ? ABT_SUCCESS : ABT_ERR_INV_XSTREAM;
}
int ABT_self_get_type(ABT_unit_type *type) {
    *type = standin::current() != nullptr ? ABT_UNIT_TYPE_THREAD : ABT_UNIT_TYPE_EXT;
    return standin::current() != nullptr ? ABT_SUCCESS : ABT_ERR_INV_XSTREAM;
}
int ABT_self_get_last_pool(ABT_pool *pool) {
    *pool = reinterpret_cast<ABT_pool>(&the_pool);
    return standin::current() != nullptr ? ABT_SUCCESS : ABT_ERR_INV_XSTREAM;
}
int ABT_self_get_specific(ABT_key key, void **value) {
    *value = standin::specific(standin::current(), key);
    return ABT_SUCCESS;
}
int ABT_self_set_specific(ABT_key key, void *value) {
    standin::specific(standin::current(), key) = value;
    return ABT_SUCCESS;
}

int ABT_thread_create(ABT_pool, void (*thread_func)(void *), void *arg, ABT_thread_attr, ABT_thread *newthread) {
    standin::ult *made = standin::create(thread_func, arg, newthread != nullptr);
    if (newthread != nullptr) {
        *newthread = handle_of(made);
    }
    return made != nullptr ? ABT_SUCCESS : ABT_ERR_MEM;
}
int ABT_thread_free(ABT_thread *thread) {
    standin::join(reinterpret_cast<standin::ult *>(*thread));
    *thread = nullptr;
    return ABT_SUCCESS;
}
int ABT_thread_yield() {
    if (standin::current() != nullptr) {
        standin::yield();
    }
    return ABT_SUCCESS;
}

int ABT_key_create(void (*destructor)(void *value), ABT_key *newkey) {
    *newkey = new ABT_key_opaque{};
    standin::set_destroy(*newkey, destructor);
    return ABT_SUCCESS;
}
int ABT_key_free(ABT_key *key) {
    delete *key;
    *key = nullptr;
    return ABT_SUCCESS;
}

int ABT_eventual_create(int, ABT_eventual *neweventual) {
    *neweventual = new ABT_eventual_opaque;
    return ABT_SUCCESS;
}
int ABT_eventual_free(ABT_eventual *eventual) {
    {
        const standin::lock locked(standin::big_lock()); // a call of set that has made its owner ready is over
    }
    delete *eventual;
    *eventual = nullptr;
    return ABT_SUCCESS;
}
int ABT_eventual_wait(ABT_eventual eventual, void **) {
    standin::lock locked(standin::big_lock());
    if (!eventual->ready) {
        eventual->waiters.push_back(standin::current());
        standin::block(locked);
    }
    return ABT_SUCCESS;
}
int ABT_eventual_set(ABT_eventual eventual, void *, int) {
    const standin::lock locked(standin::big_lock());
    if (eventual->ready) {
        return ABT_ERR_EVENTUAL;
    }
    eventual->ready = true;
    for (standin::ult *each : eventual->waiters) {
        standin::make_ready(each, locked);
    }
    eventual->waiters.clear();
    return ABT_SUCCESS;
}
int ABT_eventual_reset(ABT_eventual eventual) {
    const standin::lock locked(standin::big_lock());
    eventual->ready = false;
    return ABT_SUCCESS;
}
