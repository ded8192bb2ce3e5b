// SPDX-License-Identifier: BSD-3-Clause
#include "dataflow/flow.hpp"

#include <algorithm>
#include <limits>
#include <new>
#include <stdexcept>
#include <utility>

namespace thence::detail {

using dataflow::access_chain;
using dataflow::block_pool;
using dataflow::linked_access;
using dataflow::phase;
using dataflow::scope;
using dataflow::task;
using dataflow::task_list;
using dataflow::task_scheduler;
using dataflow::this_thread;

static_assert(sizeof(task) % alignof(linked_access) == 0);
static_assert(alignof(task) <= body_alignment && 64 % body_alignment == 0);

namespace {

constexpr int scope_class = block_pool::size_class(sizeof(scope));

void free_task(task &gone) noexcept {
    const int size_class = gone.size_class;
    gone.is_task().store(0, std::memory_order_relaxed);
    gone.~task();
    block_pool::give(size_class, &gone);
}

void no_longer_used(task &by, std::uint32_t users) noexcept {
    if (by.users.fetch_sub(users, std::memory_order_acq_rel) == users) {
        free_task(by);
    }
}

} // namespace

flow_state::flow_state(int workers, std::uint32_t most_open)
    : most_open_(most_open), root_(*this, nullptr), spawned_(*this, nullptr),
      scheduler_(
          workers, run, [](void *self) noexcept { static_cast<flow_state *>(self)->resume_throttled(true); }, this) {}

flow_state::~flow_state() {
    wait(root_);
    wait(spawned_);
}

task *flow_state::prepare(const task_body &body, std::size_t accesses) {
    const std::size_t body_at =
        sizeof(task) + (accesses * sizeof(linked_access) + body_alignment - 1) / body_alignment * body_alignment;
    if (accesses > std::numeric_limits<std::uint32_t>::max() / 2) {
        throw std::length_error("thence: a task with too many accesses");
    }
    const std::size_t bytes = body_at + body.size;
    const int size_class = block_pool::size_class(bytes);
    task *const made = new (block_pool::take(size_class, bytes)) task;
    made->size_class = static_cast<std::uint8_t>(size_class);
    made->runs_in = this;
    made->body = &body;
    made->object = reinterpret_cast<char *>(made) + body_at;
    return made;
}

void flow_state::drop(task &unused) noexcept {
    free_task(unused);
}

scope &flow_state::current_scope() {
    task *const parent = this_thread().running;
    if (parent == nullptr || parent->runs_in != this) {
        return root_;
    }
    if (this_thread().in_onready) {
        throw std::logic_error("thence: a task is submitted, or waited for, inside onready");
    }
    scope *own = parent->children.load(std::memory_order_relaxed);
    if (own == nullptr) {
        own = new (block_pool::take(scope_class, sizeof(scope))) scope(*this, parent);
        parent->pending.fetch_add(task::has_children, std::memory_order_relaxed);
        parent->children.store(own, std::memory_order_relaxed);
    }
    return *own;
}

// Merges accesses to the same datum. @return how many of the merged accesses may run.
std::size_t flow_state::append(scope &to, task &added, std::span<const access> accesses) {
    const std::scoped_lock guard(to.lock);
    const std::uint64_t submission = to.chains.begin();
    linked_access *const own = added.accesses();
    for (const access &wanted : accesses) {
        access_chain &chain = to.chains.find(wanted.start);
        if (chain.submission == submission) {
            linked_access &first = own[chain.marked_as];
            first.kind = both(first.kind, wanted.kind);
            continue;
        }
        chain.submission = submission;
        chain.marked_as = added.count;
        linked_access *const made = new (&own[added.count++]) linked_access;
        made->kind = wanted.kind;
        made->chain = &chain;
        made->owner = &added;
    }
    // From here on nothing throws, and other threads see the accesses.
    added.waits_for.store(added.count + 1, std::memory_order_relaxed);
    added.users.store(added.count + 1, std::memory_order_relaxed);
    std::size_t may_run = 0;
    for (std::uint32_t i = 0; i < added.count; ++i) {
        if (exclusive(own[i].kind)) {
            added.flags |= dataflow::exclusive;
        }
        may_run += dataflow::append(own[i], [](linked_access &dead) { no_longer_used(*dead.owner, 1); }) ? 1 : 0;
    }
    return may_run;
}

void flow_state::submit(task &added, std::span<const access> accesses, const task_options &options,
                        const void *submitted_at) {
    std::size_t may_run = 0;
    scope *siblings = nullptr;
    bool too_many = false;
    try {
        scope &to = current_scope();
        siblings = &to;
        added.siblings = &to;
        added.priority = options.priority;
        if (to.owner != nullptr && !added.has(dataflow::wakes_waiter)) {
            added.depth = std::min<std::uint8_t>(to.owner->depth, task::deepest - 1) + 1;
        }
        added.pending.store(task::body_runs, std::memory_order_relaxed);
        added.label.store(options.label, std::memory_order_relaxed);
        added.submitted_at.store(submitted_at, std::memory_order_relaxed);
        added.enter(phase::waits_for_accesses);
        const std::uint64_t open = to.open.fetch_add(scope::child, std::memory_order_relaxed);
        too_many = scope::open_children(open) + 1 > most_open_ && !added.has(dataflow::wakes_waiter);
        if (accesses.empty()) {
            added.users.store(1, std::memory_order_relaxed);
        } else {
            try {
                may_run = append(to, added, accesses);
            } catch (...) {
                if (task *const owner = count_child_down(to); owner != nullptr) {
                    counted_to_zero(*owner);
                }
                throw;
            }
        }
        added.is_task().store(1, std::memory_order_release);
    } catch (...) {
        if (added.body->destroy != nullptr) {
            added.body->destroy(added.object);
        }
        drop(added);
        throw;
    }
    const std::uint32_t count = static_cast<std::uint32_t>(may_run) + 1;
    if (added.count + 1 == count || added.waits_for.fetch_sub(count, std::memory_order_acq_rel) == count) {
        if (may_start(added)) {
            scheduler_.push(added);
        }
    }
    if (too_many) [[unlikely]] {
        throttle(*siblings);
    }
}

void flow_state::spawn(task &added, const task_options &options, const void *submitted_at) noexcept {
    added.flags |= dataflow::spawned;
    added.siblings = &spawned_;
    added.priority = options.priority;
    added.pending.store(task::body_runs, std::memory_order_relaxed);
    added.users.store(1, std::memory_order_relaxed);
    added.label.store(options.label, std::memory_order_relaxed);
    added.submitted_at.store(submitted_at, std::memory_order_relaxed);
    spawned_.open.fetch_add(scope::child, std::memory_order_relaxed);
    added.enter(phase::ready);
    added.is_task().store(1, std::memory_order_release);
    scheduler_.push(added);
}

// Call it when all accesses may run. @return whether the task is ready; if not, it waits for tokens.
bool flow_state::may_start(task &ready) noexcept {
    if (ready.has(dataflow::exclusive) && !tokens_.take(ready)) {
        return false;
    }
    ready.enter(phase::ready);
    return true;
}

task *flow_state::run(task &current) noexcept {
    const bool runs = !current.failed() || current.has(dataflow::runs_always);
    if (runs && current.body->onready != nullptr && !current.has(dataflow::onready_done)) {
        current.flags |= dataflow::onready_done;
        if (!run_onready(current)) {
            return nullptr; // the last event makes it ready
        }
    }
    if (runs && (!current.failed() || current.has(dataflow::runs_always))) {
        run_body(current);
    }
    if (current.has(dataflow::runs_again)) [[unlikely]] {
        repeat_later(current);
        return nullptr;
    }
    current.enter(phase::ended);
    if (!end_body(current)) {
        return nullptr;
    }
    task_list ready;
    task_scheduler &scheduler = current.runs_in->scheduler_;
    complete(current, ready);
    task *const next = ready.pop();
    if (!ready.empty()) {
        scheduler.push(ready);
    }
    if (next == nullptr || scheduler.goes_first(*next)) {
        return next;
    }
    scheduler.push(*next);
    return nullptr;
}

// @return whether no event is left.
bool flow_state::run_onready(task &current) noexcept {
    dataflow::thread_state &state = this_thread();
    current.enter(phase::runs_onready);
    state.running = &current;
    state.in_onready = true;
    try {
        current.body->onready(current.object);
    } catch (...) {
        fail(current, std::current_exception());
    }
    state.in_onready = false;
    state.running = nullptr;
    if (current.pending.fetch_sub(task::body_runs, std::memory_order_acq_rel) != task::body_runs) {
        return false;
    }
    current.pending.store(task::body_runs, std::memory_order_relaxed);
    return true;
}

void flow_state::run_body(task &current) noexcept {
    current.enter(phase::runs);
    this_thread().running = &current;
    try {
        current.body->run(current.object);
    } catch (...) {
        current.flags &= static_cast<std::uint8_t>(~dataflow::runs_again);
        fail(current, std::current_exception());
    }
    this_thread().running = nullptr; // the body may have changed threads
}

// @return whether the task is complete.
bool flow_state::end_body(task &current) noexcept {
    std::uint64_t part = task::body_runs;
    if (scope *const own = current.children.load(std::memory_order_relaxed); own != nullptr) {
        if (own->open.fetch_sub(scope::child, std::memory_order_acq_rel) == scope::child) {
            part += task::has_children;
        }
    }
    return current.pending.fetch_sub(part, std::memory_order_acq_rel) == part;
}

void flow_state::counted_to_zero(task &done) noexcept {
    flow_state &in = *done.runs_in;
    const task_scheduler::keep_alive stays(in.scheduler_); // the flow may end when its last task is complete
    const phase reached = done.current_phase.load(std::memory_order_relaxed);
    if (reached == phase::waits_to_run_again) {
        return events_are_lowered(done);
    }
    if (reached == phase::runs_onready) {
        done.pending.store(task::body_runs, std::memory_order_relaxed);
        done.enter(phase::ready);
        in.scheduler_.push(done);
        return;
    }
    task_list ready;
    complete(done, ready);
    if (!ready.empty()) {
        in.scheduler_.push(ready);
    }
}

void flow_state::complete(task &done, task_list &ready) noexcept {
    for (task *next = &done; next != nullptr;) {
        next = complete_one(*next, ready);
    }
}

// @return the parent, if that is complete now too.
task *flow_state::complete_one(task &done, task_list &ready) noexcept {
    flow_state &in = *done.runs_in;
    done.enter(phase::complete);
    if (done.body->destroy != nullptr) {
        done.body->destroy(done.object);
    }
    if (done.children.load(std::memory_order_relaxed) != nullptr) {
        end_scope(done);
    }
    if (done.has(dataflow::exclusive)) {
        task_list have;
        in.tokens_.give_back(done, have);
        while (task *const one = have.pop()) {
            one->enter(phase::ready);
            ready.push(*one);
        }
    }
    std::uint32_t users = 1;
    for (std::uint32_t i = 0; i < done.count; ++i) {
        dataflow::set_flags(
            &done.accesses()[i], linked_access::complete,
            [&](task &other) {
                if (other.waits_for.fetch_sub(1, std::memory_order_acq_rel) == 1 && in.may_start(other)) {
                    ready.push(other);
                }
            },
            [&](linked_access &dead) {
                if (dead.owner == &done) {
                    ++users;
                } else {
                    no_longer_used(*dead.owner, 1);
                }
            });
    }
    if (done.completed != nullptr) {
        done.completed(done.completed_argument);
    }
    scope &siblings = *done.siblings;
    no_longer_used(done, users);
    return in.count_child_down(siblings);
}

// @return the owner, if that is complete now.
task *flow_state::count_child_down(scope &children) noexcept {
    task *const owner = children.owner;
    const std::uint64_t left = children.open.fetch_sub(scope::child, std::memory_order_acq_rel) - scope::child;
    if (left == 0) { // the owner's body has ended
        return owner->pending.fetch_sub(task::has_children, std::memory_order_acq_rel) == task::has_children ? owner
                                                                                                             : nullptr;
    }
    // From here on the scope may end, unless a thread waits in taskwait: then `waited_for` is set, and the scope lives
    // until wake().
    if ((left & scope::throttled) != 0 && few_are_open(left)) [[unlikely]] {
        resume_throttled(false);
    }
    if ((left & scope::waited_for) != 0 && scope::open_children(left) == 0) {
        wake(children);
    }
    return nullptr;
}

void flow_state::end_scope(task &owner) noexcept {
    scope *const own = owner.children.load(std::memory_order_relaxed);
    if (own->failed.load(std::memory_order_relaxed)) {
        fail(owner, own->failure);
    }
    own->~scope();
    block_pool::give(scope_class, own);
}

void flow_state::fail(task &failed, std::exception_ptr why) noexcept {
    if (failed.has(dataflow::spawned)) {
        return; // no thread waits for it
    }
    scope &siblings = *failed.siblings;
    const std::scoped_lock guard(siblings.lock);
    if (siblings.failure == nullptr) {
        siblings.failure = std::move(why);
    }
    siblings.failed.store(true, std::memory_order_relaxed);
}

} // namespace thence::detail
