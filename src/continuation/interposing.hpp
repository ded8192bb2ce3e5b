// SPDX-License-Identifier: BSD-3-Clause
// What the interposed calls (src/pmpi, a library of its own) ask of this layer: when to leave their fast path, and how
// to treat one request of any kind. These are the only symbols that libthence uses of libthence-core beside its C API.
//
// An interposed call must cost a program that uses no continuations next to nothing: one look at the handle, one at
// `attention`. Everything else is in the slow functions. They exist for four reasons:
//  - a handle is a continuation request;
//  - a persistent request has continuations: our poll and the user's call must not complete it both, and when our poll
//    was first, the user must still be told how it ended;
//  - nothing runs from a progress hook of this MPI: a blocked call must poll and run continuations itself;
//  - this thread is in a callback, and waiting threads meet (see mpi/calls.hpp): a call that blocks inside MPI could
//    keep the MPI's own waiting thread, which is below us on the stack, from ever returning. Testing in a loop instead
//    does not.
#pragma once

#include "base/peek.hpp"
#include "base/visibility.hpp"
#include "continuation/handle.hpp"
#include "engine/persistent_requests.hpp"

#include <mpi.h>

#include <atomic>
#include <cstdint>

namespace thence::continuation {

// Above zero when interposed calls have more to do than look at the handle. One `running` per thread that runs
// continuations, where that matters, `kept` once a persistent request has had a continuation, `hidden` with it where
// requests do not tell whether they are persistent, `hookless` where continuations do not run from a progress hook of
// MPI. All of them lie above the bits of an address: one comparison of a pointer with it finds null pointers too, which
// saves the two instructions that linked_unused has not left.
extern THENCE_INTERNAL std::atomic<std::uint64_t> attention;
inline constexpr std::uint64_t attention_running = std::uint64_t{1} << 48; // a sum of thirteen bits
inline constexpr std::uint64_t attention_hidden = std::uint64_t{1} << 61;
inline constexpr std::uint64_t attention_kept = std::uint64_t{1} << 62;
inline constexpr std::uint64_t attention_hookless = std::uint64_t{1} << 63;
// Where `running` is counted: elsewhere if no call needs to know, because no thread that waits in MPI relies on
// another.
extern THENCE_HIDDEN std::atomic<std::uint64_t> *running_count;

// Nothing beyond MPI's own work to do in a call that gets this handle? A null pointer to one is not plain.
inline bool plain(MPI_Request request) noexcept {
    return !is_cr_handle(request) && base::peek(attention) == 0;
}
inline bool plain(const MPI_Request *request) noexcept {
    return reinterpret_cast<std::uintptr_t>(request) > base::peek(attention) && !is_cr_handle(*request);
}
THENCE_INTERNAL bool plain(int count, const MPI_Request requests[]) noexcept;
// The same for a call that may block: while a persistent request has continuations, it must not block inside MPI.
THENCE_INTERNAL bool plain_to_wait(int count, const MPI_Request requests[]) noexcept;
// Where plain() says no: are persistent requests with continuations all that there is, and this is no such request? It
// reads the handle itself, so that the caller keeps none for it.
inline bool plain_beside_persistent(const volatile MPI_Request *request) noexcept {
    if (request == nullptr || attention.load(std::memory_order_relaxed) != attention_kept) {
        return false;
    }
    const MPI_Request handle = *request;
    return !is_cr_handle(handle) && !engine::may_be_persistent(handle);
}
THENCE_INTERNAL bool any_cr(int count, const MPI_Request requests[]) noexcept;

// Tests one request of any kind once, as MPI_Test does.
THENCE_INTERNAL int test_one(MPI_Request *request, int *flag, MPI_Status *status) noexcept;

// True for null and for a CR that is inactive: the any and some forms ignore such entries. A CR that is idle counts as
// active until a completion call has reported it complete.
THENCE_INTERNAL bool is_ignored(MPI_Request request) noexcept;

// True for a CR, and for a persistent request with continuations or whose results a poll of ours has got: such an entry
// of an array is tested by test_one().
THENCE_INTERNAL bool is_special(MPI_Request request) noexcept;
THENCE_INTERNAL bool any_special(int count, const MPI_Request requests[]) noexcept;
// Puts MPI_REQUEST_NULL in place of each such entry.
THENCE_INTERNAL void hide_special(int count, MPI_Request requests[]) noexcept;

// For Testall, which completes all or none. CRs first: true if nothing is registered with it any more; runs what may
// run, reports nothing. Then all other requests in one call, CRs being null: as MPI_Testall, also of persistent
// requests with continuations. If that says so, each CR is reported as it was seen: this neither waits nor looks again.
THENCE_INTERNAL bool cr_is_ready(MPI_Request request) noexcept;
THENCE_INTERNAL int test_all(int count, MPI_Request requests[], int *flag, MPI_Status statuses[]) noexcept;
// As MPI_Request_get_status, for a request that is no CR.
THENCE_INTERNAL int get_status(MPI_Request request, int *flag, MPI_Status *status) noexcept;
THENCE_INTERNAL int report_cr_complete(MPI_Request request, MPI_Status *status) noexcept;

// By every blocking call that is not simply passed on: see THENCE_CR_IN_COMPLETION.
THENCE_INTERNAL void report_if_in_completion() noexcept;
// True if a blocking call has to be done by testing: something of ours must go on meanwhile, or we are in a callback
// where that matters.
THENCE_INTERNAL bool must_test() noexcept;

// Between two tests of a loop: lets MPI progress and our continuations run. `turns` is how many there were.
THENCE_INTERNAL void take_turn(unsigned turns) noexcept;

// After a call that blocked inside MPI: runs what came up, where no hook does.
THENCE_INTERNAL void catch_up() noexcept;

// While it lives, another thread makes progress, if this thread is in a callback on an MPI whose blocked calls leave
// that to the first of them, which is below us on the stack. Does nothing elsewhere.
class THENCE_INTERNAL assistance {
public:
    assistance() noexcept;
    ~assistance();
    assistance(const assistance &) = delete;
    assistance &operator=(const assistance &) = delete;

private:
    struct helper;
    helper *helper_ = nullptr;
};

THENCE_INTERNAL void set_empty(MPI_Status *status) noexcept;

// Reports an error of this class through the error handler. Returns its code, which has the text.
THENCE_INTERNAL int refuse(int error_class, const char *text) noexcept;

// Persistent requests. `created` and `started` keep the register of those that MPI cannot name; `free_request` and
// `cancel_request` see to continuations on them. All return an MPI error code.
THENCE_INTERNAL void created_persistent(MPI_Request request, bool can_be_cancelled) noexcept;
THENCE_INTERNAL void restarted(MPI_Request before, MPI_Request after) noexcept;
THENCE_INTERNAL int free_request(MPI_Request *request) noexcept;
THENCE_INTERNAL int cancel_request(MPI_Request *request) noexcept;
// True for a live CR that MPI_Start can make active now.
THENCE_INTERNAL bool may_start(MPI_Request cr) noexcept;

// Set before main() where libthence is: then finalizing() will be called, and completion calls come to us first.
THENCE_INTERNAL extern bool is_interposed;
// This thread is inside a callback.
THENCE_INTERNAL bool in_callback() noexcept;
// MPI_Finalize is about to be called.
THENCE_INTERNAL void finalizing() noexcept;

} // namespace thence::continuation
