// SPDX-License-Identifier: BSD-3-Clause
// The table of persistent requests and its filter, against a list that is searched from end to end.
#include "core/engine/persistent_requests.hpp"

#include "request.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <vector>

namespace {

using namespace thence::engine;
using thence::fake::make_handle;

MPI_Request handle(int i) {
    return make_handle<MPI_Request>(0x10000 + static_cast<std::uintptr_t>(i) * 64);
}

TEST(handle_filter, holds_what_is_added_until_as_many_are_removed) {
    auto filter = std::make_unique<handle_filter<MPI_Request>>();
    EXPECT_FALSE(filter->may_hold(handle(1)));
    filter->add(handle(1));
    filter->add(handle(1));
    EXPECT_TRUE(filter->may_hold(handle(1)));
    filter->remove(handle(1));
    EXPECT_TRUE(filter->may_hold(handle(1)));
    filter->remove(handle(1));
    EXPECT_FALSE(filter->may_hold(handle(1)));
}

TEST(handle_filter, a_bucket_that_was_full_stays_full) {
    auto filter = std::make_unique<handle_filter<MPI_Request>>();
    constexpr int many = 1000;
    for (int i = 0; i < many; ++i) {
        filter->add(handle(1));
    }
    for (int i = 0; i < many - 1; ++i) {
        filter->remove(handle(1));
    }
    EXPECT_TRUE(filter->may_hold(handle(1))) << "one of them is left";
}

TEST(handle_filter, handles_at_equal_distances_seldom_share_a_bucket) {
    auto filter = std::make_unique<handle_filter<MPI_Request>>();
    for (int i = 0; i < 16000; ++i) {
        filter->add(handle(i));
    }
    int shared = 0;
    for (int i = 16000; i < 17000; ++i) {
        shared += filter->may_hold(handle(i)) ? 1 : 0;
    }
    EXPECT_LT(shared, 300) << "a quarter of the buckets is in use";
}

TEST(handle_filter, eight_handles_at_once_are_each_looked_at) {
    auto filter = std::make_unique<handle_filter<MPI_Request>>();
    filter->add(handle(100));
    MPI_Request eight[handle_filter<MPI_Request>::per_check];
    for (int at = 0; at < handle_filter<MPI_Request>::per_check; ++at) {
        for (int i = 0; i < handle_filter<MPI_Request>::per_check; ++i) {
            eight[i] = handle(i);
        }
        EXPECT_FALSE(filter->may_hold_any(eight));
        eight[at] = handle(100);
        EXPECT_TRUE(filter->may_hold_any(eight)) << at;
    }
}

// What the table has to know, kept in the simplest way.
struct model {
    struct known {
        MPI_Request request;
        std::vector<operation *> waiting; // none: there is an answer
        int source = 0;
        int error = MPI_SUCCESS;
    };
    std::vector<known> all;

    known *find(MPI_Request request) {
        const auto at = std::find_if(all.begin(), all.end(), [&](const known &k) { return k.request == request; });
        return at == all.end() ? nullptr : &*at;
    }
    void forget(MPI_Request request) {
        std::erase_if(all, [&](const known &k) { return k.request == request; });
    }
};

class persistent_table : public ::testing::Test {
protected:
    persistent_requests table;
    model expected;
    std::deque<operation> operations; // never moved
    std::mt19937 random{7};

    operation &start(MPI_Request request) {
        operation &op = operations.emplace_back();
        op.request = request;
        return op;
    }
    void wait_for(MPI_Request request) {
        operation &op = start(request);
        table.wait_for(op);
        model::known *known = expected.find(request);
        if (known == nullptr) {
            known = &expected.all.emplace_back(model::known{request, {}, 0, MPI_SUCCESS});
        }
        known->waiting.push_back(&op);
    }
    void finish(MPI_Request request, bool answered) {
        model::known *known = expected.find(request);
        persistent_requests::entry *entry = table.find(request);
        ASSERT_NE(entry, nullptr);
        MPI_Status status{};
        status.MPI_SOURCE = static_cast<int>(random() % 1000);
        const int error = random() % 4 == 0 ? int{MPI_ERR_TRUNCATE} : int{MPI_SUCCESS};
        std::vector<operation *> reported;
        table.finish(*entry, answered ? &status : nullptr, error, [&](operation &op) { reported.push_back(&op); });
        EXPECT_EQ(reported, known->waiting) << "each once, in the order in which they came";
        known->waiting.clear();
        known->source = status.MPI_SOURCE;
        known->error = error;
        if (!answered) {
            expected.forget(request);
        }
    }
    void compare(int handles) {
        std::size_t waiting = 0;
        std::size_t answers = 0;
        for (int i = 0; i < handles; ++i) {
            const model::known *known = expected.find(handle(i));
            const persistent_requests::entry *entry = table.find(handle(i));
            ASSERT_EQ(known == nullptr, entry == nullptr) << i;
            EXPECT_TRUE(known == nullptr || known_requests.may_hold(handle(i))) << i;
            if (known == nullptr) {
                continue;
            }
            EXPECT_EQ(entry->request, handle(i));
            EXPECT_EQ(entry->is_waited_for(), !known->waiting.empty()) << i;
            if (entry->is_waited_for()) {
                ++waiting;
                EXPECT_EQ(&table.waiting(entry->index), entry);
            } else {
                ++answers;
                EXPECT_EQ(entry->status.MPI_SOURCE, known->source);
                EXPECT_EQ(entry->error, known->error);
            }
        }
        EXPECT_EQ(static_cast<std::size_t>(table.waiting()), waiting);
        EXPECT_EQ(table.answers(), answers);
    }
};

TEST_F(persistent_table, says_what_a_search_from_end_to_end_says) {
    constexpr int handles = 200;
    for (int step = 0; step < 20000; ++step) {
        const MPI_Request request = handle(static_cast<int>(random() % handles));
        model::known *known = expected.find(request);
        const bool waited_for = known != nullptr && !known->waiting.empty();
        switch (random() % 8) {
        case 0:
        case 1:
        case 2: // as if it was started anew, if it has an answer
            if (known != nullptr && !waited_for) {
                table.forget_answer(request);
                expected.forget(request);
            }
            wait_for(request);
            break;
        case 3:
        case 4:
            if (waited_for) {
                finish(request, random() % 2 == 0);
            }
            break;
        case 5:
            if (waited_for) {
                operation *gone = known->waiting[random() % known->waiting.size()];
                EXPECT_TRUE(table.remove(*gone));
                EXPECT_FALSE(table.remove(*gone)) << "once";
                std::erase(known->waiting, gone);
                if (known->waiting.empty()) {
                    expected.forget(request);
                }
            }
            break;
        case 6:
            table.forget_answer(request); // does nothing to one that is waited for
            if (!waited_for) {
                expected.forget(request);
            }
            break;
        default:
            if (!waited_for) {
                MPI_Status status{};
                status.MPI_SOURCE = step;
                table.keep_answer(request, status, MPI_SUCCESS);
                expected.forget(request);
                expected.all.push_back({request, {}, step, MPI_SUCCESS});
            }
        }
        if (step % 97 == 0) {
            compare(handles);
        }
    }
    compare(handles);
}

TEST_F(persistent_table, an_answer_is_forgotten_when_the_request_is_waited_for_again) {
    wait_for(handle(1));
    finish(handle(1), true);
    EXPECT_EQ(table.answers(), 1U);
    table.wait_for(start(handle(1)));
    EXPECT_EQ(table.answers(), 0U);
    EXPECT_EQ(table.waiting(), 1);
    EXPECT_TRUE(table.find(handle(1))->is_waited_for());
}

TEST_F(persistent_table, nothing_is_left_in_the_filter) {
    constexpr int handles = 5000;
    std::vector<bool> before;
    for (int i = 0; i < handles; ++i) {
        before.push_back(known_requests.may_hold(handle(i)));
    }
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < handles; ++i) {
            wait_for(handle(i));
        }
        for (int i = 0; i < handles; ++i) {
            finish(handle(i), round != 1);
        }
        if (round != 1) {
            for (int i = 0; i < handles; ++i) {
                table.forget_answer(handle(i));
                expected.forget(handle(i));
            }
        }
    }
    for (int i = 0; i < handles; ++i) {
        EXPECT_EQ(known_requests.may_hold(handle(i)), before[static_cast<std::size_t>(i)]) << i;
    }
}

} // namespace
