// SPDX-License-Identifier: BSD-3-Clause
// Runs a program in all schedules of its threads, up to a number of preemptions.
//
// The threads are stacks of one thread of the system. Each atomic operation of the sources under test is a step
// (atomic_steps.cpp): before it another thread may go on, which is a preemption. A thread that blocks or ends, or that
// spins, gives way without one. A schedule is a list of decisions. It is replayed from the beginning with another last
// decision, as in tokens.cpp. If no thread can go on before all have ended, that is a deadlock.
#pragma once

#include <functional>
#include <string>

namespace schedules {

struct result {
    long count = 0;    // of schedules
    std::string fault; // of the last schedule, or empty
};
// Runs `program` on a thread of its own in each schedule, up to the first fault.
result explore(const std::function<void()> &program);

// For programs. Until this call there are no preemptions.
void allow_preemptions(int most);
// Starts another thread.
void start(std::function<void()> body);
// This thread goes on when `holds()` is true, which only other threads can bring about.
void block_until(const std::function<bool()> &holds);
// This thread goes on when no other one can.
void block_until_quiet();
// Ends the schedule with a fault.
[[noreturn]] void fail(const std::string &text);

// For the sources under test. The current thread is about to take a step, has taken one, or sleeps for some time.
void begin_step();
void end_step(bool changed);
void give_way();

} // namespace schedules
