// SPDX-License-Identifier: BSD-3-Clause
// Calls on a thread communicator: those that communicator_calls.txt says are refused are refused, and those that are
// passed to MPI work there.
#include "table.hpp"

#include "../error_texts.hpp"
#include "../threadcomm.hpp"

#include <fstream>
#include <map>
#include <set>
#include <string>

namespace {

using namespace wrong_arguments;

// The names of one section of communicator_calls.txt.
std::set<std::string> section(const std::string &wanted) {
    std::ifstream file(THENCE_COMMUNICATOR_CALLS);
    std::set<std::string> names;
    bool inside = false;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("[")) {
            inside = line.starts_with("[" + wanted + "]");
        } else if (inside && line.starts_with("MPI_")) {
            names.insert(line);
        }
    }
    return names;
}

std::string without_c(const std::string &name) {
    return name.ends_with("_c") ? name.substr(0, name.size() - 2) : name;
}

} // namespace

TEST(calls_on_a_threadcomm, that_the_table_refuses_are_refused_by_name) {
    const std::set<std::string> refused = section("refused");
    ASSERT_GT(refused.size(), 30U);
    world w;
    threads_of t(1);
    t.run([&](int, int) {
        const MPI_Comm comm = w.comm;
        const MPI_Comm its_ring = w.ring;
        w.comm = w.ring = w.nobody = t.comm;
        std::map<std::string, int> tried;
        const table all = all_calls(w); // it keeps the arguments
        for (const call &each : all.right_calls()) {
            if (!refused.contains(without_c(each.function))) {
                continue;
            }
            ++tried[each.function];
            const int code = each.run(false);
            int error_class = MPI_SUCCESS;
            MPI_Error_class(code, &error_class);
            EXPECT_EQ(error_class, MPI_ERR_COMM) << each.function;
            if (mpi_keeps_texts()) {
                EXPECT_NE(text_of(code).find(each.function + ": "), std::string::npos) << text_of(code);
                EXPECT_NE(text_of(code).find("thread communicator"), std::string::npos) << text_of(code);
            }
        }
        EXPECT_GT(tried.size(), 30U);
        w.comm = comm;
        w.ring = its_ring;
    });
}

TEST(calls_on_a_threadcomm, that_mpi_does_work) {
    threads_of t(1);
    t.run([&](int, int) {
        int answer = -1;
        EXPECT_EQ(MPI_Comm_test_inter(t.comm, &answer), MPI_SUCCESS);
        EXPECT_EQ(answer, 0);
        EXPECT_EQ(MPI_Topo_test(t.comm, &answer), MPI_SUCCESS);
        EXPECT_EQ(answer, MPI_UNDEFINED);
        EXPECT_EQ(MPI_Comm_set_name(t.comm, "threads"), MPI_SUCCESS);
        char name[MPI_MAX_OBJECT_NAME] = "";
        EXPECT_EQ(MPI_Comm_get_name(t.comm, name, &answer), MPI_SUCCESS);
        EXPECT_STREQ(name, "threads");
        MPI_Info info = MPI_INFO_NULL;
        EXPECT_EQ(MPI_Comm_get_info(t.comm, &info), MPI_SUCCESS);
        EXPECT_EQ(MPI_Comm_set_info(t.comm, info), MPI_SUCCESS);
        MPI_Info_free(&info);
#if !defined(MPI_ABI_VERSION) // the standard ABI has no Fortran handles
        EXPECT_EQ(MPI_Comm_f2c(MPI_Comm_c2f(t.comm)), t.comm);
#endif
        MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
        EXPECT_EQ(MPI_Comm_get_errhandler(t.comm, &handler), MPI_SUCCESS);
        EXPECT_EQ(MPI_Comm_set_errhandler(t.comm, handler), MPI_SUCCESS);
        EXPECT_EQ(MPI_Comm_call_errhandler(t.comm, MPI_ERR_OTHER), MPI_SUCCESS);
        MPI_Errhandler_free(&handler);
        int size = 0;
        EXPECT_EQ(MPI_Pack_size(2, MPI_INT, t.comm, &size), MPI_SUCCESS);
        std::vector<char> packed(static_cast<std::size_t>(size));
        const int out[2] = {3, 4};
        int in[2] = {};
        int at = 0;
        EXPECT_EQ(MPI_Pack(out, 2, MPI_INT, packed.data(), size, &at, t.comm), MPI_SUCCESS);
        at = 0;
        EXPECT_EQ(MPI_Unpack(packed.data(), size, &at, in, 2, MPI_INT, t.comm), MPI_SUCCESS);
        EXPECT_EQ(in[0] + 10 * in[1], 43);
    });
}
