// SPDX-License-Identifier: BSD-3-Clause
// Messages between endpoints, and the operations that send and receive them.
//
// An envelope is what a sender pushes into the queue of the receiving endpoint. It has one of four forms of data:
//   inside     up to 32 bytes, in the envelope itself;
//   in_block   a copy in a block that belongs to the envelope;
//   at_sender  the address of the sender's operation: the receiver copies from the sender's buffer, once, and then
//              completes that operation. Synchronous sends of any size have this form;
//   by_mpi     the data come from another process, by a message of MPI that the receiver asks for once it has matched.
//
// A sender is named by two numbers: `source` (a rank) and `index` (a stream of it; zero for thread communicators).
//
// Invariant: an operation belongs to one of: its starter (before it is posted), one list of one endpoint, a transport,
// or the thread that completes it. complete() is called once, and the operation is not touched after it.
#pragma once

#include "mpix/messages/blocks.hpp"
#include "mpix/messages/data.hpp"

#include <mpi.h>

#include <atomic>
#include <cstdint>

namespace thence::messages {

class endpoint;
struct p2p_operation;

// Moves the data of messages of other processes (transport.hpp).
class remote_data {
public:
    // Starts the receive of data that a header has announced; `process`, `serial` and `result.bytes` are set.
    virtual void start_receive(p2p_operation &receive) noexcept = 0;

protected:
    ~remote_data() = default;
};

inline constexpr int any_index = -1;

// What a receive or probe asks for. MPI_ANY_SOURCE, MPI_ANY_TAG and any_index match all.
struct pattern {
    int source = MPI_ANY_SOURCE;
    int index = 0;
    int tag = MPI_ANY_TAG;
};

enum class form : std::uint32_t { inside, in_block, at_sender, by_mpi };

struct envelope {
    static constexpr std::size_t most_inside = 32;

    std::int32_t source;
    std::int32_t index;
    std::int32_t tag;
    form data_is;
    std::uint64_t bytes;
    union {
        unsigned char inside[most_inside];
        block *copy;
        p2p_operation *sender;
        struct {
            remote_data *remote;
            std::int32_t process;
            std::int32_t serial;
        } mpi;
    };
};

inline bool matches(const pattern &wanted, const envelope &message) noexcept {
    return (wanted.source == message.source || wanted.source == MPI_ANY_SOURCE) &&
           (wanted.tag == message.tag || wanted.tag == MPI_ANY_TAG) &&
           (wanted.index == message.index || wanted.index == any_index);
}

// How an operation ended, and what a probe tells.
struct outcome {
    int source = MPI_ANY_SOURCE;
    int index = 0;
    int tag = MPI_ANY_TAG;
    int error = MPI_SUCCESS; // an error class
    std::uint64_t bytes = 0;
    bool cancelled = false;
};

// A receive, or a send whose sender waits until the receiver has the data.
struct p2p_operation {
    p2p_operation *next = nullptr;
    p2p_operation *previous = nullptr;
    buffer data;
    datatype::kept_layout layout; // of data in pieces, since the user may free the datatype of a request
    pattern wanted;               // of a receive
    outcome result;
    endpoint *at = nullptr;                      // where it is posted, or its message was pushed to
    std::atomic<long> *needs_endpoint = nullptr; // of an operation with a request: the number of those that need `at`
    bool listed = false;                         // it is in the list of posted receives; under the lock of `at`
    bool owned = false;                          // nobody waits for it: complete() deletes it and `room`
    bool has_request = false;                    // the user waits for `request` (requests.hpp), else for `done`
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype own_type =
        MPI_DATATYPE_NULL; // that of `data`, if the user may free it and it is needed; see complete()
    std::atomic<bool> done{false};
    // Of an operation whose data MPI moves between processes:
    MPI_Request transfer = MPI_REQUEST_NULL;
    remote_data *remote = nullptr;
    int process = -1;
    int serial = 0;
    unsigned char *room =
        nullptr; // of a receive: gets data that do not fit; of an owned send: its data (both by malloc)
};

// A list of operations that are complete but not told yet: filled under a lock, told after it.
struct completed_list {
    p2p_operation *first = nullptr;
    void add(p2p_operation &op) noexcept {
        op.next = first;
        first = &op;
    }
    // Completes all. No lock of an endpoint or transport may be held.
    void tell() noexcept;
};

// Tells who waits that the operation is complete. The operation may be gone when this returns.
void complete(p2p_operation &op) noexcept;

// The number of operations that have a request and are not complete.
inline constinit std::atomic<long> open_requests{0};

// Sets a status from how an operation ended. It may be MPI_STATUS_IGNORE. MPI_ERROR stays as it is.
void set_status(MPI_Status *status, const outcome &result) noexcept;

} // namespace thence::messages
