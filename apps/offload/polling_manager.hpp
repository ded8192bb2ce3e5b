// SPDX-License-Identifier: BSD-3-Clause
// What the library is compared with: the manager of groups of requests that ExaHyPE has, as Schuchart et al. 2021,
// section 5.4, describe it. Workers poll it between tasks. It passes active requests to MPI_Testsome, and calls the
// callback of a group once all of its requests are complete. It has the members of
// thence::detail::offload_continuations.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <mpi.h>
#include <mutex>
#include <vector>

#include <thence/offload/settings.hpp>

namespace offload {

class PollingManager {
public:
    using Callback = int(int error, MPI_Status *statuses, void *data);

    // How many requests one poll passes to MPI_Testsome; 0: all.
    static inline int window = 0;

    explicit PollingManager(const thence::offload_settings &) {}

    // Persistent requests need nothing else: MPI_Testsome leaves their handles.
    int attach(int count, MPI_Request given[], Callback *done, void *data, MPI_Status *statuses, bool,
               bool are_results = false) {
        const std::scoped_lock guard(lock);
        Group *group = nullptr;
        if (free_groups.empty()) {
            group = &groups.emplace_back();
        } else {
            group = free_groups.back();
            free_groups.pop_back();
        }
        *group = {count, MPI_SUCCESS, done, data, statuses, are_results};
        for (int i = 0; i < count; ++i) {
            requests.push_back(given[i]);
            owners.push_back({group, i});
        }
        return MPI_SUCCESS;
    }

    int attach_results(int count, MPI_Request given[], Callback *done, void *data) {
        return attach(count, given, done, data, MPI_STATUSES_IGNORE, false, true);
    }
    void cancel_results() {
        const std::scoped_lock guard(lock);
        for (std::size_t i = 0; i < requests.size(); ++i) {
            if (owners[i].group->are_results) {
                MPI_Cancel(&requests[i]);
            }
        }
    }

    // One thread at a time; others go on with their tasks.
    void poll() {
        std::unique_lock guard(lock, std::try_to_lock);
        if (!guard || requests.empty()) {
            return;
        }
        const std::size_t all = requests.size();
        first = first >= all ? 0 : first; // the window moves through the array; its last part may be shorter
        const std::size_t part = window > 0 ? std::min(all - first, static_cast<std::size_t>(window)) : all - first;
        indices.resize(part);
        found.resize(part);
        int count = 0;
        const int error =
            MPI_Testsome(static_cast<int>(part), requests.data() + first, &count, indices.data(), found.data());
        std::vector<Group *> complete;
        count = count == MPI_UNDEFINED ? 0 : count;
        for (int i = 0; i < count; ++i) {
            const auto [group, place] = owners[first + static_cast<std::size_t>(indices[static_cast<std::size_t>(i)])];
            const MPI_Status &status = found[static_cast<std::size_t>(i)];
            if (group->statuses != MPI_STATUSES_IGNORE) {
                group->statuses[place] = status;
            }
            if (error == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_SUCCESS) {
                group->error = status.MPI_ERROR;
            }
            if (--group->left == 0) {
                complete.push_back(group);
            }
        }
        // From the last on, so that places before stay valid.
        std::sort(indices.begin(), indices.begin() + count);
        for (int i = count; i-- > 0;) {
            const std::size_t place = first + static_cast<std::size_t>(indices[static_cast<std::size_t>(i)]);
            requests[place] = requests.back(), owners[place] = owners.back();
            requests.pop_back(), owners.pop_back();
        }
        if (count == 0) {
            first += part;
        }
        guard.unlock();
        for (Group *group : complete) {
            const Group ended = *group;
            {
                const std::scoped_lock again(lock);
                free_groups.push_back(group);
            }
            ended.done(ended.error, ended.statuses, ended.data);
        }
    }

    // Waits until all callbacks have run. No other thread polls any more.
    void finish() {
        const auto any_left = [this] {
            const std::scoped_lock guard(lock);
            return !requests.empty();
        };
        while (any_left()) {
            poll();
        }
    }

private:
    struct Group {
        int left, error;
        Callback *done;
        void *data;
        MPI_Status *statuses;
        bool are_results;
    };
    struct Owner {
        Group *group;
        int place;
    };

    std::mutex lock; // guards all that follows
    std::vector<MPI_Request> requests;
    std::vector<Owner> owners; // of the same places
    std::deque<Group> groups;
    std::vector<Group *> free_groups;
    std::size_t first = 0;
    std::vector<int> indices;
    std::vector<MPI_Status> found;
};

} // namespace offload
