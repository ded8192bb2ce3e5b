// SPDX-License-Identifier: BSD-3-Clause
// What src/am/network*.cpp do by themselves, on the fake MPI: each upcall comes once, also while memory is exhausted,
// and the end never hangs.
#include "fake_calls.hpp"
#include "scarce_memory.hpp"

#include "am/network.hpp"
#include "am/outgoing_data.hpp"

#include <list>

namespace {

using namespace thence::fake;
using namespace thence::am;

struct upcalls final : network_events {
    std::atomic<int> broken{MPI_SUCCESS};
    int left_packets = 0;
    int left_data = 0;
    int arrived_data = 0;
    int waves = 0;
    int broken_others = 0;

    void arrived(lane, int, unsigned char *, std::size_t) noexcept override {}
    void left(packet &, int error) noexcept override { left_packets += error == MPI_SUCCESS ? 1 : 0; }
    void data_left(transfer &, int error) noexcept override { left_data += error == MPI_SUCCESS ? 1 : 0; }
    void data_arrived(transfer &, int error, std::size_t) noexcept override {
        arrived_data += error == MPI_SUCCESS ? 1 : 0;
    }
    void wave_ended(int error, totals) noexcept override { waves += error == MPI_SUCCESS ? 1 : 0; }
    void receive_failed(int error, bool cannot_go_on) noexcept override {
        broken = cannot_go_on ? error : broken.load();
    }
    void other_is_broken(int) noexcept override { ++broken_others; }
};

class am_network : public on_fake {
protected:
    am_network() {
        begin_messages();
        thence_am_options options{};
        options.window = 4;
        options.receives = 2;
        EXPECT_EQ(network_.begin(MPI_COMM_WORLD, options, 256), MPI_SUCCESS);
        EXPECT_EQ(network_.start(MPI_COMM_WORLD, MPI_SUCCESS), MPI_SUCCESS);
    }
    ~am_network() override { reported(); }
    int end() {
        const std::uint64_t none = 0;
        return network_.end(&none, seen_.broken);
    }
    void poll_some() { // the other receives fail, too
        for (int i = 0; i < 200; ++i) {
            network_.poll();
        }
    }

    upcalls seen_;
    network network_{seen_};
};

// Another process, which does not come, would be waited for.
TEST_P(am_network, the_end_is_an_error_if_this_process_breaks_meanwhile) {
    script.holds_collectives = true;
    script.receive_error = MPI_ERR_INTERN;
    fail_posted(MPI_ERR_INTERN);
    EXPECT_EQ(end(), MPI_ERR_INTERN);
    release();
    poll_some();
}

TEST_P(am_network, the_end_is_an_error_if_a_receive_fails_at_last) {
    script.receive_error = MPI_ERR_INTERN;
    fail_posted(MPI_ERR_INTERN);
    EXPECT_EQ(end(), MPI_ERR_INTERN);
    poll_some();
}

TEST_P(am_network, other_processes_are_told_without_memory_and_credits) {
    EXPECT_EQ(network_.say_broken(0), MPI_SUCCESS);
    for (int i = 0; i < 100 && seen_.broken_others == 0; ++i) {
        EXPECT_EQ(network_.poll(), MPI_SUCCESS);
    }
    EXPECT_EQ(seen_.broken_others, 1);
    EXPECT_EQ(end(), MPI_SUCCESS);
}

// What was started cannot be attached. It does not complete before something else happens, so waiting for it would
// hang.
TEST_P(am_network, what_cannot_be_attached_for_lack_of_memory_is_attached_in_a_later_poll) {
    constexpr int more_than_any_stock = 400; // of continuations that exist already
    script.holds_sends = script.holds_collectives = true;
    packet_pool packets(256);
    std::vector<packet *> sent;
    std::vector<transfer *> data;
    std::vector<char> memory(8);
    for (int i = 0; i < 3 * more_than_any_stock; ++i) {
        sent.push_back(packets.take());
        sent.back()->begin(lane::handlers, 0);
        data.push_back(make_transfer(0));
        data.back()->what = i % 2 == 0 ? transfer::kind::put : transfer::kind::incoming_put;
        data.back()->data = memory.data();
        data.back()->bytes = i % 4 < 2 ? 8 : 0;
        data.back()->tag = i / 2;
    }
    {
        const scarcity from_here;
        for (int i = 0; i < 3 * more_than_any_stock; ++i) {
            const auto at = static_cast<std::size_t>(i);
            network_.send(*sent[at]);
            int error = MPI_SUCCESS;
            if (i % 2 != 0) {
                network_.receive_data(*data[at], i % 3 == 0);
            } else if (network_.send_data(*data[at], error)) {
                ADD_FAILURE() << "it cannot have left";
            }
        }
        network_.begin_wave({});
        EXPECT_EQ(network_.poll(), MPI_SUCCESS); // there is none yet
        EXPECT_EQ(seen_.left_packets + seen_.left_data + seen_.waves, 0);
    }
    release();
    for (int i = 0; i < 2000 && (seen_.waves == 0 || seen_.left_packets != 3 * more_than_any_stock); ++i) {
        network_.poll();
    }
    poll_some();
    EXPECT_EQ(seen_.left_packets, 3 * more_than_any_stock);
    EXPECT_EQ(seen_.left_data, 3 * more_than_any_stock / 2);
    EXPECT_EQ(seen_.arrived_data, 3 * more_than_any_stock / 2);
    EXPECT_EQ(seen_.waves, 1);
    std::uint64_t count = sent.size();
    EXPECT_EQ(network_.end(&count, seen_.broken), MPI_SUCCESS);
    for (packet *const each : sent) {
        packets.give(*each);
    }
    for (transfer *const each : data) {
        delete_transfer(each);
    }
}

THENCE_RULES(am_network);

} // namespace
