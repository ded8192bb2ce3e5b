// SPDX-License-Identifier: BSD-3-Clause
// The ring benchmark of Biddiscombe et al. 2025, section 3: every rank starts rings. A ring is a message that each rank
// passes to its right neighbour until it has gone round five times. This file has what one rank does for all rings. The
// benchmark compares ways to wait for the requests and to call received() and sent().
//
// A rank has some rings of its own in flight at a time, one per slot, and takes part in those of all others. When it
// starts a ring it posts the receives of all five rounds: with 32 rings, 32 * 5 receives are pending for each rank of
// the program. A step is one receive from the left and the send of the same message to the right. A message that has
// gone round five times is not sent again, and the first send of a ring has no receive. Threads may post the receives
// of a ring in any order, so it is not known which step gets which message. The message itself contains the number of
// times it was sent.
#pragma once

#include <atomic>
#include <cstddef>
#include <mpi.h>
#include <vector>

namespace ring {

constexpr int usual_in_flight = 32;
constexpr int rounds = 5;

// A step has at most one operation in flight.
struct step {
    int slot = 0;
    int tag = 0;
    std::vector<int> message; // first element: how often it was sent; last element: the tag
};

class traffic {
public:
    explicit traffic(int bytes, int in_flight = usual_in_flight)
        : in_flight_(in_flight), count_(bytes / static_cast<int>(sizeof(int))) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
        steps_.resize(static_cast<std::size_t>(ranks_) * static_cast<std::size_t>(in_flight_) * (rounds + 1));
        busy_ = std::vector<std::atomic<int>>(static_cast<std::size_t>(in_flight_));
        for (int origin = 0; origin < ranks_; ++origin) {
            for (int slot = 0; slot < in_flight_; ++slot) {
                for (int round = 0; round <= rounds; ++round) {
                    step &made = at(origin, slot, round);
                    made.slot = slot;
                    made.tag = origin * in_flight_ + slot;
                    made.message.assign(static_cast<std::size_t>(count_), -1);
                }
            }
        }
    }
    int in_flight() const { return in_flight_; }
    int count() const { return count_; }
    int left() const { return (rank_ + ranks_ - 1) % ranks_; }
    int right() const { return (rank_ + 1) % ranks_; }
    std::vector<step> &steps() { return steps_; }
    std::size_t index(const step &of) const { return static_cast<std::size_t>(&of - steps_.data()); }
    // The number of messages that all ranks send in `iterations` iterations.
    double messages(int iterations) const { return static_cast<double>(iterations) * rounds * ranks_ * ranks_; }

    // Starts `iterations` rings of this rank, and takes part in those of the other ranks.
    // `starter.wait_until_free(slot)` must return once the slot is free.
    template <class Starter> void run(int iterations, Starter &&starter) {
        for (int i = 0; i < iterations; ++i) {
            starter.wait_until_free(i % in_flight_);
            start(i % in_flight_, starter);
        }
        for (int slot = 0; slot < in_flight_; ++slot) {
            starter.wait_until_free(slot);
        }
    }
    // Starts the next ring in a free slot, and posts the receives of the other ranks' rings in that slot.
    // `starter.receive(step)` and `starter.send(step)` start an operation.
    template <class Starter> void start(int slot, Starter &&starter) {
        busy_[static_cast<std::size_t>(slot)].store(ranks_ * rounds + 1, std::memory_order_relaxed);
        for (int origin = 0; origin < ranks_; ++origin) {
            for (int round = 0; round < rounds; ++round) {
                starter.receive(at(origin, slot, round));
            }
        }
        step &first = at(rank_, slot, rounds);
        first.message.assign(first.message.size(), first.tag);
        first.message.front() = 1;
        starter.send(first);
    }
    // True once this rank has nothing more to do for any ring of the slot.
    bool free(int slot) const { return busy_[static_cast<std::size_t>(slot)].load(std::memory_order_acquire) == 0; }

    template <class Starter> void received(step &mine, Starter &&starter) {
        if (mine.message.back() != mine.tag || mine.message[mine.message.size() / 2] != mine.tag ||
            mine.message.front() > rounds * ranks_) {
            wrong_.store(true, std::memory_order_relaxed);
        }
        if (mine.message.front() == rounds * ranks_) {
            end(mine);
        } else {
            ++mine.message.front();
            starter.send(mine);
        }
    }
    void sent(step &mine) { end(mine); }
    bool wrong() const { return wrong_.load(); }

private:
    step &at(int origin, int slot, int round) {
        const int index = (origin * in_flight_ + slot) * (rounds + 1) + round;
        return steps_[static_cast<std::size_t>(index)];
    }
    // Must be the last access to the step: the waiting thread may start it again at once.
    void end(step &mine) { busy_[static_cast<std::size_t>(mine.slot)].fetch_sub(1, std::memory_order_acq_rel); }

    int in_flight_;
    int count_;
    int rank_ = 0;
    int ranks_ = 1;
    std::vector<step> steps_;
    std::vector<std::atomic<int>> busy_; // per slot: the number of unfinished steps
    std::atomic<bool> wrong_{false};
};

} // namespace ring
