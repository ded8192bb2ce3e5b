// SPDX-License-Identifier: BSD-3-Clause
// User-level threads for the stand-ins of Argobots and Qthreads. Each is a thread of the system that runs only while it
// has one of a few workers. If it is blocked, another one gets its worker. So a program hangs here, too, if a task that
// waits keeps its worker.
#pragma once

#include <mutex>

namespace standin {

struct ult;
using lock = std::unique_lock<std::mutex>;

// Guards all state of a stand-in. Never held while a ULT runs code of the program.
std::mutex &big_lock();

void start(int workers); // the calling thread becomes a ULT and gets a worker
void stop();             // waits for all ULTs that nobody joins
int workers();           // 0: not started
void add_worker();
void remove_worker();

ult *current(); // null on a thread that is no ULT
ult *create(void (*body)(void *), void *argument, bool joinable);
void join(ult *ended); // blocks the current ULT; `ended` is gone then
void yield();

// Of the current ULT: gives its worker away, and returns when make_ready() has been called and a worker is free.
void block(lock &locked);
void make_ready(ult *blocked, const lock &locked);

unsigned number_of(ult *each);
// What the ULT owns. `destroy` is called when it is freed.
void *&specific(ult *each, const void *key);
void set_destroy(const void *key, void (*destroy)(void *));

} // namespace standin
