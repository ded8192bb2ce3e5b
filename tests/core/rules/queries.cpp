// SPDX-License-Identifier: BSD-3-Clause
// The structs of the queries carry their size: programs and libraries of different versions fit.
#include "library.hpp"

#include "core/api/sized.hpp"
#include "core/base/settings.hpp"
#include "core/engine/engine.hpp"

#include <thence/extensions.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

namespace {

using namespace thence::fake;

constexpr unsigned char untouched = 0xa5;

// A struct of the C API in memory of a program: with room after it, as if a newer header had added members there.
template <class Info> class in_program {
public:
    in_program() { std::memset(bytes_, untouched, sizeof bytes_); }
    Info *info() { return reinterpret_cast<Info *>(bytes_); }
    // True if no byte from `first` on was written.
    bool unchanged_from(std::size_t first) const {
        for (std::size_t i = first; i < sizeof bytes_; ++i) {
            if (bytes_[i] != untouched) {
                return false;
            }
        }
        return true;
    }

    static constexpr std::size_t size = sizeof(Info);
    static constexpr std::size_t larger = sizeof(Info) + 24;

private:
    alignas(Info) unsigned char bytes_[larger];
};

class queries : public on_fake {
protected:
    // `query(info, size)` is one of the calls.
    template <class Info, class Query> void holds_for(const char *call, Query &&query) {
        in_program<Info> same;
        EXPECT_EQ(query(same.info(), same.size), MPI_SUCCESS) << call;
        EXPECT_EQ(same.info()->size, same.size) << call;
        EXPECT_TRUE(same.unchanged_from(same.size)) << call;
        in_program<Info> newer;
        EXPECT_EQ(query(newer.info(), newer.larger), MPI_SUCCESS) << call;
        EXPECT_EQ(newer.info()->size, newer.size) << call << " sets the size that it knows";
        EXPECT_TRUE(newer.unchanged_from(newer.size)) << call << " writes no more";
        for (const std::size_t wrong : {std::size_t{0}, sizeof(std::size_t), same.size - 1}) {
            in_program<Info> refused;
            EXPECT_EQ(query(refused.info(), wrong), MPI_ERR_ARG) << call << ", size " << wrong;
            EXPECT_EQ(reported(), codes{MPI_ERR_ARG});
            EXPECT_TRUE(refused.unchanged_from(0)) << call << ", size " << wrong;
        }
    }
};

TEST_P(queries, write_no_byte_beyond_the_size_that_the_program_passes) {
    cr c;
    holds_for<thence_info>("thence_query", &thence_query);
    holds_for<thence_cr_info>("thence_cr_query",
                              [&](thence_cr_info *to, std::size_t n) { return thence_cr_query(c, to, n); });
    holds_for<thence_setting_info>(
        "thence_setting_query", [](thence_setting_info *to, std::size_t n) { return thence_setting_query(0, to, n); });
    holds_for<thence_stats_info>("thence_stats_query", &thence_stats_query);
    holds_for<thence_extension_info>("thence_extension_query", [](thence_extension_info *to, std::size_t n) {
        return thence_extension_query(0, to, n);
    });
}

TEST_P(queries, of_settings_go_through_all_of_them_and_then_those_that_are_none) {
    setenv("THENCE_NO_SUCH_SETTING", "1", 1);
    thence::base::read_settings();
    thence_setting_info info{};
    int known = 0;
    int unknown = 0;
    for (int i = 0; thence_setting_query(i, &info, sizeof info) == MPI_SUCCESS && info.name != nullptr; ++i) {
        if (info.values != nullptr) {
            EXPECT_EQ(unknown, 0) << "these come first";
            ++known;
            EXPECT_NE(info.in_force, nullptr);
            if (std::string(info.name) == "THENCE_ENGINE") {
                EXPECT_STREQ(info.text, std::getenv("THENCE_ENGINE"));
                EXPECT_STREQ(info.in_force, thence::engine::current->name());
                EXPECT_EQ(info.complaint == nullptr, std::string(info.text) == info.in_force)
                    << "the fake MPI runs some engines that the variable does not name";
            }
        } else if (std::string(info.name) == "THENCE_NO_SUCH_SETTING") {
            ++unknown;
            EXPECT_NE(info.complaint, nullptr);
        }
    }
    EXPECT_EQ(known, static_cast<int>(thence::base::setting_count));
    EXPECT_EQ(unknown, 1);
    EXPECT_EQ(info.complaint, nullptr) << "there is none";
    EXPECT_EQ(thence_setting_query(-1, &info, sizeof info), MPI_ERR_ARG);
    EXPECT_EQ(reported(), codes{MPI_ERR_ARG});
    unsetenv("THENCE_NO_SUCH_SETTING");
}

TEST_P(queries, of_extensions_go_through_all_of_them_and_say_whose_each_is) {
    thence_extension_info info{};
    std::map<std::string, std::string> states;
    for (int i = 0; thence_extension_query(i, &info, sizeof info) == MPI_SUCCESS && info.name != nullptr; ++i) {
        EXPECT_TRUE(std::string(info.state) == "native" || std::string(info.state) == "ours" ||
                    std::string(info.state) == "not possible")
            << info.name;
        EXPECT_GT(std::strlen(info.why), 0U) << info.name;
        EXPECT_TRUE(states.emplace(info.name, info.state).second) << info.name << " comes once";
    }
    std::set<std::string> names;
    for (const auto &[name, state] : states) {
        names.insert(name);
    }
    EXPECT_EQ(names,
              (std::set<std::string>{"GPU queries", "generalized requests", "async functions", "progress threads",
                                     "MPIX_Request_is_complete", "streams", "multiplex communicators",
                                     "enqueue on host queues", "enqueue on CUDA streams", "enqueue on other queues",
                                     "datatype iovecs", "thread communicators"}));
    for (const char *anywhere : {"generalized requests", "multiplex communicators", "enqueue on other queues"}) {
        EXPECT_EQ(states[anywhere], "ours") << anywhere;
    }
    EXPECT_EQ(info.state, nullptr) << "there is none";
    EXPECT_EQ(thence_extension_query(-1, &info, sizeof info), MPI_ERR_ARG);
    EXPECT_EQ(reported(), codes{MPI_ERR_ARG});
}

TEST_P(queries, of_device_memory_give_what_mpi_says_and_0_where_it_says_nothing) {
    thence::mpi::table.query_gpu_support[THENCE_GPU_CUDA] = [] { return 1; };
    thence::mpi::table.query_gpu_support[THENCE_GPU_ZE] = [] { return 0; };
    thence::mpi::table.query_gpu_support[THENCE_GPU_HIP] = nullptr;
    EXPECT_EQ(thence_query_cuda_support(), 1);
    EXPECT_EQ(thence_query_ze_support(), 0);
    EXPECT_EQ(thence_query_hip_support(), 0);
    for (int kind = 0; kind < 3; ++kind) {
        int is_supported = -1;
        EXPECT_EQ(thence_gpu_query_support(kind, &is_supported), MPI_SUCCESS);
        EXPECT_EQ(is_supported, kind == THENCE_GPU_CUDA ? 1 : 0);
    }
    int unchanged = -1;
    EXPECT_EQ(thence_gpu_query_support(3, &unchanged), MPI_ERR_ARG) << "MPICH takes it";
    EXPECT_EQ(thence_gpu_query_support(-1, &unchanged), MPI_ERR_ARG);
    EXPECT_EQ(thence_gpu_query_support(0, nullptr), MPI_ERR_ARG);
    EXPECT_EQ(unchanged, -1);
    EXPECT_EQ(reported(), (codes{MPI_ERR_ARG, MPI_ERR_ARG, MPI_ERR_ARG}));
}

THENCE_RULES(queries);

// What a later version of this library does for a program that was compiled with an earlier header.
TEST(a_struct_that_has_grown, is_cut_to_the_size_that_an_older_program_passes) {
    struct first_version {
        std::size_t size;
        long number;
        int answer;
        int other;
    };
    struct later_version {
        std::size_t size;
        long number;
        int answer;
        int other;
        const char *added;
        long more;
    };
    in_program<first_version> program;
    const later_version facts{0, -5, 42, 43, "text", 6};
    thence::api::copy_sized(facts, program.info(), program.size);
    EXPECT_EQ(program.info()->size, sizeof(first_version));
    EXPECT_EQ(program.info()->number, -5);
    EXPECT_EQ(program.info()->answer, 42);
    EXPECT_EQ(program.info()->other, 43);
    EXPECT_TRUE(program.unchanged_from(program.size));
}

} // namespace
