// SPDX-License-Identifier: BSD-3-Clause
// THENCE_STALL in MPI_Finalize. The stall detector ends with the library, inside that call, which may wait for other
// ranks for as long as they like: so a thread of its own, which makes no call of MPI, says that it has not returned.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace thence::diagnose {

// MPI_Finalize lasts while this exists. Without the setting it does nothing. `where`: the code address of the user's
// call.
class finalize_watch {
public:
    explicit finalize_watch(const void *where) noexcept;
    ~finalize_watch();
    finalize_watch(const finalize_watch &) = delete;
    finalize_watch &operator=(const finalize_watch &) = delete;

private:
    void run(const void *where) noexcept;

    std::mutex mutex_;
    std::condition_variable wake_;
    bool returned_ = false; // under the mutex
    std::thread thread_;
};

} // namespace thence::diagnose
