// SPDX-License-Identifier: BSD-3-Clause
#include "dataflow/flow.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

namespace thence::detail {

using dataflow::block_pool;
using dataflow::chain;
using dataflow::chain_access;
using dataflow::crew;
using dataflow::phase;
using dataflow::scope;
using dataflow::task;
using dataflow::task_list;
using dataflow::this_thread;

static_assert(sizeof(task) % alignof(chain_access) == 0);
static_assert(alignof(task) <= body_alignment && 64 % body_alignment == 0);

namespace {

constexpr int scope_class = block_pool::size_class(sizeof(scope));

void free_task(task &gone) noexcept {
    const int size_class = gone.size_class;
    gone.is_task.store(0, std::memory_order_relaxed);
    gone.~task();
    block_pool::give(size_class, &gone);
}

void no_longer_used(task &by, std::uint32_t users) noexcept {
    if (by.users.fetch_sub(users, std::memory_order_acq_rel) == users)
        free_task(by);
}

} // namespace

flow_state::flow_state(int workers, std::uint32_t most_open)
    : most_open_(most_open), root_(*this, nullptr), spawned_(*this, nullptr),
      crew_(
          workers, run, [](void *self) noexcept { static_cast<flow_state *>(self)->resume_throttled(true); }, this) {}

flow_state::~flow_state() {
    wait(root_);
    wait(spawned_);
}

task *flow_state::prepare(const task_body &body, std::size_t accesses) {
    const std::size_t body_at =
        sizeof(task) + (accesses * sizeof(chain_access) + body_alignment - 1) / body_alignment * body_alignment;
    if (accesses > std::numeric_limits<std::uint32_t>::max() / 2)
        throw std::length_error("thence: a task with too many accesses");
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

scope &flow_state::scope_here() {
    task *const parent = this_thread().running;
    if (parent == nullptr || parent->runs_in != this)
        return root_;
    if (this_thread().in_onready)
        throw std::logic_error("thence: a task is submitted, or waited for, inside onready");
    scope *own = parent->children.load(std::memory_order_relaxed);
    if (own == nullptr) {
        own = new (block_pool::take(scope_class, sizeof(scope))) scope(*this, parent);
        parent->pending.fetch_add(task::has_children, std::memory_order_relaxed);
        parent->children.store(own, std::memory_order_relaxed);
    }
    return *own;
}

// @return how many of them may run, of those that are left of the accesses.
std::size_t flow_state::append(scope &to, task &added, std::span<const access> accesses) {
    const std::scoped_lock guard(to.lock);
    const std::uint64_t submission = to.chains.begin();
    chain_access *const own = added.accesses();
    for (const access &wanted : accesses) {
        chain &of = to.chains.find(wanted.start);
        if (of.submission == submission) {
            chain_access &first = own[of.marked_as];
            first.kind = both(first.kind, wanted.kind);
            continue;
        }
        of.submission = submission;
        of.marked_as = added.count;
        chain_access *const made = new (&own[added.count++]) chain_access;
        made->kind = wanted.kind;
        made->of = &of;
        made->owner = &added;
    }
    // From here on nothing throws, and others may see the accesses.
    added.waits_for.store(added.count + 1, std::memory_order_relaxed);
    added.users.store(added.count + 1, std::memory_order_relaxed);
    std::size_t may_run = 0;
    for (std::uint32_t i = 0; i < added.count; ++i) {
        if (exclusive(own[i].kind))
            added.flags |= dataflow::exclusive;
        may_run += dataflow::append(own[i], [](chain_access &dead) { no_longer_used(*dead.owner, 1); }) ? 1 : 0;
    }
    return may_run;
}

void flow_state::submit(task &added, std::span<const access> accesses, const task_options &options,
                        const void *submitted_at) {
    std::size_t may_run = 0;
    scope *of = nullptr;
    bool too_many = false;
    try {
        scope &to = scope_here();
        of = &to;
        added.siblings = &to;
        added.priority = options.priority;
        if (to.owner != nullptr && !added.has(dataflow::wakes_waiter))
            added.depth = std::min<std::uint8_t>(to.owner->depth, task::deepest - 1) + 1;
        added.pending.store(task::body_runs, std::memory_order_relaxed);
        added.label.store(options.label, std::memory_order_relaxed);
        added.submitted_at.store(submitted_at, std::memory_order_relaxed);
        added.enter(phase::waits_for_accesses);
        const std::uint64_t open = to.open.fetch_add(scope::child, std::memory_order_relaxed);
        too_many = scope::children(open) + 1 > most_open_ && !added.has(dataflow::wakes_waiter);
        if (accesses.empty()) {
            added.users.store(1, std::memory_order_relaxed);
        } else {
            try {
                may_run = append(to, added, accesses);
            } catch (...) {
                if (task *const owner = count_child_down(to); owner != nullptr)
                    counted_to_zero(*owner);
                throw;
            }
        }
        added.is_task.store(1, std::memory_order_release);
    } catch (...) {
        if (added.body->destroy != nullptr)
            added.body->destroy(added.object);
        drop(added);
        throw;
    }
    const std::uint32_t count = static_cast<std::uint32_t>(may_run) + 1;
    if (added.count + 1 == count || added.waits_for.fetch_sub(count, std::memory_order_acq_rel) == count) {
        if (may_start(added))
            crew_.push(added);
    }
    if (too_many) [[unlikely]]
        throttle(*of);
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
    added.is_task.store(1, std::memory_order_release);
    crew_.push(added);
}

// Its accesses may run. @return whether it may be pushed now.
bool flow_state::may_start(task &ready) noexcept {
    if (ready.has(dataflow::exclusive) && !tokens_.take(ready))
        return false;
    ready.enter(phase::ready);
    return true;
}

task *flow_state::run(task &now) noexcept {
    const bool runs = !now.failed() || now.has(dataflow::runs_always);
    if (runs && now.body->onready != nullptr && !now.has(dataflow::onready_done)) {
        now.flags |= dataflow::onready_done;
        if (!run_onready(now))
            return nullptr; // whoever lowers the last event pushes it
    }
    if (runs && (!now.failed() || now.has(dataflow::runs_always)))
        run_body(now);
    if (now.has(dataflow::runs_again)) [[unlikely]] {
        repeat_later(now);
        return nullptr;
    }
    now.enter(phase::ended);
    if (!end_body(now))
        return nullptr;
    task_list ready;
    crew &its = now.runs_in->crew_;
    complete(now, ready);
    task *const next = ready.pop();
    if (!ready.empty())
        its.push(ready);
    if (next == nullptr || its.goes_first(*next))
        return next;
    its.push(*next);
    return nullptr;
}

// @return whether no event is left.
bool flow_state::run_onready(task &now) noexcept {
    dataflow::thread_state &here = this_thread();
    now.enter(phase::runs_onready);
    here.running = &now;
    here.in_onready = true;
    try {
        now.body->onready(now.object);
    } catch (...) {
        fail(now, std::current_exception());
    }
    here.in_onready = false;
    here.running = nullptr;
    if (now.pending.fetch_sub(task::body_runs, std::memory_order_acq_rel) != task::body_runs)
        return false;
    now.pending.store(task::body_runs, std::memory_order_relaxed);
    return true;
}

void flow_state::run_body(task &now) noexcept {
    now.enter(phase::runs);
    this_thread().running = &now;
    try {
        now.body->run(now.object);
    } catch (...) {
        now.flags &= static_cast<std::uint8_t>(~dataflow::runs_again);
        fail(now, std::current_exception());
    }
    this_thread().running = nullptr; // perhaps another thread than before
}

// @return whether the task is complete.
bool flow_state::end_body(task &now) noexcept {
    std::uint64_t part = task::body_runs;
    if (scope *const own = now.children.load(std::memory_order_relaxed); own != nullptr) {
        if (own->open.fetch_sub(scope::child, std::memory_order_acq_rel) == scope::child)
            part += task::has_children;
    }
    return now.pending.fetch_sub(part, std::memory_order_acq_rel) == part;
}

void flow_state::counted_to_zero(task &done) noexcept {
    flow_state &in = *done.runs_in;
    const crew::guest stays(in.crew_); // the last task of a flow may be complete before this ends
    const phase now = done.now.load(std::memory_order_relaxed);
    if (now == phase::waits_to_run_again)
        return events_are_lowered(done);
    if (now == phase::runs_onready) {
        done.pending.store(task::body_runs, std::memory_order_relaxed);
        done.enter(phase::ready);
        in.crew_.push(done);
        return;
    }
    task_list ready;
    complete(done, ready);
    if (!ready.empty())
        in.crew_.push(ready);
}

void flow_state::complete(task &done, task_list &ready) noexcept {
    for (task *next = &done; next != nullptr;)
        next = complete_one(*next, ready);
}

// @return the parent, if that is complete now too.
task *flow_state::complete_one(task &done, task_list &ready) noexcept {
    flow_state &in = *done.runs_in;
    done.enter(phase::complete);
    if (done.body->destroy != nullptr)
        done.body->destroy(done.object);
    if (done.children.load(std::memory_order_relaxed) != nullptr)
        end_scope(done);
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
            &done.accesses()[i], chain_access::complete,
            [&](task &other) {
                if (other.waits_for.fetch_sub(1, std::memory_order_acq_rel) == 1 && in.may_start(other))
                    ready.push(other);
            },
            [&](chain_access &dead) {
                if (dead.owner == &done)
                    ++users;
                else
                    no_longer_used(*dead.owner, 1);
            });
    }
    if (done.completed != nullptr)
        done.completed(done.completed_argument);
    scope &siblings = *done.siblings;
    no_longer_used(done, users);
    return in.count_child_down(siblings);
}

// @return the owner, if that is complete now.
task *flow_state::count_child_down(scope &of) noexcept {
    task *const owner = of.owner;
    const std::uint64_t left = of.open.fetch_sub(scope::child, std::memory_order_acq_rel) - scope::child;
    if (left == 0) // the owner's body has ended
        return owner->pending.fetch_sub(task::has_children, std::memory_order_acq_rel) == task::has_children ? owner
                                                                                                             : nullptr;
    // A throttled thread may be resumed by another one just now, and the scope of a task end: it is not touched.
    if ((left & scope::throttled) != 0 && few_are_open(left)) [[unlikely]]
        resume_throttled(false);
    if ((left & scope::waited_for) != 0 && scope::children(left) == 0)
        wake(of);
    return nullptr;
}

void flow_state::end_scope(task &owner) noexcept {
    scope *const own = owner.children.load(std::memory_order_relaxed);
    if (own->failed.load(std::memory_order_relaxed))
        fail(owner, own->failure);
    own->~scope();
    block_pool::give(scope_class, own);
}

void flow_state::fail(task &failed, std::exception_ptr why) noexcept {
    if (failed.has(dataflow::spawned))
        return; // nobody waits for it
    scope &siblings = *failed.siblings;
    const std::scoped_lock guard(siblings.lock);
    if (siblings.failure == nullptr)
        siblings.failure = std::move(why);
    siblings.failed.store(true, std::memory_order_relaxed);
}

} // namespace thence::detail
