// SPDX-License-Identifier: BSD-3-Clause
#include "ults.hpp"

#include <pthread.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <utility>

namespace standin {

struct ult {
    unsigned number = 0;
    void (*body)(void *) = nullptr;
    void *argument = nullptr;
    bool joinable = false;
    bool runs = false; // it has a worker
    bool ended = false;
    ult *joiner = nullptr;
    std::condition_variable may_run;
    std::map<const void *, void *> specific;
};

namespace {

std::mutex mutex_;
int workers_ = 0;
int idle_ = 0; // workers that no ULT has; 0 if one is ready
unsigned last_number_ = 0;
int unjoined_ = 0;
std::condition_variable all_ended_;
std::deque<ult *> ready_;
std::map<const void *, void (*)(void *)> destroys_;
thread_local ult *current_ = nullptr;

void hand_on_worker() {
    if (ready_.empty()) {
        ++idle_;
        return;
    }
    ult *next = ready_.front();
    ready_.pop_front();
    next->runs = true;
    next->may_run.notify_one();
}

void wait_for_worker(lock &locked, ult *self) {
    self->may_run.wait(locked, [self] { return self->runs; });
}

void destroy(ult *each) {
    for (const auto &[key, value] : each->specific) {
        if (value != nullptr && destroys_[key] != nullptr) {
            destroys_[key](value);
        }
    }
    delete each;
}

void *run(void *data) {
    ult *self = static_cast<ult *>(data);
    current_ = self;
    {
        lock locked(mutex_);
        wait_for_worker(locked, self);
    }
    self->body(self->argument);
    lock locked(mutex_);
    self->ended = true;
    if (self->joiner != nullptr) {
        make_ready(self->joiner, locked);
    }
    hand_on_worker();
    if (!self->joinable) {
        locked.unlock();
        destroy(self);
        locked.lock();
        --unjoined_;
        all_ended_.notify_all();
    }
    return nullptr;
}

} // namespace

std::mutex &big_lock() {
    return mutex_;
}

void start(int workers) {
    const lock locked(mutex_);
    workers_ = workers;
    idle_ = workers - 1;
    current_ = new ult;
    current_->number = ++last_number_;
    current_->runs = true;
}

void stop() {
    lock locked(mutex_);
    hand_on_worker();
    all_ended_.wait(locked, [] { return unjoined_ == 0; });
    workers_ = 0;
    idle_ = 0;
    locked.unlock();
    destroy(std::exchange(current_, nullptr));
}

int workers() {
    const lock locked(mutex_);
    return workers_;
}

void add_worker() {
    const lock locked(mutex_);
    ++workers_;
    hand_on_worker();
}

void remove_worker() {
    const lock locked(mutex_);
    if (idle_ == 0) {
        std::fputs("stand-in: a worker is removed while all are busy\n", stderr);
        std::abort();
    }
    --workers_;
    --idle_;
}

ult *current() {
    return current_;
}

ult *create(void (*body)(void *), void *argument, bool joinable) {
    auto made = std::make_unique<ult>();
    made->body = body;
    made->argument = argument;
    made->joinable = joinable;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, std::size_t{512} * 1024);
    pthread_t thread{};
    const lock locked(mutex_);
    const bool failed = pthread_create(&thread, &attributes, run, made.get()) != 0;
    pthread_attr_destroy(&attributes);
    if (failed) {
        return nullptr;
    }
    made->number = ++last_number_;
    if (!joinable) {
        ++unjoined_;
    }
    make_ready(made.get(), locked);
    return made.release();
}

void join(ult *ended) {
    lock locked(mutex_);
    if (!ended->ended) {
        ended->joiner = current_;
        block(locked);
    }
    locked.unlock();
    destroy(ended);
}

void yield() {
    lock locked(mutex_);
    if (ready_.empty()) {
        return;
    }
    make_ready(current_, locked);
    block(locked);
}

void block(lock &locked) {
    ult *self = current_;
    self->runs = false;
    hand_on_worker();
    wait_for_worker(locked, self);
}

void make_ready(ult *blocked, const lock &) {
    if (idle_ > 0) {
        --idle_;
        blocked->runs = true;
        blocked->may_run.notify_one();
    } else {
        ready_.push_back(blocked);
    }
}

unsigned number_of(ult *each) {
    return each->number;
}

void *&specific(ult *each, const void *key) {
    return each->specific[key];
}

void set_destroy(const void *key, void (*destroy)(void *)) {
    const lock locked(mutex_);
    destroys_[key] = destroy;
}

} // namespace standin
