// SPDX-License-Identifier: BSD-3-Clause
// The notifications of one part of a segment, as they lie in memory that processes share: one 32-bit slot each, and two
// levels of marks that say which slots have changed. The owner looks at the marks, so what it costs to find an arrival
// does not depend on how many notifications are waited for.
//
// A mark is a hint: that slot may have a value that nobody has looked at. Only slots have values. Invariant: if the
// owner is armed and waits for slot i, and slot i is not zero, then i is marked, or the process that has set the slot
// is between set() and mark(), or the owner looks at the slot after it has armed itself. Reasons:
//   - set() stores the slot and then reads `armed`; the owner stores `armed` and then reads the slot. All four are
//     sequentially consistent, so one of the two sees the other.
//   - mark() sets the mark of the slot and then that of its word. The owner takes the mark of the word and then those
//     of the slots. mark() may leave the mark of the word as it is if it is set: the owner will take it, and after that
//     the marks of the slots. tests/model/notification_arrival.pml checks this.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace thence::notification {

class slots {
public:
    slots() noexcept = default;
    // `memory`: bytes_for(count) bytes, aligned to a cache line, zero before the first use by any process.
    slots(void *memory, unsigned count) noexcept
        : count_(count), armed_(static_cast<word32 *>(memory)), summary_(at<word64>(memory, line)),
          marks_(at<word64>(memory, line + round_up(8 * summary_words(count)))),
          values_(at<word32>(memory, line + round_up(8 * summary_words(count)) + round_up(8 * mark_words(count)))) {}

    static std::size_t bytes_for(unsigned count) noexcept {
        return line + round_up(8 * summary_words(count)) + round_up(8 * mark_words(count)) +
               round_up(4 * static_cast<std::size_t>(count));
    }

    unsigned count() const noexcept { return count_; }

    // Any process. `value` is not zero. All that the caller has written before is visible to who takes the value.
    void set(unsigned i, std::uint32_t value) noexcept {
        values_[i].store(value, std::memory_order_seq_cst);
        if (armed_->load(std::memory_order_seq_cst) != 0) {
            mark(i);
        }
    }

    std::uint32_t read(unsigned i) const noexcept { return values_[i].load(std::memory_order_acquire); }
    std::uint32_t take(unsigned i) noexcept {
        return read(i) != 0 ? values_[i].exchange(0, std::memory_order_acq_rel) : 0;
    }
    // The first of [first, first + number) that is not zero; first + number if none is.
    unsigned find(unsigned first, unsigned number) const noexcept {
        unsigned i = first;
        while (i != first + number && read(i) == 0) {
            ++i;
        }
        return i;
    }

    // The part was deleted by its owner, who says so when its memory has gone: what a process writes to it is lost.
    bool are_dropped() const noexcept { return armed_[1].load(std::memory_order_relaxed) != 0; }

    // What follows is for the owner alone.

    void drop() noexcept { armed_[1].store(1, std::memory_order_relaxed); }

    // Arrivals are marked from now on. The caller looks at the slots that it waits for after this.
    void arm() noexcept { armed_->store(1, std::memory_order_seq_cst); }
    // They need not be marked any more.
    void disarm() noexcept { armed_->store(0, std::memory_order_relaxed); }
    std::uint32_t take_after_arming(unsigned i) noexcept {
        return values_[i].load(std::memory_order_seq_cst) != 0 ? values_[i].exchange(0, std::memory_order_acq_rel) : 0;
    }

    bool any_marked() const noexcept {
        for (std::size_t s = 0; s < summary_words(count_); ++s) {
            if (summary_[s].load(std::memory_order_relaxed) != 0) {
                return true;
            }
        }
        return false;
    }
    // Takes all marks, and calls `visit(i)` for each. One thread at a time.
    template <class Visit> void take_marks(Visit visit) noexcept {
        for (std::size_t s = 0; s < summary_words(count_); ++s) {
            if (summary_[s].load(std::memory_order_relaxed) == 0) {
                continue;
            }
            for_each_bit(summary_[s].exchange(0, std::memory_order_seq_cst), s, [&](std::size_t w) {
                for_each_bit(marks_[w].exchange(0, std::memory_order_seq_cst), w,
                             [&](std::size_t i) { visit(static_cast<unsigned>(i)); });
            });
        }
    }

private:
    using word32 = std::atomic<std::uint32_t>;
    using word64 = std::atomic<std::uint64_t>;
    static_assert(word32::is_always_lock_free && word64::is_always_lock_free, "processes share them");
    static constexpr std::size_t line = 64;

    static constexpr std::size_t round_up(std::size_t bytes) noexcept { return (bytes + line - 1) / line * line; }
    static constexpr std::size_t mark_words(std::size_t count) noexcept { return (count + 63) / 64; }
    static constexpr std::size_t summary_words(std::size_t count) noexcept { return (mark_words(count) + 63) / 64; }
    template <class T> static T *at(void *memory, std::size_t offset) noexcept {
        return std::launder(reinterpret_cast<T *>(static_cast<unsigned char *>(memory) + offset));
    }
    template <class Visit> static void for_each_bit(std::uint64_t bits, std::size_t word, Visit visit) noexcept {
        for (; bits != 0; bits &= bits - 1) {
            visit(64 * word + static_cast<std::size_t>(__builtin_ctzll(bits)));
        }
    }

    void mark(unsigned i) noexcept {
        marks_[i / 64].fetch_or(std::uint64_t{1} << (i % 64), std::memory_order_seq_cst);
        const std::uint64_t bit = std::uint64_t{1} << (i / 64 % 64);
        word64 &summary = summary_[i / 4096];
        if ((summary.load(std::memory_order_seq_cst) & bit) == 0) {
            summary.fetch_or(bit, std::memory_order_seq_cst);
        }
    }

    unsigned count_ = 0;
    word32 *armed_ = nullptr;   // and behind it, whether they are dropped
    word64 *summary_ = nullptr; // bit w % 64 of word w / 64: word w of the marks may have a bit
    word64 *marks_ = nullptr;   // bit i % 64 of word i / 64: slot i may have changed
    word32 *values_ = nullptr;
};

} // namespace thence::notification
