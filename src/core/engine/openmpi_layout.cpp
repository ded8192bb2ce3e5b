// SPDX-License-Identifier: BSD-3-Clause
// Proves the request layout on live requests: a pending receive, a persistent one, a completed one, a callback that
// fires and takes the request over, and the wait-sync that counts a completion without a callback.
#include <mpi.h>

#if defined(OPEN_MPI)

#include "core/engine/openmpi_layout.hpp"

#include "core/mpi/calls.hpp"

namespace thence::engine::openmpi {
namespace {

using mpi::table;

int fired = 0;
void *fired_for = nullptr;

int probe_callback(void *object) noexcept {
    ++fired;
    fired_for = object;
    request_view(object).complete().store(completed, std::memory_order_release);
    return 1;
}

struct probe {
    MPI_Comm self = MPI_COMM_NULL;
    char in = 0;
    char out = 'x';

    MPI_Request receive() {
        MPI_Request request = MPI_REQUEST_NULL;
        table.Irecv(&in, 1, MPI_CHAR, 0, 7, self, &request);
        return request;
    }
    void send() {
        MPI_Request request = MPI_REQUEST_NULL;
        table.Isend(&out, 1, MPI_CHAR, 0, 7, self, &request);
        table.Wait(&request, MPI_STATUS_IGNORE);
    }
    // Makes MPI progress until a message to ourselves has arrived. Its request is not tested, so it is not released.
    bool arrives(request_view request) {
        for (int i = 0; i < 100000; ++i) {
            if (request.complete().load(std::memory_order_acquire) == completed) {
                return true;
            }
            int flag = 0;
            table.Iprobe(0, 1, self, &flag, MPI_STATUS_IGNORE);
        }
        return false;
    }
    // Waits for a request in any state.
    void end(MPI_Request request) {
        if (request != MPI_REQUEST_NULL) {
            table.Wait(&request, MPI_STATUS_IGNORE);
        }
    }
};

int freed_by_probe = 0;

int probe_free(void **) noexcept {
    ++freed_by_probe;
    return MPI_SUCCESS;
}

// MPI_Request_free must call the function in the slot, and leave the rest to it. Frees `request`.
bool prove_free_slot(MPI_Request request) {
    const request_view view(request);
    void *const users = view.free_slot().load();
    if (users == nullptr) {
        return false;
    }
    freed_by_probe = 0;
    MPI_Request handle = request;
    view.free_slot().store(reinterpret_cast<void *>(&probe_free));
    table.Request_free(&handle);
    if (freed_by_probe != 1) {
        return false; // MPI has freed the request in another way
    }
    view.free_slot().store(users);
    return table.Request_free(&request) == MPI_SUCCESS && freed_by_probe == 1;
}

// Proves the fields that are read, and the one that frees a request.
const char *prove_reading(probe &p) {
    MPI_Request pending_receive = p.receive();
    request_view view(pending_receive);
    const char *fault = nullptr;
    if (view.complete().load() != pending || view.state() != state_active || view.persistent() ||
        view.type() != type_point_to_point) {
        fault = "a pending receive does not show the expected fields";
    } else if (view.callback().load() != nullptr) {
        fault = "the callback slot of a plain receive is in use";
    }
    const int active = view.state();
    p.send();
    if (fault == nullptr && !p.arrives(view)) {
        fault = "a completed receive is not marked as expected";
    }
    if (fault == nullptr && (view.status().MPI_SOURCE != 0 || view.status().MPI_TAG != 7)) {
        fault = "the status of a completed receive is not where expected";
    }
    p.end(pending_receive);

    MPI_Request persistent = MPI_REQUEST_NULL;
    table.Recv_init(&p.in, 1, MPI_CHAR, 0, 7, p.self, &persistent);
    request_view kept(persistent);
    if (fault == nullptr && (!kept.persistent() || kept.state() == active || kept.type() != type_point_to_point)) {
        fault = "a persistent request does not show the expected fields";
    }
    if (fault != nullptr) {
        table.Request_free(&persistent);
    } else if (!prove_free_slot(persistent)) {
        fault = "MPI_Request_free did not call the free function of a request";
    }
    return fault;
}

// A callback that we set must fire once, with our data in place, and leave a request that we can release.
const char *prove_callback(probe &p) {
    MPI_Request request = p.receive();
    request_view view(request);
    int marker = 0;
    fired = 0;
    view.callback_data().store(&marker);
    view.callback().store(reinterpret_cast<void *>(&probe_callback));
    p.send();
    const bool arrived = p.arrives(view);
    const bool data_kept = view.callback_data().load() == &marker;
    view.callback_data().store(nullptr); // see push.hpp
    if (!arrived || fired != 1 || request_view(fired_for).handle() != request || !data_kept) {
        view.callback().store(nullptr);
        p.end(request);
        return "a completion callback did not fire as expected";
    }
    if (view.callback().load() != nullptr || view.status().MPI_TAG != 7) {
        p.end(request);
        return "a request is not as expected after its callback";
    }
    MPI_Request handle = view.handle();
    return view.free(handle) == MPI_SUCCESS ? nullptr : "a completed request could not be released";
}

// A wait-sync in place of `pending` must lose one count when the request completes without a callback.
const char *prove_wait_sync(probe &p) {
    static wait_sync sync{};
    sync.count.store(1 << 30);
    MPI_Request request = p.receive();
    request_view view(request);
    void *expected = pending;
    if (!view.complete().compare_exchange_strong(expected, &sync)) {
        p.end(request);
        return "a wait-sync object could not be put in place";
    }
    p.send();
    const bool arrived = p.arrives(view);
    const bool counted = sync.count.load() == (1 << 30) - 1;
    if (!arrived) {
        view.complete().store(pending);
    }
    p.end(request);
    return arrived && counted ? nullptr : "a wait-sync object was not counted down on completion";
}

const char *prove(bool by_writing) noexcept {
    if (sizeof(MPI_Request) != sizeof(void *) || sizeof(void *) != 8) {
        return "request handles are not 64-bit pointers";
    }
    probe p;
    if (table.Comm_split(MPI_COMM_SELF, 0, 0, &p.self) != MPI_SUCCESS) { // without the user's attributes
        return "no private communicator for the proof";
    }
    const char *fault = prove_reading(p);
    if (fault == nullptr && by_writing) {
        fault = prove_callback(p);
    }
    if (fault == nullptr && by_writing) {
        fault = prove_wait_sync(p);
    }
    table.Comm_free(&p.self);
    return fault;
}

} // namespace

const char *prove_layout() noexcept {
    return prove(true);
}

const char *prove_fields() noexcept {
    return prove(false);
}

} // namespace thence::engine::openmpi

#endif
