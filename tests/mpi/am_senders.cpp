// SPDX-License-Identifier: BSD-3-Clause
// Active messages in C++: handlers with state, senders, coroutines.
#include <thence/am.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <exception>
#include <initializer_list>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace ex = thence::ex;

namespace {

int rank_of_this() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}
int ranks() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

TEST(am_senders, handlers_have_state) {
    thence::active_messages am(MPI_COMM_WORLD);
    double sum = 0;
    std::vector<int> last;
    am.on(0, [&](const thence::am_message &m) { sum += m.value<double>(); });
    am.on(1, [&](const thence::am_message &m) {
        const auto *begin = reinterpret_cast<const int *>(m.payload().data());
        last.assign(begin, begin + m.payload().size() / sizeof(int));
    });
    const std::vector<int> values{1, 2, 3};
    for (int to = 0; to < ranks(); ++to) {
        am.send(to, 0, 0.5);
        am.send(to, 1, std::span(values));
    }
    am.quiesce();
    EXPECT_EQ(sum, 0.5 * ranks());
    EXPECT_EQ(last, values);
}

// Of an array std::span() has a size in its type: what is sent are its elements all the same.
TEST(am_senders, the_elements_of_an_array_are_sent_put_and_got) {
    thence::active_messages am(MPI_COMM_WORLD);
    const int right = (rank_of_this() + 1) % ranks();
    std::vector<std::vector<double>> came;
    am.on(0, [&](const thence::am_message &m) {
        const auto *begin = reinterpret_cast<const double *>(m.payload().data());
        came.emplace_back(begin, begin + m.payload().size() / sizeof(double));
    });
    const double few[] = {1.5, 2.5, 3.5};
    const std::array<double, 3> same{1.5, 2.5, 3.5};
    double shared[3] = {};
    const thence_am_memory mine = am.share(std::span(shared));
    EXPECT_EQ(mine.bytes, sizeof shared);
    std::vector<thence_am_memory> all(static_cast<std::size_t>(ranks()));
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
    const thence_am_memory there = all[static_cast<std::size_t>(right)];

    am.send(right, 0, std::span(few));
    am.send(right, 0, std::span(same));
    am.send(right, 0, few); // a value
    int done = 0;
    const auto counted = [&](auto sender) {
        ex::start_detached(std::move(sender) | ex::then([&] { ++done; }) |
                           ex::upon_error([](const std::exception_ptr &) { ADD_FAILURE(); }));
    };
    counted(am.async_send(right, 0, std::span(few)));
    counted(am.async_put(std::span(same), there, 0));
    counted(am.async_put(std::span(few), there, 0, 0, few));
    am.progress_until([&] { return done == 3; });
    am.quiesce();
    EXPECT_EQ(came, std::vector(5, std::vector<double>(few, few + 3)));
    EXPECT_TRUE(std::equal(few, few + 3, shared));
    std::array<double, 3> got{};
    counted(am.async_get(std::span(got), there, 0));
    am.progress_until([&] { return done == 4; });
    EXPECT_EQ(got, same);
    am.quiesce();
    am.unshare(mine);
}

TEST(am_senders, a_handler_that_throws_is_told_to_its_owner_and_the_engine_goes_on) {
    thence::active_messages am(MPI_COMM_WORLD);
    int handled = 0;
    am.on(0, [](const thence::am_message &) { throw std::logic_error("as it happens"); });
    am.on(1, [&](const thence::am_message &) { ++handled; });
    const int right = (rank_of_this() + 1) % ranks();
    am.send(right, 0);
    am.send(right, 1);
    EXPECT_THROW(am.quiesce(), std::logic_error);
    EXPECT_GE(handled, 1); // who has returned before may have sent again
    am.send(right, 1);
    EXPECT_NO_THROW(am.quiesce());
    EXPECT_EQ(handled, 2);
}

// Handlers that return an error. `called` has the numbers of those that did, in the order in which they did.
class failing_handlers {
public:
    failing_handlers(const thence::active_messages &am, std::initializer_list<int> numbers) {
        for (const int number : numbers) {
            const auto fails = [](const thence_am_message *m, void *data) -> int {
                static_cast<failing_handlers *>(data)->called.push_back(m->number);
                return MPI_ERR_OTHER;
            };
            EXPECT_EQ(thence_am_register(am.get(), number, fails, this, 0), MPI_SUCCESS);
        }
    }
    std::string first(const std::string &call) const {
        const int left = (rank_of_this() + ranks() - 1) % ranks();
        return call + ": a handler has returned an error (process " + std::to_string(left) + ", handler " +
               std::to_string(called.at(0)) + "): ";
    }
    std::vector<int> called;
};
std::string text_of(const std::exception_ptr &thrown) {
    try {
        std::rethrow_exception(thrown);
    } catch (const thence::error &e) {
        EXPECT_EQ(e.error_class(), MPI_ERR_OTHER);
        return e.what();
    }
}
// What an exception says begins so.
void expect_begin(const std::string &text, const std::string &begin) {
    EXPECT_EQ(text.substr(0, begin.size()), begin);
}

// And what was told once is not told again: neither the first failure nor those that followed it.
TEST(am_senders, the_exception_of_quiesce_says_what_went_wrong_first_since_the_last_one) {
    thence::active_messages am(MPI_COMM_WORLD);
    failing_handlers failing(am, {5, 6, 7});
    const int right = (rank_of_this() + 1) % ranks();
    for (const auto &numbers : {std::vector{5, 6, 7}, std::vector{7}, std::vector{6, 5}}) {
        failing.called.clear();
        for (const int number : numbers) {
            am.send(right, number);
        }
        try {
            am.quiesce();
            ADD_FAILURE() << "no exception";
        } catch (const thence::error &e) {
            ASSERT_EQ(failing.called.size(), numbers.size());
            expect_begin(e.what(), failing.first("thence_am_quiesce"));
            EXPECT_EQ(e.error_class(), MPI_ERR_OTHER);
        }
        MPI_Barrier(MPI_COMM_WORLD); // what follows belongs to the next quiescence
        EXPECT_NO_THROW(am.quiesce());
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

TEST(am_senders, the_error_of_async_quiesce_says_it_too) {
    testing::internal::CaptureStderr();
    {
        thence::active_messages am(MPI_COMM_WORLD);
        failing_handlers failing(am, {5, 6});
        const int right = (rank_of_this() + 1) % ranks();
        for (const auto &numbers : {std::vector{5, 6}, std::vector{6}}) {
            failing.called.clear();
            for (const int number : numbers) {
                am.send(right, number);
            }
            std::string text;
            ex::start_detached(am.async_quiesce() |
                               ex::upon_error([&](const std::exception_ptr &thrown) { text = text_of(thrown); }));
            am.progress_until([&] { return !text.empty(); });
            expect_begin(text, failing.first("thence_am_quiesce_then"));
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), ""); // all were told
}

TEST(am_senders, of_failures_after_the_last_quiesce_the_destructor_writes_the_first) {
    testing::internal::CaptureStderr();
    std::vector<int> called;
    {
        thence::active_messages am(MPI_COMM_WORLD);
        failing_handlers failing(am, {5, 6, 7});
        const int right = (rank_of_this() + 1) % ranks();
        am.send(right, 7);
        EXPECT_THROW(am.quiesce(), thence::error);
        MPI_Barrier(MPI_COMM_WORLD);
        failing.called.clear();
        am.send(right, 5);
        am.send(right, 6);
        am.progress_until([&] { return failing.called.size() == 2; });
        called = failing.called;
    }
    const std::string written = testing::internal::GetCapturedStderr();
    EXPECT_NE(written.find("handler " + std::to_string(called.at(0)) + ")"), std::string::npos) << written;
    EXPECT_EQ(std::count(written.begin(), written.end(), '\n'), 1) << written;
}

TEST(am_senders, what_goes_wrong_after_the_last_quiesce_is_written_by_the_destructor) {
    for (const bool is_thrown : {false, true}) {
        testing::internal::CaptureStderr();
        {
            thence::active_messages am(MPI_COMM_WORLD);
            ASSERT_EQ(
                thence_am_register(
                    am.get(), 0, [](const thence_am_message *, void *) -> int { return MPI_ERR_OTHER; }, nullptr, 0),
                MPI_SUCCESS);
            am.send((rank_of_this() + 1) % ranks(), 0);
            if (is_thrown) {
                EXPECT_THROW(am.quiesce(), thence::error);
            }
        }
        const std::string written = testing::internal::GetCapturedStderr();
        const std::string expected =
            "thence[" + std::to_string(rank_of_this()) + "]: active messages: a handler has returned an error (";
        EXPECT_EQ(written.find(expected) == std::string::npos, is_thrown) << written;
    }
}

// Not what async_quiesce() has told already.
TEST(am_senders, what_goes_wrong_after_the_last_async_quiesce_is_written_by_the_destructor) {
    testing::internal::CaptureStderr();
    {
        thence::active_messages am(MPI_COMM_WORLD);
        for (const int number : {0, 1}) {
            ASSERT_EQ(thence_am_register(
                          am.get(), number, [](const thence_am_message *, void *) -> int { return MPI_ERR_OTHER; },
                          nullptr, 0),
                      MPI_SUCCESS);
        }
        am.send((rank_of_this() + 1) % ranks(), 0);
        bool is_told = false;
        ex::start_detached(am.async_quiesce() | ex::upon_error([&](const std::exception_ptr &) { is_told = true; }));
        am.progress_until([&] { return is_told; });
        MPI_Barrier(MPI_COMM_WORLD); // all are told, so that what follows belongs to the next quiescence
        am.send((rank_of_this() + 1) % ranks(), 1);
    }
    const std::string written = testing::internal::GetCapturedStderr();
    EXPECT_NE(written.find("a handler has returned an error ("), std::string::npos) << written;
    EXPECT_NE(written.find("handler 1)"), std::string::npos) << written;
}

// As where an exception leaves a scope while a coroutine waits in co_await am.async_quiesce().
TEST(am_senders, the_destructor_waits_for_quiescence_that_is_under_way) {
    bool is_quiet = false;
    int handled = 0;
    {
        thence::active_messages am(MPI_COMM_WORLD);
        am.on(0, [&](const thence::am_message &) { ++handled; });
        am.send((rank_of_this() + 1) % ranks(), 0);
        ex::start_detached(am.async_quiesce() | ex::then([&] { is_quiet = handled == 1; }) |
                           ex::upon_error([](const std::exception_ptr &) {}));
    }
    EXPECT_TRUE(is_quiet);
}

ex::task<void> work(thence::active_messages &am, thence_am_memory block, std::vector<double> &from,
                    std::vector<double> &to, bool &done) {
    for (int i = 0; i < 2000; ++i) { // flow control by the sender; no deep stack
        co_await am.async_send(block.rank, 0, i);
    }
    co_await ex::when_all(am.async_put(std::span(from), block, 0), am.async_send(block.rank, 0, 7));
    done = true;
    (void)to;
}
ex::task<void> fetch(thence::active_messages &am, thence_am_memory block, std::vector<double> &to, bool &done) {
    co_await am.async_get(std::span(to), block, 0);
    done = true;
}
ex::task<void> beyond(thence::active_messages &am, thence_am_memory block, std::vector<double> &to, bool &thrown) {
    try {
        co_await am.async_get(std::span(to), block, 8);
    } catch (const thence::error &e) {
        thrown = e.error_class() == MPI_ERR_ARG;
    }
}

TEST(am_senders, coroutines_await_them) {
    MPI_Errhandler before = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, thence_errors_return());
    {
        thence::active_messages am(MPI_COMM_WORLD);
        long handled = 0;
        am.on(0, [&](const thence::am_message &) { ++handled; });
        std::vector<double> memory(50000, -1.0);
        const thence_am_memory mine = am.share(std::span(memory));
        std::vector<thence_am_memory> all(static_cast<std::size_t>(ranks()));
        MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, MPI_COMM_WORLD);
        const thence_am_memory right = all[static_cast<std::size_t>((rank_of_this() + 1) % ranks())];
        std::vector<double> from(memory.size());
        std::iota(from.begin(), from.end(), rank_of_this());
        std::vector<double> to(memory.size());
        bool put = false;
        bool got = false;
        bool thrown = false;
        bool quiet = false;
        ex::start_detached(work(am, right, from, to, put) | ex::upon_error([](auto) { ADD_FAILURE(); }));
        am.progress_until([&] { return put; });
        ex::start_detached(am.async_quiesce() | ex::then([&] { quiet = true; }) |
                           ex::upon_error([](auto) { ADD_FAILURE(); }));
        am.progress_until([&] { return quiet; });
        EXPECT_EQ(handled, 2001);
        ex::start_detached(fetch(am, right, to, got) | ex::upon_error([](auto) { ADD_FAILURE(); }));
        ex::start_detached(beyond(am, right, to, thrown) | ex::upon_error([](auto) { ADD_FAILURE(); }));
        am.progress_until([&] { return got; });
        EXPECT_EQ(to, from);
        EXPECT_TRUE(thrown);
        am.quiesce();
        am.unshare(mine);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
    MPI_Errhandler_free(&before);
}

TEST(am_senders, what_is_held_may_still_send) {
    thence::active_messages am(MPI_COMM_WORLD);
    long handled = 0;
    std::vector<thence::am_hold> later;
    am.on(1, [&](const thence::am_message &) { ++handled; });
    am.on(0, [&](const thence::am_message &) { later.emplace_back(am); });
    am.send(rank_of_this(), 0);
    bool quiet = false;
    ex::start_detached(am.async_quiesce() | ex::then([&] { quiet = true; }) |
                       ex::upon_error([](auto) { ADD_FAILURE(); }));
    am.progress_until([&] { return !later.empty(); });
    for (int i = 0; i < 1000; ++i) {
        am.progress();
    }
    EXPECT_FALSE(quiet);
    am.send((rank_of_this() + 1) % ranks(), 1);
    later.clear();
    am.progress_until([&] { return quiet; });
    EXPECT_EQ(handled, 1);
}

} // namespace
