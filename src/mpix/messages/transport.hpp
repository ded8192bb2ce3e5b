// SPDX-License-Identifier: BSD-3-Clause
// Messages between the endpoints of different processes, over one communicator of MPI that nobody else uses.
//
// Each message is a message of MPI with tag 0: a header that names the receiver, and data of up to a block. Larger
// data, and those of synchronous sends, are a second message of MPI, whose tag is the serial number in the header. The
// receiver asks for it once the header is matched, with the user's own buffer and datatype: MPI moves the data. Their
// send is started before that of the header, so what a header announces comes.
//
// Some receives for headers are posted, in a ring. MPI matches them in the order of their posting, and poll() looks at
// the oldest only, so the messages of a sender are pushed to their endpoint in the order of their sending. A receive
// whose message has come is posted again by the next poll: the receiver has its message first.
//
// Whoever waits polls. `polling_` is only tried, never waited for, so a poll inside MPI's progress inside a poll does
// nothing. `lock_` guards the lists of operations that were started since the last poll. MPI is not called under it.
#pragma once

#include "core/base/spin_lock.hpp"
#include "core/mpi/posted_receives.hpp"
#include "mpix/messages/message.hpp"

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace thence::messages {

// Finds the endpoint of a header; null: there is none, and the message is dropped. It may be called by any thread.
using router = endpoint *(*)(void *data, const wire_header &header) noexcept;

class transport final : public remote_data {
public:
    // `comm`: of the processes that take part, given to this object, which frees it. Errors are returned.
    transport(MPI_Comm comm, router route, void *data) noexcept;
    // Collective: waits until all processes are here, then cancels the receives for headers.
    ~transport();
    transport &operator=(transport &&) = delete;

    // Posts the receives for headers. Returns an error class.
    int begin() noexcept;

    MPI_Comm comm() const noexcept { return comm_; }

    // Sends to another process. `header`: all but `bytes` and `serial` is set. As send_local(): true if the data have
    // been copied, or in case of an error.
    bool send(int process, const wire_header &header, p2p_operation &send, bool synchronous, int &error) noexcept;
    void start_receive(p2p_operation &receive) noexcept override;

    static constexpr std::size_t window = 16; // receives for headers
    // Takes at most so many messages. Returns true if anything has happened.
    bool poll(std::size_t most = window) noexcept;

    // The destructor without waiting: the first call tells the other processes that this one sends no more. True once
    // all have called it. Called by one thread at a time.
    bool try_end() noexcept;
    // True if sends that have not left, or receives of data, are under way.
    bool any_under_way() const noexcept { return under_way_.load(std::memory_order_acquire) != 0; }
    // No poll looks at it any more. MPI ends, and the transport may not: it is not destroyed then.
    void stop() noexcept;
    // True if each poll that begins from now on sees what the caller has done before. False: try again later.
    bool no_poll_is_under_way() noexcept;

private:
    void post_headers() noexcept;
    void arrived(block *message, int process) noexcept;
    bool poll_operations() noexcept;
    static void ended(p2p_operation &op, int code) noexcept;

    MPI_Comm comm_;
    router route_;
    void *data_;
    int most_serial_ = 32767;
    std::atomic<std::uint32_t> last_serial_{0};

    bool ending_ = false; // try_end() was called
    MPI_Request barrier_ = MPI_REQUEST_NULL;

    base::spin_lock polling_; // guards these
    mpi::posted_receives<block, window> headers_;
    std::vector<block *> polled_blocks_;
    std::vector<p2p_operation *> polled_;

    base::spin_lock lock_; // guards what was started since the last poll
    std::vector<block *> sending_;
    std::vector<p2p_operation *> moving_;
    std::atomic<std::size_t> under_way_{0}; // the length of all four lists
};

// All transports of this process.
bool any_transport() noexcept;
bool poll_transports(std::size_t most = transport::window) noexcept; // of each

} // namespace thence::messages
