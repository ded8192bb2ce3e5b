// SPDX-License-Identifier: BSD-3-Clause
// Sources of progress, of which continuations are the first. A hook of MPI, the helper thread and calls that wait poll
// and run all registered sources.
#include "library.hpp"

#include "core/progress/progress.hpp"
#include "core/progress/source.hpp"

#include <algorithm>

namespace {

using namespace thence::fake;
using thence::progress::polled_from;
using thence::progress::source;

// Has `waiting` units of work, which become ready when it is polled. Each completes a pending request when it runs.
struct {
    std::atomic<int> waiting{0};
    std::atomic<int> ready{0};
    std::atomic<int> ran{0};
    std::atomic<int> polls{0};
    std::function<void()> work;
} second;

bool outstanding() noexcept {
    return second.waiting + second.ready != 0;
}
bool poll(polled_from) noexcept {
    ++second.polls;
    second.ready += second.waiting.exchange(0);
    return second.ready != 0;
}
long run(long limit) noexcept {
    long ran = 0;
    while (ran < limit && second.ready > 0) {
        --second.ready;
        second.work();
        ++second.ran;
        ++ran;
    }
    return ran;
}
const source the_second{"a test's", &outstanding, &poll, &run};
bool never() noexcept {
    return false;
}
bool nothing(polled_from) noexcept {
    return false;
}
long none(long) noexcept {
    return 0;
}

class sources : public on_fake {
protected:
    sources() {
        second.polls = second.ran = 0;
        second.work = [] {};
        EXPECT_TRUE(thence::progress::add_source(the_second));
    }
    ~sources() override {
        second.waiting = second.ready = 0;
        thence::progress::remove_source(the_second);
    }
};

TEST_P(sources, all_are_polled_and_run_by_thence_progress) {
    second.waiting = 3;
    let_run();
    EXPECT_EQ(second.ran, 3);
    EXPECT_FALSE(thence::progress::any_outstanding());
}

TEST_P(sources, may_complete_what_a_wait_waits_for) {
    cr c;
    note n;
    const ticket t = attach_pending(n, c);
    second.work = [t] { world.complete(t); };
    second.waiting = 1;
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(n.runs, 1);
}

TEST_P(sources, may_complete_what_a_loop_tests) {
    cr c;
    note n;
    const ticket t = attach_pending(n, c);
    second.work = [t] { world.complete(t); };
    second.waiting = 1;
    bool complete = false;
    for (int i = 0; i < 10 && !complete; ++i) {
        complete = c.test();
    }
    EXPECT_TRUE(complete);
    EXPECT_EQ(n.runs, 1);
}

TEST_P(sources, are_not_limited_by_max_poll) {
    cr c(0, 0);
    note n;
    const ticket t = attach_pending(n, c);
    second.work = [t] { world.complete(t); };
    second.waiting = 1;
    for (int i = 0; i < 10 && second.ran == 0; ++i) {
        c.test();
    }
    EXPECT_EQ(second.ran, 1);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
}

// Continuations alone would use up the limit of a hook.
TEST_P(sources, run_also_if_one_before_them_always_has_work) {
    cr c;
    std::vector<note> notes(200);
    for (note &n : notes) {
        const ticket t = attach_pending(n, c);
        world.complete(t);
    }
    second.ready = 1;
    thence::progress::poll_sources(polled_from::after_progress);
    thence::progress::run_sources(64);
    EXPECT_EQ(second.ran, 1);
    EXPECT_TRUE(
        eventually([&] { return std::all_of(notes.begin(), notes.end(), [](const note &n) { return n.runs == 1; }); }));
}

TEST_P(sources, run_in_a_hook_if_callbacks_do) {
    cr c;
    note n;
    const ticket t = attach_pending(n, c); // keeps the hook registered
    second.waiting = 1;
    const int polls = second.polls;
    world.progress();
    EXPECT_EQ(second.polls > polls, GetParam().offers.opal_progress || GetParam().offers.async_start);
    EXPECT_EQ(second.ran, GetParam().hook ? 1 : 0);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; }));
}

TEST_P(sources, are_run_by_the_helper_thread) {
    cr any(THENCE_CR_ANY_THREAD); // starts the helper
    second.waiting = 1;
    thence::progress::engage();
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (second.ran == 0 && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(second.ran, 1);
}

TEST_P(sources, that_are_removed_are_not_polled) {
    thence::progress::remove_source(the_second);
    second.waiting = 1;
    let_run();
    EXPECT_EQ(second.polls, 0);
    cr c;
    note n;
    const ticket t = attach_pending(n, c);
    world.complete(t);
    EXPECT_TRUE(eventually([&] { return n.runs == 1; })) << "continuations are still a source";
    EXPECT_TRUE(thence::progress::add_source(the_second));
}

TEST_P(sources, cannot_be_added_beyond_the_maximum) {
    static const source more[thence::progress::most_sources]{
        {"1", &never, &nothing, &none}, {"2", &never, &nothing, &none}, {"3", &never, &nothing, &none},
        {"4", &never, &nothing, &none}, {"5", &never, &nothing, &none}, {"6", &never, &nothing, &none},
        {"7", &never, &nothing, &none}, {"8", &never, &nothing, &none}};
    int added = 0;
    for (const source &each : more) {
        added += thence::progress::add_source(each) ? 1 : 0;
    }
    EXPECT_EQ(added, thence::progress::most_sources - 2) << "beside continuations and this test's";
    for (const source &each : more) {
        thence::progress::remove_source(each);
    }
}

THENCE_RULES(sources);

} // namespace
