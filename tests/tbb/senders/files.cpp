// SPDX-License-Identifier: BSD-3-Clause
// Files of the real MPI. Open MPI does not set in their statuses whether the operation was cancelled.
#include <thence/transform_mpi.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>
#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

namespace {

namespace ex = thence::ex;

// malloc() fills memory with a value other than 0, so a flag in it that MPI does not set is true.
class unclean_memory {
public:
    unclean_memory() { set(0x01); }
    ~unclean_memory() { set(0); }
    unclean_memory(const unclean_memory &) = delete;
    unclean_memory &operator=(const unclean_memory &) = delete;

private:
    static void set([[maybe_unused]] int byte) {
#if defined(M_PERTURB)
        mallopt(M_PERTURB, byte);
#endif
    }
};

TEST(files, an_operation_without_a_stop_request_is_not_stopped) {
    const unclean_memory unclean;
    const std::string name = "thence_test_file_" + std::to_string(MPI_Wtime());
    MPI_File file = MPI_FILE_NULL;
    ASSERT_EQ(MPI_File_open(MPI_COMM_SELF, name.c_str(), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                            MPI_INFO_NULL, &file),
              MPI_SUCCESS);
    const std::array<double, 4> out{1, 2, 3, 4};
    ex::inplace_stop_source stop; // no stop is requested
    const auto stoppable = [&](auto call) {
        return ex::write_env(ex::just() | thence::transform_mpi(call), ex::prop{ex::get_stop_token, stop.get_token()});
    };
    for (int i = 0; i < 5; ++i) {
        std::array<double, 4> in{};
        EXPECT_TRUE(thence::sync_wait(stoppable([&](MPI_Request *r) {
                        return MPI_File_iwrite_at(file, 0, out.data(), 4, MPI_DOUBLE, r);
                    })).has_value());
        EXPECT_TRUE(thence::sync_wait(stoppable([&](MPI_Request *r) {
                        return MPI_File_iread_at(file, 0, in.data(), 4, MPI_DOUBLE, r);
                    })).has_value());
        EXPECT_EQ(in, out);
    }
    MPI_File_close(&file);
}

} // namespace
