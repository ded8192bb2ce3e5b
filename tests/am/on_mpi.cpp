// SPDX-License-Identifier: BSD-3-Clause
// Engines for active messages with their own network, src/am/network*.cpp, on the fake MPI: threads, and operations
// that fail after they have begun.
#include "fake_calls.hpp"

#include "core/continuation/request.hpp"

#include <thence/am.h>
#include <thence/progress.h>

#include <numeric>

namespace {

using namespace thence::fake;

class am_on_mpi : public on_fake {
protected:
    am_on_mpi() { begin_messages(); }
    void begin(thence_am_options options = {}) {
        options.failed = [](const thence_am_failure *, void *count) { ++*static_cast<std::atomic<int> *>(count); };
        options.failed_data = &failures_;
        ASSERT_EQ(thence_am_create(MPI_COMM_WORLD, &options, sizeof options, &am_), MPI_SUCCESS);
    }
    // Some progress, until no receive is left. It returns why the engine is broken once it is.
    void progress_of_broken(int error) {
        int code = MPI_SUCCESS;
        for (int i = 0; i < 200; ++i) {
            code = thence_am_progress(am_, nullptr);
            ASSERT_TRUE(code == error || code == MPI_SUCCESS);
        }
        EXPECT_EQ(code, error);
    }
    static int count(const thence_am_message *, void *data) {
        ++*static_cast<std::atomic<long> *>(data);
        return MPI_SUCCESS;
    }
    struct outcome {
        std::atomic<int> ended{0};
        std::atomic<int> error{MPI_SUCCESS};
        static void note(int error, void *data) {
            auto &o = *static_cast<outcome *>(data);
            o.error = error;
            ++o.ended;
        }
    };

    thence_am am_ = nullptr;
    std::atomic<int> failures_{0};
};

TEST_P(am_on_mpi, threads_send_put_get_and_make_progress) {
    for (const unsigned mode : {0U, THENCE_AM_ONE_THREAD, THENCE_AM_HELPER}) {
        thence_am_options options{};
        options.flags = mode;
        options.window = 4;
        options.max_outgoing = 2;
        options.max_queued = 2000; // threads wait for room
        begin(options);
        std::atomic<long> handled{0};
        std::atomic<long> short_handled{0};
        ASSERT_EQ(thence_am_register(am_, 0, &count, &handled, 0), MPI_SUCCESS);
        ASSERT_EQ(thence_am_register(am_, 1, &count, &short_handled, THENCE_AM_SHORT), MPI_SUCCESS);
        constexpr int threads = 3;
        constexpr int rounds = 100;
        std::vector<int> memory(threads * rounds, -1);
        thence_am_memory name{};
        ASSERT_EQ(thence_am_memory_register(am_, memory.data(), memory.size() * sizeof(int), &name), MPI_SUCCESS);
        std::vector<int> from(memory.size());
        std::iota(from.begin(), from.end(), 0);
        thence_am_memory source{}; // gets of what a put writes at the same time would be a race of the program
        ASSERT_EQ(thence_am_memory_register(am_, from.data(), from.size() * sizeof(int), &source), MPI_SUCCESS);
        std::vector<int> back(memory.size(), -1);
        outcome put;
        outcome got;
        ASSERT_EQ(thence_am_hold(am_), MPI_SUCCESS);
        std::atomic<int> running{threads};
        std::vector<std::thread> all;
        for (int t = 0; t < threads; ++t) {
            all.emplace_back([&, t] {
                for (int i = 0; i < rounds; ++i) {
                    const auto at = static_cast<std::size_t>(t * rounds + i);
                    EXPECT_EQ(thence_am_send(am_, 0, i % 2, &i, sizeof i), MPI_SUCCESS);
                    EXPECT_EQ(thence_am_put(am_, &from[at], sizeof(int), &name, at * sizeof(int), 0, nullptr, 0,
                                            &outcome::note, &put),
                              MPI_SUCCESS);
                    if (i % 8 == 0) {
                        EXPECT_EQ(
                            thence_am_get(am_, &back[at], sizeof(int), &source, at * sizeof(int), &outcome::note, &got),
                            MPI_SUCCESS);
                    }
                    if (mode != THENCE_AM_ONE_THREAD) {
                        EXPECT_EQ(thence_am_progress(am_, nullptr), MPI_SUCCESS);
                    }
                }
                if (--running == 0) {
                    EXPECT_EQ(thence_am_release(am_), MPI_SUCCESS);
                }
            });
        }
        EXPECT_EQ(thence_am_quiesce(am_), MPI_SUCCESS);
        for (std::thread &each : all) {
            each.join();
        }
        EXPECT_EQ(handled, threads * rounds + threads * rounds / 2);
        EXPECT_EQ(short_handled, threads * rounds / 2);
        EXPECT_EQ(put.ended, threads * rounds);
        EXPECT_EQ(got.ended, threads * ((rounds + 7) / 8));
        EXPECT_EQ(memory, from);
        EXPECT_EQ(thence_am_free(&am_), MPI_SUCCESS);
    }
    EXPECT_EQ(failures_, 0);
}

// With the option THENCE_AM_HELPER a short message is handled while no thread of the program calls anything.
TEST_P(am_on_mpi, the_helper_thread_handles_short_messages) {
    thence_am_options options{};
    options.flags = THENCE_AM_HELPER;
    begin(options);
    std::atomic<long> handled{0};
    std::atomic<std::thread::id> by;
    struct both {
        std::atomic<long> &handled;
        std::atomic<std::thread::id> &by;
    } seen{handled, by};
    ASSERT_EQ(thence_am_register(
                  am_, 0,
                  [](const thence_am_message *, void *data) -> int {
                      auto &s = *static_cast<both *>(data);
                      s.by = std::this_thread::get_id();
                      ++s.handled;
                      return MPI_SUCCESS;
                  },
                  &seen, THENCE_AM_SHORT),
              MPI_SUCCESS);
    ASSERT_EQ(thence_am_send(am_, 0, 0, nullptr, 0), MPI_SUCCESS);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (handled == 0 && std::chrono::steady_clock::now() < end) {
        std::this_thread::yield();
    }
    EXPECT_EQ(handled, 1);
    EXPECT_NE(by.load(), std::this_thread::get_id());
    EXPECT_EQ(thence_am_free(&am_), MPI_SUCCESS);
}

// The program destroys what its handlers use when thence_am_free() returns.
TEST_P(am_on_mpi, a_broken_engine_is_freed_when_the_helper_thread_runs_no_handler_any_more) {
    using thence::continuation::continuation_request;
    const auto before = continuation_request::registered_in_all();
    thence_am_options options{};
    options.flags = THENCE_AM_HELPER;
    begin(options);
    struct slow {
        std::atomic<bool> runs{false};
        std::atomic<bool> may_return{false};
    } call;
    const auto handler = [](const thence_am_message *, void *data) -> int {
        slow &s = *static_cast<slow *>(data);
        s.runs = true;
        while (!s.may_return) {
            std::this_thread::yield();
        }
        return MPI_SUCCESS;
    };
    ASSERT_EQ(thence_am_register(am_, 0, handler, &call, THENCE_AM_SHORT), MPI_SUCCESS);
    ASSERT_EQ(thence_am_send(am_, 0, 0, nullptr, 0), MPI_SUCCESS);
    while (!call.runs) {
        std::this_thread::yield();
    }
    script.receive_error = MPI_ERR_INTERN; // so that none is left
    fail_posted(MPI_ERR_INTERN);
    progress_of_broken(MPI_ERR_INTERN);
    std::atomic<bool> is_freed{false};
    std::thread frees([&] {
        EXPECT_EQ(thence_am_free(&am_), MPI_ERR_INTERN);
        is_freed = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_FALSE(is_freed);
    call.may_return = true;
    frees.join();
    while (continuation_request::registered_in_all() != before) { // the helper thread has posted its receive again
        thence_progress();
    }
    reported();
}

// Both halves end, and the throttle lets others leave.
TEST_P(am_on_mpi, data_that_fail_on_their_way_are_told) {
    thence_am_options options{};
    options.max_outgoing = 1;
    begin(options);
    std::vector<char> memory(5000, 'a');
    std::vector<char> from(5000, 'b');
    thence_am_memory name{};
    ASSERT_EQ(thence_am_memory_register(am_, memory.data(), memory.size(), &name), MPI_SUCCESS);
    script.send_error = [](int, int bytes) { return bytes == 5000 ? int{MPI_ERR_OTHER} : int{MPI_SUCCESS}; };
    outcome put;
    outcome got;
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(thence_am_put(am_, from.data(), from.size(), &name, 0, THENCE_AM_NO_HANDLER, nullptr, 0,
                                &outcome::note, &put),
                  MPI_SUCCESS);
        ASSERT_EQ(thence_am_get(am_, from.data(), from.size(), &name, 0, &outcome::note, &got), MPI_SUCCESS);
    }
    EXPECT_EQ(thence_am_quiesce(am_), MPI_ERR_OTHER);
    EXPECT_EQ(put.ended, 3);
    EXPECT_EQ(put.error, MPI_ERR_OTHER);
    EXPECT_EQ(got.ended, 3);
    EXPECT_NE(got.error, MPI_SUCCESS);
    EXPECT_EQ(memory[0], 'a');
    script.send_error = nullptr;
    ASSERT_EQ(
        thence_am_put(am_, from.data(), from.size(), &name, 0, THENCE_AM_NO_HANDLER, nullptr, 0, &outcome::note, &put),
        MPI_SUCCESS);
    EXPECT_EQ(thence_am_quiesce(am_), MPI_SUCCESS);
    EXPECT_EQ(memory[0], 'b');
    EXPECT_EQ(thence_am_free(&am_), MPI_SUCCESS);
    reported();
}

TEST_P(am_on_mpi, messages_that_fail_on_their_way_are_told_and_credits_come_back) {
    begin();
    std::atomic<long> handled{0};
    ASSERT_EQ(thence_am_register(am_, 0, &count, &handled, 0), MPI_SUCCESS);
    std::atomic<int> sends{0};
    script.send_error = [&](int, int) { return ++sends % 3 == 0 ? int{MPI_ERR_OTHER} : int{MPI_SUCCESS}; };
    std::vector<outcome> told(200);
    for (outcome &each : told) {
        ASSERT_EQ(thence_am_send_then(am_, 0, 0, nullptr, 0, &outcome::note, &each), MPI_SUCCESS);
    }
    EXPECT_EQ(thence_am_quiesce(am_), MPI_ERR_OTHER);
    long lost = 0;
    for (const outcome &each : told) {
        EXPECT_EQ(each.ended, 1);
        lost += each.error != MPI_SUCCESS ? 1 : 0;
    }
    EXPECT_GT(lost, 0);
    EXPECT_EQ(handled, 200 - lost);
    script.send_error = nullptr;
    for (int i = 0; i < 200; ++i) {
        ASSERT_EQ(thence_am_send(am_, 0, 0, nullptr, 0), MPI_SUCCESS);
    }
    EXPECT_EQ(thence_am_quiesce(am_), MPI_SUCCESS);
    EXPECT_EQ(handled, 400 - lost);
    EXPECT_EQ(thence_am_free(&am_), MPI_SUCCESS);
    reported();
}

// `failed` was told it, so no error handler is called. The error is not taken for one of this call.
TEST_P(am_on_mpi, a_broken_engine_returns_its_error_from_all_that_sends) {
    static std::vector<thence_am> not_deleted; // since MPI could still use their memory
    begin();
    not_deleted.push_back(am_);
    std::atomic<long> handled{0};
    outcome told;
    char byte = 0;
    thence_am_memory name{};
    ASSERT_EQ(thence_am_register(am_, 0, &count, &handled, 0), MPI_SUCCESS);
    ASSERT_EQ(thence_am_memory_register(am_, &byte, 1, &name), MPI_SUCCESS);
    script.receive_error = MPI_ERR_NO_MEM;
    fail_posted(MPI_ERR_NO_MEM);
    progress_of_broken(MPI_ERR_NO_MEM);
    EXPECT_GT(failures_, 0);
    reported();
    int sent = 7;
    EXPECT_EQ(thence_am_send(am_, 0, 0, nullptr, 0), MPI_ERR_NO_MEM);
    EXPECT_EQ(thence_am_try_send(am_, 0, 0, nullptr, 0, &sent), MPI_ERR_NO_MEM);
    EXPECT_EQ(thence_am_send_then(am_, 0, 0, nullptr, 0, &outcome::note, &told), MPI_ERR_NO_MEM);
    EXPECT_EQ(thence_am_put(am_, &byte, 1, &name, 0, 0, nullptr, 0, &outcome::note, &told), MPI_ERR_NO_MEM);
    EXPECT_EQ(thence_am_get(am_, &byte, 1, &name, 0, &outcome::note, &told), MPI_ERR_NO_MEM);
    EXPECT_EQ(sent, 7);
    EXPECT_EQ(reported(), codes{});
    EXPECT_EQ(thence_am_free(&am_), MPI_ERR_NO_MEM);
    EXPECT_EQ(told.ended, 0);
    EXPECT_EQ(handled, 0);
    reported();
}

// While MPI may write, that is when the receive is cancelled, before the error is returned.
TEST_P(am_on_mpi, a_broken_engine_tells_once_all_that_is_under_way) {
    static std::vector<thence_am> not_deleted;
    begin();
    not_deleted.push_back(am_);
    std::atomic<long> handled{0};
    std::vector<char> memory(5000, 'a');
    std::vector<char> to(5000, 'b');
    thence_am_memory name{};
    ASSERT_EQ(thence_am_register(am_, 0, &count, &handled, 0), MPI_SUCCESS);
    ASSERT_EQ(thence_am_memory_register(am_, memory.data(), memory.size(), &name), MPI_SUCCESS);
    bool are_asked_for = false;
    script.send_error = [&](int, int bytes) { // neither the data nor an empty message in their place arrive
        are_asked_for = are_asked_for || bytes == 5000;
        return are_asked_for ? int{MPI_ERR_OTHER} : int{MPI_SUCCESS};
    };
    outcome got;
    ASSERT_EQ(thence_am_get(am_, to.data(), to.size(), &name, 0, &outcome::note, &got), MPI_SUCCESS);
    for (int i = 0; i < 200; ++i) {
        ASSERT_EQ(thence_am_progress(am_, nullptr), MPI_SUCCESS);
    }
    ASSERT_TRUE(are_asked_for);
    script.holds_sends = true;
    outcome others[3];
    ASSERT_EQ(thence_am_get(am_, to.data(), to.size(), &name, 0, &outcome::note, &others[0]), MPI_SUCCESS);
    ASSERT_EQ(thence_am_put(am_, to.data(), to.size(), &name, 0, 0, nullptr, 0, &outcome::note, &others[1]),
              MPI_SUCCESS);
    ASSERT_EQ(thence_am_send_then(am_, 0, 0, nullptr, 0, &outcome::note, &others[2]), MPI_SUCCESS);
    script.receive_error = MPI_ERR_INTERN;
    fail_posted(MPI_ERR_INTERN, 5000);
    progress_of_broken(MPI_ERR_INTERN);
    EXPECT_EQ(got.ended, 1);
    for (const outcome &each : others) {
        EXPECT_EQ(each.ended, 1);
        EXPECT_EQ(each.error, MPI_ERR_INTERN);
    }
    release();
    progress_of_broken(MPI_ERR_INTERN);
    EXPECT_EQ(thence_am_free(&am_), MPI_ERR_INTERN);
    EXPECT_EQ(got.ended, 1);
    EXPECT_EQ(got.error, MPI_ERR_INTERN);
    for (const outcome &each : others) {
        EXPECT_EQ(each.ended, 1);
    }
    EXPECT_EQ(to[0], 'b');
    reported();
}

// Then it does so although nobody makes progress any more.
TEST_P(am_on_mpi, a_thread_that_waits_for_a_get_goes_on_when_the_engine_breaks) {
    static std::vector<thence_am> not_deleted;
    begin();
    not_deleted.push_back(am_);
    std::vector<char> memory(5000, 'a');
    std::vector<char> to(5000, 'b');
    thence_am_memory name{};
    ASSERT_EQ(thence_am_memory_register(am_, memory.data(), memory.size(), &name), MPI_SUCCESS);
    std::atomic<bool> are_asked_for{false};
    script.send_error = [&](int, int bytes) { // as above
        if (bytes == 5000) {
            are_asked_for = true;
        }
        return are_asked_for ? int{MPI_ERR_OTHER} : int{MPI_SUCCESS};
    };
    outcome got;
    std::thread waits([&] {
        EXPECT_EQ(thence_am_get(am_, to.data(), to.size(), &name, 0, &outcome::note, &got), MPI_SUCCESS);
        while (got.ended == 0) {
            std::this_thread::yield();
        }
    });
    for (int i = 0; i < 200 || !are_asked_for; ++i) {
        ASSERT_EQ(thence_am_progress(am_, nullptr), MPI_SUCCESS);
    }
    script.receive_error = MPI_ERR_INTERN;
    fail_posted(MPI_ERR_INTERN, 5000);
    while (thence_am_progress(am_, nullptr) != MPI_ERR_INTERN) {
    }
    waits.join();
    EXPECT_EQ(got.error, MPI_ERR_INTERN);
    progress_of_broken(MPI_ERR_INTERN);
    EXPECT_EQ(thence_am_free(&am_), MPI_ERR_INTERN);
    reported();
}

// Its messages are counted as sent, and nobody will count them as handled: the end would be waited for for ever.
TEST_P(am_on_mpi, one_receive_that_may_have_taken_a_packet_breaks_the_engine) {
    static std::vector<thence_am> not_deleted;
    begin();
    not_deleted.push_back(am_);
    std::atomic<long> handled{0};
    ASSERT_EQ(thence_am_register(am_, 0, &count, &handled, 0), MPI_SUCCESS);
    fail_posted(MPI_ERR_INTERN); // those that are posted again work
    EXPECT_EQ(thence_am_quiesce(am_), MPI_ERR_INTERN);
    EXPECT_EQ(thence_am_send(am_, 0, 0, nullptr, 0), MPI_ERR_INTERN);
    script.receive_error = MPI_ERR_INTERN; // so that none is left
    fail_posted(MPI_ERR_INTERN);
    progress_of_broken(MPI_ERR_INTERN);
    EXPECT_EQ(thence_am_free(&am_), MPI_ERR_INTERN);
    reported();
}

TEST_P(am_on_mpi, a_receive_that_has_taken_no_packet_is_posted_again) {
    begin();
    std::atomic<long> handled{0};
    ASSERT_EQ(thence_am_register(am_, 0, &count, &handled, 0), MPI_SUCCESS);
    fail_posted(MPI_ERR_PENDING);
    ASSERT_EQ(thence_am_send(am_, 0, 0, nullptr, 0), MPI_SUCCESS);
    EXPECT_EQ(thence_am_quiesce(am_), MPI_ERR_PENDING);
    EXPECT_EQ(handled, 1);
    EXPECT_EQ(thence_am_quiesce(am_), MPI_SUCCESS);
    EXPECT_EQ(thence_am_free(&am_), MPI_SUCCESS);
    reported();
}

TEST_P(am_on_mpi, receives_that_fail_again_and_again_break_the_engine_though_no_packet_is_lost) {
    static std::vector<thence_am> not_deleted;
    begin();
    not_deleted.push_back(am_);
    script.receive_error = MPI_ERR_PENDING;
    fail_posted(MPI_ERR_PENDING);
    EXPECT_EQ(thence_am_quiesce(am_), MPI_ERR_PENDING);
    progress_of_broken(MPI_ERR_PENDING); // so that none is left
    EXPECT_EQ(thence_am_free(&am_), MPI_ERR_PENDING);
    reported();
}

TEST_P(am_on_mpi, a_window_has_tags_for_what_each_message_announces) {
    script.largest_tag = 63;
    thence_am_options options{};
    options.window = 32;
    EXPECT_EQ(thence_am_create(MPI_COMM_WORLD, &options, sizeof options, &am_), MPI_ERR_ARG);
    EXPECT_EQ(reported(), codes{MPI_ERR_ARG});
    options.window = 31;
    begin(options);
    EXPECT_EQ(thence_am_free(&am_), MPI_SUCCESS);
}

THENCE_RULES(am_on_mpi);

} // namespace
