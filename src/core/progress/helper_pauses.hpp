// SPDX-License-Identifier: BSD-3-Clause
// How long the helper thread pauses after polls that find nothing.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/processors.hpp"
#include "core/progress/backoff.hpp"

#include <algorithm>
#include <atomic>
#include <time.h>

namespace thence::progress {

using base::nanoseconds;
using base::read_clock;

// Adjusts the length of sleeps such that the helper uses a little less than half of a processor. The processor time of
// one sleep differs between machines by more than a factor of ten, so it is measured.
//
// To spin between the sleeps would not help. Let P be a period in which the helper spins for the time S and sleeps
// once, and C the processor time of that sleep and of the poll after it. Half of a processor means S + C = P / 2. A
// message that arrives during the spin is found at once. One that arrives later waits for the end of the period. So
// half of the messages wait for P / 2 - S = C at most: the median delay is C for every S. The mean delay is
// (P - S)^2 / 2P. It is least for S = 0, where it is C too.
//
// So if C is more than the latency of a blocked MPI_Wait, a helper that uses half of a processor has more than twice
// that latency.
class sleep_adjustment {
public:
    // Called before the first sleep of a series.
    void begin() noexcept { sleeps_ = 0; }
    nanoseconds next() noexcept {
        if (sleeps_ % window == 0) {
            const nanoseconds used = read_clock(CLOCK_THREAD_CPUTIME_ID);
            const nanoseconds now = read_clock(CLOCK_MONOTONIC);
            if (sleeps_ != 0) {
                const nanoseconds wanted = (used - used_) * 100 / target_percent;
                sleep_ = std::clamp(sleep_ + (wanted - (now - begun_)) / window / 2, shortest, longest);
            }
            used_ = used;
            begun_ = now;
        }
        ++sleeps_;
        return sleep_;
    }

    static constexpr nanoseconds shortest = 3000; // a shorter one ends before the thread has left its processor
    static constexpr nanoseconds longest = 50000;

private:
    static constexpr nanoseconds window = 32;
    static constexpr nanoseconds target_percent = 46; // of one processor

    nanoseconds sleep_ = shortest;
    nanoseconds sleeps_ = 0;
    nanoseconds used_ = 0;
    nanoseconds begun_ = 0;
};

// Whether the application itself polls, often and until now. Then it finds completions about as soon as the helper
// does.
class application_polls {
public:
    // `polled`: since the last look.
    void look(bool polled, nanoseconds now) noexcept {
        if (polled) {
            usual_ += (std::min(now - last_, rarely) - usual_) / 4;
            last_ = now;
            stopped_ = false;
        }
    }
    bool often(nanoseconds now) const noexcept {
        return !stopped_ && usual_ <= often_enough && now - last_ <= 2 * usual_;
    }
    // It polls no more, until a look says otherwise.
    void stop() noexcept { stopped_ = true; }

    static constexpr nanoseconds often_enough = 4000000; // 4 ms
    static constexpr nanoseconds rarely = 16000000;

private:
    nanoseconds last_ = 0;
    // The time between two looks at which it had polled: no less than that between its polls.
    nanoseconds usual_ = rarely;
    bool stopped_ = false;
};

// Whether workers of a task runtime poll so often that they find the next completion sooner than a helper that takes
// their processor for that.
class worker_polls {
public:
    // `polls`: since the last call. One answer holds for a millisecond.
    bool very_often(long polls, nanoseconds now) noexcept {
        polls_ += polls;
        if (now - since_ >= period) {
            very_often_ = polls_ * rarely_enough >= now - since_;
            polls_ = 0;
            since_ = now;
        }
        return very_often_;
    }

    static constexpr nanoseconds period = 1000000;
    static constexpr nanoseconds rarely_enough = 200000; // from one poll to the next

private:
    nanoseconds since_ = 0;
    long polls_ = 0;
    bool very_often_ = false;
};

// Whether a poll has moved data of operations for which no call of MPI tells whether anything was found: then it works
// longer than others.
class poll_lengths {
public:
    // `worked`: the processor time of the poll. `slept`: before it, which makes it work longer.
    bool moved_data(nanoseconds worked, bool slept) noexcept {
        nanoseconds &shortest = shortest_[slept ? 1 : 0];
        const bool moved = shortest != 0 && worked > 2 * shortest + (slept ? 2 * tolerance : tolerance);
        // It rises slowly, so that one poll that was short by chance is forgotten.
        shortest = shortest == 0 ? worked : std::min(worked, shortest + shortest / 64 + 1);
        return moved;
    }

private:
    static constexpr nanoseconds tolerance = 1000;
    nanoseconds shortest_[2] = {0, 0}; // polls without and after a sleep
};

// The pauses of backoff.hpp, with these differences:
//  - A thread that has its processor alone spins for 25 ms before the first sleep, as MPI_Wait does. Even the shortest
//    sleep would delay a message tenfold.
//  - After that a sleep is at most as long as `sleep_adjustment` says, and after ten seconds at most as long as its
//    longest.
//  - While other threads want a processor, a sleep is a quarter of the time waited, but at most 15 times as long as
//    what a sleep costs: so the helper uses at most a 16th of a processor. If only plain operations of the program are
//    outstanding, it uses a 31st; for a while after a poll that has moved data it polls more often, and where the
//    program has not computed with an operation outstanding for a while, less often. If the application also polls
//    often, as workers do between tasks, the helper sleeps for a millisecond. If workers poll very often, the helper
//    goes on with its sleeps after a poll that has found something, and does not spin.
class helper_pauses {
public:
    // After a poll that found nothing. 0 or less: a pause instruction at most. Else the length of a sleep.
    // `not_polled`: becomes false when the application polls. Set again here.
    // `for_program`: nothing but operations of the program is outstanding, for which the helper makes progress.
    nanoseconds next(std::atomic<bool> &not_polled, bool for_program = false) noexcept {
        const nanoseconds sleep = next_pause(backoff_, &waits_);
        if (sleep <= 0) {
            return sleep;
        }
        const nanoseconds now = backoff_.due - sleep;
        application_.look(!not_polled.exchange(true, std::memory_order_relaxed), now);
        look_at_others(now);
        const nanoseconds waited = now - backoff_.since;
        if (is_taken(now)) {
            const nanoseconds length = for_program ? std::min(small_share(), std::max(sleep, (now - moved_) / 4))
                                       : application_.often(now)
                                           ? longest_with_application
                                           : std::min(std::max(sleep, waited / 4), share_of(15, longest_if_taken));
            return sleep_from(backoff_, now, length, longest_with_application);
        }
        used_ = 0;
        if (waited < spins_until && is_alone(backoff_, now)) {
            backoff_.due = now;
            return 0;
        }
        if (!sleeps_) {
            sleeps_ = true;
            adjustment_.begin();
        }
        const nanoseconds bound = waited < spins_until      ? sleep_adjustment::shortest
                                  : waited < adjusted_until ? adjustment_.next()
                                                            : sleep_adjustment::longest;
        return sleep_from(backoff_, now, std::min(sleep, bound), sleep_adjustment::longest);
    }
    // The length of a sleep with which the helper uses a 31st of a processor.
    nanoseconds small_share() noexcept { return share_of(30, longest_with_application); }
    // The length of a sleep while the program needs no help. `may_compute`: it has left MPI just before this look, so
    // only the next one shows whether it computes; that one comes soon, but not twice in a row. `counts`: interposed
    // calls count the operations of the program. Then, after many such sleeps in a row, the share is a 121st.
    nanoseconds next_look(bool may_compute, bool counts) noexcept {
        looks_again_ = may_compute && !looks_again_;
        if (looks_again_) {
            return sleep_adjustment::longest;
        }
        if (!counts || looks_ < many_looks) {
            ++looks_;
            return small_share();
        }
        return share_of(30 * factor_after_many, longest_with_application * factor_after_many);
    }
    // The length of a sleep beside idle workers, which poll in place of the helper, but for a short time only. So the
    // next sleeps are short, too, until the application polls again.
    nanoseconds beside_idle_workers() noexcept {
        application_.stop();
        return sleep_adjustment::longest;
    }
    // `polls_of_workers`: since the last call.
    void found(long polls_of_workers = 0) noexcept {
        const nanoseconds now = read_clock();
        used_ = 0; // what has run is not the cost of a sleep
        if (workers_.very_often(polls_of_workers, now) && is_taken(now)) {
            backoff_.due = now;
            return;
        }
        progress::found(backoff_);
        sleeps_ = false;
    }

    // The program computes while something is outstanding, so it needs help.
    void program_needs_help() noexcept { looks_ = 0; }
    // A poll for the program has moved data: more may come soon, and that poll says nothing of what one costs.
    void moved_data() noexcept {
        moved_ = read_clock();
        used_ = 0;
    }

    static constexpr nanoseconds longest_with_application = 1000000; // 1 ms
    static constexpr nanoseconds longest_if_taken = 120000;          // a message waits for half of that
    static constexpr int many_looks = 32;
    static constexpr nanoseconds factor_after_many = 4;

private:
    static constexpr nanoseconds spins_until = 25000000;       // 25 ms
    static constexpr nanoseconds adjusted_until = 10000000000; // 10 s
    static constexpr nanoseconds looks_every = 1000000;
    static constexpr nanoseconds taken_for = 5000000; // threads of a program that computes in short tasks come and go

    // Others want the processor of the helper, or all processors.
    bool is_taken(nanoseconds now) const noexcept { return now < backoff_.shared || now < taken_until_; }
    void look_at_others(nanoseconds now) noexcept {
        if (now - looked_ < looks_every) {
            return;
        }
        looked_ = now;
        if (!base::processors_are_mostly_free(now)) {
            taken_until_ = now + taken_for;
        }
    }
    // The length of a sleep with which the helper uses a processor for one part in `parts` of the time.
    nanoseconds share_of(nanoseconds parts, nanoseconds longest) noexcept {
        const nanoseconds before = used_;
        used_ = read_clock(CLOCK_THREAD_CPUTIME_ID);
        if (before != 0) {
            cost_ += (used_ - before - cost_) / 4;
        }
        return std::clamp(parts * cost_, sleep_adjustment::longest, longest);
    }

    thence_backoff backoff_ = backoff_with(sleep_adjustment::longest, 200);
    base::waits_for_processor waits_;
    bool sleeps_ = false;
    sleep_adjustment adjustment_;
    application_polls application_;
    worker_polls workers_;
    nanoseconds looked_ = 0;
    nanoseconds taken_until_ = 0;
    nanoseconds moved_ = 0;
    int looks_ = 0; // since the program last computed with an operation outstanding
    bool looks_again_ = false;
    nanoseconds used_ = 0; // processor time at the last sleep
    nanoseconds cost_ = 0; // processor time of one sleep and the poll after it
};

// Pauses of a helper that only waits for other ranks to access windows of a program that computes. No call of MPI
// tells whether a poll has found anything, but then it works longer than others. After one that did the helper spins
// for a while, and then sleeps, at first for a short time. While nothing comes, it uses less than a fiftieth of a
// processor. So it does also while others want its processor: there polls work longer for that reason, too. A pause is
// as long as the poll before it asks for, and consists of sleeps that are no longer than longest_sleep: between them
// the helper looks what else is to be done.
class access_pauses {
public:
    // After a poll: the length of the pause. 0: no pause. `worked`: the processor time of the poll, which has `lasted`
    // so long. `slept`: before the poll, which makes it work longer.
    nanoseconds next(nanoseconds worked, nanoseconds lasted, bool slept) noexcept {
        const nanoseconds now = read_clock();
        if (lasted - worked > lost_processor) {
            shared_until_ = now + shared_for;
        }
        const bool found = lengths_.moved_data(worked, slept) && now >= shared_until_;
        if (found && slept) { // perhaps for other reasons: it looks again for a short time only
            spins_until_ = now + spins_after_sleep;
        } else if (found) {
            spins_until_ = now + spins;
            sleep_ = first_sleep;
        }
        if (now < spins_until_ && now >= shared_until_) {
            due_ = now;
            return 0;
        }
        const nanoseconds before = used_;
        used_ = read_clock(CLOCK_THREAD_CPUTIME_ID);
        if (before != 0) {
            cost_ += (used_ - before - cost_) / 8;
        }
        sleep_ = std::min(2 * sleep_, std::clamp(share * cost_, 2 * first_sleep, longest));
        due_ = now + sleep_;
        return sleep_;
    }
    // What is left of the pause; 0 or less: the next poll is due.
    nanoseconds left() const noexcept { return due_ - read_clock(); }
    // Something else was to be done meanwhile.
    void begin() noexcept { used_ = 0; }

    static constexpr nanoseconds longest_sleep = 5'000'000;
    static constexpr nanoseconds longest = 100'000'000; // for polls that work for 1.5 ms and find nothing

private:
    static constexpr nanoseconds spins = 100'000;
    static constexpr nanoseconds spins_after_sleep = 20'000;
    static constexpr nanoseconds first_sleep = 20'000;
    static constexpr nanoseconds lost_processor = 200'000;
    static constexpr nanoseconds shared_for = 40'000'000;
    static constexpr nanoseconds share = 65; // a sleep is so many times as long as its cost

    poll_lengths lengths_;
    nanoseconds spins_until_ = 0;
    nanoseconds shared_until_ = 0; // others want the processor, as far as is known
    nanoseconds sleep_ = first_sleep;
    nanoseconds due_ = 0;  // when the pause ends
    nanoseconds used_ = 0; // processor time at the last pause
    nanoseconds cost_ = 0; // of one pause and the polls after it
};

} // namespace thence::progress
