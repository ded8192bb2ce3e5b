// SPDX-License-Identifier: BSD-3-Clause
// The rings with transform_mpi, in one mode of the pools or without pools. The receiver of each operation starts the
// next one.
#pragma once

#include "ring.hpp"

#include <cstdlib>
#include <new>
#include <thence/pools.hpp>
#include <type_traits>
#include <utility>

namespace ring {

namespace ex = thence::ex;

struct in_pools {
    thence::pools *pools;
    thence::completion_mode how;

    template <class Call> auto transform(Call call) const { return pools->transform_mpi(call, how); }
    // Entering the arena once is cheaper than letting work_until() enter it for every ring.
    template <class Function> void enter(Function &&run) const { pools->arena().execute(run); }
    template <class Condition> void wait_until(Condition &&condition) const { pools->work_until(condition); }
};

// Receivers run in callbacks, on the thread that makes progress.
template <class... Options> struct without_pools {
    template <class Call> auto transform(Call call) const { return thence::transform_mpi(call, Options()...); }
    template <class Function> void enter(Function &&run) const { run(); }
    template <class Condition> void wait_until(Condition &&condition) const {
        do {
            thence_progress();
        } while (!condition());
    }
};

template <class Transform> auto receive_of(const traffic &rings, const Transform &transform, step &mine) {
    return ex::just(mine.message.data(), rings.count(), MPI_INT, rings.left(), mine.tag, MPI_COMM_WORLD) |
           transform.transform(MPI_Irecv);
}
template <class Transform> auto send_of(const traffic &rings, const Transform &transform, step &mine) {
    return ex::just(mine.message.data(), rings.count(), MPI_INT, rings.right(), mine.tag, MPI_COMM_WORLD) |
           transform.transform(MPI_Isend);
}

// Polls before each new ring, even if it does not have to wait for a slot. That keeps MPI's queues short.
template <class Transform> class by_senders {
public:
    by_senders(traffic &of, const Transform &transform)
        : traffic_(of), transform_(transform), storage_(of.steps().size()) {}

    void run(int iterations) {
        transform_.enter([&] { traffic_.run(iterations, *this); });
    }
    void receive(step &mine) {
        storage(mine).template start<receiving>([&] {
            return ex::connect(receive_of(traffic_, transform_, mine), receiver<true>{this, &mine});
        });
    }
    void send(step &mine) {
        storage(mine).template start<sending>([&] {
            return ex::connect(send_of(traffic_, transform_, mine), receiver<false>{this, &mine});
        });
    }
    void wait_until_free(int slot) {
        transform_.wait_until([&] { return traffic_.free(slot); });
    }

private:
    template <bool Receives> struct receiver {
        using receiver_concept = ex::receiver_t;
        by_senders *self;
        step *mine;

        void set_value(auto &&...) &&noexcept {
            if constexpr (Receives) {
                self->traffic_.received(*mine, *self);
            } else {
                self->traffic_.sent(*mine);
            }
        }
        void set_error(const std::exception_ptr &) &&noexcept { MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE); }
    };
    template <class Sender, bool Receives> using operation = ex::connect_result_t<Sender, receiver<Receives>>;
    using receiving =
        operation<std::invoke_result_t<decltype(receive_of<Transform>), const traffic &, const Transform &, step &>,
                  true>;
    using sending =
        operation<std::invoke_result_t<decltype(send_of<Transform>), const traffic &, const Transform &, step &>,
                  false>;

    // Storage for one operation state at a time. A receiver starts the next operation in the same storage as its last
    // action: the previous operation is complete by then, and its destructor has nothing to do if there was no error.
    struct alignas(64) operation_storage { // one cache line, or two with pools
        alignas(receiving) alignas(sending) std::byte bytes[std::max(sizeof(receiving), sizeof(sending))];
        template <class Operation, class Make> void start(Make &&make) {
            ex::start(*::new (static_cast<void *>(bytes)) Operation(make()));
        }
    };
    operation_storage &storage(const step &mine) { return storage_[traffic_.index(mine)]; }

    traffic &traffic_;
    Transform transform_;
    std::vector<operation_storage> storage_;
};

} // namespace ring
