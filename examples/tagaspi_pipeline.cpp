// SPDX-License-Identifier: BSD-3-Clause
// One-sided operations in tasks: blocks of numbers pass through all ranks, and each rank adds its own values to every
// block. A rank writes its blocks into memory of the next one, with a notification. All steps use the same memory, so
// the next rank acknowledges each block at the end of the task that uses it, and the task that writes asks for that in
// onready. No task waits in a call. Usage: mpirun -n N tagaspi_pipeline (any N, no arguments). Link thence-tagaspi and
// thence-tasks.
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include <TAGASPI.h>
#include <thence/dataflow.h>
#include <thence/dataflow.hpp>
#include <thence/task_runtime.h>

namespace {

constexpr int steps = 20, blocks = 8, block_size = 256;
constexpr gaspi_segment_id_t segment = 0;
constexpr gaspi_size_t block_bytes = block_size * sizeof(double);

void check(gaspi_return_t code, const char *call) {
    if (code != GASPI_SUCCESS) {
        std::fprintf(stderr, "tagaspi_pipeline: %s: %d\n", call, code);
        std::exit(EXIT_FAILURE);
    }
}

// A segment has the blocks that arrive, and after them those that leave.
gaspi_offset_t arriving(int block) {
    return static_cast<gaspi_offset_t>(block) * block_bytes;
}
gaspi_offset_t leaving(int block) {
    return arriving(blocks + block);
}

} // namespace

int main() {
    thence_task_runtime_add(
        thence_flow_task_runtime()); // the line that brings TAGASPI and the data-flow layer together
    check(tagaspi_proc_init(GASPI_BLOCK), "tagaspi_proc_init"); // it initializes MPI
    gaspi_rank_t rank = 0, size = 1;
    gaspi_proc_rank(&rank);
    gaspi_proc_num(&size);
    check(gaspi_segment_create(segment, gaspi_size_t{2} * blocks * block_bytes, GASPI_GROUP_ALL, GASPI_BLOCK,
                               GASPI_MEM_INITIALIZED),
          "gaspi_segment_create");
    gaspi_pointer_t memory = nullptr;
    gaspi_segment_ptr(segment, &memory);
    const auto values = [memory](gaspi_offset_t offset) {
        return reinterpret_cast<double *>(static_cast<char *>(memory) + offset);
    };
    const auto before = static_cast<gaspi_rank_t>(rank - 1), behind = static_cast<gaspi_rank_t>(rank + 1);
    const bool is_first = rank == 0, is_last = rank == size - 1;

    double sum = 0; // of what leaves the last rank
    {
        thence::flow flow;
        for (int step = 0; step < steps; ++step) {
            for (int b = 0; b < blocks; ++b) {
                double *const in = values(arriving(b)), *const out = values(leaving(b));
                // Each block has two notifications: that its data are there, and that they were used.
                const auto here = static_cast<gaspi_notification_id_t>(b), used = here + blocks;
                const auto queue = static_cast<gaspi_queue_id_t>(b);
                if (!is_first) {
                    flow.submit({thence::out(in)}, {.label = "arrive"}, [=] {
                        check(tagaspi_notify_iwait(segment, here, GASPI_NOTIFICATION_IGNORE), "tagaspi_notify_iwait");
                    });
                }
                flow.submit({thence::in(in), thence::out(out)}, {.label = "add"}, [=] {
                    for (int i = 0; i < block_size; ++i) {
                        out[i] = (is_first ? 0 : in[i]) + rank + b;
                    }
                    if (!is_first && step + 1 < steps) {
                        check(tagaspi_notify(segment, before, used, 1, queue), "tagaspi_notify");
                    }
                });
                if (is_last) {
                    flow.submit({thence::in(out), thence::commutative(&sum)}, {.label = "sum"},
                                [=, &sum] { sum = std::accumulate(out, out + block_size, sum); });
                    continue;
                }
                const auto until_used = thence::onready([=] {
                    if (step > 0) {
                        check(tagaspi_notify_iwait(segment, used, GASPI_NOTIFICATION_IGNORE), "tagaspi_notify_iwait");
                    }
                });
                flow.submit({thence::in(out)}, {.label = "write"}, until_used, [=] {
                    check(tagaspi_write_notify(segment, leaving(b), behind, segment, arriving(b), block_bytes, here, 1,
                                               queue),
                          "tagaspi_write_notify");
                });
            }
        }
        flow.taskwait();
    }

    // Each rank adds its number and that of the block to each value. All numbers are whole, so the sum is exact.
    const double of_ranks = size * (size - 1) / 2.0, of_blocks = blocks * (blocks - 1) / 2.0;
    const bool right = !is_last || sum == steps * block_size * (blocks * of_ranks + size * of_blocks);
    if (is_last) {
        std::printf("tagaspi_pipeline: %d steps of %d blocks through %d ranks: %s\n", steps, blocks, size,
                    right ? "right" : "WRONG");
    }
    check(tagaspi_proc_term(GASPI_BLOCK), "tagaspi_proc_term");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
