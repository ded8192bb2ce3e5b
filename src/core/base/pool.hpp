// SPDX-License-Identifier: BSD-3-Clause
// A pool of objects of one type. In steady state it does not allocate. A thread takes no lock while it reuses objects
// that it gave back. Every object that was ever handed out can be visited.
//
// Invariant: an object is in a thread's cache, or in the shared list, or in use. Slabs are never freed while the
// process runs, so for_each() may look at any object at any time. The object's own atomic state decides which of its
// other fields may be read then.
#pragma once

#include <atomic>
#include <mutex>
#include <new>

namespace thence::base {

// The cache of one thread: objects that it can take without a lock. A plain aggregate, so that a thread_local one needs
// no initialization check.
template <class T> struct thread_cache {
    T *head;
    unsigned count; // without the objects not yet passed to level(), so it may wrap below zero
};

template <class T> class pool {
public:
    static constexpr unsigned batch = 64;

    // Returns null only if memory is exhausted.
    T *take(thread_cache<T> &mine) noexcept {
        T *object = mine.head;
        if (object == nullptr) [[unlikely]] {
            if (!refill(mine)) {
                return nullptr;
            }
            object = mine.head;
        }
        mine.head = object->next;
        --mine.count;
        return object;
    }

    // Makes the next `n` calls of take() succeed. False if memory is exhausted.
    bool reserve(thread_cache<T> &mine, unsigned n) noexcept {
        while (static_cast<int>(mine.count) < static_cast<int>(n)) {
            if (!refill(mine)) {
                return false;
            }
        }
        return true;
    }

    // Undoes take(): the next call of it returns this object.
    void put_back(thread_cache<T> &mine, T *object) noexcept {
        give_one_of_many(mine, object);
        ++mine.count;
    }

    void give(thread_cache<T> &mine, T *object) noexcept {
        give_one_of_many(mine, object);
        level(mine, 1);
    }

    // For a loop that gives several objects and then calls level() once.
    void give_one_of_many(thread_cache<T> &mine, T *object) noexcept {
        object->next = mine.head;
        mine.head = object;
    }
    void level(thread_cache<T> &mine, unsigned given) noexcept {
        mine.count += given;
        if (mine.count > 2 * batch) [[unlikely]] {
            spill(mine, mine.count - batch);
        }
    }

    // Returns the whole cache of a thread that ends.
    void retire(thread_cache<T> &mine) noexcept { spill(mine, mine.count); }

    template <class Visitor> void for_each(Visitor &&visit) {
        for (slab *s = slabs_.load(std::memory_order_acquire); s != nullptr; s = s->older) {
            for (T &object : s->objects) {
                visit(object);
            }
        }
    }

private:
    struct slab {
        T objects[batch];
        slab *older = nullptr;
    };

    __attribute__((noinline)) bool refill(thread_cache<T> &mine) noexcept {
        std::scoped_lock guard(mutex_);
        if (shared_ == nullptr) {
            slab *fresh = new (std::nothrow) slab;
            if (fresh == nullptr) {
                return false;
            }
            for (T &object : fresh->objects) {
                object.next = shared_;
                shared_ = &object;
            }
            fresh->older = slabs_.load(std::memory_order_relaxed);
            slabs_.store(fresh, std::memory_order_release);
        }
        for (unsigned i = 0; i < batch && shared_ != nullptr; ++i) {
            T *object = shared_;
            shared_ = object->next;
            object->next = mine.head;
            mine.head = object;
            ++mine.count;
        }
        return true;
    }

    __attribute__((noinline)) void spill(thread_cache<T> &mine, unsigned count) noexcept {
        std::scoped_lock guard(mutex_);
        for (; count != 0 && mine.head != nullptr; --count) {
            T *object = mine.head;
            mine.head = object->next;
            --mine.count;
            object->next = shared_;
            shared_ = object;
        }
    }

    std::mutex mutex_;
    T *shared_ = nullptr;
    std::atomic<slab *> slabs_{nullptr};
};

} // namespace thence::base
