// SPDX-License-Identifier: BSD-3-Clause
// Random programs against the rules, written down a second time without any graph: for each pair of siblings, does the
// later one have to wait? 100,000 programs in all.
//
// One task of each program is held back. All tasks that do not depend on it, not even through others, have to run
// meanwhile; so the graph has no edge too many. Each task looks, at its beginning, at all earlier ones that it
// conflicts with; so it has no edge too few.
#include "support.hpp"

#include <condition_variable>
#include <memory>
#include <random>

namespace {

using thence::access;
using thence::access_kind;

constexpr int keys = 4;

bool must_wait(access_kind earlier, access_kind later) {
    if (earlier == access_kind::in && later == access_kind::in) {
        return false;
    }
    if (earlier == access_kind::concurrent && later == access_kind::concurrent) {
        return false;
    }
    return !(earlier == access_kind::commutative && later == access_kind::commutative);
}

struct one_task {
    std::vector<access> accesses;
    int children = 0;
    bool onready = false;
    bool event = false;
    bool event_of_onready = false;
    std::atomic<bool> begun{false};
    std::atomic<bool> complete{false}; // set by the last thing that it waits for
    std::atomic<int> left{0};
    std::vector<int> waits_for; // earlier tasks
    bool after_held = false;

    void one_less() {
        if (left.fetch_sub(1) == 1) {
            complete = true;
        }
    }
};

// Lowers events on a thread of its own, in the order in which they were raised.
class lowerer {
public:
    lowerer() : thread_([this] { run(); }) {}
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
    void lower_later(one_task &of) {
        thence::raise_events(thence::current_task());
        {
            const std::scoped_lock guard(mutex_);
            waiting_.push_back({thence::current_task(), &of});
        }
        changed_.notify_one();
    }

private:
    struct event {
        thence::task_ref task;
        one_task *of;
    };
    void run() {
        std::vector<event> now;
        for (;;) {
            {
                std::unique_lock guard(mutex_);
                changed_.wait(guard, [this] { return stop_ || !waiting_.empty(); });
                if (stop_) {
                    return;
                }
                now.swap(waiting_);
            }
            for (const event &each : now) {
                each.of->one_less();
                thence::lower_events(each.task);
            }
            now.clear();
        }
    }
    bool stop_ = false;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<event> waiting_;
    std::thread thread_; // last: it uses the others
};

class program {
public:
    program(thence::flow &flow, lowerer &lowers, std::mt19937 &random) : flow_(flow), lowers_(lowers) {
        const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
        const int count = 2 + below(9);
        const bool few_kinds = below(2) == 0;
        for (int i = 0; i < count; ++i) {
            tasks_.push_back(std::make_unique<one_task>());
            one_task &made = *tasks_.back();
            for (int k = below(4); k >= 0; --k) {
                const auto kind = static_cast<access_kind>(few_kinds ? below(2) * 4 : below(5));
                made.accesses.push_back({&data_[below(keys)], kind});
            }
            made.children = below(4) == 0 ? 1 + below(3) : 0;
            made.onready = below(4) == 0;
            made.event_of_onready = made.onready && below(2) == 0;
            made.event = below(4) == 0;
            // Body and children; events besides.
            made.left = 1 + made.children + (made.event ? 1 : 0) + (made.event_of_onready ? 1 : 0);
        }
        held_ = below(static_cast<unsigned>(count));
        // While a commutative task is held, the others of its group wait, if they come after it in the order of
        // running. The rules do not say which do, so the held one has none.
        for (access &each : tasks_[held_]->accesses) {
            if (each.kind == access_kind::commutative) {
                each.kind = access_kind::concurrent;
            }
        }
        for (int later = 0; later < count; ++later) {
            one_task &it = *tasks_[later];
            for (int earlier = 0; earlier < later; ++earlier) {
                if (conflict(*tasks_[earlier], it)) {
                    it.waits_for.push_back(earlier);
                    it.after_held |= earlier == held_ || tasks_[earlier]->after_held;
                }
            }
        }
    }

    void run() {
        for (std::size_t i = 0; i < tasks_.size(); ++i) {
            one_task &it = *tasks_[i];
            const bool holds = static_cast<int>(i) == held_;
            const auto body = [this, &it, holds] { run_body(it, holds); };
            const thence::task_options options{.priority = static_cast<int>(i % 3) - 1};
            if (it.onready) {
                flow_.submit(it.accesses, options, thence::onready([this, &it] { run_onready(it); }), body);
            } else {
                flow_.submit(it.accesses, options, body);
            }
        }
        test::wait_until([&] { return gate_.holds(); });
        for (const std::unique_ptr<one_task> &one : tasks_) {
            if (!one->after_held && one != tasks_[held_]) {
                test::wait_until([&] { return one->complete.load(); });
            }
        }
        for (const std::unique_ptr<one_task> &one : tasks_) {
            wrong_ += one->after_held && one->begun ? 1 : 0;
        }
        gate_.release();
        flow_.taskwait();
        for (const std::unique_ptr<one_task> &one : tasks_) {
            wrong_ += one->complete ? 0 : 1;
        }
    }
    int wrong() const { return wrong_; }

private:
    static bool conflict(const one_task &earlier, const one_task &later) {
        for (const access &one : merged(earlier)) {
            for (const access &other : merged(later)) {
                if (one.start == other.start && must_wait(one.kind, other.kind)) {
                    return true;
                }
            }
        }
        return false;
    }
    // Each key once.
    static std::vector<access> merged(const one_task &of) {
        std::vector<access> all;
        for (const access &each : of.accesses) {
            bool known = false;
            for (access &one : all) {
                if (one.start == each.start) {
                    known = true;
                    one.kind = one.kind == each.kind ? one.kind : access_kind::inout;
                }
            }
            if (!known) {
                all.push_back(each);
            }
        }
        return all;
    }
    void run_onready(one_task &it) {
        check(it);
        if (it.event_of_onready) {
            lowers_.lower_later(it);
        }
    }
    void run_body(one_task &it, bool holds) {
        if (it.begun.exchange(true)) {
            ++wrong_;
        }
        check(it);
        for (const access &each : merged(it)) {
            if (each.kind == access_kind::commutative && inside_[key_of(each)]++ != 0) {
                ++wrong_;
            }
        }
        for (int child = 0; child < it.children; ++child) {
            // In a chain of their own, through data that siblings of the parent have, too.
            flow_.submit({thence::inout(&data_[child % 2])}, [&it] { it.one_less(); });
        }
        for (const access &each : merged(it)) {
            if (each.kind == access_kind::commutative) {
                --inside_[key_of(each)];
            }
        }
        if (it.event) {
            lowers_.lower_later(it);
        }
        if (holds) {
            gate_.hold();
        }
        it.one_less();
    }
    void check(one_task &it) {
        for (const int earlier : it.waits_for) {
            wrong_ += tasks_[earlier]->complete ? 0 : 1;
        }
    }
    int key_of(const access &one) const { return static_cast<int>(static_cast<const int *>(one.start) - data_); }

    thence::flow &flow_;
    lowerer &lowers_;
    std::vector<std::unique_ptr<one_task>> tasks_;
    int data_[keys] = {};
    std::atomic<int> inside_[keys] = {};
    int held_ = 0;
    test::held gate_;
    std::atomic<int> wrong_{0};
};

class random_programs : public testing::TestWithParam<int> {};

TEST_P(random_programs, follow_the_rules) {
    thence::flow flow(test::two_workers());
    lowerer lowers;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    constexpr int count = 1000;
#else
    constexpr int count = 12500;
#endif
    std::mt19937 random(static_cast<unsigned>(GetParam()));
    for (int i = 0; i < count; ++i) {
        program one(flow, lowers, random);
        one.run();
        ASSERT_EQ(one.wrong(), 0) << "program " << i << " of seed " << GetParam();
    }
}

INSTANTIATE_TEST_SUITE_P(seeds, random_programs, testing::Range(1, 9));

} // namespace
