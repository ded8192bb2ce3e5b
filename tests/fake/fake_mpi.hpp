// SPDX-License-Identifier: BSD-3-Clause
// A scripted MPI in one process without communication: the test says which operation completes when, with what result,
// and between which steps of MPI's own completion path. It replaces every entry of the library's call table.
//
// Operations that the test starts complete only when the test completes them. Operations of Irecv and Isend match each
// other at the next progress: the library checks MPI with these at start-up.
// The fake holds no lock while it calls hooks, completion callbacks and steps, as MPI. All functions but begin() and
// end() are thread-safe.
#pragma once

#include "core/mpi/calls.hpp"
#include "request.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace thence::fake {

// Differences that another version of Open MPI may have from what the native engine knows.
enum class layout { known, other_state, other_status, other_free, no_callback, no_wait_sync };

// What this MPI has.
struct features {
    bool opal_progress = false; // opal_progress_register and the layout behind the native engine
    layout requests = layout::known;
    const char *messages_through = "ob1"; // the layer that Open MPI has chosen; null: unknown
    const char *describes_layer_as = "pml";
    bool async_start = false;  // MPIX_Async_start and MPIX_Stream_progress
    bool is_complete = false;  // MPIX_Request_is_complete
    bool large_counts = false; // MPI_Type_get_contents_c
    int thread_level = MPI_THREAD_MULTIPLE;
    const char *library_version = "fake MPI";
    std::size_t quarantine = 4096; // see set_quarantine()
};

// How an operation ends.
struct result {
    int source = 0;
    int tag = 0;
    int bytes = 0;
    int error = MPI_SUCCESS;
    bool cancelled = false;
};

// Identifies one operation, also after its request was released and its memory is used again.
struct ticket {
    request *q = nullptr;
    std::uint64_t number = 0;
};

// Steps in MPI's completion of a request.
enum class step {
    before_callback, // the callback slot has not been read
    saw_callback,    // it has been read and has a callback, which has not been called
    saw_none,        // it has been read and is empty; the request is not marked complete
    marked,          // marked complete; if there was a wait-sync object, it has not been counted down
};

enum class on_cancel { complete_at_once, complete_in_progress, ignore };

class mpi {
public:
    // Resets the fake and installs it in the library's call table.
    void begin(const features &what);
    // Fails the test if requests or hooks are left.
    void end();
    // As MPI_Init and MPI_Finalize: the latter deletes the attributes of MPI_COMM_SELF first.
    void initialize();
    void finalize();

    // An active operation. It completes when the test completes it.
    MPI_Request start(kind what = kind::point_to_point);
    MPI_Request persistent(kind what = kind::point_to_point); // inactive
    ticket ticket_of(MPI_Request request);
    // As MPI_Grequest_start.
    MPI_Request start_generalized(MPI_Grequest_query_function *query, MPI_Grequest_free_function *free_data,
                                  MPI_Grequest_cancel_function *cancel, void *extra_state);

    // Completes an operation on this thread, as MPI's transport does. False if it was complete or cancelled already.
    bool complete(ticket operation, const result &how = {});
    bool complete(MPI_Request request, const result &how = {}) { return complete(ticket_of(request), how); }
    // The same inside the next call of progress. Each call completes at most `per_progress` operations.
    void complete_in_progress(ticket operation, const result &how = {});
    void complete_in_progress(MPI_Request request, const result &how = {}) {
        complete_in_progress(ticket_of(request), how);
    }
    std::size_t per_progress = SIZE_MAX;
    // As any MPI call that makes progress: messages and scripted completions, then the hooks.
    void progress();

    // Called at the steps of each completion, on its thread. Set while nothing completes.
    std::function<void(step, MPI_Request)> at_step;
    // Called once, at the beginning of the next Testall.
    std::function<void()> at_test;
    std::atomic<on_cancel> cancelling{on_cancel::complete_at_once};
    std::function<void()> while_cancelling; // called inside MPI_Cancel
    // Called inside MPIX_Stream_progress. Set while no thread makes progress.
    std::function<void()> in_stream_progress;
    // The error handler of MPI_COMM_WORLD.
    std::atomic<MPI_Errhandler> handler{MPI_ERRORS_ARE_FATAL};
    // MPI_Test on a failed operation returns the error and sets flag to 0.
    bool failed_test_clears_flag = false;
    // A completing call on a persistent request that failed releases it, as Open MPI 4.1 does.
    bool failed_test_frees_persistent = false;
    // If an operation has failed, MPI_Testsome also frees the pending requests, and does not return them. Open MPI does
    // that to those with an error left from before.
    bool failed_testsome_frees_pending = false;
    // If an operation has failed, MPI_Waitall returns, and the others are pending, with MPI_ERR_PENDING as their
    // errors.
    bool failed_waitall_leaves_pending = false;
    // MPI refuses to start receives, with this code.
    int refuses_receives = MPI_SUCCESS;
    bool hides_refusals = false; // these calls return MPI_SUCCESS, as MPICH 5 does after an error handler of the user

    MPI_Info info(std::map<std::string, std::string> keys);
    // Codes that were given to the error handler of MPI_COMM_WORLD or that operations failed with, since the last call.
    std::vector<int> take_reported();

    static bool is_cancelled(const MPI_Status &status);
    static int bytes_of(const MPI_Status &status);

    std::atomic<unsigned long long> progress_calls{0};
    std::atomic<unsigned long long> completing_calls{0}; // requests in calls of MPI_Test, Testsome, Wait, ...
    std::atomic<unsigned long long> cancel_calls{0};
    std::size_t hooks();
    std::size_t running_async();

    // For the entries of the call table.
    request *checked(const char *call, MPI_Request handle);
    MPI_Request receive(void *buffer, int bytes, int tag, MPI_Comm comm, bool is_persistent);
    MPI_Request send(const void *buffer, int bytes, int tag, MPI_Comm comm);
    void activate(request &q);
    // Returns the results of a complete request. The request is released or becomes inactive.
    int take(request &q, MPI_Request *handle, MPI_Status *status);
    int cancel(request &q);
    void free_by_user(request &q);
    void report(int code);
    const std::string *look_up(MPI_Info info, const std::string &key);
    int create_keyval(MPI_Comm_delete_attr_function *when_deleted);
    void set_attribute(int keyval, void *value);
    MPI_Comm new_communicator();
    void add_hook(int (*hook)());
    void remove_hook(int (*hook)());
    void add_async(int (*poll)(void *), void *state);
    const features &offers() const { return features_; }
    bool is_initialized() const { return initialized_.load(); }
    bool is_finalized() const { return finalized_.load(); }

private:
    struct message {
        std::vector<char> content;
        int tag;
        MPI_Comm comm;
    };
    struct scripted {
        ticket operation;
        result how;
    };
    struct async_thing {
        int (*poll)(void *);
        void *state;
    };

    request &create(kind what, bool is_persistent);
    void deliver();
    void give_back(request &q); // calls the free function of a generalized request
    void run_hooks();
    void run_async();

    features features_;
    std::atomic<bool> initialized_{false};
    std::atomic<bool> finalized_{false};
    std::mutex mutex_; // guards all members below
    std::vector<int (*)()> hooks_;
    std::vector<async_thing> async_;
    std::deque<scripted> scripted_;
    std::deque<message> messages_;
    std::vector<request *> receives_;
    std::vector<std::map<std::string, std::string>> infos_;
    std::vector<int> reported_;
    std::vector<MPI_Comm_delete_attr_function *> delete_functions_;
    std::vector<std::pair<int, void *>> attributes_;
    std::uintptr_t communicators_ = 0;
    std::size_t in_use_before_ = 0;
};

// The one MPI of the process.
extern mpi world;

// Replaces the entries of the library's call table by the fake's.
void install_calls(const features &what);
// Those that only requests and several processes of thread communicators need: calling one ends the test.
void install_message_calls();

// The free function of a request, as MPI has set it.
int free_natively(void **object);

inline bool is_done(const request &q) noexcept {
    return q.complete.load(std::memory_order_acquire) == is_complete;
}

} // namespace thence::fake
