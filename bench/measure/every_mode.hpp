// SPDX-License-Identifier: BSD-3-Clause
// Every mode of completion that pools have, for benchmarks that compare all of them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <thence/pools.hpp>
#include <vector>

namespace measure {

inline std::vector<std::string> every_mode() {
    std::vector<std::string> modes;
    for (const std::string_view method : thence::detail::completion_method_names) {
        for (const char *pool : {"", ",mpi-pool"}) {
            for (const char *request : {"", ",inline-request"}) {
                for (const char *completion : {"", ",inline-completion", ",bypass"}) {
                    for (const char *priority : {"", ",high-priority"}) {
                        modes.push_back(std::string(method) + pool + request + completion + priority);
                    }
                }
            }
        }
    }
    return modes;
}

// The pools for a rank with so many threads, one of which waits for all work. The method suspend-resume always needs a
// worker.
class pools_of_modes {
public:
    explicit pools_of_modes(int threads)
        : threads_(threads), pools_(std::make_unique<thence::pools>(thence::pools_options{.workers = threads - 1})) {}

    thence::pools &usual() { return *pools_; }
    thence::pools &for_mode(const thence::completion_mode &how) {
        if (how.method != thence::completion_method::suspend_resume || threads_ > 1) {
            return *pools_;
        }
        if (!with_worker_) {
            with_worker_ = std::make_unique<thence::pools>(thence::pools_options{.workers = 1});
        }
        return *with_worker_;
    }

private:
    int threads_;
    std::unique_ptr<thence::pools> pools_;
    std::unique_ptr<thence::pools> with_worker_;
};

} // namespace measure
