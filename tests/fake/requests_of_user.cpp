// SPDX-License-Identifier: BSD-3-Clause
// Calls that complete, cancel or release requests, and infos, attributes, hooks and errors.
#include "fake_mpi.hpp"

#include <algorithm>
#include <utility>

namespace thence::fake {

request *mpi::checked(const char *call, MPI_Request handle) {
    request *q = find_request(handle);
    if (q == nullptr) {
        misuse(call, nullptr, "no handle of this MPI");
    } else if (q->now.load() == life::released) {
        misuse(call, q, "it is released");
        q = nullptr;
    }
    return q;
}

void mpi::give_back(request &q) {
    if (q.free_data != nullptr) {
        std::exchange(q.free_data, nullptr)(q.extra_state);
    }
    give_request(q);
}

int mpi::take(request &q, MPI_Request *handle, MPI_Status *status) {
    const int error = q.query != nullptr && !q.is_persistent ? q.query(q.extra_state, &q.result) : q.error;
    if (status != MPI_STATUS_IGNORE) {
        const int kept = status->MPI_ERROR; // calls on one request do not set it
        *status = q.result;
        status->MPI_ERROR = kept;
    }
    if (q.is_persistent) {
        q.state = 1;
        q.now.store(life::inactive);
        if (error != MPI_SUCCESS && failed_test_frees_persistent) {
            void *object = &q;
            q.free_function(&object);
            *handle = object == nullptr ? MPI_REQUEST_NULL : *handle;
        } else if (q.user_freed) {
            give_request(q);
        }
    } else {
        give_back(q);
        *handle = MPI_REQUEST_NULL;
    }
    if (error != MPI_SUCCESS) {
        report(error);
    }
    return error;
}

int mpi::cancel(request &q) {
    cancel_calls.fetch_add(1, std::memory_order_relaxed);
    if (q.now.load() != life::active) {
        misuse("MPI_Cancel", &q, "it is not active");
        return MPI_ERR_REQUEST;
    }
    if (q.what == kind::collective || q.what == kind::rma) {
        if (q.is_persistent) {
            misuse("MPI_Cancel", &q, "MPICH aborts here");
        }
        if (handler.load() != MPI_ERRORS_RETURN) {
            report(MPI_ERR_REQUEST);
        }
        return MPI_ERR_REQUEST;
    }
    if (q.cancel != nullptr) {
        return q.cancel(q.extra_state, is_done(q) ? 1 : 0);
    }
    result how;
    how.cancelled = true;
    const ticket operation = ticket_of(handle_of(q));
    switch (cancelling.load()) {
    case on_cancel::complete_at_once:
        complete(operation, how);
        break;
    case on_cancel::complete_in_progress: {
        std::scoped_lock guard(mutex_);
        scripted_.push_back({operation, how});
        break;
    }
    case on_cancel::ignore:
        break;
    }
    return MPI_SUCCESS;
}

void mpi::free_by_user(request &q) {
    {
        const std::scoped_lock guard(q.freeing);
        if (q.now.load() == life::active && !is_done(q)) {
            q.user_freed = true; // released when it completes
            return;
        }
    }
    give_back(q);
}

MPI_Info mpi::info(std::map<std::string, std::string> keys) {
    std::scoped_lock guard(mutex_);
    infos_.push_back(std::move(keys));
    return make_handle<MPI_Info>(0x9c000000U + 16 * infos_.size());
}

const std::string *mpi::look_up(MPI_Info info, const std::string &key) {
    std::scoped_lock guard(mutex_);
    const std::size_t at = (value_of(info) - 0x9c000000U) / 16 - 1;
    if (at >= infos_.size()) {
        misuse("MPI_Info_get", nullptr, "no info of this MPI");
        return nullptr;
    }
    const auto found = infos_[at].find(key);
    return found == infos_[at].end() ? nullptr : &found->second;
}

void mpi::report(int code) {
    std::scoped_lock guard(mutex_);
    reported_.push_back(code);
}

std::vector<int> mpi::take_reported() {
    std::scoped_lock guard(mutex_);
    return std::exchange(reported_, {});
}

// From 1 on: in the standard ABI MPI_KEYVAL_INVALID is 0.
int mpi::create_keyval(MPI_Comm_delete_attr_function *when_deleted) {
    std::scoped_lock guard(mutex_);
    delete_functions_.push_back(when_deleted);
    return static_cast<int>(delete_functions_.size());
}

void mpi::set_attribute(int keyval, void *value) {
    std::scoped_lock guard(mutex_);
    attributes_.emplace_back(keyval, value);
}

MPI_Comm mpi::new_communicator() {
    std::scoped_lock guard(mutex_);
    return make_handle<MPI_Comm>(0x84001000U + 64 * ++communicators_);
}

void mpi::add_hook(int (*hook)()) {
    std::scoped_lock guard(mutex_);
    hooks_.push_back(hook);
}

void mpi::remove_hook(int (*hook)()) {
    std::scoped_lock guard(mutex_);
    std::erase(hooks_, hook);
}

void mpi::add_async(int (*poll)(void *), void *state) {
    std::scoped_lock guard(mutex_);
    async_.push_back({poll, state});
}

std::size_t mpi::hooks() {
    std::scoped_lock guard(mutex_);
    return hooks_.size() + async_.size();
}

std::size_t mpi::running_async() {
    std::scoped_lock guard(mutex_);
    return async_.size();
}

// Open MPI calls a hook again if the hook makes progress.
void mpi::run_hooks() {
    std::vector<int (*)()> now;
    {
        std::scoped_lock guard(mutex_);
        now = hooks_;
    }
    for (auto *hook : now) {
        hook();
    }
}

// MPICH calls it on one thread at a time, and not again inside itself.
void mpi::run_async() {
    static std::atomic_flag polling = ATOMIC_FLAG_INIT;
    if (polling.test_and_set(std::memory_order_acquire)) {
        return;
    }
    std::vector<async_thing> now;
    {
        std::scoped_lock guard(mutex_);
        now = async_;
    }
    for (const async_thing &thing : now) {
        constexpr int done = 1;
        if (thing.poll(thing.state) == done) {
            std::scoped_lock guard(mutex_);
            // Only this one: the same function may have been started again since it returned.
            const auto ended = std::find_if(async_.begin(), async_.end(), [&](const async_thing &a) {
                return a.poll == thing.poll && a.state == thing.state;
            });
            if (ended != async_.end()) {
                async_.erase(ended);
            }
        }
    }
    polling.clear(std::memory_order_release);
}

} // namespace thence::fake
