// SPDX-License-Identifier: BSD-3-Clause
// The rings through transform_mpi in one mode of the pools: what follows each operation starts the next one.
#pragma once

#include "ring.hpp"

#include <cstdlib>
#include <new>
#include <thence/pools.hpp>
#include <type_traits>
#include <utility>

namespace ring {

namespace ex = thence::ex;

inline auto receive_of(const traffic &rings, thence::pools &pools, thence::mode how, step &mine) {
    return ex::just(mine.message.data(), rings.count(), MPI_INT, rings.left(), mine.tag, MPI_COMM_WORLD) |
           pools.transform_mpi(MPI_Irecv, how);
}
inline auto send_of(const traffic &rings, thence::pools &pools, thence::mode how, step &mine) {
    return ex::just(mine.message.data(), rings.count(), MPI_INT, rings.right(), mine.tag, MPI_COMM_WORLD) |
           pools.transform_mpi(MPI_Isend, how);
}

class by_senders {
public:
    by_senders(traffic &of, thence::pools &pools, thence::mode how)
        : traffic_(of), pools_(pools), mode_(how), rooms_(of.steps().size()) {}

    void run(int iterations) { traffic_.run(iterations, *this); }
    void receive(step &mine) {
        room(mine).start<receiving>([&] {
            return ex::connect(receive_of(traffic_, pools_, mode_, mine), receiver<true>{this, &mine});
        });
    }
    void send(step &mine) {
        room(mine).start<sending>([&] {
            return ex::connect(send_of(traffic_, pools_, mode_, mine), receiver<false>{this, &mine});
        });
    }
    void make_free(int slot) {
        if (!traffic_.free(slot))
            pools_.work_until([&] { return traffic_.free(slot); });
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
    template <auto Make, bool Receives>
    using operation = ex::connect_result_t<
        std::invoke_result_t<decltype(Make), const traffic &, thence::pools &, thence::mode, step &>,
        receiver<Receives>>;
    using receiving = operation<&receive_of, true>;
    using sending = operation<&send_of, false>;

    // One operation at a time. The one before is complete, and its receiver starts the next in its place, as its last
    // act; without an error its destructor has nothing to do.
    struct operation_room {
        alignas(receiving) alignas(sending) std::byte bytes[std::max(sizeof(receiving), sizeof(sending))];
        template <class Operation, class Make> void start(Make &&make) {
            ex::start(*::new (static_cast<void *>(bytes)) Operation(make()));
        }
    };
    operation_room &room(const step &mine) { return rooms_[traffic_.index(mine)]; }

    traffic &traffic_;
    thence::pools &pools_;
    thence::mode mode_;
    std::vector<operation_room> rooms_;
};

} // namespace ring
