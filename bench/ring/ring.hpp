// SPDX-License-Identifier: BSD-3-Clause
// The ring benchmark of Biddiscombe et al. 2025, section 3: every rank starts rings, each a message that goes on from
// neighbour to neighbour until it has been round five times. This is a rank's part in all rings; who waits for the
// requests and calls received() and sent() is what the benchmark compares.
//
// A rank has `in_flight` rings of its own under way, one per slot, and takes part in those of all others. When a ring
// starts it posts the receives of all five rounds, so it has 32 * 5 receives per rank of the program pending. A step is
// one of them: the receive from the left, then the send to the right of what came. What has been
// round five times is not sent on, and a ring's first send has no receive. Threads may post the receives of a ring in
// any order, so which step gets which message is not known: only the message tells how far it is.
#pragma once

#include <atomic>
#include <cstddef>
#include <mpi.h>
#include <vector>

namespace ring {

constexpr int in_flight = 32;
constexpr int rounds = 5;

// Has one operation at a time.
struct step {
    int slot = 0;
    int tag = 0;
    std::vector<int> message; // first: how often it was sent; last: the tag
};

class traffic {
public:
    explicit traffic(int bytes) : count_(bytes / static_cast<int>(sizeof(int))) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
        steps_.resize(static_cast<std::size_t>(ranks_) * in_flight * (rounds + 1));
        busy_ = std::vector<std::atomic<int>>(in_flight);
        for (int origin = 0; origin < ranks_; ++origin)
            for (int slot = 0; slot < in_flight; ++slot)
                for (int round = 0; round <= rounds; ++round) {
                    step &made = at(origin, slot, round);
                    made.slot = slot;
                    made.tag = origin * in_flight + slot;
                    made.message.assign(static_cast<std::size_t>(count_), -1);
                }
    }
    int count() const { return count_; }
    int left() const { return (rank_ + ranks_ - 1) % ranks_; }
    int right() const { return (rank_ + 1) % ranks_; }
    std::vector<step> &steps() { return steps_; }
    std::size_t index(const step &of) const { return static_cast<std::size_t>(&of - steps_.data()); }
    // Messages that all ranks send in so many iterations.
    double messages(int iterations) const { return static_cast<double>(iterations) * rounds * ranks_ * ranks_; }

    // So many rings of this rank, and its part in those of the others. `go.make_free(slot)` waits until the slot is
    // free.
    template <class Go> void run(int iterations, Go &&go) {
        for (int i = 0; i < iterations; ++i) {
            go.make_free(i % in_flight);
            start(i % in_flight, go);
        }
        for (int slot = 0; slot < in_flight; ++slot)
            go.make_free(slot);
    }
    // Starts the next ring in a slot that is free, and takes part in those of the others there. `go` starts an
    // operation: `go.receive(step)` or `go.send(step)`.
    template <class Go> void start(int slot, Go &&go) {
        busy_[static_cast<std::size_t>(slot)].store(ranks_ * rounds + 1, std::memory_order_relaxed);
        for (int origin = 0; origin < ranks_; ++origin)
            for (int round = 0; round < rounds; ++round)
                go.receive(at(origin, slot, round));
        step &first = at(rank_, slot, rounds);
        first.message.assign(first.message.size(), first.tag);
        first.message.front() = 1;
        go.send(first);
    }
    // True once this rank has nothing more to do for any ring of the slot.
    bool free(int slot) const { return busy_[static_cast<std::size_t>(slot)].load(std::memory_order_acquire) == 0; }

    template <class Go> void received(step &mine, Go &&go) {
        if (mine.message.back() != mine.tag || mine.message[mine.message.size() / 2] != mine.tag ||
            mine.message.front() > rounds * ranks_)
            wrong_.store(true, std::memory_order_relaxed);
        if (mine.message.front() == rounds * ranks_) {
            end(mine);
        } else {
            ++mine.message.front();
            go.send(mine);
        }
    }
    void sent(step &mine) { end(mine); }
    bool wrong() const { return wrong_.load(); }

private:
    step &at(int origin, int slot, int round) {
        return steps_[(static_cast<std::size_t>(origin) * in_flight + static_cast<std::size_t>(slot)) * (rounds + 1) +
                      static_cast<std::size_t>(round)];
    }
    // The last access to the step: whoever waits for the slot may start it again.
    void end(step &mine) { busy_[static_cast<std::size_t>(mine.slot)].fetch_sub(1, std::memory_order_acq_rel); }

    int count_;
    int rank_ = 0;
    int ranks_ = 1;
    std::vector<step> steps_;
    std::vector<std::atomic<int>> busy_; // per slot: steps that are not done
    std::atomic<bool> wrong_{false};
};

} // namespace ring
