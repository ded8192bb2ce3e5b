// SPDX-License-Identifier: BSD-3-Clause
// Communicators that are derived from thread communicators: dup, split and free. And what a communicator tells: rank,
// size, whether two are the same.
//
// All ranks of the parent exchange color, key and a context twice. Between the two, the lowest rank of each new
// communicator in a process makes the object and its handle, which the second exchange tells the other threads of
// that process. So no rank returns before every process can receive messages for the new communicator.
#include "core/api/errors.hpp"
#include "mpix/threadcomm/create.hpp"

#include "core/mpi/calls.hpp"
#include "mpix/messages/requests.hpp"
#include "mpix/threadcomm/attributes.hpp"
#include "mpix/threadcomm/collective_channel.hpp"
#include "mpix/threadcomm/message_calls.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace thence::threadcomm {

namespace {

using mpi::table;

struct proposal {
    std::int64_t color;
    std::int64_t key;
    std::uint64_t context; // used if this is the lowest rank of its new communicator
};
struct creation {
    communicator *made; // null: by another thread, or without success
    std::int64_t error; // an error class
};

std::uint64_t new_context(root_state &root) noexcept {
    return (static_cast<std::uint64_t>(root.process) << 32) + root.contexts.fetch_add(1) + 1;
}

communicator *make(communicator &parent, const std::vector<int> &ranks, std::uint64_t context) {
    MPI_Comm handle = MPI_COMM_NULL;
    if (make_self(parent.handle, handle) != MPI_SUCCESS) {
        return nullptr;
    }
    std::vector<int> processes;
    std::vector<int> threads;
    for (const int each : ranks) {
        processes.push_back(parent.process_of[static_cast<std::size_t>(each)]);
        threads.push_back(parent.thread_of[static_cast<std::size_t>(each)]);
    }
    auto made = std::make_unique<communicator>(handle, parent.root, context, false, std::move(processes), threads);
    if (!enter(*made)) {
        table.Comm_free(&handle);
        return nullptr;
    }
    parent.root.derived.fetch_add(1);
    return made.release();
}

// Not all processes could make it.
void take_back(communicator &made) noexcept {
    MPI_Comm handle = made.handle;
    made.root.derived.fetch_sub(1);
    leave(made);
    delete &made;
    table.Comm_free(&handle);
}

// `attributes`: a communicator with those of this rank, which the new communicator gets; or MPI_COMM_NULL.
int derive(const char *call, communicator &parent, member &me, std::int64_t color, std::int64_t key, creation made,
           MPI_Comm attributes, MPI_Comm *created) {
    const auto size = static_cast<std::size_t>(parent.size());
    std::vector<proposal> all(size);
    std::vector<creation> results(size);
    const proposal mine{color, key, new_context(parent.root)};
    int error = exchange_all(me, &mine, all.data(), sizeof mine);
    std::vector<int> ranks;
    for (std::size_t i = 0; i < size; ++i) {
        if (color != MPI_UNDEFINED && all[i].color == color) {
            ranks.push_back(static_cast<int>(i));
        }
    }
    std::stable_sort(ranks.begin(), ranks.end(), [&](int a, int b) {
        return all[static_cast<std::size_t>(a)].key < all[static_cast<std::size_t>(b)].key;
    });
    const auto maker = std::ranges::find_if(
        ranks, [&](int each) { return parent.process_of[static_cast<std::size_t>(each)] == parent.root.process; });
    made.error = made.error == MPI_SUCCESS ? error : made.error;
    if (made.error == MPI_SUCCESS && maker != ranks.end() && *maker == me.rank) {
        try {
            made.made = make(parent, ranks, all[static_cast<std::size_t>(ranks.front())].context);
        } catch (const std::exception &) {
            made.made = nullptr;
        }
        made.error = made.made != nullptr ? int{MPI_SUCCESS} : int{MPI_ERR_NO_MEM};
    }
    const int second = exchange_all(me, &made, results.data(), sizeof made);
    error = error == MPI_SUCCESS ? second : error;
    for (const int each : ranks) {
        const auto other = static_cast<int>(results[static_cast<std::size_t>(each)].error);
        error = error == MPI_SUCCESS ? other : error;
    }
    if (error != MPI_SUCCESS) {
        if (made.made != nullptr) {
            take_back(*made.made);
        }
        return fail(parent.handle, call, error, "not all ranks could make the communicator");
    }
    if (maker == ranks.end()) {
        *created = MPI_COMM_NULL;
        return MPI_SUCCESS;
    }
    communicator &made_here = *results[static_cast<std::size_t>(*maker)].made;
    self(made_here)->attributes = attributes;
    *created = made_here.handle;
    return MPI_SUCCESS;
}

int derived(const char *call, communicator &comm, std::int64_t color, std::int64_t key, MPI_Comm *created,
            bool with_attributes) noexcept {
    int code = MPI_SUCCESS;
    member *const me = check_self(call, comm, code);
    if (me == nullptr) {
        return code;
    }
    if (created == nullptr) {
        return fail(comm.handle, call, MPI_ERR_ARG, "newcomm is null");
    }
    creation made{nullptr, MPI_SUCCESS};
    MPI_Comm attributes = MPI_COMM_NULL;
    if (with_attributes && copy_attributes(*me, attributes) != MPI_SUCCESS) {
        made.error = MPI_ERR_OTHER; // of a copy function of the user: no rank gets the communicator
    }
    try {
        code = derive(call, comm, *me, color, with_attributes ? me->rank : key, made, attributes, created);
    } catch (const std::exception &) {
        code = fail(comm.handle, call, api::reason::out_of_memory);
    }
    if (code != MPI_SUCCESS && attributes != MPI_COMM_NULL) {
        table.Comm_free(&attributes);
    }
    return code;
}

bool same_ranks(const communicator &a, const communicator &b) noexcept {
    return a.process_of == b.process_of && a.thread_of == b.thread_of;
}

bool same_members(const communicator &a, const communicator &b) {
    const auto members_of = [](const communicator &c) {
        std::vector<std::pair<int, int>> all;
        all.reserve(c.process_of.size());
        for (std::size_t i = 0; i < c.process_of.size(); ++i) {
            all.emplace_back(c.process_of[i], c.thread_of[i]);
        }
        std::ranges::sort(all);
        return all;
    };
    return members_of(a) == members_of(b);
}

} // namespace

int split(const char *call, communicator &comm, int color, int key, MPI_Comm *created) noexcept {
    if (color < 0 && color != MPI_UNDEFINED) {
        return fail(comm.handle, call, MPI_ERR_ARG, "color is negative and not MPI_UNDEFINED");
    }
    return derived(call, comm, color, key, created, false);
}

int dup(const char *call, communicator &comm, MPI_Comm *created) noexcept {
    return derived(call, comm, 0, 0, created, true);
}

int idup(const char *call, communicator &comm, MPI_Comm *created, MPI_Request *request) noexcept {
    if (request == nullptr) {
        return fail(comm.handle, call, api::reason::null_request);
    }
    if (const int code = derived(call, comm, 0, 0, created, true); code != MPI_SUCCESS) {
        return code;
    }
    const int error = messages::make_complete_request(
        std::unique_ptr<messages::p2p_operation>(new (std::nothrow) messages::p2p_operation), *request);
    return error == MPI_SUCCESS ? int{MPI_SUCCESS} : fail(comm.handle, call, error, "MPI makes no request");
}

int free(const char *call, communicator &comm, MPI_Comm *handle) noexcept {
    int code = MPI_SUCCESS;
    member *const me = check_self(call, comm, code);
    if (me == nullptr) {
        return code;
    }
    if (comm.is_root) {
        return fail(comm.handle, call, MPI_ERR_COMM, "MPIX_Threadcomm_free frees it, after MPIX_Threadcomm_finish");
    }
    delete_attributes(*me);
    forget(comm);
    *handle = MPI_COMM_NULL;
    MPI_Comm last = comm.handle;
    const int members = comm.members; // who is not the last must not touch it after it has counted
    if (comm.left.fetch_add(1, std::memory_order_acq_rel) + 1 < members) {
        return MPI_SUCCESS;
    }
    root_state &root = comm.root;
    // Requests complete, and matched messages are received all the same, so it stays until the root is freed.
    if (comm.has_open_requests() || has_matched_messages(comm)) {
        hide(comm);
        const std::scoped_lock guard(root.lock);
        comm.next_kept = std::exchange(root.kept, &comm);
    } else {
        leave(comm);
        delete &comm;
    }
    root.derived.fetch_sub(1);
    return table.Comm_free(&last);
}

int rank(const char *call, communicator &comm, int *result) noexcept {
    int code = MPI_SUCCESS;
    const member *const me = check_self(call, comm, code);
    if (me != nullptr && result == nullptr) {
        return fail(comm.handle, call, MPI_ERR_ARG, "rank is null");
    }
    if (me != nullptr) {
        *result = me->rank;
    }
    return code;
}

int size(const char *call, communicator &comm, int *result) noexcept {
    int code = MPI_SUCCESS;
    const bool started = check_self(call, comm, code) != nullptr;
    if (started && result == nullptr) {
        return fail(comm.handle, call, MPI_ERR_ARG, "size is null");
    }
    if (started) {
        *result = comm.size();
    }
    return code;
}

int compare(const communicator *one, const communicator *other, int *result) noexcept {
    const communicator &known = one != nullptr ? *one : *other;
    if (result == nullptr) {
        return fail(known.handle, "MPI_Comm_compare", MPI_ERR_ARG, "result is null");
    }
    if (one == other) {
        *result = MPI_IDENT;
        return MPI_SUCCESS;
    }
    if (one == nullptr || other == nullptr || &one->root != &other->root) {
        *result = MPI_UNEQUAL;
        return MPI_SUCCESS;
    }
    try {
        *result = same_ranks(*one, *other) ? MPI_CONGRUENT : same_members(*one, *other) ? MPI_SIMILAR : MPI_UNEQUAL;
    } catch (const std::exception &) {
        return fail(known.handle, "MPI_Comm_compare", api::reason::out_of_memory);
    }
    return MPI_SUCCESS;
}

} // namespace thence::threadcomm
