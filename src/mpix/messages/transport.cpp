// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/messages/transport.hpp"

#include "core/continuation/thread_state.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/implementation.hpp"
#include "core/progress/progress.hpp"
#include "mpix/messages/endpoint.hpp"
#include "mpix/messages/waiting.hpp"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

namespace thence::messages {

namespace {

using mpi::table;

constexpr int header_tag = 0;

int class_of(int code) noexcept {
    int error_class = MPI_ERR_OTHER;
    if (code != MPI_SUCCESS) {
        table.Error_class(code, &error_class);
    }
    return code == MPI_SUCCESS ? int{MPI_SUCCESS} : error_class;
}

// Nobody receives these data. If MPI cannot cancel the send, it ends with the communicator.
void abandon(MPI_Request &transfer) noexcept {
    if (mpi::has_ended(transfer)) {
        return;
    }
    table.Cancel(&transfer); // a send needs no lock for that, and this may run inside a poll
    table.Request_free(&transfer);
}

base::spin_lock registry_lock;
std::atomic<int> transports{0};
std::vector<transport *> &registry() noexcept {
    static auto *const all = new std::vector<transport *>;
    return *all;
}

} // namespace

bool any_transport() noexcept {
    return transports.load(std::memory_order_relaxed) != 0;
}

bool poll_transports(std::size_t most) noexcept {
    if (!any_transport() || !registry_lock.try_lock()) {
        return false;
    }
    bool some = false;
    for (transport *each : registry()) {
        some = each->poll(most) || some;
    }
    registry_lock.unlock();
    return some;
}

transport::transport(MPI_Comm comm, router route, void *data) noexcept : comm_(comm), route_(route), data_(data) {
    table.Comm_set_errhandler(comm_, mpi::errors_return());
    int *largest = nullptr;
    int flag = 0;
    table.Comm_get_attr(comm_, MPI_TAG_UB, &largest, &flag);
    if (flag != 0) {
        most_serial_ = *largest;
    }
}

int transport::begin() noexcept {
    for (block *&each : headers_.messages()) {
        each = take_block();
        if (each == nullptr) {
            return MPI_ERR_NO_MEM;
        }
    }
    post_headers();
    const std::scoped_lock guard(registry_lock);
    registry().push_back(this);
    transports.fetch_add(1);
    return MPI_SUCCESS;
}

bool transport::try_end() noexcept {
    if (!std::exchange(ending_, true)) {
        table.Ibarrier(comm_, &barrier_);
    }
    return mpi::has_ended(barrier_);
}

bool transport::no_poll_is_under_way() noexcept {
    if (!polling_.try_lock()) {
        return false;
    }
    polling_.unlock();
    return true;
}

void transport::stop() noexcept {
    const std::scoped_lock guard(registry_lock);
    auto &all = registry();
    if (const auto at = std::find(all.begin(), all.end(), this); at != all.end()) {
        all.erase(at);
        transports.fetch_sub(1);
    }
}

// A header may need the receives of the other process to leave, so all have left before that process learns that no
// more come.
transport::~transport() {
    for (waiting wait; under_way_.load() != 0; wait()) {
        poll();
    }
    for (waiting wait; !try_end(); wait()) {
        poll();
    }
    stop();
    for (block *each : headers_.messages()) {
        if (each != nullptr && each->request != MPI_REQUEST_NULL) {
            {
                const std::scoped_lock guard(progress::helper_in_progress);
                table.Cancel(&each->request);
            }
            table.Wait(&each->request, MPI_STATUS_IGNORE); // callbacks may run here, and cancel
        }
        if (each != nullptr) {
            give_block(each);
        }
    }
    table.Comm_free(&comm_);
}

void transport::post_headers() noexcept {
    headers_.post(comm_, header_tag, &take_block);
}

bool transport::send(int process, const wire_header &header, p2p_operation &send, bool synchronous,
                     int &error) noexcept {
    block *const message = take_block();
    if (message == nullptr) {
        error = MPI_ERR_NO_MEM;
        return true;
    }
    wire_header complete_header = header;
    complete_header.bytes = send.data.bytes;
    complete_header.serial = 0;
    const bool inside = !synchronous && send.data.bytes <= block::capacity;
    error = MPI_SUCCESS;
    if (inside) {
        copy_out(send.data, message->data(), send.data.bytes);
    } else if (send.data.count > INT_MAX) {
        error = MPI_ERR_COUNT;
    } else {
        const std::uint32_t number = last_serial_.fetch_add(1, std::memory_order_relaxed);
        complete_header.serial = static_cast<std::int32_t>(number % static_cast<std::uint32_t>(most_serial_)) + 1;
    }
    if (error != MPI_SUCCESS) {
        give_block(message);
        return true;
    }
    if (!inside) {
        // Before the header: the receiver never learns of a message whose data MPI refuses.
        const auto start = synchronous ? table.Issend : table.Isend;
        error = class_of(start(send.data.base, static_cast<int>(send.data.count), send.data.type, process,
                               complete_header.serial, comm_, &send.transfer));
        if (error != MPI_SUCCESS) {
            give_block(message);
            return true;
        }
    }
    std::memcpy(message->bytes, &complete_header, sizeof complete_header);
    const std::size_t length = sizeof complete_header + (inside ? static_cast<std::size_t>(send.data.bytes) : 0);
    message->request = MPI_REQUEST_NULL;
    error = class_of(
        table.Isend(message->bytes, static_cast<int>(length), MPI_BYTE, process, header_tag, comm_, &message->request));
    if (error != MPI_SUCCESS) {
        give_block(message);
        if (!inside) {
            abandon(send.transfer);
        }
        return true;
    }
    const bool header_has_left = mpi::has_ended(message->request);
    if (header_has_left) {
        give_block(message);
    }
    if (header_has_left && inside) {
        return true;
    }
    const std::scoped_lock guard(lock_);
    if (!header_has_left) {
        sending_.push_back(message);
        under_way_.fetch_add(1);
    }
    if (!inside) {
        moving_.push_back(&send);
        under_way_.fetch_add(1);
    }
    return inside;
}

void transport::start_receive(p2p_operation &receive) noexcept {
    const bool fits = receive.result.error == MPI_SUCCESS;
    const bool has_type =
        !receive.has_request || receive.own_type != MPI_DATATYPE_NULL; // else the user may have freed it
    const auto start = [&](void *base, MPI_Count count, MPI_Datatype type) noexcept {
        const int code =
            table.Irecv(base, static_cast<int>(count), type, receive.process, receive.serial, comm_, &receive.transfer);
        if (code != MPI_SUCCESS) {
            receive.result.error = class_of(code);
        }
        return code == MPI_SUCCESS;
    };
    bool started = false;
    if (fits && receive.data.contiguous() && receive.result.bytes <= INT_MAX) {
        started = start(receive.data.row, static_cast<MPI_Count>(receive.result.bytes), MPI_BYTE);
    } else if (fits && has_type && receive.data.count <= INT_MAX) {
        started = start(receive.data.base, receive.data.count, receive.data.type);
    }
    // The message is longer than the buffer, there is no datatype, or MPI refuses it: `room` gets the message first.
    // The sender waits until it is received.
    if (!started) {
        const std::uint64_t bytes = std::min<std::uint64_t>(receive.result.bytes, INT_MAX);
        if (fits && bytes < receive.result.bytes) {
            receive.result.error = MPI_ERR_COUNT;
        }
        receive.result.bytes = bytes;
        receive.room = static_cast<unsigned char *>(std::malloc(bytes + 1));
        if (receive.room == nullptr) {
            std::abort();
        }
        started = start(receive.room, static_cast<MPI_Count>(bytes), MPI_BYTE);
    }
    if (!started) { // no data come
        std::free(std::exchange(receive.room, nullptr));
        receive.result.bytes = 0;
        complete(receive);
        return;
    }
    const std::scoped_lock guard(lock_);
    moving_.push_back(&receive);
    under_way_.fetch_add(1);
}

void transport::arrived(block *message, int process) noexcept {
    wire_header header;
    std::memcpy(&header, message->bytes, sizeof header);
    endpoint *const to = route_(data_, header);
    if (to == nullptr) {
        give_block(message);
        return;
    }
    envelope arriving;
    arriving.source = header.source;
    arriving.index = header.index;
    arriving.tag = header.tag;
    arriving.bytes = header.bytes;
    if (header.serial != 0) {
        arriving.data_is = form::by_mpi;
        arriving.mpi = {this, process, header.serial};
    } else if (header.bytes <= envelope::most_inside) {
        arriving.data_is = form::inside;
        std::memcpy(arriving.inside, message->data(), header.bytes);
    } else {
        arriving.data_is = form::in_block;
        arriving.copy = message;
    }
    const bool keeps = arriving.data_is == form::in_block;
    to->push(arriving);
    if (!keeps) {
        give_block(message);
    }
}

bool transport::poll(std::size_t most) noexcept {
    if (!polling_.try_lock()) {
        return false;
    }
    const continuation::busy_scope busy; // a callback that waits for a message would wait for this poll
    post_headers();
    bool some = headers_.take(
        most, [](MPI_Request) { return true; },
        [this](block &message, const MPI_Status &status) { arrived(&message, status.MPI_SOURCE); });
    if (under_way_.load(std::memory_order_relaxed) != 0) {
        some = poll_operations() || some;
    }
    polling_.unlock();
    return some;
}

// `code`: what the test returned.
void transport::ended(p2p_operation &op, int code) noexcept {
    if (op.result.error == MPI_SUCCESS) {
        op.result.error = class_of(code);
    }
    if (op.room != nullptr) {
        const std::uint64_t fits = std::min(op.result.bytes, op.data.bytes);
        copy_in(op.room, op.data, fits);
        op.result.bytes = fits;
        std::free(op.room);
        op.room = nullptr;
    }
}

bool transport::poll_operations() noexcept {
    {
        const std::scoped_lock guard(lock_);
        polled_blocks_.insert(polled_blocks_.end(), sending_.begin(), sending_.end());
        polled_.insert(polled_.end(), moving_.begin(), moving_.end());
        sending_.clear();
        moving_.clear();
    }
    for (std::size_t i = 0; i < polled_blocks_.size();) {
        if (!mpi::has_ended(polled_blocks_[i]->request)) {
            ++i;
            continue;
        }
        give_block(polled_blocks_[i]);
        polled_blocks_[i] = polled_blocks_.back();
        polled_blocks_.pop_back();
        under_way_.fetch_sub(1);
    }
    completed_list completed;
    for (std::size_t i = 0; i < polled_.size();) {
        int code = MPI_SUCCESS;
        if (!mpi::has_ended(polled_[i]->transfer, code)) {
            ++i;
            continue;
        }
        ended(*polled_[i], code);
        completed.add(*polled_[i]);
        polled_[i] = polled_.back();
        polled_.pop_back();
        under_way_.fetch_sub(1);
    }
    const bool some = completed.first != nullptr;
    completed.tell();
    return some;
}

} // namespace thence::messages
