// SPDX-License-Identifier: BSD-3-Clause
// What 10,000 notifications that are waited for cost when one arrives, beside one that is waited for: by callbacks, by
// requests with continuations, and, as GASPI programs do it, by a test of the whole range.
#include "measure/benchmark.hpp"
#include "measure/limit.hpp"

#include <thence/notify.h>

#include <string>
#include <vector>

namespace {

constexpr unsigned most = 10000;

struct waiting {
    explicit waiting(unsigned count) {
        thence_space_create(MPI_COMM_WORLD, 1, &space);
        thence_segment_create(space, 8, count, &segment);
    }
    waiting(const waiting &) = delete;
    waiting &operator=(const waiting &) = delete;
    ~waiting() {
        thence_segment_free(&segment);
        thence_space_free(&space);
    }
    thence_space space = nullptr;
    thence_segment segment = nullptr;
};

long calls = 0;

void called(void *) {
    ++calls;
}
int continued(int, MPI_Status *, void *) {
    ++calls;
    return MPI_SUCCESS;
}

// One of them arrives, is found, and is waited for again. All that are left arrive at the end.
template <class Wait> void arrivals(measure::work &work, unsigned count, Wait wait) {
    waiting w(count);
    for (unsigned i = 0; i < count; ++i) {
        wait(w, i);
    }
    unsigned next = 0;
    work.count([&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            const long before = calls;
            const unsigned number = (next += 7919) % count;
            thence_notify(0, w.segment, number, 1, 0);
            while (calls == before) {
                thence_progress();
            }
            wait(w, number);
        }
    });
    const long before = calls;
    for (unsigned i = 0; i < count; ++i) {
        thence_notify(0, w.segment, i, 1, 0);
    }
    while (calls != before + count) {
        thence_progress();
    }
}

void callbacks(measure::work &work) {
    arrivals(work, static_cast<unsigned>(work.parameter("count")), [](waiting &w, unsigned i) {
        int flag = 0;
        thence_notification_continue(w.segment, i, 1, nullptr, &called, nullptr, &flag);
    });
}

void continuations(measure::work &work) {
    MPI_Request cr = MPI_REQUEST_NULL;
    thence_cr_create(THENCE_CR_ENQUEUE_COMPLETE, -1, MPI_INFO_NULL, &cr);
    arrivals(work, static_cast<unsigned>(work.parameter("count")), [cr](waiting &w, unsigned i) {
        MPI_Request request = MPI_REQUEST_NULL;
        thence_notification_request(w.segment, i, 1, nullptr, &request);
        thence_attach(1, &request, &continued, nullptr, 0, MPI_STATUSES_IGNORE, cr, nullptr);
    });
    thence_free(&cr);
}

void tests_of_all(measure::work &work) {
    const auto count = static_cast<unsigned>(work.parameter("count"));
    const waiting w(count);
    unsigned next = 0;
    work.count([&](long iterations) {
        for (long i = 0; i < iterations; ++i) {
            thence_notify(0, w.segment, (next += 7919) % count, 1, 0);
            int flag = 0;
            unsigned found = 0;
            std::uint32_t value = 0;
            thence_notification_test(w.segment, 0, count, &flag, &found);
            thence_notification_reset(w.segment, found, &value);
        }
    });
}

void judge(measure::session &session) {
    struct way {
        const char *work;
        const char *name;
        bool has_bar;
    };
    for (const way &each : {way{"callbacks", "callbacks", true}, way{"continuations", "requests, continued", true},
                            way{"tests_of_all", "tests of the whole range", false}}) {
        const auto count = [&](long waited_for) {
            return session.instructions(
                {.work = each.work, .parameters = {{"count", waited_for}}, .main_thread_only = true});
        };
        const measure::sample many = count(most);
        const measure::sample one = count(1);
        measure::figure figure{.name = each.name,
                               .found = measure::ratio(many, one),
                               .unit = "times the instructions of one arrival",
                               .kind = each.has_bar ? measure::bar_kind::at_most : measure::bar_kind::none,
                               .bar = each.has_bar ? 1.5 : 0,
                               .against = "one notification that is waited for",
                               .side_unit = "instructions",
                               .ours = many.value,
                               .baseline = one.value};
        if (each.has_bar) {
            measure::add_limit(figure, {.what = "one notification that is waited for", .value = 1});
        }
        session.add(figure);
    }
}

} // namespace

int main(int argc, char **argv) {
    return measure::main(
        argc, argv,
        {.name = "notification_idle",
         .about = "one arrival while 10,000 notifications are waited for, compared with one that is",
         .bars = "at most 1.5 times the instructions, for those that are continued",
         .pieces = {{"callbacks", callbacks}, {"continuations", continuations}, {"tests_of_all", tests_of_all}},
         .judge = judge});
}
