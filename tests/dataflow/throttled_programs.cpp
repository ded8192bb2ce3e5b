// SPDX-License-Identifier: BSD-3-Clause
// Random programs with so low a limit of open tasks that submit() waits all the time: trees of tasks, with data, events
// that another thread lowers, taskwait, blocking and sleeping, submitted by tasks and by several threads at once. Each
// program ends, runs each task once, and tasks with the same data run one after the other.
#include "dataflow/flow.hpp"
#include "support.hpp"

#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <random>

namespace {

constexpr int keys = 3;

// Lowers events on a thread of its own, in an order of its own.
class lowerer {
public:
    explicit lowerer(unsigned seed) : random_(seed), thread_([this] { run(); }) {}
    lowerer(const lowerer &) = delete;
    lowerer &operator=(const lowerer &) = delete;
    ~lowerer() {
        {
            const std::scoped_lock guard(mutex_);
            stop_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }
    void lower_later(thence::task_ref task) {
        {
            const std::scoped_lock guard(mutex_);
            waiting_.push_back(task);
        }
        changed_.notify_one();
    }

private:
    void run() {
        for (;;) {
            thence::task_ref taken;
            {
                std::unique_lock guard(mutex_);
                changed_.wait(guard, [this] { return stop_ || !waiting_.empty(); });
                if (waiting_.empty()) {
                    return;
                }
                std::swap(waiting_[random_() % waiting_.size()], waiting_.back());
                taken = waiting_.back();
                waiting_.pop_back();
            }
            thence::lower_events(taken);
        }
    }
    std::mt19937 random_;
    bool stop_ = false;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<thence::task_ref> waiting_;
    std::thread thread_; // last: it uses the others
};

class program {
public:
    program(thence::flow &flow, unsigned most_open, lowerer &lowers)
        : flow_(flow), most_open_(static_cast<int>(most_open)), lowers_(lowers) {}

    // Submits up to `most` tasks, and waits for them.
    void submit_some(unsigned seed, unsigned most, int depth) {
        std::mt19937 random(seed);
        struct {
            int data[keys] = {};
            std::atomic<int> inside[keys] = {};
            std::atomic<int> open{0}; // at most as many as are open for submit()
        } own;
        const unsigned count = 1 + random() % most;
        for (unsigned i = 0; i < count; ++i) {
            const unsigned task_seed = random();
            const int key = static_cast<int>(random() % (2 * keys)); // half of the tasks have no data
            const bool waits_for_event = random() % 4 == 0;
            const auto body = [&own, this, task_seed, key, depth, waits_for_event] {
                if (key < keys && own.inside[key]++ != 0) {
                    ++wrong_;
                }
                run(task_seed, depth);
                if (key < keys) {
                    --own.inside[key];
                }
                --own.open;
                ++run_;
                if (waits_for_event) {
                    thence::raise_events(thence::current_task());
                    lowers_.lower_later(thence::current_task());
                }
            };
            ++submitted_;
            if (++own.open > most_open_) {
                ++over_limit_;
            }
            if (key < keys) {
                flow_.submit({thence::inout(&own.data[key])}, body);
            } else {
                flow_.submit({}, body);
            }
            if (random() % 16 == 0) {
                flow_.taskwait({thence::in(&own.data[random() % keys])});
            }
        }
        flow_.taskwait();
    }
    int wrong() const { return wrong_ + std::abs(submitted_ - run_); }
    int over_limit() const { return over_limit_; }

private:
    void run(unsigned seed, int depth) {
        std::mt19937 random(seed);
        switch (random() % 8) {
        case 0:
        case 1:
            if (depth < 3) {
                submit_some(random(), 6, depth + 1);
            }
            break;
        case 2:
            thence::wait_for(random() % 20);
            break;
        case 3: { // another task unblocks it
            const thence::task_ref self = thence::current_task();
            flow_.submit({}, [self] { thence::unblock(self); });
            thence::block_current();
            flow_.taskwait();
            break;
        }
        default:
            break;
        }
    }

    thence::flow &flow_;
    const int most_open_;
    lowerer &lowers_;
    std::atomic<int> submitted_{0};
    std::atomic<int> run_{0};
    std::atomic<int> wrong_{0};
    std::atomic<int> over_limit_{0};
};

class throttled_programs : public testing::TestWithParam<unsigned> {};

TEST_P(throttled_programs, end_and_run_each_task_once) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    constexpr int count = 20;
#else
    constexpr int count = 100;
#endif
    std::mt19937 random(GetParam());
    lowerer lowers(GetParam());
    int over_limit = 0;
    const std::uint64_t slept_before = thence::detail::flow_state::submits_that_slept();
    for (int i = 0; i < count; ++i) {
        const unsigned most_open = 1 + random() % 4;
        const int threads = 1 + static_cast<int>(random() % 3);
        thence::flow flow({.workers = 1 + static_cast<int>(random() % 3), .most_open = most_open});
        std::vector<std::thread> submitters;
        std::vector<std::unique_ptr<program>> all;
        for (int t = 0; t < threads; ++t) {
            all.push_back(std::make_unique<program>(flow, most_open, lowers));
        }
        for (int t = 1; t < threads; ++t) {
            submitters.emplace_back(
                [&one = *all[t], seed = static_cast<unsigned>(random())] { one.submit_some(seed, 30, 0); });
        }
        all[0]->submit_some(static_cast<unsigned>(random()), 30, 0);
        for (std::thread &each : submitters) {
            each.join();
        }
        for (const std::unique_ptr<program> &one : all) {
            ASSERT_EQ(one->wrong(), 0) << "program " << i << " of seed " << GetParam();
            over_limit += one->over_limit();
        }
    }
    EXPECT_GT(over_limit, count) << "submit() had to wait, or to find that nothing runs";
    const std::uint64_t slept = thence::detail::flow_state::submits_that_slept() - slept_before;
    RecordProperty("submits_that_slept", static_cast<int>(slept));
    EXPECT_GT(slept, static_cast<std::uint64_t>(count)) << "of " << over_limit << " over the limit";
}

INSTANTIATE_TEST_SUITE_P(seeds, throttled_programs, testing::Range(1U, 5U));

} // namespace
