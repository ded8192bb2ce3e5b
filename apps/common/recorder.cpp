// SPDX-License-Identifier: BSD-3-Clause
// Buffers never grow beyond their capacity. Records that do not fit are counted, but not kept.
#include "recorder.hpp"

#include <algorithm>
#include <stdexcept>

namespace apps {

thread_local Recorder::Current Recorder::current;

namespace {
// Polls with a smaller distance than this are merged into one span, since a waiting thread polls a million times a
// second.
constexpr Nanoseconds merge_gap = 2'000;
} // namespace

Recorder::Recorder(std::size_t n) : capacity(n), slots(std::make_unique<std::atomic<Lane *>[]>(max_lanes)) {}

Recorder::~Recorder() {
    for (std::size_t i = 0; i < std::min(used.load(), max_lanes); ++i) {
        delete slots[i].load();
    }
    current = {};
}

Lane &Recorder::enter() {
    const std::size_t index = used.fetch_add(1);
    if (index >= max_lanes) {
        throw std::runtime_error("more than 1024 threads in one process");
    }
    auto lane = std::make_unique<Lane>();
    lane->index = static_cast<std::uint16_t>(index);
    lane->spans.reserve(std::min<std::size_t>(capacity, 4096));
    lane->messages.reserve(std::min<std::size_t>(capacity, 4096));
    current = {this, lane.get()};
    slots[index].store(lane.release(), std::memory_order_release);
    return *current.lane;
}

void Recorder::add(Activity activity, Nanoseconds begin, Nanoseconds end, int iteration, int row, int col) {
    Lane &l = lane();
    l.total[static_cast<int>(activity)] += end - begin;
    ++l.count[static_cast<int>(activity)];
    if (capacity == 0) {
        return;
    }
    if (activity == Activity::poll && !l.spans.empty()) {
        Span &last = l.spans.back();
        if (last.activity == Activity::poll && begin - last.end < merge_gap) {
            last.end = end;
            return;
        }
    }
    if (l.spans.size() < capacity) {
        l.spans.push_back({begin, end, iteration, row, col, l.index, activity});
    } else {
        ++l.dropped;
    }
}

void Recorder::add(const Message &message) {
    Lane &l = lane();
    if (message.sent) {
        ++l.messages_sent;
        l.cells_sent += static_cast<std::uint64_t>(message.cells);
    }
    if (capacity == 0) {
        return;
    }
    if (l.messages.size() < capacity) {
        l.messages.push_back(message);
    } else {
        ++l.dropped;
    }
}

std::vector<const Lane *> Recorder::lanes() const {
    std::vector<const Lane *> out;
    for (std::size_t i = 0; i < std::min(used.load(), max_lanes); ++i) {
        if (const Lane *l = slots[i].load(std::memory_order_acquire)) {
            out.push_back(l);
        }
    }
    return out;
}

} // namespace apps
