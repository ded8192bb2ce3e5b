// SPDX-License-Identifier: BSD-3-Clause
// A plug-in that uses pools and deadlines. It is built twice, with hidden symbols. The two share only the state in
// libthence-pools and libthence-senders, and the pools that the host passes from one to the other.
#include "plugin.hpp"

#include <thence/exec.hpp>
#include <thence/pools.hpp>
#include <thence/timeout.hpp>

#include <chrono>
#include <stdexcept>

namespace ex = thence::ex;

namespace {

thence::pools &of(void *pools) {
    return *static_cast<thence::pools *>(pools);
}

auto receive(thence::pools &pools, int &word, int tag, const char *mode) {
    return ex::just(&word, 1, MPI_INT, 0, tag, MPI_COMM_SELF) |
           pools.transform_mpi(MPI_Irecv, thence::parse_completion_mode(mode));
}

void start_receive(void *pools, int tag, bool in_completion, void (*inside)()) {
    static int word = 0;
    const char *const mode =
        in_completion ? "continuation,inline-request,inline-completion" : "continuation,inline-request";
    ex::start_detached(receive(of(pools), word, tag, mode) | ex::then([inside](auto &&...) noexcept { inside(); }) |
                       ex::upon_error([](auto &&) noexcept {}) | ex::upon_stopped([]() noexcept {}));
}

void start_deadline(void *pools, int ms, void (*over)()) {
    static int never_sent = 0;
    ex::start_detached(receive(of(pools), never_sent, 99, "continuation,inline-request,inline-completion") |
                       thence::timeout(std::chrono::milliseconds(ms)) | ex::then([](auto &&...) noexcept {}) |
                       ex::upon_error([over](auto &&) noexcept { over(); }) | ex::upon_stopped([]() noexcept {}));
}

void work_until(void *pools, bool (*done)()) {
    of(pools).work_until([done] { return done(); });
}

bool is_refused(void *pools) {
    try {
        of(pools).sync_wait(ex::just());
    } catch (const std::logic_error &) {
        return true;
    }
    return false;
}

constexpr plugin all{[]() -> void * { return new thence::pools({.workers = 0}); },
                     [](void *pools) { delete static_cast<thence::pools *>(pools); },
                     start_receive,
                     start_deadline,
                     work_until,
                     is_refused};

} // namespace

extern "C" [[gnu::visibility("default")]] const plugin *thence_test_plugin() {
    return &all;
}
