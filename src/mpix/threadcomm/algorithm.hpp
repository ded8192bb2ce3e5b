// SPDX-License-Identifier: BSD-3-Clause
// The algorithm of a collective operation, written once as a coroutine. It starts messages and awaits them:
//     co_await op.all_complete();
// In a blocking call that waits, so the coroutine never suspends. In a nonblocking one the coroutine suspends, and a
// thread that makes progress resumes it once its messages are complete (nonblocking.hpp).
//
// A coroutine begins to run when it is called. Its first parameter is the collective operation, the others are values.
// It may await another algorithm of the same operation. If memory is exhausted it ends, and the operation notes that
// error.
#pragma once

#include "mpix/threadcomm/collective_operation.hpp"

#include <coroutine>
#include <new>
#include <utility>

namespace thence::threadcomm {

class algorithm {
public:
    struct promise_type {
        template <class... Others>
        explicit promise_type(collective_operation &of_this, Others &&...) noexcept : op(of_this) {}
        algorithm get_return_object() noexcept { return algorithm(handle::from_promise(*this)); }
        std::suspend_never initial_suspend() noexcept { return {}; }
        // Goes on with the coroutine that awaits this one.
        struct to_outer {
            bool await_ready() const noexcept { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> ended) const noexcept {
                return ended.promise().outer;
            }
            void await_resume() const noexcept {}
        };
        to_outer final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept {
            op.note(MPI_ERR_NO_MEM);
            failed = true;
        }

        collective_operation &op;
        std::coroutine_handle<> outer = std::noop_coroutine();
        bool failed = false;
    };
    using handle = std::coroutine_handle<promise_type>;

    algorithm(algorithm &&other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
    algorithm &operator=(algorithm &&other) noexcept {
        std::swap(coroutine_, other.coroutine_);
        return *this;
    }
    ~algorithm() {
        if (coroutine_) {
            coroutine_.destroy();
        }
    }

    bool done() const noexcept { return coroutine_.done(); }

    // To be awaited by another coroutine.
    bool await_ready() const noexcept { return done(); }
    void await_suspend(std::coroutine_handle<> outer) noexcept { coroutine_.promise().outer = outer; }
    void await_resume() const {
        if (coroutine_.promise().failed) {
            throw std::bad_alloc();
        }
    }

private:
    explicit algorithm(handle started) noexcept : coroutine_(started) {}
    handle coroutine_;
};

} // namespace thence::threadcomm
