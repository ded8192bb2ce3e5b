// SPDX-License-Identifier: BSD-3-Clause
// The rings through transform_mpi, in one mode of the pools or without pools: what follows each operation starts the
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
    thence::mode how;

    template <class Call> auto transform(Call call) const { return pools->transform_mpi(call, how); }
    // To enter the arena once costs less than work_until() entering it for every ring.
    template <class Go> void enter(Go &&go) const { pools->arena().execute(go); }
    template <class Condition> void wait_until(Condition &&condition) const { pools->work_until(condition); }
};

// In callbacks, on the thread that makes progress.
template <class... Options> struct without_pools {
    template <class Call> auto transform(Call call) const { return thence::transform_mpi(call, Options()...); }
    template <class Go> void enter(Go &&go) const { go(); }
    template <class Condition> void wait_until(Condition &&condition) const {
        do
            thence_progress();
        while (!condition());
    }
};

template <class Way> auto receive_of(const traffic &rings, const Way &way, step &mine) {
    return ex::just(mine.message.data(), rings.count(), MPI_INT, rings.left(), mine.tag, MPI_COMM_WORLD) |
           way.transform(MPI_Irecv);
}
template <class Way> auto send_of(const traffic &rings, const Way &way, step &mine) {
    return ex::just(mine.message.data(), rings.count(), MPI_INT, rings.right(), mine.tag, MPI_COMM_WORLD) |
           way.transform(MPI_Isend);
}

// Looks for messages before each new ring, whether it has to wait or not: that keeps MPI's queues short.
template <class Way> class by_senders {
public:
    by_senders(traffic &of, const Way &way) : traffic_(of), way_(way), rooms_(of.steps().size()) {}

    void run(int iterations) {
        way_.enter([&] { traffic_.run(iterations, *this); });
    }
    void receive(step &mine) {
        room(mine).template start<receiving>([&] {
            return ex::connect(receive_of(traffic_, way_, mine), receiver<true>{this, &mine});
        });
    }
    void send(step &mine) {
        room(mine).template start<sending>([&] {
            return ex::connect(send_of(traffic_, way_, mine), receiver<false>{this, &mine});
        });
    }
    void make_free(int slot) {
        way_.wait_until([&] { return traffic_.free(slot); });
    }

private:
    template <bool Receives> struct receiver {
        using receiver_concept = ex::receiver_t;
        by_senders *self;
        step *mine;

        void set_value(auto &&...) &&noexcept {
            if constexpr (Receives)
                self->traffic_.received(*mine, *self);
            else
                self->traffic_.sent(*mine);
        }
        void set_error(const std::exception_ptr &) &&noexcept { MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE); }
    };
    template <class Sender, bool Receives> using operation = ex::connect_result_t<Sender, receiver<Receives>>;
    using receiving =
        operation<std::invoke_result_t<decltype(receive_of<Way>), const traffic &, const Way &, step &>, true>;
    using sending =
        operation<std::invoke_result_t<decltype(send_of<Way>), const traffic &, const Way &, step &>, false>;

    // One operation at a time. The one before is complete, and its receiver starts the next in its place, as its last
    // act; without an error its destructor has nothing to do.
    struct alignas(64) operation_room { // a cache line, or two with pools
        alignas(receiving) alignas(sending) std::byte bytes[std::max(sizeof(receiving), sizeof(sending))];
        template <class Operation, class Make> void start(Make &&make) {
            ex::start(*::new (static_cast<void *>(bytes)) Operation(make()));
        }
    };
    operation_room &room(const step &mine) { return rooms_[traffic_.index(mine)]; }

    traffic &traffic_;
    Way way_;
    std::vector<operation_room> rooms_;
};

} // namespace ring
