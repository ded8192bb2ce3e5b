// SPDX-License-Identifier: BSD-3-Clause
// An attribute of communicators whose value is an object of this library. A thread notes the value of the communicator
// that it asked for last, since it asks with every call.
//
// Invariant: what a thread has noted is right as long as no value of this attribute has changed, which its functions
// for MPI tell by changed(). There is one attribute per type of value.
#pragma once

#include "core/base/per_thread.hpp"
#include "core/mpi/calls.hpp"

#include <mpi.h>

#include <atomic>
#include <mutex>

namespace thence::streams {

template <class Value> class communicator_attribute {
public:
    constexpr communicator_attribute(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *remove) noexcept
        : copy_(copy), remove_(remove) {}

    // Any thread. MPI_KEYVAL_INVALID if MPI has none.
    int key() noexcept {
        int known = key_.load(std::memory_order_acquire);
        if (known == MPI_KEYVAL_INVALID) {
            const std::scoped_lock guard(mutex_);
            known = key_.load();
            if (known == MPI_KEYVAL_INVALID &&
                mpi::table.Comm_create_keyval(copy_, remove_, &known, nullptr) == MPI_SUCCESS) {
                key_.store(known, std::memory_order_release);
            }
        }
        return known;
    }
    // Null if the communicator has none.
    Value *find(MPI_Comm comm) noexcept {
        note *const noted = base::per_thread<note>::get();
        const unsigned long current = changes_.load(std::memory_order_acquire);
        if (noted == nullptr) [[unlikely]] {
            return look_up(comm);
        }
        if (noted->changes != current || noted->comm != comm) {
            *noted = {comm, current, look_up(comm)};
        }
        return noted->value;
    }
    // Returns the error code of MPI.
    int set(MPI_Comm comm, Value *value) noexcept {
        const int code = mpi::table.Comm_set_attr(comm, key(), value);
        changed();
        return code;
    }
    void remove_from(MPI_Comm comm) noexcept {
        if (find(comm) != nullptr) {
            mpi::table.Comm_delete_attr(comm, key());
        }
    }
    void changed() noexcept { changes_.fetch_add(1); }
    // The key has ended with MPI.
    void forget_key() noexcept {
        key_.store(MPI_KEYVAL_INVALID);
        changed();
    }

private:
    struct note {
        MPI_Comm comm;
        unsigned long changes;
        Value *value;
    };
    Value *look_up(MPI_Comm comm) const noexcept {
        const int known = key_.load(std::memory_order_acquire);
        Value *value = nullptr;
        int there = 0;
        if (known == MPI_KEYVAL_INVALID ||
            mpi::table.Comm_get_attr(comm, known, static_cast<void *>(&value), &there) != MPI_SUCCESS) {
            return nullptr;
        }
        return there != 0 ? value : nullptr;
    }

    MPI_Comm_copy_attr_function *const copy_;
    MPI_Comm_delete_attr_function *const remove_;
    std::mutex mutex_; // guards the creation of the key
    std::atomic<int> key_{MPI_KEYVAL_INVALID};
    std::atomic<unsigned long> changes_{1};
};

} // namespace thence::streams
