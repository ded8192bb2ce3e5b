// SPDX-License-Identifier: BSD-3-Clause
// Random puts: each process puts blocks of any length anywhere into its window at each other process, many of them on
// each other, and then notifies with a checksum of all that must be there. Some are lists, some have a notification of
// their own, and between them are reads of what was put. THENCE_TEST_PUTS: how many in all. THENCE_TEST_MIX=off: writes
// and a notification alone.
#include "gaspi.hpp"

#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace {

constexpr gaspi_size_t window = 40'000; // long ones are messages of their own
constexpr unsigned in_batch = 64;
constexpr gaspi_notification_id_t unread = 1000; // nobody waits for it

std::uint32_t checksum(const unsigned char *data) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (gaspi_size_t i = 0; i < window; i += 8) {
        std::uint64_t word = 0;
        std::memcpy(&word, data + i, 8);
        hash = (hash ^ word) * 0x100000001b3U;
        hash ^= hash >> 29;
    }
    return static_cast<std::uint32_t>(hash >> 32) | 1U;
}

TEST_F(gaspi, random_puts_are_there_in_their_order_when_their_notification_is) {
    const char *const asked = std::getenv("THENCE_TEST_PUTS");
    const unsigned long puts = asked != nullptr ? std::strtoul(asked, nullptr, 10) : 100'000;
    const unsigned long batches = puts / in_batch / size + 1;
    const char *const mix = std::getenv("THENCE_TEST_MIX");
    const bool mixes = mix == nullptr || std::strcmp(mix, "off") != 0;
    // Windows of all ranks; what I put to each; my sources; what I have read.
    constexpr gaspi_size_t sources = 1 << 20;
    const gaspi_offset_t scratch = 2 * size * window + sources;
    unsigned char *const memory = make(0, scratch + in_batch * window);
    unsigned char *const source = memory + 2 * size * window;
    std::mt19937_64 random(rank + 1U);
    for (gaspi_size_t i = 0; i < sources; i += 8) {
        const std::uint64_t word = random();
        std::memcpy(source + i, &word, 8);
    }
    const auto mirror_of = [&](gaspi_rank_t to) { return (size + to) * window; };
    struct expected_read {
        gaspi_offset_t at;
        std::vector<unsigned char> data;
    };
    std::vector<expected_read> reads;
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
    std::vector<bool> must_wait(size, false);
    for (unsigned long batch = 0; batch < batches; ++batch) {
        const auto to = static_cast<gaspi_rank_t>((rank + batch) % size); // so from each one in each batch
        const auto from = static_cast<gaspi_rank_t>((rank + size - batch % size) % size);
        const auto queue = static_cast<gaspi_queue_id_t>(to % 4);
        if (must_wait[to]) {
            ASSERT_EQ(await(0, size + to), 1U) << "it has compared the last";
        }
        must_wait[to] = true;
        for (unsigned i = 0; i < in_batch; ++i) {
            const std::uint64_t dice = random();
            const std::uint64_t kind = mixes ? dice >> 60 : 15;
            if (kind == 0) { // two parts of the window that overlap now and then
                gaspi_segment_id_t segments[] = {0, 0};
                gaspi_size_t lengths[] = {1 + (dice >> 8) % 300, 1 + (dice >> 20) % 300};
                gaspi_offset_t from_here[] = {(dice >> 12) % (sources - 300), (dice >> 24) % (sources - 300)};
                gaspi_offset_t to_there[] = {(dice >> 16) % (window - 300), (dice >> 28) % (window - 300)};
                for (int k = 0; k < 2; ++k) {
                    std::memcpy(memory + mirror_of(to) + to_there[k], source + from_here[k], lengths[k]);
                    from_here[k] += 2 * size * window;
                    to_there[k] += rank * window;
                }
                ASSERT_EQ(i % 2 == 0 ? gaspi_write_list(2, segments, from_here, to, segments, to_there, lengths, queue,
                                                        GASPI_BLOCK)
                                     : gaspi_write_list_notify(2, segments, from_here, to, segments, to_there, lengths,
                                                               0, unread, 1, queue, GASPI_BLOCK),
                          GASPI_SUCCESS);
                continue;
            }
            if (kind == 1) { // it finds what was put before, and nothing that comes after
                const gaspi_size_t bytes = i == 5 ? window : 1 + (dice >> 32) % 256;
                const gaspi_offset_t at = (dice >> 8) % (window - bytes + 1);
                const unsigned char *const put = memory + mirror_of(to) + at;
                reads.push_back({scratch + i * window, {put, put + bytes}});
                ASSERT_EQ(gaspi_read(0, reads.back().at, to, 0, rank * window + at, bytes, queue, GASPI_BLOCK),
                          GASPI_SUCCESS);
                continue;
            }
            const gaspi_size_t bytes = (dice & 63) == 0 ? 1 + (dice >> 32) % (window - 1) : 1 + (dice >> 32) % 256;
            const gaspi_offset_t at = (dice >> 8) % (window - bytes + 1);
            const gaspi_offset_t chosen = (dice >> 20) % (sources - bytes);
            std::memcpy(memory + mirror_of(to) + at, source + chosen, bytes);
            const gaspi_offset_t here = 2 * size * window + chosen;
            const gaspi_offset_t there = rank * window + at;
            ASSERT_EQ(kind == 2 ? gaspi_write_notify(0, here, to, 0, there, bytes, unread, 1, queue, GASPI_BLOCK)
                                : gaspi_write(0, here, to, 0, there, bytes, queue, GASPI_BLOCK),
                      GASPI_SUCCESS);
        }
        ASSERT_EQ(gaspi_notify(0, to, rank, checksum(memory + mirror_of(to)), queue, GASPI_BLOCK), GASPI_SUCCESS);
        const gaspi_notification_t expected = await(0, from); // before it is looked at
        ASSERT_EQ(checksum(memory + from * window), expected) << "batch " << batch << " from " << from;
        ASSERT_EQ(gaspi_notify(0, from, size + rank, 1, 7, GASPI_BLOCK), GASPI_SUCCESS);
        ASSERT_EQ(gaspi_wait(queue, GASPI_BLOCK), GASPI_SUCCESS);
        ASSERT_EQ(gaspi_wait(7, GASPI_BLOCK), GASPI_SUCCESS);
        for (const expected_read &each : reads) {
            ASSERT_EQ(std::memcmp(memory + each.at, each.data.data(), each.data.size()), 0) << "batch " << batch;
        }
        reads.clear();
    }
    ASSERT_EQ(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK), GASPI_SUCCESS);
}

} // namespace
