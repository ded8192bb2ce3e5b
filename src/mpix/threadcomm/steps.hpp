// SPDX-License-Identifier: BSD-3-Clause
// The algorithm of a collective operation, written once as a coroutine. It starts messages and awaits them:
//     co_await moves.finished();
// In a blocking call that waits, so the coroutine never suspends. In a nonblocking one the coroutine suspends, and
// whoever makes progress resumes it once its messages are complete (nonblocking.hpp).
//
// A coroutine runs at once, until it awaits. Its first parameter is the `transfers` of the operation, the others are
// values. It may await another one of the same operation. If memory is exhausted it ends, with this error in `transfers`.
#pragma once

#include "mpix/threadcomm/transfers.hpp"

#include <coroutine>
#include <new>
#include <utility>

namespace thence::threadcomm {

class steps {
public:
    struct promise_type {
        template <class... Others> explicit promise_type(transfers &its, Others &&...) noexcept : moves(its) {}
        steps get_return_object() noexcept { return steps(handle::from_promise(*this)); }
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
            moves.note(MPI_ERR_NO_MEM);
            failed = true;
        }

        transfers &moves;
        std::coroutine_handle<> outer = std::noop_coroutine();
        bool failed = false;
    };
    using handle = std::coroutine_handle<promise_type>;

    steps(steps &&other) noexcept : its_(std::exchange(other.its_, nullptr)) {}
    steps &operator=(steps &&other) noexcept {
        std::swap(its_, other.its_);
        return *this;
    }
    ~steps() {
        if (its_) {
            its_.destroy();
        }
    }

    bool done() const noexcept { return its_.done(); }

    // To be awaited by another coroutine.
    bool await_ready() const noexcept { return done(); }
    void await_suspend(std::coroutine_handle<> outer) noexcept { its_.promise().outer = outer; }
    void await_resume() const {
        if (its_.promise().failed) {
            throw std::bad_alloc();
        }
    }

private:
    explicit steps(handle its) noexcept : its_(its) {}
    handle its_;
};

} // namespace thence::threadcomm
