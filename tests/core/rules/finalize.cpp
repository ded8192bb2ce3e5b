// SPDX-License-Identifier: BSD-3-Clause
// MPI_Finalize with continuations outstanding: it reports them, and no hook or callback of the library is left in MPI.
// Each test runs in a process of its own, since the library cannot be used afterwards.
#include "library.hpp"

#include "core/base/settings.hpp"
#include "core/continuation/lifetime.hpp"
#include "core/mpi/implementation.hpp"
#include "core/progress/interposed.hpp"
#include "core/progress/progress.hpp"
#include "core/progress/source.hpp"

#include <cstdlib>

namespace {

using namespace thence::fake;

// Ends the process with an error that the parent sees.
void require(bool good, const char *what) {
    if (!good) {
        std::fprintf(stderr, "REQUIRED: %s\n", what);
        std::_Exit(1);
    }
}

// One continuation on two operations, one of them complete; then MPI_Finalize, and only then the rest completes.
[[noreturn]] void outstanding_at_finalize(const variant &v) {
    library l(v);
    MPI_Request c = MPI_REQUEST_NULL;
    thence_cr_create(0, -1, MPI_INFO_NULL, &c);
    note n;
    std::vector<MPI_Request> group{world.start(), world.start()};
    const ticket t[] = {world.ticket_of(group[0]), world.ticket_of(group[1])};
    MPI_Request single = world.start();
    const ticket s = world.ticket_of(single);
    require(attach(group, n, c) == 0 && attach(single, n, c) == 0, "attached");
    world.complete(t[0]);
    world.finalize();
    world.progress();
    world.progress();
    require(world.hooks() == 0, "no hook is left");
    // MPI completes these requests later, without the library.
    require(world.complete(t[1]) && world.complete(s), "MPI completes the operations itself");
    require(t[1].q->callback.load() == nullptr, "no callback is left");
    require(n.runs == 0, "no callback runs after MPI_Finalize");
    MPI_Request other = MPI_REQUEST_NULL;
    require(thence_cr_create(0, -1, MPI_INFO_NULL, &other) == MPI_ERR_OTHER, "nothing works afterwards");
    std::_Exit(0);
}

class finalizing : public ::testing::TestWithParam<variant> {};

TEST_P(finalizing, finalize_reports_outstanding) {
    // The tests of the report (tests/core/diagnose) check where they were attached. Here: that there is a report.
    EXPECT_EXIT(outstanding_at_finalize(GetParam()), ::testing::ExitedWithCode(0), "MPI_Finalize");
}

[[noreturn]] void nothing_outstanding(const variant &v) {
    {
        library l(v);
        note n;
        cr c;
        const ticket t = attach_pending(n, c);
        world.complete(t);
        require(thence_wait(&c, MPI_STATUS_IGNORE) == MPI_SUCCESS && n.runs == 1, "it ran");
        thence_free(&c);
        std::fprintf(stderr, "before\n");
        world.finalize();
        world.progress();
        require(world.hooks() == 0, "no hook is left");
        std::fprintf(stderr, "after\n");
    }
    std::_Exit(::testing::Test::HasFailure() ? 1 : 0);
}

TEST_P(finalizing, finalize_is_silent_when_nothing_is_outstanding) {
    EXPECT_EXIT(nothing_outstanding(GetParam()), ::testing::ExitedWithCode(0), "before\nafter\n");
}

// Their CR is freed, so no test or wait can run them: MPI_Finalize does.
[[noreturn]] void complete_but_not_run(const variant &v, unsigned flags) {
    library l(v);
    MPI_Request c = MPI_REQUEST_NULL;
    thence_cr_create(flags, -1, MPI_INFO_NULL, &c);
    constexpr int many = 500;
    note n;
    std::vector<ticket> tickets;
    for (int i = 0; i < many; ++i) {
        MPI_Request r = world.start();
        tickets.push_back(world.ticket_of(r));
        require(attach(r, n, c) == 0, "attached");
    }
    if ((flags & THENCE_CR_POLL_ONLY) == 0) {
        thence_free(&c);
    }
    for (const ticket t : tickets) {
        world.complete(t);
    }
    world.finalize();
    require(n.runs == ((flags & THENCE_CR_POLL_ONLY) == 0 ? many : 0), "all that may run have run");
    std::_Exit(0);
}

TEST_P(finalizing, finalize_runs_what_is_complete) {
    EXPECT_EXIT(complete_but_not_run(GetParam(), 0), ::testing::ExitedWithCode(0), "^$");
}

TEST_P(finalizing, finalize_runs_nothing_that_only_a_test_may_run) {
    EXPECT_EXIT(complete_but_not_run(GetParam(), THENCE_CR_POLL_ONLY), ::testing::ExitedWithCode(0), "MPI_Finalize");
}

// More than there are rooms above; each is called once in each of the two phases, also if it is added twice.
[[noreturn]] void many_functions(const variant &v) {
    static int finalizing = 0;
    static int torn_down = 0;
    library l(v);
    MPI_Request c = MPI_REQUEST_NULL;
    thence_cr_create(0, -1, MPI_INFO_NULL, &c);
    thence_free(&c);
    static thence::continuation::finalize_functions all[20];
    for (auto &each : all) {
        each = {[]() noexcept { ++finalizing; }, []() noexcept { ++torn_down; }};
        thence::continuation::add_finalize_functions(each);
    }
    thence::continuation::add_finalize_functions(all[3]);
    world.finalize();
    require(finalizing == 20 && torn_down == 20, "each is called once in each phase");
    std::_Exit(0);
}

TEST_P(finalizing, finalize_calls_the_functions_of_all_rooms_that_were_added) {
    EXPECT_EXIT(many_functions(GetParam()), ::testing::ExitedWithCode(0), "^$");
}

[[noreturn]] void with_helper(const variant &v) {
    library l(v);
    MPI_Request c = MPI_REQUEST_NULL;
    thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &c);
    note n;
    MPI_Request r = world.start();
    attach(r, n, c);
    world.finalize();
    const unsigned long long calls = world.progress_calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    require(world.progress_calls == calls, "the helper thread is gone");
    std::_Exit(0);
}

TEST_P(finalizing, finalize_ends_the_helper_thread) {
    EXPECT_EXIT(with_helper(GetParam()), ::testing::ExitedWithCode(0), "");
}

[[noreturn]] void another_thread_comes_at_the_end(const variant &v) {
    library l(v);
    thence::continuation::finalizing(); // MPI still is usable: MPI_Finalize goes on
    std::thread([] {
        MPI_Request c = MPI_REQUEST_NULL;
        require(thence_cr_create(0, -1, MPI_INFO_NULL, &c) == MPI_ERR_OTHER, "it is refused");
    }).join();
    require(!thence::continuation::is_set_up, "the library is not set up again");
    std::_Exit(0);
}

TEST_P(finalizing, no_thread_sets_the_library_up_again_once_it_has_ended) {
    EXPECT_EXIT(another_thread_comes_at_the_end(GetParam()), ::testing::ExitedWithCode(0), "");
}

// A source whose work never ends. MPI_Finalize of MPICH waits for every hook that is registered.
[[noreturn]] void another_source_has_work(const variant &v) {
    static const thence::progress::source endless{"a test's", []() noexcept { return true; },
                                                  [](thence::progress::polled_from) noexcept { return false; },
                                                  [](long) noexcept { return 0L; }};
    thence::progress::interposed.finalize = true; // MPICH's hook is used only then
    library l(v);
    require(thence::progress::add_source(endless), "the source is registered");
    thence::progress::engage();
    require((world.hooks() != 0) == v.has_hook(), "the hook is registered");
    require(thence::progress::require_helper(), "the helper runs");
    thence::continuation::finalizing(); // as the interposed MPI_Finalize
    const auto stays_away = [] {
        thence::progress::engage();
        thence::progress::wake();
        require(!thence::progress::require_helper(), "the helper does not start again");
    };
    stays_away();
    world.finalize();
    stays_away();
    require(world.hooks() == 0, "the hook is not registered again");
    std::_Exit(0);
}

TEST_P(finalizing, finalize_is_not_delayed_by_a_source_that_has_work_left) {
    EXPECT_EXIT(another_source_has_work(GetParam()), ::testing::ExitedWithCode(0), "^$");
}

THENCE_RULES(finalizing);

// In MPI_Finalize MPICH takes no locks any more, so the helper must have left MPI before. Only the interposed
// MPI_Finalize is early enough, and this program is linked without it.
class without_interposed_finalize : public ::testing::TestWithParam<const char *> {
protected:
    static variant mpi(const char *library_version) {
        variant v = all_variants().back();
        v.offers.library_version = library_version;
        return v;
    }
    library library_{mpi(GetParam())};
};

TEST_P(without_interposed_finalize, any_thread_is_refused_with_what_to_link) {
    MPI_Request c = MPI_REQUEST_NULL;
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &c), MPI_ERR_UNSUPPORTED_OPERATION);
    EXPECT_NE(::testing::internal::GetCapturedStderr().find("-lthence"), std::string::npos);
    EXPECT_EQ(reported(), codes{MPI_ERR_UNSUPPORTED_OPERATION});
    EXPECT_EQ(c, MPI_REQUEST_NULL);
}

TEST_P(without_interposed_finalize, hints_are_ignored_and_application_threads_run_the_callbacks) {
    for (const bool by_setting : {false, true}) {
        setenv("THENCE_PROGRESS", by_setting ? "thread" : "off", 1);
        thence::base::read_settings(); // as the library does when it is set up
        cr c(0, -1, by_setting ? MPI_INFO_NULL : world.info({{"mpi_continue_thread", "any"}}));
        unsetenv("THENCE_PROGRESS");
        thence_cr_info in_force{};
        EXPECT_EQ(thence_cr_query(c, &in_force, sizeof in_force), MPI_SUCCESS);
        EXPECT_EQ(in_force.flags, 0U);
        thence_info facts{};
        EXPECT_EQ(thence_query(&facts, sizeof facts), MPI_SUCCESS);
        EXPECT_EQ(facts.any_thread, 0);
        EXPECT_EQ(std::string(facts.helper).rfind("not possible: ", 0), 0U);
        note n;
        const ticket t = attach_pending(n, c);
        world.complete(t);
        EXPECT_EQ(thence_wait(&c, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(n.runs, 1);
    }
}

INSTANTIATE_TEST_SUITE_P(, without_interposed_finalize,
                         ::testing::Values("MPICH Version: 4.0.2", "Intel(R) MPI Library 2021.18 for Linux* OS"),
                         [](const ::testing::TestParamInfo<const char *> &version) {
                             return std::string(version.index == 0 ? "mpich" : "intel");
                         });

// Where all ranks must wait for each other before MPI_Finalize. Nobody else pays for that.
TEST(ranks_wait_for_each_other_before_finalize, on_mpich_4_with_ucx_and_several_nodes_only) {
    using thence::mpi::finalize_may_not_return;
    constexpr const char *mpich_4 = "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7\nMPICH Device:\tch4:ucx\n";
    EXPECT_TRUE(finalize_may_not_return(mpich_4, 4, "2"));
    EXPECT_TRUE(finalize_may_not_return(mpich_4, 4, nullptr)); // another launcher
    EXPECT_FALSE(finalize_may_not_return(mpich_4, 4, "4"));
    EXPECT_FALSE(finalize_may_not_return(mpich_4, 1, "1"));
    EXPECT_FALSE(finalize_may_not_return(mpich_4, 1, nullptr));
    EXPECT_FALSE(finalize_may_not_return("MPICH Version:\t4.0.2\nMPICH Device:\tch4:ofi\n", 4, "2"));
    EXPECT_FALSE(finalize_may_not_return("MPICH Version:      5.0.1\nMPICH Device:       ch4:ucx\n", 4, "2"));
    EXPECT_FALSE(finalize_may_not_return("Open MPI v4.1.4, with ch4:ucx in its name", 4, "2"));
    EXPECT_FALSE(finalize_may_not_return("MPICH, of which nothing else is known", 4, "2"));
}

} // namespace
