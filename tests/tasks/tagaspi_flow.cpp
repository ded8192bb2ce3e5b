// SPDX-License-Identifier: BSD-3-Clause
// TAGASPI in the data-flow layer, whose table is added before it begins. And what only tasks with dependences and
// onready functions show.
#include "flow_runtime.hpp"
#include "tagaspi_fixture.hpp"

#include <thence/dataflow.h>
#include <thence/dataflow.hpp>
#include <thence/task_runtime.h>

#include <algorithm>
#include <array>
#include <vector>

void find_runtime() {
    use_flow();
}

namespace {

// A producer and a consumer that use the same block in each step. The producer may write when the consumer has
// acknowledged, at the end of the task that uses the data: it asks for that in its onready function.
TEST_F(tagaspi, acknowledgements_are_asked_for_in_onready) {
    constexpr int steps = 200;
    constexpr int blocks = 6;
    constexpr int cells = 20000; // at most; more than a packet
    const auto length = [](int step, int block) { return 1 + (step * 7919 + block * 104729) % cells; };
    constexpr gaspi_notification_id_t ack = 100;
    int *const data = make<int>(1, gaspi_size_t{2} * blocks * cells);
    std::array<gaspi_notification_t, blocks> seen{};
    std::array<int, blocks> right{};
    {
        thence::flow graph({.workers = 2});
        for (int step = 0; step < steps; ++step) {
            for (int b = 0; b < blocks; ++b) {
                int *const out = data + static_cast<std::ptrdiff_t>(b) * cells;
                int *const in = out + static_cast<std::ptrdiff_t>(blocks) * cells;
                const auto id = static_cast<gaspi_notification_id_t>(b);
                const auto queue = static_cast<gaspi_queue_id_t>(b);
                graph.submit({thence::out(out)},
                             [=] { std::fill_n(out, length(step, b), step + 10 * b + 1000 * rank); });
                graph.submit({thence::in(out)}, thence::onready([=] {
                                 if (step > 0) {
                                     EXPECT_EQ(tagaspi_notify_iwait(1, ack + id, GASPI_NOTIFICATION_IGNORE),
                                               GASPI_SUCCESS);
                                 }
                             }),
                             [=, this] {
                                 const auto from = static_cast<gaspi_offset_t>(out - data) * sizeof(int);
                                 const auto to = static_cast<gaspi_offset_t>(in - data) * sizeof(int);
                                 EXPECT_EQ(tagaspi_write_notify(1, from, next, 1, to, length(step, b) * sizeof(int), id,
                                                                1U + step, queue),
                                           GASPI_SUCCESS);
                             });
                graph.submit({thence::out(in)},
                             [&seen, id] { EXPECT_EQ(tagaspi_notify_iwait(1, id, &seen[id]), GASPI_SUCCESS); });
                graph.submit({thence::inout(in)}, [=, this, &seen, &right] {
                    const int expected = step + 10 * b + 1000 * previous_rank;
                    right[id] +=
                        seen[id] == 1U + step && std::count(in, in + length(step, b), expected) == length(step, b) ? 1
                                                                                                                   : 0;
                    std::fill_n(in, cells, -1);
                    if (step + 1 < steps) {
                        EXPECT_EQ(tagaspi_notify(1, previous, ack + id, 1, queue), GASPI_SUCCESS);
                    }
                });
            }
        }
        graph.taskwait();
    }
    for (const int each : right) {
        EXPECT_EQ(each, steps);
    }
    meet();
}

} // namespace
