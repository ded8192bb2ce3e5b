// SPDX-License-Identifier: BSD-3-Clause
// The fixture of tests that let a receive complete in pools with one worker.
#pragma once

#include "all_modes.hpp"

#include <atomic>
#include <optional>
#include <thread>
#include <utility>

class shared_pools_test : public testing::Test {
protected:
    thence::pools &pools = shared_pools();
    errors_return returned;

    std::thread::id polling_thread() {
        return std::get<0>(
            pools.sync_wait(ex::schedule(pools.mpi()) | ex::then([] { return std::this_thread::get_id(); })).value());
    }
    // Starts a receive in this mode, which completes while only the pools make progress. Returns what `follow` returns,
    // which is called as the work that follows the receive.
    template <class Follow> auto after_receive(const char *mode, Follow follow) {
        pending_receive receive(21);
        using result = std::invoke_result_t<Follow>;
        std::optional<result> found;
        std::atomic<bool> done{false};
        auto operation =
            ex::just() |
            pools.transform_mpi([&](MPI_Request *r) { *r = std::exchange(receive.request, MPI_REQUEST_NULL); },
                                thence::parse_completion_mode(mode), thence::uncancellable) |
            ex::then([&]() noexcept {
                found = follow();
                done = true;
            }) |
            ex::upon_error([](const std::exception_ptr &) noexcept { ADD_FAILURE(); });
        ex::counting_scope scope;
        ex::spawn(std::move(operation), scope.get_token());
        receive.complete();
        while (!done.load()) {
            std::this_thread::yield();
        }
        pools.sync_wait(scope.join());
        return *found;
    }
};
