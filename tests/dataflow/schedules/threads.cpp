// SPDX-License-Identifier: BSD-3-Clause
// The threads of a schedule, and on them what the sources under test need: the arena of oneTBB (arena.hpp) and the
// memory of tasks (block_pool.hpp).
#include "threads.hpp"

#include "dataflow/block_pool.hpp"
#include "dataflow/task_scheduler.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <iterator>
#include <memory>
#include <new>
#include <ucontext.h>
#include <utility>
#include <vector>

namespace schedules {

namespace {

constexpr std::size_t stack_bytes = std::size_t{256} << 10;
constexpr int few_steps = 3;        // that change nothing, in a row: after these there are no more preemptions
constexpr int many_steps = 8;       // after these the thread counts as spinning, and gives way
constexpr long most_steps = 50'000; // of a schedule

struct virtual_thread;

struct stack {
    ucontext_t context{};
    std::unique_ptr<char[]> memory{new char[stack_bytes]};
    std::function<void()> body;
    virtual_thread *first_of = nullptr; // the thread that began on it
    bool resumed = false;
};

struct virtual_thread {
    explicit virtual_thread(stack &begins_on) : current(&begins_on), first(&begins_on) { begins_on.first_of = this; }

    stack *current;
    stack *const first;
    std::function<bool()> waits_for; // empty: it can go on
    bool ended = false;
    int spins = 0; // steps in a row that changed nothing
    thence::dataflow::thread_state state{};
};

struct decision {
    std::size_t chosen;
    std::size_t count;
};

struct call {
    void (*work)(void *) noexcept;
    void *data;
};

// One schedule.
struct {
    std::vector<std::unique_ptr<virtual_thread>> threads;
    virtual_thread *running = nullptr;
    int preemptions_left = 0;
    long steps = 0;
    std::string fault;
    ucontext_t explorer{};
    std::deque<call> calls;      // of the arena
    std::deque<stack *> resumed; // to be continued by any thread of the arena
    bool arena_is_closed = false;
} schedule;

std::vector<decision> decisions; // the first ones of the schedule
std::size_t decided = 0;
std::vector<std::unique_ptr<stack>> used; // by this schedule
std::vector<std::unique_ptr<stack>> unused;

std::size_t decide(std::size_t count) {
    if (count == 1) {
        return 0;
    }
    if (decided == decisions.size()) {
        decisions.push_back({0, count});
    }
    if (decisions[decided].count != count) {
        fail("a replayed schedule differs");
    }
    return decisions[decided++].chosen;
}

bool can_go_on(const virtual_thread &thread) {
    return !thread.ended && (!thread.waits_for || thread.waits_for());
}

// The threads that can go on, beside the running one.
std::vector<virtual_thread *> others() {
    std::vector<virtual_thread *> found;
    for (const auto &each : schedule.threads) {
        if (each.get() != schedule.running && can_go_on(*each)) {
            found.push_back(each.get());
        }
    }
    return found;
}

void go_on_with(virtual_thread &next) {
    virtual_thread &before = *std::exchange(schedule.running, &next);
    next.waits_for = nullptr;
    next.spins = 0;
    before.state = std::exchange(thence::dataflow::this_thread(), next.state);
    swapcontext(&before.current->context, &next.current->context);
}

// The running thread cannot go on.
void go_on_with_any() {
    const std::vector<virtual_thread *> all = others();
    if (all.empty()) {
        const bool over =
            std::all_of(schedule.threads.begin(), schedule.threads.end(), [](const auto &each) { return each->ended; });
        if (!over) {
            fail("deadlock");
        }
        setcontext(&schedule.explorer);
    }
    go_on_with(*all[decide(all.size())]);
}

void end_thread() {
    schedule.running->ended = true;
    go_on_with_any();
}

void enter_stack() {
    const std::function<void()> body = std::exchange(schedule.running->current->body, nullptr);
    body();
    end_thread();
}

stack &new_stack(std::function<void()> body) {
    if (unused.empty()) {
        unused.push_back(std::make_unique<stack>());
    }
    stack &made = *used.emplace_back(std::move(unused.back()));
    unused.pop_back();
    made.body = std::move(body);
    made.first_of = nullptr;
    made.resumed = false;
    getcontext(&made.context);
    made.context.uc_stack = {made.memory.get(), 0, stack_bytes};
    made.context.uc_link = nullptr;
    makecontext(&made.context, enter_stack, 0);
    return made;
}

// Continues a resumed stack on the running thread. The current stack is in serve_arena(): it is left for good, unless
// the thread began on it, and so returns to it.
void continue_stack(stack &next) {
    stack &before = *std::exchange(schedule.running->current, &next);
    before.resumed = before.first_of != nullptr;
    next.resumed = false;
    swapcontext(&before.context, &next.context);
}

// What a thread of the arena does while it runs no task.
void serve_arena() {
    const auto first_is_resumed = [](const virtual_thread &thread) {
        return thread.current != thread.first && thread.first->resumed;
    };
    for (;;) {
        virtual_thread &self = *schedule.running;
        if (first_is_resumed(self)) {
            continue_stack(*self.first);
        } else if (!schedule.resumed.empty()) {
            stack &next = *schedule.resumed.front();
            schedule.resumed.pop_front();
            continue_stack(next);
        } else if (!schedule.calls.empty()) {
            const call next = schedule.calls.front();
            schedule.calls.pop_front();
            next.work(next.data);
        } else if (schedule.arena_is_closed) {
            return;
        } else {
            block_until([&self, first_is_resumed] {
                return first_is_resumed(self) || !schedule.resumed.empty() || !schedule.calls.empty() ||
                       schedule.arena_is_closed;
            });
        }
    }
}

} // namespace

void allow_preemptions(int most) {
    schedule.preemptions_left = most;
}

void start(std::function<void()> body) {
    schedule.threads.push_back(std::make_unique<virtual_thread>(new_stack(std::move(body))));
}

void block_until(const std::function<bool()> &holds) {
    while (!holds()) {
        schedule.running->waits_for = holds;
        go_on_with_any();
    }
}

void block_until_quiet() {
    const virtual_thread *const self = schedule.running;
    block_until([self] {
        return std::none_of(schedule.threads.begin(), schedule.threads.end(),
                            [self](const auto &each) { return each.get() != self && can_go_on(*each); });
    });
}

void fail(const std::string &text) {
    schedule.fault = text;
    setcontext(&schedule.explorer);
    __builtin_unreachable();
}

void begin_step() {
    if (schedule.running == nullptr) {
        return;
    }
    if (++schedule.steps > most_steps) {
        fail("the threads go on for ever");
    }
    if (schedule.running->spins >= many_steps) {
        give_way();
    } else if (schedule.running->spins < few_steps && schedule.preemptions_left > 0) {
        const std::vector<virtual_thread *> all = others();
        if (const std::size_t chosen = decide(1 + all.size()); chosen != 0) {
            --schedule.preemptions_left;
            go_on_with(*all[chosen - 1]);
        }
    }
}

void end_step(bool changed) {
    if (schedule.running != nullptr) {
        schedule.running->spins = changed ? 0 : schedule.running->spins + 1;
    }
}

// In turn, so that all threads get there. This is no decision.
void give_way() {
    if (schedule.running == nullptr) {
        return;
    }
    schedule.running->spins = 0;
    const auto self = std::find_if(schedule.threads.begin(), schedule.threads.end(),
                                   [](const auto &each) { return each.get() == schedule.running; });
    for (auto next = self + 1; next != self; ++next) {
        if (next == schedule.threads.end()) {
            next = schedule.threads.begin();
        }
        if (next == self) {
            return;
        }
        if (can_go_on(**next)) {
            return go_on_with(**next);
        }
    }
}

result explore(const std::function<void()> &program) {
    result found;
    decisions.clear();
    for (;;) {
        decided = 0;
        schedule.preemptions_left = 0;
        schedule.steps = 0;
        schedule.arena_is_closed = false;
        start(program);
        schedule.running = schedule.threads.front().get();
        thence::dataflow::this_thread() = {};
        swapcontext(&schedule.explorer, &schedule.running->current->context);
        schedule.running = nullptr;
        schedule.threads.clear();
        schedule.calls.clear();
        schedule.resumed.clear();
        std::move(used.begin(), used.end(), std::back_inserter(unused));
        used.clear();
        ++found.count;
        found.fault = std::exchange(schedule.fault, {});
        while (!decisions.empty() && decisions.back().chosen + 1 == decisions.back().count) {
            decisions.pop_back();
        }
        if (!found.fault.empty() || decisions.empty()) {
            return found;
        }
        ++decisions.back().chosen;
    }
}

} // namespace schedules

namespace thence::workers {

void suspend_stack(suspended &stack, const after_suspend &after) {
    schedules::stack &before = *schedules::schedule.running->current;
    stack.point = &before;
    schedules::stack &next = schedules::new_stack([&stack, &after] {
        after.call(stack, after.data);
        schedules::serve_arena();
    });
    schedules::schedule.running->current = &next;
    swapcontext(&before.context, &next.context);
}

void resume_stack(suspended &stack) {
    auto &resumed = *static_cast<schedules::stack *>(stack.point);
    if (std::exchange(resumed.resumed, true)) {
        schedules::fail("a stack is resumed twice");
    }
    if (resumed.first_of == nullptr) {
        schedules::schedule.resumed.push_back(&resumed);
    }
}

struct arena::implementation {};

arena::counted_workers::counted_workers(int count) : count_(count) {}
arena::counted_workers::~counted_workers() = default;

arena::arena(int workers) : workers_(workers) {
    for (int i = 0; i < workers; ++i) {
        schedules::start(schedules::serve_arena);
    }
}

arena::~arena() {
    schedules::schedule.arena_is_closed = true;
}

void arena::call(void (*work)(void *) noexcept, void *data) noexcept {
    schedules::schedule.calls.push_back({work, data});
}

void arena::visit(void (*work)(void *), void *data) {
    work(data);
}

void arena::help() {}

} // namespace thence::workers

namespace thence::dataflow {

void *block_pool::take(int size_class, std::size_t bytes) {
    const std::size_t size = size_class < sizes ? smallest << size_class : bytes;
    void *const block = ::operator new (size, std::align_val_t{smallest});
    return std::memset(block, 0, size); // else what was there before would decide which steps change something
}

void block_pool::give(int, void *block) noexcept {
    ::operator delete (block, std::align_val_t{smallest});
}

std::size_t block_pool::held() noexcept {
    return 0;
}

void block_pool::for_each(std::size_t, void (*)(void *, void *), void *) {}

} // namespace thence::dataflow
