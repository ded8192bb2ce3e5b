// SPDX-License-Identifier: BSD-3-Clause
// Thread communicators: communicators whose ranks are threads.
//
// The handle that the user has is a communicator of MPI: a duplicate of the one that MPIX_Threadcomm_init got, or, for
// those that MPI_Comm_dup and MPI_Comm_split make of a thread communicator, one of this process alone. All threads of a
// process have the same handle. So MPI itself does what has nothing to do with ranks: names, info, error handlers. It
// carries no messages.
//
// A root is what MPIX_Threadcomm_init makes: it has the activation (start and finish) and the transport between
// processes. A communicator that is derived from it has ranks of its own over the same threads.
//
// find() is called by each interposed call that has a communicator, if any_alive() is true, which is one bit of the
// word that such a call reads anyway.
#pragma once

#include "core/base/visibility.hpp"
#include "core/mpi/error_code.hpp"
#include "core/progress/interposed.hpp"
#include "mpix/messages/endpoint.hpp"
#include "mpix/messages/transport.hpp"
#include "mpix/threadcomm/activation.hpp"
#include "mpix/threadcomm/shared_exchange.hpp"

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace thence::threadcomm {

class communicator;

// The two channels of a communicator: what the user sends, and what its own operations (collectives) send. Wildcards of
// one never match messages of the other.
enum class channel : int { user, collective };

// One rank, of a thread of this process. All but the endpoints is used by that thread only.
struct member {
    communicator *comm = nullptr;
    int rank = 0;
    int thread = 0; // the index of the thread in its process
    messages::endpoint user;
    messages::endpoint collective;
    std::uint32_t operations = 0;        // collective operations begun: the tag of their messages
    MPI_Comm attributes = MPI_COMM_NULL; // a communicator of this thread, which has its attributes
    messages::endpoint &at(channel which) noexcept { return which == channel::user ? user : collective; }
};

// What a root has in one process.
struct root_state {
    explicit root_state(int count) : threads(count) {}
    ~root_state();

    activation threads;
    std::optional<messages::transport> between; // none if only one process has threads
    int process = 0;                            // of this process, among those that have threads; -1: it has none
    std::atomic<std::uint32_t> contexts{0};     // made by this process
    std::atomic<int> derived{0};                // communicators that are not freed
    base::spin_lock lock;                       // guards by_context
    std::unordered_map<std::uint64_t, communicator *> by_context;
    communicator *kept = nullptr; // freed while requests needed their endpoints; deleted with the root
    root_state *next = nullptr;   // in the list of create.cpp
};

class communicator {
public:
    // `processes`: of each rank, the process among those that have threads. `threads`: of each rank, the index of its
    // thread. May throw std::bad_alloc.
    communicator(MPI_Comm handle, root_state &root, std::uint64_t context, bool is_root, std::vector<int> processes,
                 const std::vector<int> &threads);
    ~communicator();
    communicator &operator=(communicator &&) = delete;

    int size() const noexcept { return static_cast<int>(process_of.size()); }

    const MPI_Comm handle;
    root_state &root;
    const std::uint64_t context;
    const bool is_root;
    const int largest_tag;                     // MPI_TAG_UB, which the program reads from MPI
    const std::vector<int> process_of;         // by rank
    const std::vector<int> thread_of;          // by rank
    std::vector<member *> local;               // by rank; null: in another process
    std::vector<member *> of_thread;           // by the index of a thread; null: it has no rank
    std::atomic<int> left{0};                  // members that have freed it
    int members = 0;                           // ranks in this process
    std::unique_ptr<shared_exchange> exchange; // null: one rank, or ranks in several processes
    communicator *next_kept = nullptr;         // in the list of the root

    // True if a request of a rank of this process needs one of the endpoints.
    bool has_open_requests() const noexcept;
};

// False only if there is none.
inline bool any_alive() noexcept {
    return (progress::slow_path_reasons.load(std::memory_order_relaxed) & progress::own_communicators) != 0 &&
           !progress::calls_only_count();
}
// Null for any other communicator.
THENCE_INTERNAL communicator *find(MPI_Comm comm) noexcept;
inline communicator *find_if_any(MPI_Comm comm) noexcept {
    return any_alive() ? find(comm) : nullptr;
}
// The rank of this thread; null outside of start and finish, and if it has none there.
member *self(const communicator &comm) noexcept;

// Makes find() know it, and messages from other processes reach it. False: too many exist.
bool enter(communicator &comm) noexcept;
void leave(communicator &comm) noexcept;
void hide(communicator &comm) noexcept; // only from find()
void hide_all() noexcept;

// The threads of this process that are between start and finish.
inline constexpr int most_memberships = 8;
std::uint64_t this_thread_number() noexcept; // never zero, of no other thread that lives; after may_join()
bool may_join() noexcept;                    // false if this thread is active in `most_memberships` others
void join(root_state &root, int index) noexcept;
void part(root_state &root) noexcept;
// Called by a thread that frees a communicator: this thread no longer looks at it.
void forget(const communicator &comm) noexcept;
int index_in(const root_state &root) noexcept; // -1: this thread has not started

void copy_error_handler(MPI_Comm from, MPI_Comm to) noexcept;
// A communicator of this process alone, with the error handler of another. Returns an MPI error code.
int make_self(MPI_Comm like, MPI_Comm &created) noexcept;

// Reports an error of this class through the error handler of the communicator and returns its code.
THENCE_INTERNAL int fail(MPI_Comm handle, const char *call, int error_class, const char *why) noexcept;
inline int fail(MPI_Comm handle, const char *call, const mpi::failure &why) noexcept {
    return fail(handle, call, why.error_class, why.text);
}

} // namespace thence::threadcomm
