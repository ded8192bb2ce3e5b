// SPDX-License-Identifier: BSD-3-Clause
// The stall report and the timeline with every engine, and with many threads. A program that is observed must behave as
// one that is not.
#include "library.hpp"

#include "core/continuation/thread_state.hpp"
#include "core/diagnose/report.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <unistd.h>

namespace {

using namespace thence::fake;
using thence::diagnose::describe_outstanding;

// Sets the variables before the library is initialized, and removes them after it was torn down.
struct environment {
    environment() {
        setenv("THENCE_STALL", "10ms", 1);
        setenv("THENCE_TRACE", file.c_str(), 1);
    }
    ~environment() {
        unsetenv("THENCE_STALL");
        unsetenv("THENCE_TRACE");
    }
    environment(const environment &) = delete;
    environment &operator=(const environment &) = delete;

    std::string file = ::testing::TempDir() + "thence_trace_" + std::to_string(getpid()) + "_%r.json";
};

std::string content(const std::string &file) {
    std::ifstream in(file);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

int occurrences(const std::string &text, const std::string &what) {
    int n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) {
        ++n;
    }
    return n;
}

bool has(const std::string &text, const std::string &what) {
    return occurrences(text, what) != 0;
}

class report : public on_fake {};
THENCE_RULES(report);

TEST_P(report, counts_continuations_and_operations) {
    cr all;
    note pair;
    note three;
    std::vector<MPI_Request> two{world.start(), world.start()};
    const ticket first = world.ticket_of(two[0]);
    const ticket second = world.ticket_of(two[1]);
    EXPECT_EQ(attach(two, pair, all), 0);
    std::vector<ticket> singles;
    for (int i = 0; i < 3; ++i) {
        MPI_Request request = world.start();
        singles.push_back(world.ticket_of(request));
        int flag = -1;
        EXPECT_EQ(thence_attach(1, &request, &note::run, &three, 0, MPI_STATUS_IGNORE, all, &flag), MPI_SUCCESS);
    }
    std::string text = describe_outstanding();
    EXPECT_TRUE(has(text, "  1 continuation, attached at ")) << text; // no observer is active, so there is no age
    EXPECT_TRUE(has(text, "    waiting for 2 of 2 operations: 2 ")) << text;
    EXPECT_TRUE(has(text, "  3 continuations, attached at ")) << text;
    EXPECT_TRUE(has(text, "    waiting for 3 of 3 operations: 3 ")) << text;
    EXPECT_FALSE(has(text, "callback not run yet")) << text;

    world.complete(first);
    let_run();
    text = describe_outstanding();
    EXPECT_TRUE(has(text, "    waiting for 1 of 2 operations: 1 ")) << text;

    world.complete(second);
    for (const ticket &t : singles) {
        world.complete(t);
    }
    EXPECT_TRUE(eventually([&] { return all.test(); }));
    text = describe_outstanding();
    EXPECT_FALSE(has(text, "continuation")) << text;
    EXPECT_EQ(pair.runs + three.runs, 4);
}

TEST_P(report, names_what_complete_continuations_wait_for) {
    cr polled(THENCE_CR_POLL_ONLY);
    cr unstarted(THENCE_CR_NEEDS_START);
    note a;
    note b;
    MPI_Request first = world.start();
    MPI_Request second = world.start();
    const ticket tickets[] = {world.ticket_of(first), world.ticket_of(second)};
    attach(first, a, polled);
    attach(second, b, unstarted);
    world.complete(tickets[0]);
    world.complete(tickets[1]);
    let_run();
    const std::string text = describe_outstanding();
    EXPECT_EQ(occurrences(text, "1 complete, callback not run yet: will run "), 2) << text;
    EXPECT_TRUE(has(text, "is tested or waited for\n")) << text;
    EXPECT_TRUE(has(text, "is started\n")) << text;
    EXPECT_FALSE(has(text, "waiting for")) << text;
    EXPECT_EQ(thence_start(&unstarted), MPI_SUCCESS);
    EXPECT_TRUE(eventually([&] { return polled.test() && unstarted.test(); }));
}

TEST_P(report, leaves_out_the_youngest_of_many_groups) {
    std::vector<std::unique_ptr<cr>> crs;
    std::vector<ticket> tickets;
    note n;
    for (int i = 0; i < 25; ++i) {
        crs.push_back(std::make_unique<cr>());
        MPI_Request request = world.start();
        tickets.push_back(world.ticket_of(request));
        attach(request, n, *crs.back());
    }
    const std::string text = describe_outstanding();
    EXPECT_EQ(occurrences(text, "  1 continuation, attached at "), 20) << text;
    EXPECT_TRUE(has(text, "  and 5 continuations in 5 younger groups\n")) << text;
    for (const ticket &t : tickets) {
        world.complete(t);
    }
    EXPECT_TRUE(eventually([&] { return n.runs == 25; }));
}

class observed : public ::testing::TestWithParam<variant> {
protected:
    environment environment_;
    std::unique_ptr<library> library_ = std::make_unique<library>(GetParam());
};
THENCE_RULES(observed);

// Four threads attach and complete while the stall detector reports whenever nothing has completed for 10 ms.
TEST_P(observed, every_continuation_runs_once_and_has_one_span) {
    constexpr int threads = 4;
    constexpr int rounds = 300;
    ::testing::internal::CaptureStderr();
    std::atomic<int> ran{0};
    std::atomic<int> at_once{0};
    {
        cr shared;
        cr waits;
        MPI_Request pending = world.start();
        const ticket last = world.ticket_of(pending);
        note late;
        attach(pending, late, waits);
        const auto count = [](int, MPI_Status *, void *data) {
            static_cast<std::atomic<int> *>(data)->fetch_add(1);
            return int{MPI_SUCCESS};
        };
        std::vector<std::thread> workers;
        for (int t = 0; t < threads; ++t) {
            workers.emplace_back([&] {
                for (int i = 0; i < rounds; ++i) {
                    MPI_Request request = world.start();
                    const ticket operation = world.ticket_of(request);
                    int flag = -1;
                    if (i % 3 == 0) {
                        world.complete(operation);
                    }
                    EXPECT_EQ(thence_attach(1, &request, count, &ran, 0, MPI_STATUS_IGNORE, shared, &flag),
                              MPI_SUCCESS);
                    at_once += flag;
                    if (i % 3 != 0) {
                        world.complete(operation);
                    }
                    let_run();
                }
            });
        }
        for (std::thread &worker : workers) {
            worker.join();
        }
        EXPECT_TRUE(eventually([&] { return shared.test(); }));
        EXPECT_TRUE(eventually([] { return has(content("/proc/self/fd/2"), "  1 continuation for "); }));
        world.complete(last);
        EXPECT_TRUE(eventually([&] { return waits.test(); }));
        EXPECT_EQ(late.runs, 1);
    }
    EXPECT_EQ(ran + at_once, threads * rounds);
    library_.reset(); // writes the timeline
    const std::string reports = ::testing::internal::GetCapturedStderr();
    EXPECT_TRUE(has(reports, "stall: no continuation has completed for ")) << reports;
    EXPECT_TRUE(has(reports, "  1 continuation for ")) << reports;
    EXPECT_FALSE(has(reports, "MPI_Finalize")) << reports;

    const std::string name = environment_.file.substr(0, environment_.file.find("%r")) + "0.json";
    const std::string timeline = content(name);
    EXPECT_EQ(occurrences(timeline, "\"cat\":\"continuation\""), 2 * (ran + 1));
    EXPECT_EQ(occurrences(timeline, "{\"ph\":\"X\""), ran + 1);
    std::remove(name.c_str());
}

// THENCE_CR_IN_COMPLETION is switched off while an observer is active: a callback that MPI's completion path runs would
// not appear in the timeline, which needs the times when it became ready, began and ended.
TEST_P(observed, no_callback_runs_in_mpis_completion_path) {
    constexpr int count = 5;
    note n;
    {
        cr promised(THENCE_CR_IN_COMPLETION | THENCE_CR_ENQUEUE_COMPLETE);
        thence_cr_info info{};
        EXPECT_EQ(thence_cr_query(promised, &info, sizeof info), MPI_SUCCESS);
        EXPECT_EQ(info.flags & THENCE_CR_IN_COMPLETION, 0U);
        bool in_completion = false;
        n.inside = [&] { in_completion = in_completion || thence::continuation::this_thread.in_completion(); };
        for (int i = 0; i < count; ++i) {
            MPI_Request request = world.start();
            world.complete_in_progress(request);
            attach(request, n, promised);
        }
        EXPECT_TRUE(eventually([&] { return promised.test(); }));
        EXPECT_EQ(n.runs, count);
        EXPECT_FALSE(in_completion);
    }
    library_.reset();
    const std::string name = environment_.file.substr(0, environment_.file.find("%r")) + "0.json";
    EXPECT_EQ(occurrences(content(name), "{\"ph\":\"X\""), count);
    std::remove(name.c_str());
}

} // namespace
