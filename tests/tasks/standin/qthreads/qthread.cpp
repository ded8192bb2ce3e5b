// SPDX-License-Identifier: BSD-3-Clause
#include "../ults.hpp"

#include "qthread/qthread.h"
#include "qthread/qtimer.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

struct qtimer_s {
    std::chrono::steady_clock::time_point begun, ended;
};

namespace {

// The words whose bit is empty, and who waits until it is full.
std::map<const aligned_t *, std::vector<standin::ult *>> empty_words;

struct started {
    qthread_f f;
    void *argument;
    aligned_t *result;
};

void run(void *data) {
    const std::unique_ptr<started> self(static_cast<started *>(data));
    const aligned_t result = self->f(self->argument);
    if (self->result != nullptr) {
        *self->result = result;
        qthread_fill(self->result);
    }
}

void require_qthread(const char *call) {
    if (standin::current() == nullptr) {
        std::fprintf(stderr, "stand-in: %s on a thread that is no worker\n", call);
        std::abort();
    }
}

} // namespace

int qthread_initialize() {
    const char *workers = std::getenv("QT_NUM_SHEPHERDS");
    standin::start(workers != nullptr ? std::atoi(workers) : 1);
    return QTHREAD_SUCCESS;
}
void qthread_finalize() {
    standin::stop();
}
unsigned qthread_id() {
    standin::ult *self = standin::current();
    return self != nullptr ? standin::number_of(self) : 0;
}
qthread_shepherd_id_t qthread_shep() {
    return standin::current() != nullptr ? 0 : NO_SHEPHERD;
}
qthread_worker_id_t qthread_num_workers() {
    return static_cast<qthread_worker_id_t>(standin::workers());
}

int qthread_spawn(qthread_f f, const void *arg, size_t, void *ret, size_t, void *, qthread_shepherd_id_t,
                  unsigned int) {
    auto data = std::make_unique<started>(started{f, const_cast<void *>(arg), static_cast<aligned_t *>(ret)});
    if (ret != nullptr) {
        qthread_empty(data->result);
    }
    if (standin::create(run, data.get(), false) == nullptr) {
        return QTHREAD_MALLOC_ERROR;
    }
    (void)data.release();
    return QTHREAD_SUCCESS;
}
int qthread_fork(qthread_f f, const void *arg, aligned_t *ret) {
    return qthread_spawn(f, arg, 0, ret, 0, nullptr, NO_SHEPHERD, 0);
}
void qthread_yield_(int) {
    if (standin::current() != nullptr) {
        standin::yield();
    }
}

int qthread_empty(const aligned_t *dest) {
    require_qthread("qthread_empty");
    const standin::lock locked(standin::big_lock());
    empty_words[dest];
    return QTHREAD_SUCCESS;
}
// On other threads the real one starts a qthread and waits for it, which the adapter must not need.
int qthread_fill(const aligned_t *dest) {
    require_qthread("qthread_fill");
    const standin::lock locked(standin::big_lock());
    if (const auto found = empty_words.find(dest); found != empty_words.end()) {
        for (standin::ult *each : found->second) {
            standin::make_ready(each, locked);
        }
        empty_words.erase(found);
    }
    return QTHREAD_SUCCESS;
}
int qthread_readFF(aligned_t *dest, const aligned_t *src) {
    require_qthread("qthread_readFF");
    standin::lock locked(standin::big_lock());
    if (const auto found = empty_words.find(src); found != empty_words.end()) {
        found->second.push_back(standin::current());
        standin::block(locked);
    }
    if (dest != nullptr) {
        *dest = *src;
    }
    return QTHREAD_SUCCESS;
}

qtimer_t qtimer_create() {
    return new qtimer_s;
}
void qtimer_destroy(qtimer_t timer) {
    delete timer;
}
void qtimer_start(qtimer_t timer) {
    timer->begun = std::chrono::steady_clock::now();
}
void qtimer_stop(qtimer_t timer) {
    timer->ended = std::chrono::steady_clock::now();
}
double qtimer_secs(qtimer_t timer) {
    return std::chrono::duration<double>(timer->ended - timer->begun).count();
}
