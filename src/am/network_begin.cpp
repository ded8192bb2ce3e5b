// SPDX-License-Identifier: BSD-3-Clause
// The communicators, receives and continuation requests of an engine: how they begin, and how they end.
#include "am/network_state.hpp"

#include <exception>

namespace thence::am {

int network::state::make_requests(unsigned flags) noexcept {
    // Those that may run at once also run on the helper thread, if it is wanted.
    const unsigned anywhere =
        polls_all ? THENCE_CR_POLL_ONLY : ((flags & THENCE_AM_HELPER) != 0 ? THENCE_CR_ANY_THREAD : 0U);
    constexpr unsigned restricted = THENCE_CR_POLL_ONLY | THENCE_CR_ENQUEUE_COMPLETE;
    constexpr int most_in_a_poll = 16; // between two polls what handlers have sent leaves
    const struct {
        MPI_Request &request;
        unsigned options;
        int max_poll;
    } made[] = {{of_lane[index_of(lane::handlers)], restricted, most_in_a_poll},
                {of_lane[index_of(lane::short_handlers)], THENCE_CR_ENQUEUE_COMPLETE | anywhere, -1},
                {of_lane[index_of(lane::control)], THENCE_CR_ENQUEUE_COMPLETE | anywhere, -1},
                {at_once, anywhere, -1},
                {probe, 0, -1}};
    for (const auto &each : made) {
        const int code = thence_cr_create(each.options, each.max_poll, MPI_INFO_NULL, &each.request);
        if (code != MPI_SUCCESS) {
            return code;
        }
    }
    return MPI_SUCCESS;
}

void network::state::make_receives(const thence_am_options &in_force, std::size_t bytes) {
    whole = bytes;
    receives = std::vector<receive>(static_cast<std::size_t>(in_force.receives) * lanes);
    receives_left = receives.size();
    for (auto &each : left_of_lane) {
        each = static_cast<std::size_t>(in_force.receives);
    }
    for (std::size_t i = 0; i < receives.size(); ++i) {
        receive &r = receives[i];
        r.to = &to;
        r.owner = this;
        r.in = static_cast<lane>(i % lanes);
        r.content.resize((whole + 7) / 8);
    }
}

void network::state::free_requests() noexcept {
    for (MPI_Request *const each : {&of_lane[0], &of_lane[1], &of_lane[2], &at_once, &probe}) {
        if (*each != MPI_REQUEST_NULL) {
            thence_free(each);
        }
    }
    for (MPI_Comm *const each : {&packets, &data, &waves}) {
        if (*each != MPI_COMM_NULL) {
            MPI_Comm_free(each);
        }
    }
}

int network::begin(MPI_Comm comm, const thence_am_options &in_force, std::size_t whole) noexcept {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    state &s = *state_;
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    s.one_thread = level != MPI_THREAD_MULTIPLE || (in_force.flags & THENCE_AM_ONE_THREAD) != 0;
    s.polls_all = level == MPI_THREAD_MULTIPLE && (in_force.flags & THENCE_AM_ONE_THREAD) != 0;
    s.communication_thread = std::this_thread::get_id();
    int code = s.make_requests(in_force.flags);
    for (MPI_Comm *const each : {&s.packets, &s.data, &s.waves}) {
        const int made = MPI_Comm_dup(comm, each);
        if (made == MPI_SUCCESS) {
            MPI_Comm_set_errhandler(*each, thence_errors_return());
        }
        code = code == MPI_SUCCESS ? made : code;
    }
    largest_data_tag_ = largest_tag(comm);
    if (code == MPI_SUCCESS) {
        try {
            s.make_receives(in_force, whole);
#if defined(SMPI_H)
            s.rank = rank_;
            s.ranks = size_;
            s.expected_of_all.resize(static_cast<std::size_t>(size_));
#endif
        } catch (const std::exception &) {
            code = MPI_ERR_NO_MEM;
        }
    }
    return code;
}

// The receives of an engine that has failed elsewhere would never end.
int network::start(MPI_Comm comm, int code) noexcept {
    int failed = code != MPI_SUCCESS ? class_of(code) : 0;
    int failed_anywhere = 0;
    MPI_Allreduce(&failed, &failed_anywhere, 1, MPI_INT, MPI_MAX, comm);
    if (failed_anywhere != 0) {
        return code != MPI_SUCCESS ? code : failed_anywhere;
    }
    for (receive &r : state_->receives) {
        state_->start(r);
    }
    return MPI_SUCCESS;
}

int network::state::completed(int error, MPI_Status *, void *data) noexcept {
    state &s = *static_cast<state *>(data);
    s.completed_with = error;
    s.has_completed.store(true, std::memory_order_release);
    return MPI_SUCCESS;
}

// Empty packets to this process end the receives, since a receive that is cancelled is lost by some MPIs.
int network::end(const std::uint64_t packets_to[], const std::atomic<int> &broken) noexcept {
    state &s = *state_;
    int code = MPI_SUCCESS;
    const auto poll_until = [&](auto is_over) {
        while (code == MPI_SUCCESS && !is_over()) {
            code = poll();
            code = code == MPI_SUCCESS ? broken.load() : code;
        }
    };
    MPI_Request request = MPI_REQUEST_NULL;
    const auto poll_until_complete = [&] {
        int flag = 0;
        s.has_completed.store(false);
        if (code == MPI_SUCCESS) {
            code = thence_attach(1, &request, &state::completed, &s, 0, MPI_STATUSES_IGNORE, s.at_once, &flag);
        }
        poll_until([&] { return flag != 0 || s.has_completed.load(std::memory_order_acquire); });
        code = code == MPI_SUCCESS && flag == 0 ? s.completed_with : code;
    };
#if defined(SMPI_H) // few messages: see network_wave.cpp
    code = MPI_Ireduce(packets_to, s.expected_of_all.data(), size_, MPI_UINT64_T, MPI_SUM, 0, s.waves, &request);
    poll_until_complete();
    if (code == MPI_SUCCESS) {
        code =
            MPI_Iscatter(s.expected_of_all.data(), 1, MPI_UINT64_T, &s.expected, 1, MPI_UINT64_T, 0, s.waves, &request);
    }
#else
    code = MPI_Ireduce_scatter_block(packets_to, &s.expected, 1, MPI_UINT64_T, MPI_SUM, s.waves, &request);
#endif
    poll_until_complete();
    s.all_are_ending.store(code == MPI_SUCCESS);
    poll_until([&] { return s.arrived.load() >= s.expected; });
    for (receive &r : s.receives) {
        if (code == MPI_SUCCESS) {
            code = MPI_Isend(nullptr, 0, MPI_BYTE, rank_, static_cast<int>(index_of(r.in)), s.packets, &request);
        }
        poll_until_complete();
    }
    poll_until([&] { return s.receives_left.load(std::memory_order_acquire) == 0; });
    return code;
}

} // namespace thence::am
