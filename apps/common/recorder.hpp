// SPDX-License-Identifier: BSD-3-Clause
// The activity of each thread over time. Invariant: a thread writes only its own lane, so recording needs no lock and
// shares no cache line. Lanes are read after all threads have stopped.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace apps {

using Nanoseconds = std::int64_t;

inline Nanoseconds now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

enum class Activity : std::uint8_t {
    compute, // a piece of the computation
    start,   // starting operations: MPI_Isend, MPI_Irecv, attaching a continuation
    wait,    // blocked in MPI until an operation is complete
    poll,    // thence_progress() on a thread that has no task
};
constexpr int activities = 4;

// An interval of one thread.
struct Span {
    Nanoseconds begin, end;
    std::int32_t iteration, row, col; // the piece, for `compute`: a block of heat, a zone of bt_mz; else -1
    std::uint16_t lane;
    Activity activity;
};

// One message as its sender or its receiver recorded it: from the start of the operation until its completion is known.
struct Message {
    Nanoseconds started, complete;
    std::int32_t iteration, col, peer, cells;
    std::uint16_t lane;     // lane of the thread that started it
    std::uint8_t direction; // what the application says
    bool sent;              // false: received
};

struct Lane {
    std::uint16_t index = 0;
    Nanoseconds total[activities] = {};
    std::uint64_t count[activities] = {};
    std::uint64_t messages_sent = 0, cells_sent = 0;
    std::uint64_t dropped = 0; // spans and messages that were not kept since the lane was full
    std::vector<Span> spans;
    std::vector<Message> messages;
};

class Recorder {
public:
    // `capacity`: how many spans, and how many messages, a lane keeps; with 0 it keeps only the totals.
    explicit Recorder(std::size_t capacity);
    ~Recorder();
    Recorder(const Recorder &) = delete;
    Recorder &operator=(const Recorder &) = delete;

    // The lane of this thread; created at the first call.
    Lane &lane() { return current.owner == this ? *current.lane : enter(); }

    void add(Activity activity, Nanoseconds begin, Nanoseconds end, int iteration = -1, int row = -1, int col = -1);
    void add(const Message &message);

    // To be called after the run.
    std::vector<const Lane *> lanes() const;

private:
    struct Current {
        Recorder *owner = nullptr;
        Lane *lane = nullptr;
    };
    static thread_local Current current;

    static constexpr std::size_t max_lanes = 1024;
    Lane &enter();

    std::size_t capacity;
    std::atomic<std::size_t> used{0};
    std::unique_ptr<std::atomic<Lane *>[]> slots;
};

// Records the lifetime of the object as one span.
class Timed {
public:
    Timed(Recorder &r, Activity a, int t = -1, int i = -1, int k = -1)
        : recorder(r), activity(a), iteration(t), row(i), col(k), begin(now()) {}
    ~Timed() { recorder.add(activity, begin, now(), iteration, row, col); }
    Timed(const Timed &) = delete;
    Timed &operator=(const Timed &) = delete;

private:
    Recorder &recorder;
    Activity activity;
    int iteration, row, col;
    Nanoseconds begin;
};

} // namespace apps
