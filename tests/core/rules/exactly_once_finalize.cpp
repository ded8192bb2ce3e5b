// SPDX-License-Identifier: BSD-3-Clause
// Exactly once, also if MPI_Finalize is called while callbacks attach and operations complete. Part of exactly_once.
#include "race.hpp"

#include "core/continuation/lifetime.hpp"
#include "core/continuation/request.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>

namespace {

using namespace thence::fake;

// MPI_Finalize while callbacks on the helper thread attach again and operations complete. Every continuation has ended
// once, or is still registered and MPI_Finalize reports it. No callback runs after MPI_Finalize. Each round is a
// process of its own, since the library cannot be used afterwards.
[[noreturn]] void finalize_round(const variant &v, unsigned number) {
    library l(v);
    race r(number);
    std::mt19937 random(number);
    MPI_Request c = MPI_REQUEST_NULL;
    thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &c);
    std::atomic<bool> stop{false};
    std::vector<std::thread> transport;
    for (unsigned i = 0; i < 2; ++i) {
        transport.emplace_back([&, i] { r.complete_until(stop, i, false); });
    }
    static chain chains[8];
    for (chain &one : chains) {
        one.r = &r;
        one.cr = c;
        one.left = 1000000;
        one.go_on();
    }
    std::deque<record> records;
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 3000);
    while (std::chrono::steady_clock::now() < end) {
        records.emplace_back();
        r.attach(random, c, records.back());
    }
    thence::continuation::finalizing();
    world.finalize();
    const auto settled = [&] {
        long ends = 0;
        for (const record &a : records) {
            ends += a.ends;
        }
        for (const chain &one : chains) {
            ends += one.ends;
        }
        return ends;
    };
    const long ends = settled();
    const long left = thence::continuation::continuation_request::registered_in_all();
    long attached = static_cast<long>(records.size());
    for (const chain &one : chains) {
        attached += 1000000 - std::max(one.left.load(), 0);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1)); // completions that had begun go on meanwhile
    stop = true;
    for (std::thread &t : transport) {
        t.join();
    }
    r.complete_rest();
    world.progress();
    const bool twice = std::any_of(records.begin(), records.end(), [](const record &a) { return a.ends > 1; });
    const char *fault = twice                           ? "one ended twice"
                        : attached != ends + left       ? "one is neither over nor registered"
                        : settled() != ends             ? "a callback ran after MPI_Finalize"
                        : world.hooks() != 0            ? "a hook is left"
                        : ::testing::Test::HasFailure() ? "a call failed"
                                                        : nullptr;
    std::fprintf(stderr, "round %u: %s, %ld attached, %ld ended, %ld left\n", number, fault == nullptr ? "good" : fault,
                 attached, ends, left);
    std::_Exit(fault == nullptr ? 0 : 1);
}

// GoogleTest runs suites with such a name first, before any test has created threads: this one forks.
class finalizing_DeathTest : public ::testing::TestWithParam<variant> {};

TEST_P(finalizing_DeathTest, each_has_ended_or_is_reported) {
    unsigned number = seed;
    const auto end = end_of_race();
    do {
        EXPECT_EXIT(finalize_round(GetParam(), number), ::testing::ExitedWithCode(0), "good");
        ++number;
    } while (std::chrono::steady_clock::now() < end && !HasFailure());
}

THENCE_RULES(finalizing_DeathTest);

} // namespace
