// SPDX-License-Identifier: BSD-3-Clause
// The tasks of one pool, in the order of their arrival, and the operations it polls for. Knows neither MPI nor oneTBB:
// the pool lends it threads. A thread that works for it is a drainer: it *looks* for a task, runs it, looks again, and
// leaves when there is nothing to do. So one task of oneTBB serves many of ours.
//
// Invariants, under the lock.
//  - While a task waits, a drainer that may take it looks or one is on its way (`coming_`). So a task that blocks or
//    takes long keeps no other waiting: whoever takes one and leaves others behind calls for a drainer. Where there
//    are none to call (`alone_`), what waits is for the next thread that comes by itself.
//  - While operations are outstanding, a drainer looks, is on its way, or is in a task and will look when it is done.
//    A task that will suspend itself calls for another one before (call_another()).
//  - At most one drainer polls, and only one that looks.
//  - A drainer that waits polls for what is no operation of this queue too, unless its host says that others do.
// `operations_` changes outside of the lock, so that a completion takes none. The first operation takes it, and a
// drainer reads `operations_` under it before it leaves: one of the two sees the other.
#pragma once

#include "pools/task_list.hpp"

#include <atomic>

namespace thence::detail {

// What a drainer is lent.
class drainer_host {
public:
    drainer_host() = default;
    drainer_host(const drainer_host &) = delete;
    drainer_host &operator=(const drainer_host &) = delete;
    virtual ~drainer_host() = default;
    // Sends a thread that calls drain_called(). @return false if there is none to send. Must not call back.
    virtual bool call() = 0;
    // One round of progress; callbacks may push. @return whether anything is known to have come of it.
    virtual bool progress() noexcept = 0;
    // Whether a drainer that waits for something should poll while no operation of the queue is outstanding: what it
    // waits for may need progress that nobody else makes. Called with the lock held.
    virtual bool polls_for_waiting() noexcept = 0;
    // Lets other work of the thread's scheduler go first for once.
    virtual void yield() noexcept = 0;
    // There are operations, or drainers that wait, after there were none.
    virtual void began() noexcept = 0;
};

class work_queue {
public:
    // What a drainer waits for.
    struct until {
        void *condition;
        bool (*holds)(void *);
        explicit operator bool() const { return holds(condition); }
    };

    // `alone`: only threads that come by themselves work for it; the host has none to send.
    explicit work_queue(drainer_host &host, bool alone = false) noexcept : host_(host), alone_(alone) {}
    work_queue(const work_queue &) = delete;
    work_queue &operator=(const work_queue &) = delete;
    // Nothing may be left to do. Waits for those who have just done it.
    ~work_queue();

    void push(pool_task &added, urgency how);
    // For a task that will suspend itself: only workers take it, so that a thread that comes by itself keeps its
    // stack.
    void push_suspending(pool_task &added);
    // Polled where nothing else is to do: it pushes itself again until it has found what it waits for. Its operation
    // is outstanding meanwhile.
    void push_again(pool_task &added) noexcept;
    // As push(), and without the lock, if this thread polls for this queue, as in a callback. Else it returns false.
    bool push_to_poller(pool_task &added, urgency how) noexcept;

    // To be called before the operation is started.
    void begin_operation();
    // Before the operation is completed: then it may be gone, and the queue too.
    void end_operation() noexcept;
    long operations() const noexcept { return operations_.load(std::memory_order_seq_cst); }
    // Whether drainers wait for something.
    bool waited_for() const noexcept { return waiting_drainers_.load(std::memory_order_seq_cst) > 0; }
    // Returns when no drainer polls, or operations are outstanding, so that one may.
    void let_poll_end() noexcept;

    // By a task that is about to suspend itself: makes sure that somebody else looks.
    void call_another();
    // By a task that suspends itself next: this thread is no drainer until it looks again.
    static void leave_thread() noexcept;
    // Whether this thread is in a task of this queue.
    bool is_here() const noexcept { return this_thread().queue == this; }
    // Whether tasks wait, or operations are outstanding.
    bool busy() noexcept;
    // A task that suspended itself is about to be resumed, and has been. A drainer gives way to it.
    void resuming() noexcept { returning_.fetch_add(1, std::memory_order_relaxed); }
    void resumed() noexcept;
    // Called from time to time. @return whether tasks wait and none was begun since, or operations are outstanding and
    // nobody has polled since; then another drainer is called, and the caller should make progress.
    bool stuck();

    // Polls so far, and operations that ended in them: how busy they are. Many are a sign that nothing takes long but,
    // perhaps, MPI itself, which copies large messages in a poll.
    unsigned long signs_of_polls() noexcept;

    // The way of a thread that call() has sent. Returns when there is nothing to do.
    void drain_called() noexcept;
    // The way of a thread that comes by itself, and stays until `condition()`. `round_first`: it does not ask before
    // it has run what is at hand, up to a bound, and polled, if there is anything to poll for. Not in a task: that
    // would run others on its stack, without end or to be suspended with it, although it need not wait.
    void drain_until(const until &met, bool round_first = false) noexcept;
    template <class Condition> void drain_until(Condition &condition, bool round_first = false) noexcept {
        drain_until(until{&condition, [](void *holds) { return (*static_cast<Condition *>(holds))(); }}, round_first);
    }
    // Whether what follows may run as a part of the task that this thread is in. False if it is in no task of this
    // queue, or too deep in parts of it. After the part: end_part().
    bool begin_part() noexcept;
    static void end_part() noexcept;
    template <class Go> bool go_on_here(Go &&go) noexcept {
        if (!begin_part())
            return false;
        go();
        end_part();
        return true;
    }

private:
    static constexpr int deepest = 8;
    static constexpr int tasks_in_a_row = 64;
    // Many: a poll may copy large messages, and what is ready should send its own first. Where tasks are long, others
    // see that nobody polls (stuck()).
    static constexpr int tasks_between_polls = 128;
    static constexpr int polls_in_a_row = 32;

    // What a thread knows of the drainer that it is. A task that was suspended goes on as another thread, so the
    // first four are hints: a queue is compared, never used. While a drainer polls nothing suspends.
    struct thread_state {
        const work_queue *queue = nullptr;
        bool worker = false;  // was called, or waits in a task of one that was
        bool resumed = false; // in a task that has been suspended
        int depth = 0;        // parts of the task, one inside the other
        bool polls = false;
        unsigned long ended = 0; // operations that completed on this thread, of any queue
        task_list found;         // while it polls
        task_list found_urgent;
    };
    // Not inlined, nor taken for a function that always returns the same: the compiler may keep the address of a
    // thread's variable across a change of threads.
#if defined(__clang__)
    [[gnu::noinline]]
#else
    [[gnu::noipa]]
#endif
    static thread_state &
    this_thread() noexcept;

    bool has_task() const noexcept;
    pool_task *take(bool worker) noexcept;

    // Keeps the first invariants.
    void call_and_unlock();
    void call_even_if_looking();

    // Enters locked.
    void drain(const until *end, bool round_first = false) noexcept;
    bool to_poll_for(const until *end) noexcept;
    void yield(bool worker) noexcept;

    void looks(bool worker, int more) noexcept;
    // Does something else, and does not look meanwhile.
    template <class Else> void away(bool worker, Else &&something) noexcept {
        looks(worker, -1);
        if (has_task() || !suspending_.empty())
            call_and_unlock();
        else
            lock_.unlock();
        something();
        lock_.lock();
        looks(worker, 1);
    }
    void run_and_lock(bool worker, pool_task &task) noexcept;

    // @return whether there is anything new to do.
    bool poll_and_lock() noexcept;

    drainer_host &host_;
    const bool alone_;
    spin_mutex lock_;
    task_list urgent_;
    task_list waiting_;
    task_list suspending_;
    task_list again_;
    int inside_ = 0;          // drainers
    int looking_ = 0;         // of them
    int workers_looking_ = 0; // of these
    int coming_ = 0;
    bool polling_ = false;
    unsigned long begun_ = 0; // tasks
    unsigned long begun_before_ = 0;
    unsigned long polls_ = 0;
    unsigned long polls_before_ = 0;
    unsigned long ended_in_polls_ = 0;
    std::atomic<int> calling_{0}; // threads that are about to return from host_.call()
    std::atomic<int> returning_{0};
    std::atomic<int> waiting_drainers_{0};
    std::atomic<long> operations_{0};
};

} // namespace thence::detail
