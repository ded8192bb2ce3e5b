// SPDX-License-Identifier: BSD-3-Clause
// A plug-in that uses senders and deadlines. It is built twice, with hidden symbols. The two share only the state in
// libthence-senders, and what the host passes from one to the other.
#include "plugin.hpp"

#include <thence/exec.hpp>
#include <thence/mpi.hpp>
#include <thence/timeout.hpp>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <utility>

namespace ex = thence::ex;

namespace {

using namespace std::chrono_literals;

constexpr int tag_of_nobody = 99;

thence::communicator self() {
    return thence::communicator::self();
}

void start_deadline(int ms, int tag) {
    static int never_sent = 0;
    ex::start_detached(self().recv(never_sent, 0, tag_of_nobody) | thence::timeout(std::chrono::milliseconds(ms)) |
                       ex::then([](auto &&) {}) | ex::upon_error([tag](auto &&) noexcept {
                           const int word = 1; // the deadline is over
                           MPI_Send(&word, 1, MPI_INT, 0, tag, MPI_COMM_SELF);
                       }) |
                       ex::upon_stopped([]() noexcept {}));
}

bool wait_for(int tag) {
    int word = 0;
    try {
        thence::sync_wait(self().recv(word, 0, tag) | thence::timeout(10s));
    } catch (const thence::timed_out &) {
        return false;
    }
    return word == 1;
}

void start_receive(int tag, void (*inside)()) {
    static int word = 0;
    ex::start_detached(self().recv(word, 0, tag) | ex::then([inside](auto &&) noexcept { inside(); }) |
                       ex::upon_error([](auto &&) noexcept {}) | ex::upon_stopped([]() noexcept {}));
}

bool is_refused() {
    try {
        thence::sync_wait(ex::just());
    } catch (const std::logic_error &) {
        return true;
    }
    return false;
}

struct operation {
    thence::exec::run_loop loop;
    thence::exec::counting_scope scope;
};
auto spawn_on(operation &on) {
    return thence::exec::spawn_future(thence::exec::schedule(on.loop.get_scheduler()), on.scope.get_token());
}
struct spawned : operation {
    std::optional<decltype(spawn_on(std::declval<operation &>()))> future{spawn_on(*this)};
};

void start_future(void *of, void (*completed)()) {
    auto future = *std::exchange(static_cast<spawned *>(of)->future, std::nullopt);
    thence::exec::start_detached(std::move(future) | thence::exec::then([completed]() noexcept { completed(); }) |
                                 thence::exec::upon_stopped([]() noexcept {}));
}

void complete(void *of) {
    auto *const self = static_cast<spawned *>(of);
    self->loop.finish();
    self->loop.run();
    thence::exec::sync_wait(self->scope.join());
    delete self;
}

constexpr plugin all{start_deadline,
                     wait_for,
                     start_receive,
                     is_refused,
                     []() -> void * { return new spawned; },
                     [](void *of) { static_cast<spawned *>(of)->future.reset(); },
                     start_future,
                     complete,
                     [] { return thence::detail::shared_request(); }};

} // namespace

extern "C" [[gnu::visibility("default")]] const plugin *thence_test_plugin() {
    return &all;
}
