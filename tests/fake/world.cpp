// SPDX-License-Identifier: BSD-3-Clause
#include "fake_mpi.hpp"
#include "types.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace thence::fake {

mpi world;

namespace {

constexpr int state_inactive = 1; // as Open MPI's ompi_request_state_t
constexpr int state_active = 2;

// The other members of a status differ between MPIs.
template <class Status> void set_hidden(Status &status, int bytes, bool cancelled) {
    if constexpr (requires { status._ucount; }) {
        status._ucount = static_cast<std::size_t>(bytes);
        status._cancelled = cancelled ? 1 : 0;
    } else if constexpr (requires { status.count_lo; }) {
        status.count_lo = bytes;
        status.count_hi_and_cancelled = cancelled ? 1 : 0;
    } else {
        status.MPI_internal[0] = bytes;
        status.MPI_internal[1] = cancelled ? 1 : 0;
    }
}

template <class Status> std::pair<int, bool> hidden(const Status &status) {
    if constexpr (requires { status._ucount; }) {
        return {static_cast<int>(status._ucount), status._cancelled != 0};
    } else if constexpr (requires { status.count_lo; }) {
        return {status.count_lo, status.count_hi_and_cancelled != 0};
    } else {
        return {status.MPI_internal[0], status.MPI_internal[1] != 0};
    }
}

// The beginning of a wait-sync object.
struct sync_head {
    std::int32_t count;
    std::int32_t status;
};

void count_down(void *object, int error) {
    auto &sync = *static_cast<sync_head *>(object);
    if (error == MPI_SUCCESS) {
        std::atomic_ref<std::int32_t>(sync.count).fetch_sub(1);
    } else {
        std::atomic_ref<std::int32_t>(sync.status).store(error, std::memory_order_relaxed);
        std::atomic_ref<std::int32_t>(sync.count).exchange(0);
    }
}

} // namespace

int free_natively(void **object) {
    request &q = *from_object(*object);
    if (q.is_persistent && q.now.load() == life::inactive && world.failed_test_frees_persistent) {
        give_request(q);
        *object = nullptr;
        return MPI_SUCCESS;
    }
    if (q.now.load() != life::active || !is_done(q) || q.is_persistent) {
        misuse("req_free", &q, "it is not an active, complete, non-persistent request");
        return MPI_ERR_REQUEST;
    }
    completing_call guard(q, "req_free");
    give_request(q);
    *object = nullptr;
    return MPI_SUCCESS;
}

void mpi::begin(const features &what) {
    features_ = what;
    per_progress = SIZE_MAX;
    at_step = nullptr;
    at_test = nullptr;
    in_stream_progress = nullptr;
    cancelling = on_cancel::complete_at_once;
    handler = MPI_ERRORS_ARE_FATAL;
    failed_test_clears_flag = failed_test_frees_persistent = failed_testsome_frees_pending = false;
    refuses_receives = MPI_SUCCESS;
    hides_refusals = false;
    progress_calls = completing_calls = cancel_calls = 0;
    initialized_ = true;
    finalized_ = false;
    hooks_.clear();
    async_.clear();
    scripted_.clear();
    messages_.clear();
    receives_.clear();
    infos_.clear();
    reported_.clear();
    delete_functions_.clear();
    attributes_.clear();
#if defined(OPEN_MPI)
    // In Open MPI the null request is complete from MPI_Init on.
    void *const done = is_complete;
    std::memcpy(reinterpret_cast<char *>(MPI_REQUEST_NULL) + offsetof(request, complete), &done, sizeof done);
#endif
    set_quarantine(what.quarantine);
    in_use_before_ = requests_in_use();
    install_calls(what);
}

void mpi::end() {
    at_step = nullptr;
    if (requests_in_use() != in_use_before_) {
        misuse("the end of the test", nullptr, "requests were not released");
    }
    if (type_references() != 0) {
        misuse("the end of the test", nullptr, "datatypes were not freed");
    }
    run_async(); // those that return `done` are removed
    if (hooks() != 0) {
        misuse("the end of the test", nullptr, "a progress hook is still registered");
    }
    for (const int code : take_reported()) {
        misuse("the end of the test", nullptr,
               ("an error that the test does not expect: " + std::to_string(code)).c_str());
    }
}

void mpi::initialize() {
    initialized_ = true;
}

void mpi::finalize() {
    // MPICH first waits for everything that MPIX_Async_start has started.
    for (int i = 0; i < 10000 && running_async() != 0; ++i) {
        run_async();
    }
    if (running_async() != 0) {
        abort_test("MPI_Finalize", "it would never return: something that MPIX_Async_start started is not done");
    }
    std::vector<std::pair<int, void *>> attributes;
    {
        std::scoped_lock guard(mutex_);
        attributes.swap(attributes_);
    }
    std::reverse(attributes.begin(), attributes.end());
    for (auto &[keyval, value] : attributes) {
        delete_functions_.at(static_cast<std::size_t>(keyval) - 1)(MPI_COMM_SELF, keyval, value, nullptr);
    }
    finalized_ = true;
}

request &mpi::create(kind what, bool is_persistent) {
    request &q = take_request();
    std::memset(q.status, 0, sizeof q.status);
    q.type = static_cast<int>(what);
    q.state = is_persistent ? state_inactive : features_.requests == layout::other_state ? 7 : state_active;
    q.persistent = is_persistent;
    q.free_function = &free_natively;
    q.callback.store(nullptr, std::memory_order_relaxed);
    q.callback_data.store(nullptr, std::memory_order_relaxed);
    q.complete.store(is_persistent ? is_complete : not_complete, std::memory_order_relaxed);
    q.what = what;
    q.is_persistent = is_persistent;
    q.result = {};
    q.error = MPI_SUCCESS;
    q.query = nullptr;
    q.free_data = nullptr;
    q.cancel = nullptr;
    q.buffer = nullptr;
    q.comm = MPI_COMM_NULL;
    q.user_freed = false;
    q.ticket.store((q.ticket.load() | 1) + 1);
    q.now.store(is_persistent ? life::inactive : life::active, std::memory_order_release);
    return q;
}

MPI_Request mpi::start(kind what) {
    return handle_of(create(what, false));
}

MPI_Request mpi::start_generalized(MPI_Grequest_query_function *query, MPI_Grequest_free_function *free_data,
                                   MPI_Grequest_cancel_function *cancel_work, void *extra_state) {
    request &q = create(kind::generalized, false);
    q.query = query;
    q.free_data = free_data;
    q.cancel = cancel_work;
    q.extra_state = extra_state;
    return handle_of(q);
}

MPI_Request mpi::persistent(kind what) {
    return handle_of(create(what, true));
}

ticket mpi::ticket_of(MPI_Request handle) {
    request *q = checked("a scripted completion", handle);
    return q == nullptr ? ticket{} : ticket{q, q->ticket.load() & ~std::uint64_t{1}};
}

void mpi::activate(request &q) {
    if (!q.is_persistent || q.now.load() != life::inactive) {
        misuse("MPI_Start", &q, "it is no inactive persistent request");
        return;
    }
    q.result = {};
    q.error = MPI_SUCCESS;
    q.state = state_active;
    q.complete.store(not_complete, std::memory_order_relaxed);
    q.ticket.store((q.ticket.load() | 1) + 1);
    q.now.store(life::active, std::memory_order_release);
}

bool mpi::complete(ticket operation, const result &how) {
    if (operation.q == nullptr) {
        return false;
    }
    request &q = *operation.q;
    std::uint64_t open = operation.number;
    if (!q.ticket.compare_exchange_strong(open, operation.number | 1)) {
        return false;
    }
    if (q.now.load() != life::active) {
        misuse("a scripted completion", &q, "it is not active");
        return false;
    }
    const MPI_Request handle = handle_of(q);
    q.result = {};
    q.result.MPI_SOURCE = how.source;
    q.result.MPI_TAG = how.tag;
    q.result.MPI_ERROR = how.error;
    set_hidden(q.result, how.bytes, how.cancelled);
    q.error = how.error;
    if (sizeof(MPI_Status) <= sizeof q.status && features_.requests != layout::other_status) {
        std::memcpy(q.status, &q.result, sizeof q.result);
    }

    // From here on the three steps of Open MPI.
    const auto at = [&](step where) {
        if (at_step) {
            at_step(where, handle);
        }
    };
    at(step::before_callback);
    if (void *callback = q.callback.load(std::memory_order_acquire);
        callback != nullptr && features_.requests != layout::no_callback) {
        at(step::saw_callback);
        q.callback.store(nullptr, std::memory_order_relaxed);
        if (reinterpret_cast<int (*)(void *)>(callback)(&q) == 1) {
            return true; // the callback owns it now and may have released it
        }
    }
    at(step::saw_none);
    void *before = nullptr;
    bool freed = false;
    {
        const std::scoped_lock guard(q.freeing);
        freed = q.user_freed;
        before = q.complete.exchange(is_complete);
    }
    if (before != not_complete && before != is_complete && features_.requests != layout::no_wait_sync) {
        at(step::marked);
        count_down(before, how.error);
    }
    if (freed) {
        give_back(q);
    }
    return true;
}

void mpi::complete_in_progress(ticket operation, const result &how) {
    std::scoped_lock guard(mutex_);
    scripted_.push_back({operation, how});
}

void mpi::progress() {
    progress_calls.fetch_add(1, std::memory_order_relaxed);
    deliver();
    for (std::size_t i = 0; i < per_progress; ++i) {
        scripted next;
        {
            std::scoped_lock guard(mutex_);
            if (scripted_.empty()) {
                break;
            }
            next = scripted_.front();
            scripted_.pop_front();
        }
        complete(next.operation, next.how);
    }
    run_hooks();
    run_async();
}

MPI_Request mpi::receive(void *buffer, int bytes, int tag, MPI_Comm comm, bool is_persistent) {
    request &q = create(kind::point_to_point, is_persistent);
    q.buffer = buffer;
    q.bytes = bytes;
    q.tag = tag;
    q.comm = comm;
    if (!is_persistent) {
        std::scoped_lock guard(mutex_);
        receives_.push_back(&q);
    }
    return handle_of(q);
}

MPI_Request mpi::send(const void *buffer, int bytes, int tag, MPI_Comm comm) {
    {
        std::scoped_lock guard(mutex_);
        const char *from = static_cast<const char *>(buffer);
        messages_.push_back({std::vector<char>(from, from + bytes), tag, comm});
    }
    const MPI_Request request = start();
    complete(request);
    return request;
}

void mpi::deliver() {
    for (;;) {
        request *q = nullptr;
        message arrived;
        {
            std::scoped_lock guard(mutex_);
            for (std::size_t i = 0; i < messages_.size() && q == nullptr; ++i) {
                const auto match = std::find_if(receives_.begin(), receives_.end(), [&](const request *r) {
                    return r->comm == messages_[i].comm && r->tag == messages_[i].tag;
                });
                if (match != receives_.end()) {
                    q = *match;
                    receives_.erase(match);
                    arrived = std::move(messages_[i]);
                    messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(i));
                }
            }
        }
        if (q == nullptr) {
            return;
        }
        const int bytes = std::min(q->bytes, static_cast<int>(arrived.content.size()));
        if (bytes != 0) { // else the buffers may be null
            std::memcpy(q->buffer, arrived.content.data(), static_cast<std::size_t>(bytes));
        }
        complete(handle_of(*q), {0, arrived.tag, bytes, MPI_SUCCESS, false});
    }
}

bool mpi::is_cancelled(const MPI_Status &status) {
    return hidden(status).second;
}

int mpi::bytes_of(const MPI_Status &status) {
    return hidden(status).first;
}

} // namespace thence::fake

// The headers of Thence call these directly. The linker prefers the program's definitions to those of the MPI library.
extern "C" {

int MPI_Initialized(int *flag) {
    *flag = 1;
    return MPI_SUCCESS;
}
int MPI_Finalized(int *flag) {
    *flag = thence::fake::world.is_finalized() ? 1 : 0;
    return MPI_SUCCESS;
}

} // extern "C"
