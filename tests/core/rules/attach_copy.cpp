// SPDX-License-Identifier: BSD-3-Clause
// thence_attach_copy(): the library copies the data, and releases the copy once, whatever becomes of the continuation.
// Under AddressSanitizer each of these tests also shows that no copy is used late, released twice, or lost.
#include "library.hpp"

#include "core/continuation/owned_data.hpp"
#include "core/continuation/thread_state.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace {

using namespace thence::fake;

struct record {
    std::vector<std::string> texts;
    std::vector<const void *> copies;
    int answer = MPI_SUCCESS;
};
// What is copied: the data are larger or smaller than a pooled block.
template <std::size_t Size> struct payload {
    record *to;
    char text[Size];

    static int callback(int, MPI_Status *, void *data) {
        auto &self = *static_cast<payload *>(data);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % alignof(std::max_align_t), 0U);
        self.to->texts.emplace_back(self.text);
        self.to->copies.push_back(data);
        std::memset(self.text, 'x', Size); // it is the callback's own
        return self.to->answer;
    }
};
using small = payload<24>;
using large = payload<4000>;

class attach_copy : public on_fake {
protected:
    template <class Payload = small>
    int attach(MPI_Request &request, const char *text, MPI_Request c, unsigned flags = 0, int count = 1) {
        Payload mine{};
        mine.to = &seen_;
        std::strcpy(mine.text, text);
        flag_ = -1;
        const int code = thence_attach_copy(count, &request, &Payload::callback, &mine, sizeof mine, flags,
                                            MPI_STATUSES_IGNORE, c, &flag_);
        std::memset(static_cast<void *>(&mine), 0xff, sizeof mine); // the library has its own
        return code;
    }
    record seen_;
    int flag_ = -1;
};

TEST_P(attach_copy, the_callback_gets_a_copy_of_its_own) {
    cr c;
    MPI_Request a = world.start();
    MPI_Request b = world.start();
    const ticket ta = world.ticket_of(a);
    const ticket tb = world.ticket_of(b);
    EXPECT_EQ(attach<small>(a, "small", c), MPI_SUCCESS);
    EXPECT_EQ(flag_, 0);
    EXPECT_EQ(attach<large>(b, "large", c), MPI_SUCCESS);
    EXPECT_EQ(a, MPI_REQUEST_NULL);
    world.complete(ta);
    EXPECT_TRUE(eventually([&] { return seen_.texts.size() == 1; }));
    world.complete(tb);
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(seen_.texts, (std::vector<std::string>{"small", "large"}));
}

TEST_P(attach_copy, of_a_group_is_one_copy) {
    cr c;
    MPI_Request requests[] = {world.start(), world.start(), MPI_REQUEST_NULL};
    const ticket t[] = {world.ticket_of(requests[0]), world.ticket_of(requests[1])};
    EXPECT_EQ(attach(requests[0], "group", c, 0, 3), MPI_SUCCESS);
    world.complete(t[1]);
    world.complete(t[0]);
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(seen_.texts, std::vector<std::string>{"group"});
}

TEST_P(attach_copy, with_flag_1_no_callback_runs_and_no_copy_is_left) {
    cr c;
    for (int i = 0; i < 3; ++i) {
        MPI_Request r = world.start();
        world.complete(r);
        EXPECT_EQ(i == 0 ? attach<small>(r, "", c) : attach<large>(r, "", c), MPI_SUCCESS);
        EXPECT_EQ(flag_, 1);
        MPI_Request pair[] = {world.start(), MPI_REQUEST_NULL};
        world.complete(pair[0]);
        EXPECT_EQ(attach<large>(pair[0], "", c, 0, 2), MPI_SUCCESS);
        EXPECT_EQ(flag_, 1);
    }
    EXPECT_TRUE(c.test());
    EXPECT_TRUE(seen_.texts.empty());
}

TEST_P(attach_copy, runs_inside_the_call_where_it_may) {
    cr c;
    MPI_Request r = world.start();
    world.complete(r);
    EXPECT_EQ(attach<large>(r, "inside", c, THENCE_MAY_RUN), MPI_SUCCESS);
    EXPECT_EQ(flag_, 0);
    EXPECT_TRUE(eventually([&] { return seen_.texts.size() == 1; }));
    cr always(THENCE_CR_ENQUEUE_COMPLETE);
    small mine{&seen_, "without a flag"};
    MPI_Request q = world.start();
    world.complete(q);
    EXPECT_EQ(thence_attach_copy(1, &q, &small::callback, &mine, sizeof mine, 0, MPI_STATUSES_IGNORE, always, nullptr),
              MPI_SUCCESS);
    EXPECT_EQ(thence_wait(&always, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(seen_.texts, (std::vector<std::string>{"inside", "without a flag"}));
}

TEST_P(attach_copy, a_bad_argument_leaves_no_copy_and_changes_nothing) {
    cr c;
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    const MPI_Request before = r;
    EXPECT_EQ(attach<large>(r, "", MPI_REQUEST_NULL), MPI_ERR_REQUEST);
    EXPECT_EQ(attach<large>(r, "", c, 1U << 20), MPI_ERR_ARG);
    EXPECT_EQ(attach<large>(r, "", c, 0, -1), MPI_ERR_ARG);
    EXPECT_EQ(flag_, -1);
    int flag = 77;
    EXPECT_EQ(thence_attach_copy(1, &r, &small::callback, nullptr, 8, 0, MPI_STATUSES_IGNORE, c, &flag), MPI_ERR_ARG);
    EXPECT_EQ(thence_attach_copy(1, &r, nullptr, &flag, 4, 0, MPI_STATUSES_IGNORE, c, &flag), MPI_ERR_ARG);
    EXPECT_EQ(thence_attach_copy(1, &r, &small::callback, &flag, 4, 0, MPI_STATUSES_IGNORE, c, nullptr), MPI_ERR_ARG);
    EXPECT_EQ(flag, 77);
    EXPECT_EQ(r, before);
    EXPECT_EQ(c.registered(), 0);
    EXPECT_EQ(reported().size(), 6U);
    EXPECT_EQ(attach<large>(r, "good", c), MPI_SUCCESS);
    world.complete(t);
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST_P(attach_copy, of_no_bytes_is_a_null_pointer) {
    cr c;
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    static void *got;
    got = &got;
    const auto callback = [](int, MPI_Status *, void *data) {
        got = data;
        return int{MPI_SUCCESS};
    };
    EXPECT_EQ(thence_attach_copy(1, &r, callback, nullptr, 0, 0, MPI_STATUSES_IGNORE, c, &flag_), MPI_SUCCESS);
    world.complete(t);
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(got, nullptr);
}

TEST_P(attach_copy, of_a_cancelled_operation_is_released_after_its_callback) {
    cr c;
    for (int i = 0; i < 4; ++i) {
        MPI_Request r = world.start();
        EXPECT_EQ(attach<large>(r, "cancelled", c), MPI_SUCCESS);
    }
    EXPECT_EQ(thence_cancel(&c), MPI_SUCCESS);
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(seen_.texts.size(), 4U);
}

TEST_P(attach_copy, of_a_kept_continuation_is_valid_until_the_next_call_of_get_failed) {
    cr c(THENCE_CR_REPORT_FAILED);
    std::vector<ticket> tickets;
    for (int i = 0; i < 3; ++i) {
        MPI_Request r = world.start();
        tickets.push_back(world.ticket_of(r));
        EXPECT_EQ(attach<large>(r, i == 0 ? "first" : i == 1 ? "second" : "third", c), MPI_SUCCESS);
    }
    for (const ticket &t : tickets) {
        world.complete(t, {.error = MPI_ERR_OTHER});
        let_run();
    }
    EXPECT_NE(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(seen_.texts.empty());
    void *data[2] = {};
    int count = 2;
    EXPECT_EQ(thence_get_failed(c, &count, data), MPI_SUCCESS);
    ASSERT_EQ(count, 2);
    EXPECT_STREQ(static_cast<large *>(data[0])->text, "first");
    EXPECT_STREQ(static_cast<large *>(data[1])->text, "second");
    EXPECT_EQ(thence_get_failed(c, &count, data), MPI_SUCCESS);
    ASSERT_EQ(count, 1);
    EXPECT_STREQ(static_cast<large *>(data[0])->text, "third");
    reported();
}

TEST_P(attach_copy, of_a_kept_continuation_that_nobody_takes_goes_with_its_cr) {
    {
        cr c(THENCE_CR_REPORT_FAILED);
        MPI_Request r = world.start();
        const ticket t = world.ticket_of(r);
        EXPECT_EQ(attach<large>(r, "", c), MPI_SUCCESS);
        world.complete(t, {.error = MPI_ERR_OTHER});
        EXPECT_NE(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
    reported();
}

TEST_P(attach_copy, of_a_callback_that_fails_is_kept_too) {
    cr c(THENCE_CR_REPORT_FAILED);
    seen_.answer = MPI_ERR_OTHER;
    MPI_Request r = world.start();
    const ticket t = world.ticket_of(r);
    EXPECT_EQ(attach<large>(r, "has run", c), MPI_SUCCESS);
    world.complete(t);
    thence_wait(&c, MPI_STATUS_IGNORE);
    EXPECT_EQ(seen_.texts.size(), 1U);
    void *data = nullptr;
    int count = 1;
    EXPECT_EQ(thence_get_failed(c, &count, &data), MPI_SUCCESS);
    ASSERT_EQ(count, 1);
    EXPECT_EQ(static_cast<large *>(data)->text[0], 'x') << "as the callback left it";
    reported();
}

TEST_P(attach_copy, in_completion_is_released_too) {
    cr c(THENCE_CR_IN_COMPLETION | THENCE_CR_ENQUEUE_COMPLETE);
    for (int i = 0; i < 5; ++i) {
        MPI_Request r = world.start();
        world.complete_in_progress(r);
        EXPECT_EQ(attach<large>(r, "in completion", c), MPI_SUCCESS);
    }
    EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(seen_.texts.size(), 5U);
}

// A second round gets the blocks of the first.
TEST_P(attach_copy, small_copies_are_reused) {
    cr c;
    constexpr int count = 32;
    std::vector<std::vector<const void *>> rounds;
    for (int round = 0; round < 2; ++round) {
        std::vector<ticket> tickets;
        for (int i = 0; i < count; ++i) {
            MPI_Request r = world.start();
            tickets.push_back(world.ticket_of(r));
            EXPECT_EQ(attach<small>(r, "", c), MPI_SUCCESS);
        }
        for (const ticket &t : tickets) {
            world.complete(t);
        }
        EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
        std::sort(seen_.copies.begin(), seen_.copies.end());
        rounds.push_back(std::move(seen_.copies));
        seen_.copies.clear();
    }
    EXPECT_EQ(rounds[0].size(), static_cast<std::size_t>(count));
    EXPECT_EQ(rounds[0], rounds[1]);
}

THENCE_RULES(attach_copy);

TEST(copied_data, are_aligned_and_complete_at_every_size) {
    for (const std::size_t size :
         {std::size_t{1}, std::size_t{111}, std::size_t{112}, std::size_t{113}, std::size_t{5000}}) {
        const std::vector<unsigned char> bytes(size, 0x5a);
        void *copy = thence::continuation::copy_data(bytes.data(), size);
        ASSERT_NE(copy, nullptr);
        EXPECT_EQ(std::memcmp(copy, bytes.data(), size), 0);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(copy) % alignof(std::max_align_t), 0U);
        thence::continuation::release_data(copy);
    }
    EXPECT_EQ(thence::continuation::copy_data(nullptr, SIZE_MAX), nullptr);
}

} // namespace
