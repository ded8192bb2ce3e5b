// SPDX-License-Identifier: BSD-3-Clause
// ULTs of Argobots as tasks: of Argobots itself if it is found, always of the stand-in.
#include <thence/argobots.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <vector>

namespace {

struct ults {
    static void start() {
        setenv("ABT_THREAD_STACKSIZE", "131072", 0);
        ABT_init(0, nullptr);
        ABT_xstream own = nullptr;
        ABT_self_get_xstream(&own);
        ABT_xstream_create(ABT_SCHED_NULL, &second);
        ABT_xstream_get_main_pools(own, 1, &pools[0]);
        ABT_xstream_get_main_pools(second, 1, &pools[1]);
    }
    static void stop() {
        ABT_xstream_join(second);
        ABT_xstream_free(&second);
        ABT_finalize();
    }
    static const thence_task_runtime *table() { return thence_argobots_task_runtime(); }
    static void run(std::vector<std::function<void()>> bodies) {
        std::vector<ABT_thread> all(bodies.size());
        for (std::size_t i = 0; i < all.size(); ++i) {
            ABT_thread_create(
                pools[i % 2], [](void *body) { (*static_cast<std::function<void()> *>(body))(); }, &bodies[i],
                ABT_THREAD_ATTR_NULL, &all[i]);
        }
        for (ABT_thread &each : all) {
            ABT_thread_free(&each);
        }
    }
    static void yield() { ABT_thread_yield(); }

    static inline ABT_xstream second = nullptr;
    static inline std::array<ABT_pool, 2> pools{};
};

} // namespace

#include "ults.hpp"

namespace {

TEST_F(ult, of_argobots_is_not_started_on_a_plain_thread) {
    std::thread([&] { EXPECT_NE(table_.spawn([](void *) {}, nullptr, nullptr, nullptr, nullptr), 0); }).join();
}

TEST(argobots, has_no_task_while_it_is_not_initialized) {
    EXPECT_EQ(thence_argobots_task_runtime()->current(), nullptr);
}

} // namespace
