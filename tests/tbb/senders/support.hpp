// SPDX-License-Identifier: BSD-3-Clause
// Shared by the tests of senders on the fake MPI: the fixture, callables that start operations of the fake, and
// receivers that record how they were completed.
#pragma once

#include "library.hpp"
#include "tbb/senders/requests.hpp"

#include <thence/transform_mpi.hpp>

#include <atomic>
#include <exception>
#include <functional>
#include <string>

namespace ex = thence::ex;

namespace sender_tests {

using namespace thence::fake;

class senders : public on_fake {
protected:
    void SetUp() override { world.handler = MPI_ERRORS_RETURN; }
    void TearDown() override {
        thence::libthence_senders::release_requests(); // as MPI_Finalize does
    }
};

// How a receiver was completed. Exactly one of the counts becomes 1.
struct ending {
    std::atomic<int> values{0};
    std::atomic<int> errors{0};
    std::atomic<int> stops{0};
    std::exception_ptr error;
    std::function<void()> inside; // called in the completion

    int all() const { return values + errors + stops; }
    // The class of a thence::mpi_error of this origin, else -1.
    int error_class(thence::mpi_error::origin where) const {
        try {
            std::rethrow_exception(error);
        } catch (const thence::mpi_error &e) {
            return e.where() == where ? e.error_class() : -1;
        } catch (...) {
            return -1;
        }
    }
    int call_error() const { return error_class(thence::mpi_error::origin::call); }
    int completion_error() const { return error_class(thence::mpi_error::origin::completion); }
};

template <class Token = ex::never_stop_token> struct receiver {
    using receiver_concept = ex::receiver_t;
    ending *end;
    Token token = {};

    struct environment {
        Token token;
        Token query(ex::get_stop_token_t) const noexcept { return token; }
#if defined(THENCE_EXECUTION_HAS_START_SCHEDULER) // tasks need it
        ex::inline_scheduler query(ex::get_start_scheduler_t) const noexcept {
            return {};
        }
#endif
    };
    void set_value(auto &&...) &&noexcept {
        finish(end->values);
    }
    void set_error(std::exception_ptr error) &&noexcept {
        end->error = std::move(error);
        finish(end->errors);
    }
    void set_stopped() &&noexcept {
        finish(end->stops);
    }
    environment get_env() const noexcept {
        return {token};
    }

private:
    void finish(std::atomic<int> &count) const noexcept {
        if (end->inside) {
            end->inside();
        }
        count.fetch_add(1, std::memory_order_acq_rel); // a thread that sees it may destroy this
    }
};
receiver(ending *)->receiver<>;
template <class Token> receiver(ending *, Token) -> receiver<Token>;

using stoppable = ex::inplace_stop_token;

// Starts an operation of the fake, which the test completes through `t`.
struct start_one {
    ticket *t;
    kind what = kind::point_to_point;
    int operator()(MPI_Request *request) const {
        *request = world.start(what);
        *t = world.ticket_of(*request);
        return MPI_SUCCESS;
    }
};

inline auto one(ticket &t, kind what = kind::point_to_point) {
    return ex::just() | thence::transform_mpi(start_one{&t, what});
}

} // namespace sender_tests
