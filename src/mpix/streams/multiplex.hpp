// SPDX-License-Identifier: BSD-3-Clause
// Multiplex communicators: each process has an array of streams there, and messages go from a stream to a stream.
//
// The messages are those of src/mpix/messages, with one endpoint for each stream of this process. So MPI's own messages
// on the communicator, and its collectives, do not meet them. An attribute of the communicator names its state.
//
// A multiplex communicator and its copies are a group: they have the same streams, and one transport between processes.
// A copy is told from the others by its context. Each process computes that from the context of the original and from
// how often that was copied, without a message, since all processes copy a communicator in the same order. A process
// may have made a copy, and sent on it, before another one has: the first message for an unknown context makes its
// state there, which the copy then gets.
//
// MPI_Comm_free only marks the state: pending operations complete all the same, and MPI must not be called there.
// sweep() destroys states without pending operations, and a group that has none left once all processes have come so
// far. It is called whenever a communicator is made, and at MPI_Finalize.
#pragma once

#include "core/base/spin_lock.hpp"
#include "core/mpi/extension.hpp"
#include "mpix/messages/endpoint.hpp"
#include "mpix/messages/transport.hpp"
#include "mpix/streams/stream.hpp"

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

namespace thence::streams {

class group;

// What one multiplex communicator has.
struct multiplex {
    multiplex(group &of_group, std::uint64_t new_context);

    group &owner;
    const std::uint64_t context;
    const std::unique_ptr<messages::endpoint[]> endpoints; // by index of the stream
    std::uint64_t copies = 0;                              // that were made of it, with the lock of the group
    bool freed = false;                                    // these two with the lock of the group
    bool unreachable = false;                              // no message finds it any more
    bool early = false; // a message has made it, and no communicator has it yet; with the lock of the group
};

class group {
public:
    int rank = 0;
    std::vector<int> counts;                    // of streams, by rank; at least 1
    std::vector<context *> streams;             // of this process; null: the null stream
    int most = 1;                               // the largest count
    std::optional<messages::transport> between; // none if there is one process

    group() = default;
    ~group() { between.reset(); } // it finds the states until it has ended
    group &operator=(group &&) = delete;

    int size() const noexcept { return static_cast<int>(counts.size()); }

    // The state of a new communicator, which the group owns; null if memory is exhausted or another has the context.
    multiplex *add(std::uint64_t context) noexcept;
    multiplex *copy(multiplex &from) noexcept;
    // The communicator is being freed.
    void mark_freed(multiplex &state) noexcept;
    void mark_all_freed() noexcept; // MPI ends
    // Null if there is none, or no memory.
    messages::endpoint *find(std::uint64_t context, int index) noexcept;
    // Destroys what is no longer needed. True if that is all, and all processes have come so far.
    bool try_end() noexcept;
    // True once all processes are in MPI_Finalize.
    bool try_end_at_finalize() noexcept { return !between || between->try_end(); }
    // MPI ends, and the group cannot: nothing polls it any more.
    void stop() noexcept {
        if (between) {
            between->stop();
        }
    }

private:
    bool is_empty() noexcept;
    multiplex *make_locked(std::uint64_t context) noexcept;
    multiplex *add_locked(std::uint64_t context) noexcept;
    void destroy_unneeded() noexcept;

    base::spin_lock lock_; // guards what follows, and the states
    std::unordered_map<std::uint64_t, std::unique_ptr<multiplex>> states_;
};

// Collective. Returns an MPI error code and has reported the error. `call`: the name of the user's call.
int create_multiplex(const char *call, MPI_Comm comm, int count, const int *streams, MPI_Comm *created) noexcept;

// What a communicator has, or null.
multiplex *multiplex_of(MPI_Comm comm) noexcept;
// A communicator that was copied from a multiplex communicator becomes an ordinary one.
void remove_multiplex(MPI_Comm comm) noexcept;

mpi::extension_facts multiplex_communicators() noexcept;

} // namespace thence::streams
