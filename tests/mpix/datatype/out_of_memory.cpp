// SPDX-License-Identifier: BSD-3-Clause
// Memory that ends while a datatype is read, at each allocation in turn: the call is refused, no handle is lost, and
// the next call succeeds. This program replaces the allocation functions.
#include "library.hpp"
#include "mpix/datatype/layout.hpp"
#include "types.hpp"

#include <thence/type_iov.h>

#include <cstdlib>
#include <new>

namespace {

thread_local long allowed = -1; // allocations until there is no memory; negative: there always is

} // namespace

void *operator new(std::size_t size) {
    if (allowed == 0) {
        throw std::bad_alloc();
    }
    allowed -= allowed > 0 ? 1 : 0;
    if (void *memory = std::malloc(size == 0 ? 1 : size); memory != nullptr) {
        return memory;
    }
    throw std::bad_alloc();
}
void operator delete(void *memory) noexcept {
    std::free(memory);
}
void operator delete(void *memory, std::size_t) noexcept {
    std::free(memory);
}

namespace {

using namespace thence::fake;
using thence::datatype::found;
using thence::datatype::layout_of;

TEST(out_of_memory, refuses_and_loses_nothing) {
    world.begin(features{});
    world.handler = MPI_ERRORS_RETURN;
    MPI_Datatype warm = make_type({.combiner = MPI_COMBINER_DUP, .types = {MPI_SHORT_INT}});
    MPI_Count length = 0;
    MPI_Count bytes = 0;
    ASSERT_EQ(MPI_SUCCESS, thence_type_iov_len(warm, -1, &length, &bytes)); // the attribute is made
    free_type(warm);
    int refused = 0;
    for (long i = 0;; ++i) {
        ASSERT_LT(i, 1000);
        MPI_Datatype inner =
            make_type({.combiner = MPI_COMBINER_VECTOR, .integers = {3, 1, 2}, .types = {MPI_INT}, .extent = 20});
        MPI_Datatype type = make_type({.combiner = MPI_COMBINER_STRUCT,
                                       .integers = {4, 1, 2, 1, 1},
                                       .addresses = {0, 64, 8, 200},
                                       .types = {inner, MPI_DOUBLE, inner, MPI_SHORT_INT}});
        const long before = type_references();
        allowed = i;
        const found how = layout_of(type).how;
        allowed = -1;
        EXPECT_EQ(before, type_references());
        if (how != found::yes) {
            EXPECT_EQ(found::no_memory, how);
            ++refused;
        }
        EXPECT_EQ(MPI_SUCCESS, thence_type_iov_len(type, -1, &length, &bytes));
        EXPECT_EQ(9, length);
        free_type(type);
        free_type(inner);
        EXPECT_EQ(0, type_references());
        if (how == found::yes) {
            break;
        }
    }
    EXPECT_GT(refused, 5);
    world.take_reported();
    world.finalize();
    world.end();
}

} // namespace
