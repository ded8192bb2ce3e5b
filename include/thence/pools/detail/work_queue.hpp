// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_POOLS_DETAIL_WORK_QUEUE_HPP
#define THENCE_POOLS_DETAIL_WORK_QUEUE_HPP
#if __cplusplus < 202002L
#error "thence/pools/detail/work_queue.hpp needs C++20: compile with -std=c++20"
#else

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

#include <atomic>
#include <mutex>
#include <thread>

#include <thence/detail/pause.hpp>
#include <thence/pools/detail/task_list.hpp>

namespace thence::detail {

/** What a drainer is lent. */
class drainer_host {
public:
    drainer_host() = default;
    drainer_host(const drainer_host &) = delete;
    drainer_host &operator=(const drainer_host &) = delete;
    virtual ~drainer_host() = default;
    /** Sends a thread that calls drain_called(). @return false if there is none to send. Must not call back. */
    virtual bool call() = 0;
    /** One round of progress; callbacks may push. @return whether anything is known to have come of it. */
    virtual bool progress() noexcept = 0;
    /** Whether a drainer that waits for something should poll while no operation of the queue is outstanding: what it
     *  waits for may need progress that nobody else makes. Called with the lock held. */
    virtual bool polls_for_waiting() noexcept = 0;
    /** Lets other work of the thread's scheduler go first for once. */
    virtual void yield() noexcept = 0;
    /** There are operations, or drainers that wait, after there were none. */
    virtual void began() noexcept = 0;
};

class work_queue {
public:
    /** `alone`: only threads that come by themselves work for it; the host has none to send. */
    explicit work_queue(drainer_host &host, bool alone = false) noexcept : host_(host), alone_(alone) {}
    work_queue(const work_queue &) = delete;
    work_queue &operator=(const work_queue &) = delete;
    /** Nothing may be left to do. Waits for those who have just done it. */
    ~work_queue() {
        for (;;) {
            {
                const std::scoped_lock guard(lock_);
                if (inside_ == 0 && coming_ == 0 && calling_.load(std::memory_order_acquire) == 0)
                    return;
            }
            std::this_thread::yield();
        }
    }

    void push(pool_task &added, urgency how) {
        lock_.lock();
        (how == urgency::high ? urgent_ : waiting_).push(added);
        call_and_unlock();
    }
    /** For a task that will suspend itself: only workers take it, so that a thread that comes by itself keeps its
     *  stack. */
    void push_suspending(pool_task &added) {
        lock_.lock();
        suspending_.push(added);
        call_and_unlock();
    }
    /** Polled where nothing else is to do: it pushes itself again until it has found what it waits for. Its operation
     *  is outstanding meanwhile. */
    void push_again(pool_task &added) noexcept {
        const std::scoped_lock guard(lock_);
        again_.push(added);
    }
    /** As push(), and without the lock, if this thread polls for this queue, as in a callback. Else it returns false.
     */
    bool push_to_poller(pool_task &added, urgency how) noexcept {
        thread_state &here = this_thread();
        if (here.queue != this || !here.polls)
            return false;
        (how == urgency::high ? here.found_urgent : here.found).push(added);
        return true;
    }

    /** To be called before the operation is started. */
    void begin_operation() {
        if (operations_.fetch_add(1, std::memory_order_seq_cst) != 0)
            return;
        host_.began();
        if (this_thread().queue == this)
            return; // it will look
        lock_.lock();
        call_and_unlock();
    }
    /** Before the operation is completed: then it may be gone, and the queue too. */
    void end_operation() noexcept {
        ++this_thread().ended;
        operations_.fetch_sub(1, std::memory_order_release);
    }
    long operations() const noexcept { return operations_.load(std::memory_order_seq_cst); }
    /** Whether drainers wait for something. */
    bool waited_for() const noexcept { return waiting_drainers_.load(std::memory_order_seq_cst) > 0; }
    /** Returns when no drainer polls, or operations are outstanding, so that one may. */
    void let_poll_end() noexcept {
        for (;;) {
            {
                const std::scoped_lock guard(lock_);
                if (!polling_ || operations() > 0)
                    return;
            }
            std::this_thread::yield();
        }
    }

    /** By a task that is about to suspend itself: makes sure that somebody else looks. */
    void call_another() {
        lock_.lock();
        if (workers_looking_ == 0 && coming_ == 0)
            call_even_if_looking();
        else
            lock_.unlock();
    }
    /** By a task that suspends itself next: this thread is no drainer until it looks again. */
    static void leave_thread() noexcept {
        thread_state &here = this_thread();
        here.queue = nullptr;
        here.worker = false;
        here.resumed = false;
    }
    /** Whether this thread is in a task of this queue. */
    bool is_here() const noexcept { return this_thread().queue == this; }
    /** Whether tasks wait, or operations are outstanding. */
    bool busy() noexcept {
        const std::scoped_lock guard(lock_);
        return has_task() || !suspending_.empty() || operations() > 0;
    }
    /** A task that suspended itself is about to be resumed, and has been. A drainer gives way to it. */
    void resuming() noexcept { returning_.fetch_add(1, std::memory_order_relaxed); }
    void resumed() noexcept {
        this_thread().resumed = true;
        returning_.fetch_sub(1, std::memory_order_relaxed);
    }
    /** Called from time to time. @return whether tasks wait and none was begun since, or operations are outstanding and
     *  nobody has polled since; then another drainer is called, and the caller should make progress. */
    bool stuck() {
        lock_.lock();
        const bool idle = (begun_ == begun_before_ && (has_task() || !suspending_.empty())) ||
                          (polls_ == polls_before_ && operations() > 0);
        begun_before_ = begun_;
        polls_before_ = polls_;
        if (idle && coming_ == 0) {
            call_even_if_looking();
        } else {
            lock_.unlock();
        }
        return idle;
    }

    /** Polls so far, and operations that ended in them: how busy they are. Many are a sign that nothing takes long but,
     *  perhaps, MPI itself, which copies large messages in a poll. */
    unsigned long signs_of_polls() noexcept {
        const std::scoped_lock guard(lock_);
        return polls_ + ended_in_polls_;
    }

    /** The way of a thread that call() has sent. Returns when there is nothing to do. */
    void drain_called() noexcept {
        lock_.lock();
        --coming_;
        drain(nullptr);
    }
    /** The way of a thread that comes by itself, and stays until `condition()`. `round_first`: it does not ask before
     *  it has run what is at hand, up to a bound, and polled, if there is anything to poll for. Not in a task: that
     *  would run others on its stack, without end or to be suspended with it, although it need not wait. */
    template <class Condition> void drain_until(Condition &condition, bool round_first = false) noexcept {
        const until met{&condition, [](void *holds) { return (*static_cast<Condition *>(holds))(); }};
        if (waiting_drainers_.fetch_add(1, std::memory_order_seq_cst) == 0)
            host_.began();
        lock_.lock();
        drain(&met, round_first);
    }
    /** Runs `go` as a part of the task that this thread is in. @return false, and does nothing, if it is in no task of
     *  this queue, or too deep in parts of it. */
    template <class Go> bool go_on_here(Go &&go) noexcept {
        thread_state &here = this_thread();
        if (here.queue != this || here.polls || here.depth >= deepest)
            return false;
        ++here.depth;
        go();
        --this_thread().depth;
        return true;
    }

private:
    static constexpr int deepest = 8;
    static constexpr int tasks_in_a_row = 64;
    // Many: a poll may copy large messages, and what is ready should send its own first. Where tasks are long, others
    // see that nobody polls (stuck()).
    static constexpr int tasks_between_polls = 128;
    static constexpr int polls_in_a_row = 32;

    /** What a thread knows of the drainer that it is. A task that was suspended goes on as another thread, so the
     *  first four are hints: a queue is compared, never used. While a drainer polls nothing suspends. */
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
    /** Not inlined, nor taken for a function that always returns the same: the compiler may keep the address of a
     *  thread's variable across a change of threads. */
#if defined(__clang__)
    [[gnu::noinline]]
#else
    [[gnu::noipa]]
#endif
    static thread_state &
    this_thread() noexcept {
        static constinit thread_local thread_state state;
        asm volatile("");
        return state;
    }

    struct until {
        void *condition;
        bool (*holds)(void *);
        explicit operator bool() const { return holds(condition); }
    };

    bool has_task() const noexcept {
        return !urgent_.empty() || !waiting_.empty();
    }
    pool_task *take(bool worker) noexcept {
        if (pool_task *const first = urgent_.pop())
            return first;
        if (worker)
            if (pool_task *const first = suspending_.pop())
                return first;
        return waiting_.pop();
    }

    /** Keeps the first invariants. */
    void call_and_unlock() {
        if (coming_ == 0 && (looking_ == 0 || (workers_looking_ == 0 && !suspending_.empty())))
            call_even_if_looking();
        else
            lock_.unlock();
    }
    void call_even_if_looking() {
        if (alone_)
            return lock_.unlock();
        ++coming_;
        calling_.fetch_add(1, std::memory_order_relaxed);
        lock_.unlock();
        if (!host_.call()) {
            const std::scoped_lock guard(lock_);
            --coming_;
        }
        calling_.fetch_sub(1, std::memory_order_release);
    }

    // Enters locked.
    void drain(const until *end, bool round_first = false) noexcept {
        const work_queue *const outer = this_thread().queue;
        const bool outer_worker = this_thread().worker;
        const bool outer_resumed = this_thread().resumed;
        // Its stack may be suspended, and it lets others go first.
        const bool worker = end == nullptr || (outer == this && outer_worker);
        round_first = round_first && outer == nullptr && !outer_resumed;
        ++inside_;
        looks(worker, 1);
        detail::pauses pauses;
        int in_a_row = 0;
        int since_poll = 0;
        // Where nobody else would run them, what is at hand goes before what the thread came from.
        while (end == nullptr || round_first || (alone_ && in_a_row != 0 && has_task()) || !*end) {
            pool_task *const task = since_poll < tasks_between_polls ? take(worker) : nullptr;
            if (task != nullptr) {
                run_and_lock(worker, *task);
                pauses.reset();
                since_poll += polling_ ? 0 : 1;
                if (++in_a_row >= tasks_in_a_row) {
                    in_a_row = 0;
                    if (round_first)
                        since_poll = tasks_between_polls; // its end: poll, if that is to be done
                    away(worker, [&] { yield(worker); });
                }
            } else if (since_poll != 0 && (polling_ || !to_poll_for(end))) {
                since_poll = 0; // nothing to poll for, or another one does
                round_first = false;
            } else if (!polling_ && to_poll_for(end)) {
                since_poll = 0;
                if (poll_and_lock()) {
                    pauses.reset();
                    in_a_row = round_first ? 1 : 0; // what it has found belongs to that round
                } else if (!round_first && ++in_a_row >= polls_in_a_row) {
                    in_a_row = 0;
                    away(worker, [&] {
                        yield(worker);
                        pauses.pause();
                    });
                }
                round_first = false;
                if (returning_.load(std::memory_order_relaxed) > 0)
                    away(worker, [&] { yield(worker); });
            } else if (end == nullptr) {
                break;
            } else if (round_first) {
                round_first = false; // others poll, or there is nothing to poll for
            } else {
                away(worker, [&] {
                    yield(worker);
                    pauses.pause();
                });
            }
        }
        looks(worker, -1);
        --inside_;
        if (end != nullptr)
            waiting_drainers_.fetch_sub(1, std::memory_order_relaxed);
        this_thread().queue = outer;
        this_thread().worker = outer_worker;
        this_thread().resumed = outer_resumed;
        // One that came by itself may leave work behind.
        if (end != nullptr && (has_task() || !suspending_.empty() || operations() > 0))
            call_and_unlock();
        else
            lock_.unlock();
    }
    bool to_poll_for(const until *end) noexcept {
        return operations() > 0 || (end != nullptr && host_.polls_for_waiting());
    }
    void yield(bool worker) noexcept {
        if (!worker)
            return;
        leave_thread();
        host_.yield();
    }

    void looks(bool worker, int more) noexcept {
        looking_ += more;
        if (worker)
            workers_looking_ += more;
    }
    /** Does something else, and does not look meanwhile. */
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
    void run_and_lock(bool worker, pool_task &task) noexcept {
        ++begun_;
        away(worker, [&] {
            thread_state &here = this_thread();
            here.queue = this;
            here.worker = worker;
            here.resumed = false;
            here.depth = 0;
            task.run(&task);
        });
    }

    /** @return whether there is anything new to do. */
    bool poll_and_lock() noexcept {
        pool_task *again = again_.take();
        polling_ = true;
        lock_.unlock();
        thread_state &here = this_thread();
        const unsigned long ended = here.ended;
        here.queue = this;
        here.polls = true;
        const bool found_some = host_.progress();
        while (again != nullptr) {
            pool_task *const now = again;
            again = now->next; // it may be pushed again, or be gone
            now->run(now);
        }
        here.polls = false;
        lock_.lock();
        polling_ = false;
        ++polls_;
        ended_in_polls_ += here.ended - ended;
        while (pool_task *const found = here.found_urgent.pop())
            urgent_.push(*found);
        while (pool_task *const found = here.found.pop())
            waiting_.push(*found);
        return found_some || has_task() || here.ended != ended; // what follows inline may have begun as many
    }

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

#endif // C++20
#endif
