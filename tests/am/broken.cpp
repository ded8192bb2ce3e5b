// SPDX-License-Identifier: BSD-3-Clause
// What is under way when an engine breaks is told once: at the next progress if MPI has nothing of it, else before the
// error is returned, and never while MPI may still write.
#include "fake_network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace thence::am;
using fake::engines;
using fake::outcome;

class broken_engine : public ::testing::Test {
protected:
    broken_engine() {
        const auto nothing = [](const thence_am_message *, void *) -> int { return MPI_SUCCESS; };
        all.add(0, nothing, nullptr);
        there.rank = 1;
        there.bytes = memory.size();
        EXPECT_TRUE(all[1].memory().add(memory.data(), memory.size(), there.key));
        all.network.nodes[1].no_data_error = MPI_ERR_OTHER; // so that no empty message ends a get
    }
    transfer *to_move(outcome &told) {
        transfer *const t = make_transfer(0);
        t->rank = 1;
        t->data = mine.data();
        t->bytes = mine.size();
        t->done = &outcome::note;
        t->done_data = &told;
        return t;
    }
    void put(outcome &told) { ASSERT_EQ(all[0].put(*to_move(told), there, 0), MPI_SUCCESS); }
    void get(outcome &told) { ASSERT_EQ(all[0].get(*to_move(told), there, 0), MPI_SUCCESS); }
    // MPI may write its data from then on.
    void get_until_received(outcome &told) {
        all.network.packets_complete_at_once = true;
        get(told);
        ASSERT_EQ(all.network.nodes[0].receives.size(), 1U);
    }
    void send(outcome &told) {
        bool sent = true;
        ASSERT_EQ(all[0].send(1, 0, {}, when_full::queue, new departure_callback(&outcome::note, &told), sent),
                  MPI_SUCCESS);
    }
    void break_both() {
        all.network.nodes[1].events->receive_failed(MPI_ERR_INTERN, true);
        all.network.nodes[0].events->other_is_broken(1);
    }
    bool was_told_of_memory() const {
        return std::any_of(all.failures.begin(), all.failures.end(), [](const engines::told &each) {
            return each.what.find("memory must stay") != std::string::npos;
        });
    }

    std::vector<char> memory = std::vector<char>(8), mine = std::vector<char>(8);
    engines all{2};
    thence_am_memory there{};
};

TEST_F(broken_engine, tells_in_progress_what_mpi_has_nothing_of) {
    std::vector<outcome> told(300); // more than there are credits for
    for (std::size_t i = 0; i < told.size(); i += 3) {
        put(told[i]);
        get(told[i + 1]);
        send(told[i + 2]);
    }
    break_both();
    all[0].progress(nullptr);
    for (const outcome &each : told) {
        EXPECT_EQ(each.ended, 1);
        EXPECT_EQ(each.error, MPI_ERR_OTHER);
    }
    for (int i = 0; i < 10000; ++i) { // what has left before arrives
        all.run_once();
    }
    EXPECT_TRUE(all.network.nodes[0].receives.empty());
    EXPECT_EQ(all.network.nodes[0].most_data_leaving, 0U); // their sources may be gone
    for (const outcome &each : told) {
        EXPECT_EQ(each.ended, 1);
    }
}

TEST_F(broken_engine, tells_a_get_when_its_receive_is_cancelled) {
    outcome got;
    ASSERT_NO_FATAL_FAILURE(get_until_received(got));
    break_both();
    for (int i = 0; i < 1000; ++i) {
        all.run_once();
    }
    EXPECT_EQ(got.ended, 0); // MPI may write
    bool is_clean = true;
    EXPECT_EQ(all[0].end(is_clean), MPI_ERR_OTHER);
    EXPECT_FALSE(is_clean);
    EXPECT_EQ(got.ended, 1);
    EXPECT_EQ(got.error, MPI_ERR_OTHER);
    EXPECT_FALSE(was_told_of_memory());
}

TEST_F(broken_engine, waits_a_while_for_mpi_and_then_tells_a_put_but_no_get) {
    outcome got;
    outcome put_there;
    all.network.packets_complete_at_once = true;
    all.network.nodes[0].never_cancels = true;
    all.network.nodes[0].holds_data = true;
    get(got);
    put(put_there);
    ASSERT_EQ(all.network.nodes[0].receives.size(), 1U);
    ASSERT_EQ(all.network.nodes[0].data_leaving.size(), 1U);
    break_both();
    bool is_clean = true;
    EXPECT_EQ(all[0].end(is_clean), MPI_ERR_OTHER);
    EXPECT_EQ(put_there.ended, 1);
    EXPECT_EQ(put_there.error, MPI_ERR_OTHER);
    EXPECT_EQ(got.ended, 0);
    EXPECT_TRUE(was_told_of_memory());
}

// Whoever is told the error may destroy the operations and their memory.
TEST_F(broken_engine, tells_a_get_before_progress_returns_the_error) {
    outcome got;
    ASSERT_NO_FATAL_FAILURE(get_until_received(got));
    break_both();
    EXPECT_EQ(all[0].progress_or_error(nullptr), MPI_ERR_OTHER);
    EXPECT_EQ(got.ended, 1);
    EXPECT_EQ(got.error, MPI_ERR_OTHER);
    EXPECT_TRUE(all.network.nodes[0].receives.empty());
    EXPECT_FALSE(was_told_of_memory());
    outcome late;
    transfer *const t = to_move(late);
    EXPECT_EQ(all[0].get(*t, there, 0), MPI_ERR_OTHER);
    EXPECT_EQ(all[0].progress_or_error(nullptr), MPI_ERR_OTHER);
    EXPECT_EQ(late.ended, 0);
}

TEST_F(broken_engine, waits_in_the_first_progress_only) {
    outcome got;
    all.network.packets_complete_at_once = true;
    all.network.nodes[0].never_cancels = true;
    get(got);
    break_both();
    EXPECT_EQ(all[0].progress_or_error(nullptr), MPI_ERR_OTHER);
    EXPECT_TRUE(was_told_of_memory());
    const std::size_t told = all.failures.size();
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(all[0].progress_or_error(nullptr), MPI_ERR_OTHER);
    bool is_clean = true;
    EXPECT_EQ(all[0].end(is_clean), MPI_ERR_OTHER);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(1));
    EXPECT_EQ(all.failures.size(), told);
    EXPECT_EQ(got.ended, 0);
}

// The end of the engine is told in progress, too, and whoever is told may wait: not inside of that wait.
TEST_F(broken_engine, tells_that_it_is_not_quiet_where_it_does_not_wait_itself) {
    struct waits {
        engines &all;
        int told = 0;
    } seen{all};
    outcome got;
    all.network.packets_complete_at_once = true;
    all.network.nodes[0].never_cancels = true;
    get(got);
    break_both();
    int polls = 0;
    all.network.meanwhile = [&] {
        if (++polls != 2) { // it waits for MPI then
            return;
        }
        const auto told = [](int, void *data) {
            auto &w = *static_cast<waits *>(data);
            ++w.told;
            int code = MPI_SUCCESS;
            EXPECT_TRUE(w.all[0].quiesce(code));
            EXPECT_EQ(code, MPI_ERR_OTHER);
        };
        EXPECT_TRUE(all[0].quiesce_then(told, &seen));
    };
    EXPECT_EQ(all[0].progress_or_error(nullptr), MPI_ERR_OTHER);
    EXPECT_EQ(all[0].progress_or_error(nullptr), MPI_ERR_OTHER);
    EXPECT_EQ(seen.told, 1);
}

// The program has freed the memory when its engine is freed.
TEST_F(broken_engine, uses_no_memory_for_what_is_announced_later) {
    outcome got;
    outcome put_there;
    all.network.packets_complete_at_once = true;
    mine.assign(8, 'x');
    put(put_there);
    get(got);
    ASSERT_FALSE(all.network.nodes[1].under_way.empty());
    all.network.nodes[1].events->receive_failed(MPI_ERR_INTERN, true);
    bool is_clean = true;
    EXPECT_EQ(all[1].end(is_clean), MPI_ERR_INTERN);
    for (int i = 0; i < 1000; ++i) {
        all.network.step_to(1);
        EXPECT_TRUE(all.network.nodes[1].receives.empty());
    }
    EXPECT_TRUE(all.network.nodes[1].under_way.empty());
    EXPECT_EQ(memory, std::vector<char>(8));
    EXPECT_EQ(all.network.nodes[1].most_data_leaving, 0U);
    all.network.nodes[0].events->receive_failed(MPI_ERR_INTERN, true);
    EXPECT_EQ(all[0].end(is_clean), MPI_ERR_INTERN);
}

// What process 1 calls on another thread, as on the helper thread, until the test lets it return.
class broken_meanwhile : public broken_engine {
protected:
    broken_meanwhile() {
        const auto handler = [](const thence_am_message *, void *self) -> int {
            static_cast<broken_meanwhile *>(self)->run();
            return MPI_SUCCESS;
        };
        all.add(1, handler, this, THENCE_AM_SHORT);
        all.network.packets_complete_at_once = true;
    }
    void run() {
        runs = true;
        while (!may_return) {
            std::this_thread::yield();
        }
        runs = false;
    }
    template <class Call> void begin_to(Call call) {
        helper = std::thread(call);
        while (!runs) {
            std::this_thread::yield();
        }
    }
    void begin_to_handle() {
        begin_to([this] {
            while (!may_return) {
                all.network.step_to(1);
            }
        });
    }
    // The program destroys what is called when that returns.
    template <class Condition> void end_and_let_it_return_once(Condition condition) {
        all.network.meanwhile = [&] { may_return = may_return || condition(); };
        bool is_clean = true;
        EXPECT_EQ(all[1].end(is_clean), MPI_ERR_INTERN);
        EXPECT_FALSE(is_clean);
        EXPECT_FALSE(runs);
        all.network.meanwhile = nullptr;
        may_return = true;
        helper.join();
    }

    std::thread helper;
    std::atomic<bool> runs{false};
    std::atomic<bool> may_return{false};
};

TEST_F(broken_meanwhile, does_not_give_up_memory_that_a_short_handler_reads) {
    outcome put_there;
    transfer *const t = to_move(put_there);
    t->number = 1;
    ASSERT_EQ(all[0].put(*t, there, 0), MPI_SUCCESS);
    begin_to_handle();
    break_both();
    end_and_let_it_return_once([&] { return was_told_of_memory(); });
    EXPECT_TRUE(was_told_of_memory());
}

TEST_F(broken_meanwhile, is_freed_when_no_short_handler_runs_any_more) {
    all.send(0, 1, 1);
    begin_to_handle();
    break_both();
    end_and_let_it_return_once([&] { return all[1].has_ended(); });
}

TEST_F(broken_meanwhile, is_freed_when_nobody_is_told_of_a_failure_any_more) {
    break_both();
    all.when_told = [&] { run(); };
    begin_to([&] { all.network.nodes[1].events->receive_failed(MPI_ERR_INTERN, false); });
    end_and_let_it_return_once([&] { return all[1].has_ended(); });
    all.when_told = nullptr;
}

// The memory of the process that others put to is in use, too.
TEST_F(broken_engine, waits_for_the_puts_of_others_that_are_arriving) {
    outcome put_there;
    all.network.packets_complete_at_once = true;
    all.network.nodes[0].data_error = MPI_ERR_OTHER; // they do not come
    all.network.nodes[0].no_data_error = MPI_ERR_OTHER;
    put(put_there);
    for (int i = 0; i < 1000 && all.network.nodes[1].receives.empty(); ++i) {
        all.run_once();
    }
    ASSERT_EQ(all.network.nodes[1].receives.size(), 1U);
    bool is_clean = true;
    EXPECT_NE(all[1].end(is_clean), MPI_SUCCESS);
    EXPECT_FALSE(is_clean);
    EXPECT_TRUE(all.network.nodes[1].receives.empty());
}

} // namespace
