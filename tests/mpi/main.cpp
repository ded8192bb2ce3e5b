// SPDX-License-Identifier: BSD-3-Clause
// GoogleTest on every rank of an MPI program. Rank 0 reports everything, other ranks only what fails; a test that does
// not end is named by every rank that hangs in it. All ranks fail when one does.
//
//   --level=single|funneled|serialized|multiple   what to ask of MPI_Init_thread (default: multiple)
//   --progress=thread                             as THENCE_PROGRESS=thread in the environment
//   --limit=SECONDS                               how long a test may take (default: 40)
//   --files=a,b                                   only the tests of a.cpp and b.cpp; GTEST_FILTER takes precedence
#include "support.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <set>
#include <string>
#include <unistd.h>

namespace {

unsigned time_limit_s = 40; // of one test, on a loaded machine with more ranks than cores

int world_rank = 0;
char current_test[256];

void time_is_over(int) {
    char text[400];
    const int n = std::snprintf(text, sizeof text, "rank %d: %s did not end within %u s\n", world_rank, current_test,
                                time_limit_s);
    if (write(STDERR_FILENO, text, static_cast<std::size_t>(n)) != n) {
        _exit(4);
    }
    _exit(3);
}

// No rank starts a test before the others have ended the one before.
class keep_together : public testing::EmptyTestEventListener {
    void OnTestStart(const testing::TestInfo &info) override {
        std::snprintf(current_test, sizeof current_test, "%s.%s", info.test_suite_name(), info.name());
        alarm(time_limit_s);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    void OnTestEnd(const testing::TestInfo &) override { MPI_Barrier(MPI_COMM_WORLD); }
};

class failures_only : public testing::EmptyTestEventListener {
    void OnTestPartResult(const testing::TestPartResult &result) override {
        if (result.failed()) {
            std::cerr << "rank " << world_rank << ": " << current_test << ": "
                      << (result.file_name() == nullptr ? "?" : result.file_name()) << ':' << result.line_number()
                      << ": " << result.message() << std::endl;
        }
    }
};

std::string value_of(int argc, char **argv, const std::string &name) {
    for (int i = 1; i < argc; ++i) {
        if (std::string(argv[i]).rfind(name, 0) == 0) {
            return argv[i] + name.size();
        }
    }
    return "";
}

std::string name_of(const char *path) {
    const std::string file = path == nullptr ? "" : path;
    const std::size_t begin = file.rfind('/') + 1; // 0 if there is none
    return file.substr(begin, file.rfind('.') - begin);
}

// The tests of these files, separated by commas, as a filter of GoogleTest. Empty if one of them has none.
std::string filter_of(const std::string &files) {
    std::string filter;
    std::set<std::string> without{};
    for (std::size_t at = 0; at <= files.size(); at = std::min(files.find(',', at), files.size()) + 1) {
        without.insert(files.substr(at, files.find(',', at) - at));
    }
    const std::set<std::string> wanted = without;
    const testing::UnitTest &all = *testing::UnitTest::GetInstance();
    for (int s = 0; s < all.total_test_suite_count(); ++s) {
        const testing::TestSuite &suite = *all.GetTestSuite(s);
        for (int t = 0; t < suite.total_test_count(); ++t) {
            const testing::TestInfo &test = *suite.GetTestInfo(t);
            const std::string file = name_of(test.file());
            if (wanted.count(file) != 0) {
                filter += std::string(filter.empty() ? "" : ":") + suite.name() + '.' + test.name();
                without.erase(file);
            }
        }
    }
    for (const std::string &file : without) {
        std::cerr << "--files: no test in " << file << ".cpp\n";
    }
    return without.empty() ? filter : "";
}

} // namespace

int asked_level = MPI_THREAD_MULTIPLE;

int main(int argc, char **argv) {
    if (const std::string limit = value_of(argc, argv, "--limit="); !limit.empty()) {
        time_limit_s = static_cast<unsigned>(std::strtoul(limit.c_str(), nullptr, 10));
    }
    const std::string level = value_of(argc, argv, "--level=");
    asked_level = level == "single"       ? MPI_THREAD_SINGLE
                  : level == "funneled"   ? MPI_THREAD_FUNNELED
                  : level == "serialized" ? MPI_THREAD_SERIALIZED
                                          : MPI_THREAD_MULTIPLE;
    if (const std::string progress = value_of(argc, argv, "--progress="); !progress.empty()) {
        setenv("THENCE_PROGRESS", progress.c_str(), 1);
    }
    int provided = 0;
    MPI_Init_thread(&argc, &argv, asked_level, &provided);
    if (provided < asked_level) {
        std::cerr << "this MPI does not give the thread level that these tests need\n";
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errors_return());
    MPI_Comm_set_errhandler(MPI_COMM_SELF, errors_return()); // since MPI 4, of calls without a communicator
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    std::signal(SIGALRM, time_is_over);

    testing::InitGoogleTest(&argc, argv);
    if (const std::string files = value_of(argc, argv, "--files="); !files.empty()) {
        const std::string filter = filter_of(files);
        if (filter.empty()) {
            MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
        }
        if (std::getenv("GTEST_FILTER") == nullptr) {
            testing::GTEST_FLAG(filter) = filter;
        }
    }
    testing::TestEventListeners &listeners = testing::UnitTest::GetInstance()->listeners();
    if (world_rank != 0) {
        delete listeners.Release(listeners.default_result_printer());
        listeners.Append(new failures_only);
    }
    listeners.Append(new keep_together);
    int mine = RUN_ALL_TESTS();
    int worst = mine;
    MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Finalize();
    return worst;
}
