// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/threadcomm/point_to_point.hpp"

#include "mpix/messages/waiting.hpp"
#include "mpix/threadcomm/checks.hpp"

#include <memory>
#include <new>

namespace thence::threadcomm {

int send(const char *call, communicator &comm, mode how, const message_arguments &message) noexcept {
    return report(comm, call, send(checked_send(comm, message), how));
}

int isend(const char *call, communicator &comm, mode how, const message_arguments &message,
          MPI_Request *request) noexcept {
    return report(comm, call, isend(checked_send(comm, message), how, request));
}

int receive(const char *call, communicator &comm, const message_arguments &message, MPI_Status *status) noexcept {
    return report(comm, call, receive(checked_receive(comm, message), status));
}

int ireceive(const char *call, communicator &comm, const message_arguments &message, MPI_Request *request) noexcept {
    return report(comm, call, ireceive(checked_receive(comm, message), request));
}

int send_receive(const char *call, communicator &comm, const message_arguments &sent, const message_arguments &received,
                 MPI_Status *status) noexcept {
    return report(comm, call, send_receive(checked_send(comm, sent), checked_receive(comm, received), status));
}

int send_receive_replace(const char *call, communicator &comm, const message_arguments &sent, int source, int tag,
                         MPI_Status *status) noexcept {
    messages::send_call sending = checked_send(comm, sent);
    if (sending.wrong) {
        return report(comm, call, sending.wrong);
    }
    const std::uint64_t bytes = sending.data.bytes;
    const std::unique_ptr<unsigned char[]> packed(new (std::nothrow) unsigned char[bytes + 1]);
    if (packed == nullptr) {
        return report(comm, call, messages::failure_of(MPI_ERR_NO_MEM));
    }
    copy_out(sending.data, packed.get(), bytes);
    sending.data = messages::bytes_at(packed.get(), bytes);
    const message_arguments received{sent.buffer, sent.count, sent.type, source, tag};
    return report(comm, call, send_receive(sending, checked_receive(comm, received), status));
}

int isend_receive(const char *call, communicator &comm, const message_arguments &sent,
                  const message_arguments &received, MPI_Request *request) noexcept {
    const messages::receive_call receiving = checked_receive(comm, received);
    messages::failure wrong = receiving.wrong;
    if (!wrong && request == nullptr) {
        wrong = {MPI_ERR_ARG, "request is null"};
    }
    wrong = wrong ? wrong : send(checked_send(comm, sent), mode::buffered);
    return report(comm, call, wrong ? wrong : ireceive(receiving, request));
}

int probe(const char *call, communicator &comm, int source, int tag, int *flag, MPI_Status *status) noexcept {
    int code = MPI_SUCCESS;
    member *const me = check_source(call, comm, source, tag, code);
    if (me == nullptr) {
        return code;
    }
    messages::outcome found = messages::no_message();
    bool is_there = source == MPI_PROC_NULL;
    for (messages::waiting wait; !is_there;) {
        is_there = me->user.probe({source, 0, tag}, found);
        if (is_there || flag != nullptr) {
            if (!is_there) {
                messages::poll_transports();
                is_there = me->user.probe({source, 0, tag}, found);
            }
            break;
        }
        wait();
    }
    if (flag != nullptr) {
        *flag = is_there ? 1 : 0;
    }
    if (is_there) {
        messages::set_status(status, found);
    }
    return MPI_SUCCESS;
}

} // namespace thence::threadcomm
