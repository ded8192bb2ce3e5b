// SPDX-License-Identifier: BSD-3-Clause
// Communicators that are made of thread communicators inside a region, attributes per thread, names and error handlers.
#include "threadcomm.hpp"

#include <array>
#include <atomic>
#include <cstring>

namespace {

int class_of(int code) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    return error_class;
}

std::atomic<int> deleted{0};
std::atomic<int> copied{0};
int when_deleted(MPI_Comm, int, void *, void *) {
    ++deleted;
    return MPI_SUCCESS;
}
int when_copied(MPI_Comm, int, void *, void *value, void *result, int *flag) {
    ++copied;
    *static_cast<void **>(result) = value;
    *flag = 1;
    return MPI_SUCCESS;
}

int when_refused(MPI_Comm, int, void *, void *value, void *result, int *flag) {
    *static_cast<void **>(result) = value;
    *flag = 1;
    return *static_cast<int *>(value) == 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

std::atomic<int> handled{0};
void handle(MPI_Comm *, int *code, ...) {
    ++handled;
    (void)code;
}

} // namespace

TEST(threadcomm_derived, a_duplicate_has_the_same_ranks_and_messages_of_its_own) {
    threads_of t(3);
    t.run([&](int rank, int size) {
        MPI_Comm copy = MPI_COMM_NULL;
        ASSERT_EQ(MPI_Comm_dup(t.comm, &copy), MPI_SUCCESS);
        int result = -1;
        ASSERT_EQ(MPI_Comm_compare(t.comm, copy, &result), MPI_SUCCESS);
        EXPECT_EQ(result, MPI_CONGRUENT);
        ASSERT_EQ(MPI_Comm_compare(copy, copy, &result), MPI_SUCCESS);
        EXPECT_EQ(result, MPI_IDENT);
        ASSERT_EQ(MPI_Comm_compare(copy, MPI_COMM_WORLD, &result), MPI_SUCCESS);
        EXPECT_EQ(result, MPI_UNEQUAL);
        int number = -1;
        MPI_Comm_rank(copy, &number);
        EXPECT_EQ(number, rank);
        MPI_Comm_size(copy, &number);
        EXPECT_EQ(number, size);
        int flag = 0;
        MPIX_Comm_test_threadcomm(copy, &flag);
        EXPECT_EQ(flag, 1);
        EXPECT_EQ(class_of(MPIX_Threadcomm_start(copy)), MPI_ERR_COMM);
        const int to = (rank + 1) % size;
        const int from = (rank + size - 1) % size;
        const int first = 1;
        const int second = 2;
        MPI_Send(&first, 1, MPI_INT, to, 0, t.comm);
        MPI_Send(&second, 1, MPI_INT, to, 0, copy);
        int got = -1;
        MPI_Recv(&got, 1, MPI_INT, from, 0, copy, MPI_STATUS_IGNORE);
        EXPECT_EQ(got, 2);
        MPI_Recv(&got, 1, MPI_INT, from, 0, t.comm, MPI_STATUS_IGNORE);
        EXPECT_EQ(got, 1);
        ASSERT_EQ(MPI_Comm_free(&copy), MPI_SUCCESS);
        EXPECT_EQ(copy, MPI_COMM_NULL);
    });
}

TEST(threadcomm_derived, a_split_by_color_and_key) {
    threads_of t(4);
    t.run([&](int rank, int size) {
        MPI_Comm part = MPI_COMM_NULL;
        const int color = rank % 3 == 2 ? MPI_UNDEFINED : rank % 3;
        ASSERT_EQ(MPI_Comm_split(t.comm, color, -rank, &part), MPI_SUCCESS); // in reverse order
        if (color == MPI_UNDEFINED) {
            EXPECT_EQ(part, MPI_COMM_NULL);
            return;
        }
        int its_size = 0;
        for (int i = 0; i < size; ++i) {
            its_size += i % 3 == color ? 1 : 0;
        }
        int its_rank = 0;
        for (int i = rank + 1; i < size; ++i) {
            its_rank += i % 3 == color ? 1 : 0;
        }
        int n = -1;
        MPI_Comm_size(part, &n);
        EXPECT_EQ(n, its_size);
        int r = -1;
        MPI_Comm_rank(part, &r);
        EXPECT_EQ(r, its_rank);
        int got = -1;
        MPI_Status status;
        ASSERT_EQ(MPI_Sendrecv(&rank, 1, MPI_INT, (r + 1) % n, 0, &got, 1, MPI_INT, MPI_ANY_SOURCE, 0, part, &status),
                  MPI_SUCCESS);
        EXPECT_EQ(status.MPI_SOURCE, (r + n - 1) % n);
        EXPECT_EQ(got % 3, color);
        MPI_Comm again = MPI_COMM_NULL;
        ASSERT_EQ(MPI_Comm_split(part, 0, rank, &again), MPI_SUCCESS);
        int result = -1;
        MPI_Comm_compare(part, again, &result);
        EXPECT_EQ(result, n == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
        MPI_Comm_free(&again);
        MPI_Comm_free(&part);
    });
}

TEST(threadcomm_derived, a_root_is_not_freed_before_what_was_derived_from_it) {
    threads_of t(2);
    std::array<MPI_Comm, 64> copies{};
    t.run([&](int rank, int) { MPI_Comm_dup(t.comm, &copies[static_cast<std::size_t>(rank)]); });
    MPI_Comm handle = t.comm;
    EXPECT_EQ(class_of(MPIX_Threadcomm_free(&handle)), MPI_ERR_COMM);
    t.run([&](int rank, int) { EXPECT_EQ(MPI_Comm_free(&copies[static_cast<std::size_t>(rank)]), MPI_SUCCESS); });
}

TEST(threadcomm_derived, attributes_are_per_thread_and_deleted_at_finish) {
    deleted = copied = 0;
    int keyval = MPI_KEYVAL_INVALID;
    ASSERT_EQ(MPI_Comm_create_keyval(&when_copied, &when_deleted, &keyval, nullptr), MPI_SUCCESS);
    threads_of t(3);
    t.run([&](int rank, int) {
        void *got = nullptr;
        int flag = -1;
        ASSERT_EQ(MPI_Comm_get_attr(t.comm, keyval, &got, &flag), MPI_SUCCESS);
        EXPECT_EQ(flag, 0);
        int value = rank;
        ASSERT_EQ(MPI_Comm_set_attr(t.comm, keyval, &value), MPI_SUCCESS);
        ASSERT_EQ(MPI_Comm_get_attr(t.comm, keyval, &got, &flag), MPI_SUCCESS);
        EXPECT_EQ(flag, 1);
        EXPECT_EQ(got, &value);
        MPI_Comm copy = MPI_COMM_NULL;
        ASSERT_EQ(MPI_Comm_dup(t.comm, &copy), MPI_SUCCESS);
        ASSERT_EQ(MPI_Comm_get_attr(copy, keyval, &got, &flag), MPI_SUCCESS);
        EXPECT_EQ(flag, 1);
        EXPECT_EQ(got, &value);
        ASSERT_EQ(MPI_Comm_delete_attr(copy, keyval), MPI_SUCCESS);
        ASSERT_EQ(MPI_Comm_get_attr(copy, keyval, &got, &flag), MPI_SUCCESS);
        EXPECT_EQ(flag, 0);
        MPI_Comm_free(&copy);
    });
    EXPECT_EQ(copied, 3);
    EXPECT_EQ(deleted, 6);
    MPI_Comm_free_keyval(&keyval);
}

// A copy function fails on one rank: no rank gets the communicator, and the root can be freed.
TEST(threadcomm_derived, a_duplicate_that_fails_on_one_rank_fails_on_all) {
    int keyval = MPI_KEYVAL_INVALID;
    ASSERT_EQ(MPI_Comm_create_keyval(&when_refused, &when_deleted, &keyval, nullptr), MPI_SUCCESS);
    deleted = 0;
    MPI_Errhandler before = MPI_ERRHANDLER_NULL; // some MPIs call one of these handlers, too
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, thence_errors_return());
    MPI_Comm_set_errhandler(MPI_COMM_SELF, thence_errors_return());
    {
        threads_of t(2);
        t.run([&](int rank, int) {
            int value = rank;
            ASSERT_EQ(MPI_Comm_set_attr(t.comm, keyval, &value), MPI_SUCCESS);
            MPI_Comm copy = MPI_COMM_NULL;
            EXPECT_NE(MPI_Comm_dup(t.comm, &copy), MPI_SUCCESS);
            EXPECT_EQ(copy, MPI_COMM_NULL);
            MPI_Barrier(t.comm);
        });
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, before);
    MPI_Errhandler_free(&before);
    MPI_Comm_free_keyval(&keyval);
}

// Communicators of one process carry names, error handlers and attributes: those of MPI_COMM_SELF are not for them.
TEST(threadcomm_derived, attributes_of_mpi_comm_self_are_not_copied) {
    int keyval = MPI_KEYVAL_INVALID;
    int ours = MPI_KEYVAL_INVALID;
    ASSERT_EQ(MPI_Comm_create_keyval(&when_copied, &when_deleted, &keyval, nullptr), MPI_SUCCESS);
    ASSERT_EQ(MPI_Comm_create_keyval(&when_copied, &when_deleted, &ours, nullptr), MPI_SUCCESS);
    int value = 0;
    ASSERT_EQ(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &value), MPI_SUCCESS);
    deleted = copied = 0;
    {
        threads_of t(2);
        t.run([&](int, int) {
            MPI_Comm copy = MPI_COMM_NULL;
            ASSERT_EQ(MPI_Comm_dup(t.comm, &copy), MPI_SUCCESS);
            int mine = 1;
            ASSERT_EQ(MPI_Comm_set_attr(copy, ours, &mine), MPI_SUCCESS);
            void *got = nullptr;
            int flag = -1;
            ASSERT_EQ(MPI_Comm_get_attr(copy, keyval, &got, &flag), MPI_SUCCESS);
            EXPECT_EQ(flag, 0);
            MPI_Comm_free(&copy);
        });
    }
    EXPECT_EQ(copied, 0);
    EXPECT_EQ(deleted, 2) << "those that the threads have set";
    MPI_Comm_delete_attr(MPI_COMM_SELF, keyval);
    MPI_Comm_free_keyval(&keyval);
    MPI_Comm_free_keyval(&ours);
}

TEST(threadcomm_derived, names_and_error_handlers_are_those_of_mpi) {
    threads_of t(2);
    MPI_Comm_set_name(t.comm, "threads");
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    MPI_Comm_create_errhandler(&handle, &handler);
    MPI_Comm_set_errhandler(t.comm, handler);
    handled = 0;
    t.run([&](int rank, int size) {
        char name[MPI_MAX_OBJECT_NAME + 1] = "";
        int length = 0;
        MPI_Comm_get_name(t.comm, name, &length);
        EXPECT_STREQ(name, "threads");
        EXPECT_EQ(class_of(MPI_Send(&rank, 1, MPI_INT, size + 1, 0, t.comm)), MPI_ERR_RANK);
    });
    EXPECT_EQ(handled, 2);
    MPI_Errhandler_free(&handler);
}

TEST(threadcomm_derived, what_only_processes_can_do_is_refused) {
    threads_of t(1);
    t.run([&](int, int) {
        MPI_Group group = MPI_GROUP_NULL;
        EXPECT_EQ(class_of(MPI_Comm_group(t.comm, &group)), MPI_ERR_COMM);
        MPI_Win win = MPI_WIN_NULL;
        EXPECT_EQ(class_of(MPI_Win_create_dynamic(MPI_INFO_NULL, t.comm, &win)), MPI_ERR_COMM);
        const int n = 1;
        const int periodic = 0;
        MPI_Comm grid = MPI_COMM_NULL;
        EXPECT_EQ(class_of(MPI_Cart_create(t.comm, 1, &n, &periodic, 0, &grid)), MPI_ERR_COMM);
        MPI_Request request = MPI_REQUEST_NULL;
        int value = 0;
        EXPECT_EQ(class_of(MPI_Send_init(&value, 1, MPI_INT, 0, 0, t.comm, &request)), MPI_ERR_COMM);
        EXPECT_EQ(request, MPI_REQUEST_NULL);
    });
}
