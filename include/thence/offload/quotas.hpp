// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file quotas.hpp
 *  @brief How many tasks a rank offloads to which others: the diffusive part of thence/offload.hpp. It knows no task.
 *
 *  After each step every rank knows for how long each one has waited. A rank that waited less than another moves as
 *  many tasks there as even out a part of the difference; one that has moved too many takes some back.
 *
 *  Quotas grow until they are together as many as the tasks that could move: those that were offered in a step. A step
 *  of few tasks may be followed by one of many, so this bound falls by about a tenth in a step. Where all slots were in
 *  use, what moved is what could move, and a quota counts from there. */

#include <thence/detail/cxx20.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <thence/offload/settings.hpp>

namespace thence::detail {

/** What a rank tells the others after a step. All members are doubles, so that it is sent as an array. */
struct offload_measured {
    double waited = 0;       // seconds
    double task_seconds = 0; // of a task of its own that it ran itself; 0: it ran none
    double foreign = 0;      // tasks of others that it ran
};

// Threads: one at a time.
class offload_quotas {
public:
    offload_quotas(const offload_settings &settings, int rank, int ranks)
        : settings_(settings), rank_(rank), others_(static_cast<std::size_t>(ranks)) {}

    // The rank that the next task goes to, or -1. That is the one which has most to get in this step.
    int take() {
        offered_++;
        const auto most = std::max_element(others_.begin(), others_.end(),
                                           [](const other &a, const other &b) { return a.left < b.left; });
        if (most->left <= 0) {
            return -1;
        }
        most->left--, most->taken++, most->away++;
        return static_cast<int>(most - others_.begin());
    }
    // In place of take(), where no slot is free.
    void lacks_slot() { offered_++, lacked_slots_ = true; }
    void returned(int rank) { others_[static_cast<std::size_t>(rank)].away--; }

    // The rank has had nothing to do for `seconds` but to wait for results. Returns how many ranks are late now.
    int look_for_late(double seconds) {
        if (last_step_ == 0 || seconds < std::max(shortest_late, settings_.late * last_step_)) {
            return 0;
        }
        int found = 0;
        for (other &each : others_) {
            if (each.away == 0 || each.late) {
                continue;
            }
            found++;
            each.late = true;
            each.quota = std::min(each.quota, each.taken) / 2;
            if (++each.emergencies >= settings_.emergencies) {
                each.emergencies = 0, each.quota = 0;
                each.paused = settings_.pause_steps + 1; // the step that ends now counts, too
            }
        }
        return found;
    }
    std::string away() const {
        std::string text;
        for (std::size_t i = 0; i < others_.size(); ++i) {
            if (others_[i].away > 0) {
                text += (text.empty() ? "" : ", ") + std::to_string(others_[i].away) + " tasks on rank " +
                        std::to_string(i);
            }
        }
        return text;
    }

    // After a step. `measured` has an entry for each rank.
    void balance(const std::vector<offload_measured> &measured, double step_seconds) {
        last_step_ = step_seconds;
        most_ = std::max(std::exchange(offered_, 0), most_ * 9 / 10);
        const bool lacked_slots = std::exchange(lacked_slots_, false);
        const offload_measured &own = measured[static_cast<std::size_t>(rank_)];
        const auto waited = [](const offload_measured &a, const offload_measured &b) { return a.waited < b.waited; };
        const bool critical = std::min_element(measured.begin(), measured.end(), waited)->waited == own.waited;
        const auto longest =
            static_cast<std::size_t>(std::max_element(measured.begin(), measured.end(), waited) - measured.begin());
        int planned = 0; // tasks of all quotas
        for (const other &each : others_) {
            planned += each.quota;
        }
        for (std::size_t i = 0; i < others_.size(); ++i) {
            other &each = others_[i];
            planned -= each.quota;
            each.emergencies = each.late ? each.emergencies : 0;
            const bool was_late = std::exchange(each.late, false);
            each.paused = std::max(0, each.paused - 1);
            const double difference = measured[i].waited - own.waited;
            const double there = measured[i].task_seconds > 0 ? measured[i].task_seconds : own.task_seconds;
            const double both = own.task_seconds + there;
            if (own.task_seconds > 0) {
                // To move one task makes the difference smaller by the time of a task on both ranks.
                double tasks = settings_.gain * difference / both;
                if (difference > 0) { // whoever has sent tasks here takes them back first
                    tasks = critical && i == longest && !was_late ? std::max(0.0, tasks - own.foreign) : 0;
                }
                const int before = lacked_slots ? std::min(each.quota, each.taken) : each.quota;
                each.quota = std::clamp(before + static_cast<int>(std::lround(tasks)), 0, std::max(0, most_ - planned));
            } else if (difference < 0) {
                each.quota /= 2; // it ran no task of its own, so it cannot say what one takes
            }
            each.quota = each.paused > 0 || static_cast<int>(i) == rank_ ? 0 : each.quota;
            each.left = each.quota, each.taken = 0;
            planned += each.quota;
        }
    }

    int quota(int rank) const { return others_[static_cast<std::size_t>(rank)].quota; }

private:
    static constexpr double shortest_late = 1e-3;
    struct other {
        int quota = 0;       // tasks for each step
        int left = 0;        // of this step
        int taken = 0;       // in this step
        int away = 0;        // tasks that have not come back
        int emergencies = 0; // in a row
        int paused = 0;      // steps
        bool late = false;   // in this step
    };

    const offload_settings &settings_;
    int rank_;
    double last_step_ = 0;      // seconds
    int offered_ = 0;           // tasks of this step
    int most_ = 0;              // tasks that could move in a step
    bool lacked_slots_ = false; // in this step
    std::vector<other> others_;
};

} // namespace thence::detail
