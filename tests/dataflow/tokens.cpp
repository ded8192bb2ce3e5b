// SPDX-License-Identifier: BSD-3-Clause
// Exclusion of commutative accesses, in all schedules: every way in which four tasks want some of three data, and every
// order in which they arrive and complete. Each call of `tokens` is one step, since it holds its lock from begin to
// end.
//
// No two tasks run that want the same data, a task that waits is let go on once and with all that it wants, and none is
// left behind.
#include "dataflow/tokens.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace {

using thence::dataflow::access_chain;
using thence::dataflow::linked_access;
using thence::dataflow::task;
using thence::dataflow::task_list;

constexpr unsigned tasks = 4;
constexpr unsigned data = 3;

// A task with an access to each datum. It wants alone those of `wanted`; the others it only reads.
class one_task {
public:
    one_task(unsigned wanted, std::array<access_chain, data> &chains) : wanted_(wanted) {
        whole_->count = data;
        for (unsigned i = 0; i < data; ++i) {
            auto *const access = new (&whole_->accesses()[i]) linked_access;
            access->chain = &chains[i];
            access->kind = (wanted >> i & 1U) != 0 ? thence::access_kind::commutative : thence::access_kind::in;
        }
    }
    one_task(const one_task &) = delete;
    one_task &operator=(const one_task &) = delete;
    ~one_task() { whole_->~task(); }

    task &get() { return *whole_; }
    unsigned wanted() const { return wanted_; }

private:
    alignas(task) std::byte room_[sizeof(task) + data * sizeof(linked_access)];
    task *const whole_ = new (room_) task;
    unsigned wanted_;
};

// The tokens after some steps. It cannot be copied, so a schedule is replayed from its beginning.
class system {
public:
    explicit system(const std::array<unsigned, tasks> &wanted) {
        for (unsigned i = 0; i < tasks; ++i) {
            all_[i] = std::make_unique<one_task>(wanted[i], chains_);
        }
    }
    // Whether a step of this task comes next: its arrival, or its completion.
    bool may_step(unsigned i) const { return state_[i] == state::away || state_[i] == state::runs; }
    void step(unsigned i) {
        if (state_[i] == state::away) {
            if (tokens_.take(all_[i]->get())) {
                begins(i);
            } else {
                state_[i] = state::waits;
            }
            return;
        }
        state_[i] = state::complete;
        task_list ready;
        tokens_.give_back(all_[i]->get(), ready);
        while (const task *const one = ready.pop()) {
            begins(number_of(one));
        }
    }
    // Nothing is wrong, and a task waits only for one that runs.
    bool is_right() const {
        if (wrong_) {
            return false;
        }
        for (unsigned i = 0; i < tasks; ++i) {
            if (state_[i] == state::waits && (held_by_running() & all_[i]->wanted()) == 0) {
                return false;
            }
        }
        return true;
    }
    bool is_over() const {
        for (const state each : state_) {
            if (each != state::complete) {
                return false;
            }
        }
        return true;
    }

private:
    enum class state { away, waits, runs, complete };

    void begins(unsigned i) {
        wrong_ |=
            (state_[i] != state::away && state_[i] != state::waits) || (held_by_running() & all_[i]->wanted()) != 0;
        state_[i] = state::runs;
    }
    unsigned held_by_running() const {
        unsigned held = 0;
        for (unsigned i = 0; i < tasks; ++i) {
            held |= state_[i] == state::runs ? all_[i]->wanted() : 0U;
        }
        return held;
    }
    unsigned number_of(const task *one) const {
        for (unsigned i = 0; i < tasks; ++i) {
            if (&all_[i]->get() == one) {
                return i;
            }
        }
        ADD_FAILURE() << "not a task of this program";
        return 0;
    }

    thence::dataflow::tokens tokens_;
    std::array<access_chain, data> chains_;
    std::array<std::unique_ptr<one_task>, tasks> all_;
    std::array<state, tasks> state_{};
    bool wrong_ = false;
};

// Goes through all schedules that begin with `steps`. @return how many there are, or 0 if one of them is wrong.
long try_all(const std::array<unsigned, tasks> &wanted, std::vector<unsigned> &steps) {
    system replayed(wanted);
    for (const unsigned each : steps) {
        replayed.step(each);
    }
    if (!replayed.is_right()) {
        return 0;
    }
    if (replayed.is_over()) {
        return 1;
    }
    long schedules = 0;
    for (unsigned i = 0; i < tasks; ++i) {
        if (!replayed.may_step(i)) {
            continue;
        }
        steps.push_back(i);
        const long found = try_all(wanted, steps);
        steps.pop_back();
        if (found == 0) {
            return 0;
        }
        schedules += found;
    }
    return schedules; // 0: some wait, and nobody is left who could let them go on
}

TEST(tokens, are_right_in_all_schedules) {
    constexpr unsigned subsets = 1U << data;
    long schedules = 0;
    std::array<unsigned, tasks> wanted{};
    // The order of the tasks does not matter, since all orders of arrival are tried.
    for (wanted[0] = 1; wanted[0] < subsets; ++wanted[0]) {
        for (wanted[1] = wanted[0]; wanted[1] < subsets; ++wanted[1]) {
            for (wanted[2] = wanted[1]; wanted[2] < subsets; ++wanted[2]) {
                for (wanted[3] = wanted[2]; wanted[3] < subsets; ++wanted[3]) {
                    std::vector<unsigned> steps;
                    const long found = try_all(wanted, steps);
                    ASSERT_NE(found, 0) << wanted[0] << ' ' << wanted[1] << ' ' << wanted[2] << ' ' << wanted[3];
                    schedules += found;
                }
            }
        }
    }
    EXPECT_GT(schedules, 50'000);
}

} // namespace
