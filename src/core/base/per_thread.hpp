// SPDX-License-Identifier: BSD-3-Clause
// One object of a type for each thread, made at first use and destroyed when the thread ends.
//
// The libraries use the initial-exec model for thread-local variables, so all of them must fit into the few hundred
// bytes that a process keeps free for libraries that dlopen() loads (see tests/loading). Whatever is larger than two
// words or has a destructor is allocated: a per_thread object, of which a pointer is thread-local, or a rare_per_thread
// one, which needs no thread-local variable and is found in the list of all objects of the thread.
#pragma once

#include <new>
#include <utility>

namespace thence::base {

// What is called when this thread ends, the latest first, as for thread_local objects.
class thread_end {
public:
    struct call {
        void (*function)(call &) noexcept;
        call *next;
    };
    // Null if this thread has none with this function.
    static call *find(void (*function)(call &) noexcept) noexcept {
        call *found = of_thread().first;
        while (found != nullptr && found->function != function) {
            found = found->next;
        }
        return found;
    }
    static void add(call &added) noexcept {
        calls &all = of_thread();
        added.next = std::exchange(all.first, &added);
    }

private:
    struct calls {
        call *first = nullptr;
        ~calls() {
            while (first != nullptr) {
                call &latest = *std::exchange(first, first->next);
                latest.function(latest);
            }
        }
    };
    static calls &of_thread() noexcept {
        static thread_local calls all;
        return all;
    }
};

template <class T> class rare_per_thread {
public:
    // Null only if memory is exhausted.
    static T *get() noexcept {
        if (thread_end::call *const found = thread_end::find(&destroy); found != nullptr) {
            return &static_cast<holder *>(found)->object;
        }
        auto *const made = new (std::nothrow) holder;
        if (made == nullptr) {
            return nullptr;
        }
        made->function = &destroy;
        thread_end::add(*made);
        return &made->object;
    }

private:
    struct holder : thread_end::call {
        T object{};
    };
    static void destroy(thread_end::call &ended) noexcept { delete static_cast<holder *>(&ended); }
};

template <class T> class per_thread {
public:
    // Null only if memory is exhausted.
    static T *get() noexcept { return mine != nullptr ? mine : make(); }
    // Null if this thread has none yet.
    static T *existing() noexcept { return mine; }

private:
    struct forgotten_at_end : T {
        ~forgotten_at_end() { mine = nullptr; }
    };
    [[gnu::noinline]] static T *make() noexcept { return mine = rare_per_thread<forgotten_at_end>::get(); }

    static inline thread_local constinit T *mine = nullptr;
};

} // namespace thence::base
