// SPDX-License-Identifier: BSD-3-Clause
// Channels: completed operations go into a list, and an eventfd says so. Invariants of a channel, under its mutex: an
// operation is outstanding, in the list, or free; and if the list is not empty, the eventfd is readable, or the thread
// that put the first entry in is about to write to it. No call of MPI or Python is made while the mutex is held.
#include "bridge.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <new>
#include <sys/eventfd.h>
#include <unistd.h>

#include "poller.hpp"

struct thence_python_operation {
    thence_python_channel *channel;
    thence_python_operation *next = nullptr; // in the list, or among the free ones
    MPI_Request cr = MPI_REQUEST_NULL;       // its own, so that it can be cancelled alone; or the common one
    bool has_cr = false;                     // `cr` is its own
    int error = MPI_SUCCESS;
};

struct thence_python_channel {
    int descriptor;
    std::mutex mutex;
    thence_python_operation *first = nullptr; // the list
    thence_python_operation *last = nullptr;
    thence_python_operation *free = nullptr;
    std::deque<thence_python_operation> all;
    long used = 0; // operations that are not free
    // Of completes_soon(), and of the thread of the loop.
    unsigned skips = 0; // how many calls do not wait, after one that has waited in vain;
    unsigned left = 0;  // and how many of them are left

    explicit thence_python_channel(int eventfd) : descriptor(eventfd) {}
    thence_python_channel &operator=(thence_python_channel &&) = delete;
    ~thence_python_channel() { close(descriptor); }
};

namespace {

using operation = thence_python_operation;

// For operations for which MPI has no continuation request left.
struct {
    std::mutex mutex;
    MPI_Request cr = MPI_REQUEST_NULL;
} common;

int callback(int error, MPI_Status *, void *data) {
    auto *done = static_cast<operation *>(data);
    thence_python_channel &channel = *done->channel;
    bool announce = false;
    {
        const std::scoped_lock guard(channel.mutex);
        done->error = error;
        done->next = nullptr;
        announce = channel.first == nullptr;
        (announce ? channel.first : channel.last->next) = done;
        channel.last = done;
        if (announce) {
            // Inside, since Python may close the channel as soon as it has drained it.
            const std::uint64_t one = 1;
            [[maybe_unused]] const ssize_t written =
                write(channel.descriptor, &one, sizeof one); // fails only if readable
        }
    }
    thence_python::completed_one();
    return MPI_SUCCESS;
}

// Returns null if there is no memory.
operation *take(thence_python_channel &channel) {
    const std::scoped_lock guard(channel.mutex);
    operation *taken = channel.free;
    if (taken != nullptr) {
        channel.free = taken->next;
    } else {
        try {
            taken = &channel.all.emplace_back(operation{&channel});
        } catch (const std::bad_alloc &) {
            return nullptr;
        }
    }
    channel.used++;
    return taken;
}

// The caller holds the mutex.
void give_back(thence_python_channel &channel, operation *freed) {
    freed->next = channel.free;
    channel.free = freed;
    channel.used--;
}

int prepare(operation &made) {
    if (made.has_cr) {
        return MPI_SUCCESS;
    }
    // 65,536 can exist.
    if (thence_cr_create(0, -1, MPI_INFO_NULL, &made.cr) == MPI_SUCCESS) {
        made.has_cr = true;
        return MPI_SUCCESS;
    }
    const std::scoped_lock guard(common.mutex);
    if (common.cr == MPI_REQUEST_NULL) {
        if (const int error = thence_cr_create(0, -1, MPI_INFO_NULL, &common.cr); error != MPI_SUCCESS) {
            return error;
        }
    }
    made.cr = common.cr;
    return MPI_SUCCESS;
}

// Whether the operation completes within a short time, with `error`.
bool completes_soon(thence_python_channel &channel, MPI_Request *request, MPI_Status *status, int &error) {
    constexpr std::int64_t longest = 30000; // about what it costs to wake a loop that sleeps
    constexpr unsigned most_skips = 63;
    const bool waits = channel.left == 0;
    channel.left -= waits ? 0 : 1;
    struct test {
        MPI_Request *request;
        MPI_Status *status;
        int flag = 0;
        int error = MPI_SUCCESS;
    } tested{request, status};
    const auto is_done = [](void *data) {
        test &t = *static_cast<test *>(data);
        t.error = MPI_Test(t.request, &t.flag, t.status);
        return t.flag != 0 || t.error != MPI_SUCCESS;
    };
    const bool done = thence_python::test_until(is_done, &tested, waits ? longest : 0);
    if (waits) {
        channel.skips = done ? 0 : std::min(2 * channel.skips + 1, most_skips);
        channel.left = channel.skips;
    }
    error = tested.error;
    return done;
}

// Returns the operation, or null if it is complete or could not be attached.
operation *attach_one(thence_python_channel &channel, MPI_Request *request, MPI_Status *status, unsigned flags,
                      int &error) {
    if ((flags & THENCE_PYTHON_SOON) != 0 && completes_soon(channel, request, status, error)) {
        return nullptr;
    }
    operation *made = take(channel);
    if (made == nullptr) {
        error = MPI_ERR_NO_MEM;
        return nullptr;
    }
    error = prepare(*made);
    int complete = 1;
    if (error == MPI_SUCCESS) {
        thence_python::starts_one();
        complete = 0;
        const unsigned options = (flags & THENCE_PYTHON_PERSISTENT) != 0 ? THENCE_PERSISTENT : 0;
        error = thence_attach(1, request, &callback, made, options, status, made->cr, &complete);
        if (complete == 0 && error == MPI_SUCCESS) {
            return made;
        }
        thence_python::completed_one();
    }
    const std::scoped_lock guard(channel.mutex);
    give_back(channel, made);
    return nullptr;
}

// The status of a receive, in a request that is complete.
struct delivered {
    MPI_Status status;
    MPI_Count bytes;
    int cancelled;
};

int query(void *state, MPI_Status *status) {
    const auto *from = static_cast<delivered *>(state);
    status->MPI_SOURCE = from->status.MPI_SOURCE;
    status->MPI_TAG = from->status.MPI_TAG;
    status->MPI_ERROR = MPI_SUCCESS;
    MPI_Status_set_cancelled(status, from->cancelled);
    return MPI_Status_set_elements_x(status, MPI_BYTE, from->bytes);
}

int release(void *state) {
    delete static_cast<delivered *>(state);
    return MPI_SUCCESS;
}

int cancel_nothing(void *, int) {
    return MPI_SUCCESS;
}

} // namespace

const char *thence_python_abi() {
    return THENCE_PYTHON_ABI;
}

thence_python_channel *thence_python_open(int *descriptor) {
    const int made = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (made < 0) {
        return nullptr;
    }
    auto *channel = new (std::nothrow) thence_python_channel(made);
    if (channel == nullptr) {
        close(made);
        return nullptr;
    }
    *descriptor = made;
    return channel;
}

int thence_python_close(thence_python_channel *channel) {
    {
        const std::scoped_lock guard(channel->mutex);
        if (channel->used != 0) {
            return 0;
        }
    }
    int finalized = 0;
    MPI_Finalized(&finalized);
    for (operation &each : channel->all) {
        if (each.has_cr && finalized == 0) {
            thence_free(&each.cr);
        }
    }
    delete channel;
    return 1;
}

void thence_python_attach(thence_python_channel *channel, int count, MPI_Request *const requests[],
                          MPI_Status *const statuses[], const unsigned char flags[],
                          thence_python_operation *operations[], int errors[]) {
    for (int i = 0; i < count; i++) {
        operations[i] = attach_one(*channel, requests[i], statuses[i], flags[i], errors[i]);
    }
}

int thence_python_cancel(thence_python_operation *operation) {
    if (!operation->has_cr) {
        return MPI_ERR_UNSUPPORTED_OPERATION;
    }
    const thence_python::no_progress guard;
    const int error = thence_cancel(&operation->cr);
    long ran = 0;
    thence_progress_some(&ran);
    return error;
}

int thence_python_drain(thence_python_channel *channel, thence_python_operation *operations[], int errors[],
                        int capacity) {
    const std::scoped_lock guard(channel->mutex);
    int count = 0;
    while (count < capacity && channel->first != nullptr) {
        operation *done = channel->first;
        channel->first = done->next;
        operations[count] = done;
        errors[count++] = done->error;
        give_back(*channel, done);
    }
    if (count < capacity) {
        operations[count] = nullptr;
    }
    if (channel->first == nullptr) {
        std::uint64_t written = 0;
        // The eventfd does not block. NOLINTNEXTLINE(clang-analyzer-unix.BlockInCriticalSection)
        [[maybe_unused]] const ssize_t got = read(channel->descriptor, &written, sizeof written);
    }
    return count;
}

int thence_python_poll() {
    long ran = 0;
    return thence_progress_some(&ran) == MPI_SUCCESS ? static_cast<int>(ran) : -1;
}

int thence_python_deliver(MPI_Request *request, const MPI_Status *status) {
    auto *state = new (std::nothrow) delivered{*status, 0, 0};
    if (state == nullptr) {
        return MPI_ERR_NO_MEM;
    }
    MPI_Get_elements_x(status, MPI_BYTE, &state->bytes);
    MPI_Test_cancelled(status, &state->cancelled);
    if (const int error = MPI_Grequest_start(&query, &release, &cancel_nothing, state, request); error != MPI_SUCCESS) {
        delete state;
        return error;
    }
    return MPI_Grequest_complete(*request);
}
