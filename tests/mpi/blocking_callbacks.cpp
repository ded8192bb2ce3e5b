// SPDX-License-Identifier: BSD-3-Clause
// A callback may call any MPI function, also one that blocks: it must end although the thread that runs the callback is
// itself inside a blocking call. Rank 0 has the callback; rank 1 answers what it does.
#include "support.hpp"

#include <cstdlib>
#include <unistd.h>

namespace {

constexpr int first_tag = 1; // of the operation that has the continuation
constexpr int inner_tag = 2; // what the callback does
constexpr int outer_tag = 3; // what the outer call waits for
constexpr int begun_tag = 4; // rank 0 has attached the continuation

enum class outer { wait, recv, wait_cr, waitall, test_loop };

struct job {
    MPI_Comm comm;
    std::vector<char> big = std::vector<char>(1 << 20);
    int got = 0;
};

using action = void (*)(job &);

class blocking : public mpi_test {
protected:
    void nested(outer how, action inside, action answer) {
        job mine{comm};
        int first = 0, last = 0;
        if (rank == 1) {
            MPI_Recv(nullptr, 0, MPI_INT, 0, begun_tag, comm, MPI_STATUS_IGNORE);
            sleep_ms(5); // until rank 0 blocks, most likely
            int value = 42;
            MPI_Send(&value, 1, MPI_INT, 0, first_tag, comm);
            sleep_ms(5); // until its callback blocks, most likely
            answer(mine);
            MPI_Send(&value, 1, MPI_INT, 0, outer_tag, comm);
            return;
        }
        struct call {
            job *mine;
            action inside;
            std::atomic<int> calls{0};
            static int back(int, MPI_Status *, void *data) {
                auto &self = *static_cast<call *>(data);
                self.inside(*self.mine);
                ++self.calls;
                return MPI_SUCCESS;
            }
        } callback{&mine, inside};
        MPI_Request request = MPI_REQUEST_NULL;
        int flag = 1;
        MPI_Irecv(&first, 1, MPI_INT, 1, first_tag, comm, &request);
        ASSERT_EQ(MPI_SUCCESS, thence_attach(1, &request, &call::back, &callback, 0, MPI_STATUS_IGNORE, cr, &flag));
        ASSERT_EQ(0, flag);
        MPI_Send(nullptr, 0, MPI_INT, 1, begun_tag, comm);
        MPI_Request waited = MPI_REQUEST_NULL;
        if (how != outer::recv) {
            MPI_Irecv(&last, 1, MPI_INT, 1, outer_tag, comm, &waited);
        }
        switch (how) {
        case outer::recv:
            MPI_Recv(&last, 1, MPI_INT, 1, outer_tag, comm, MPI_STATUS_IGNORE);
            break;
        case outer::wait:
            MPI_Wait(&waited, MPI_STATUS_IGNORE);
            break;
        case outer::waitall:
            MPI_Waitall(1, &waited, MPI_STATUSES_IGNORE);
            break;
        case outer::wait_cr:
            MPI_Wait(&cr, MPI_STATUS_IGNORE);
            MPI_Wait(&waited, MPI_STATUS_IGNORE);
            break;
        case outer::test_loop:
            for (int done = 0; done == 0;) {
                MPI_Test(&waited, &done, MPI_STATUS_IGNORE);
            }
        }
        wait();
        EXPECT_EQ(1, callback.calls.load());
        EXPECT_EQ(42, first);
        EXPECT_EQ(42, last);
        EXPECT_EQ(42, mine.got);
    }
};

void answer_recv(job &mine) {
    const int value = 42;
    MPI_Send(&value, 1, MPI_INT, 0, inner_tag, mine.comm);
}
void inside_recv(job &mine) {
    MPI_Recv(&mine.got, 1, MPI_INT, 1, inner_tag, mine.comm, MPI_STATUS_IGNORE);
}
void inside_irecv_wait(job &mine) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&mine.got, 1, MPI_INT, 1, inner_tag, mine.comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
void inside_irecv_waitall(job &mine) {
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Irecv(&mine.got, 1, MPI_INT, 1, inner_tag, mine.comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}
void inside_probe(job &mine) {
    MPI_Probe(1, inner_tag, mine.comm, MPI_STATUS_IGNORE);
    inside_recv(mine);
}
void inside_big_send(job &mine) {
    MPI_Send(mine.big.data(), static_cast<int>(mine.big.size()), MPI_CHAR, 1, inner_tag, mine.comm);
    mine.got = 42;
}
void inside_ssend(job &mine) {
    const int value = 1;
    MPI_Ssend(&value, 1, MPI_INT, 1, inner_tag, mine.comm);
    mine.got = 42;
}
void answer_big_send(job &mine) {
    MPI_Recv(mine.big.data(), static_cast<int>(mine.big.size()), MPI_CHAR, 0, inner_tag, mine.comm, MPI_STATUS_IGNORE);
}
void answer_ssend(job &mine) {
    int value = 0;
    MPI_Recv(&value, 1, MPI_INT, 0, inner_tag, mine.comm, MPI_STATUS_IGNORE);
}
void both_sendrecv(job &mine) {
    int rank = 0;
    const int value = 42;
    MPI_Comm_rank(mine.comm, &rank);
    MPI_Sendrecv(&value, 1, MPI_INT, 1 - rank, inner_tag, &mine.got, 1, MPI_INT, 1 - rank, inner_tag, mine.comm,
                 MPI_STATUS_IGNORE);
}
void both_barrier(job &mine) {
    MPI_Barrier(mine.comm);
    mine.got = 42;
}
void both_allreduce(job &mine) {
    const int value = 42;
    MPI_Allreduce(&value, &mine.got, 1, MPI_INT, MPI_MAX, mine.comm);
}
void both_big_bcast(job &mine) {
    std::fill(mine.big.begin(), mine.big.end(), static_cast<char>(42));
    MPI_Bcast(mine.big.data(), static_cast<int>(mine.big.size()), MPI_CHAR, 1, mine.comm);
    mine.got = static_cast<unsigned char>(mine.big.back());
}
void both_comm_dup(job &mine) {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(mine.comm, &copy);
    MPI_Comm_free(&copy);
    mine.got = 42;
}
void both_iallreduce_wait(job &mine) {
    const int value = 42;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Iallreduce(&value, &mine.got, 1, MPI_INT, MPI_MAX, mine.comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void inside_mrecv(job &mine) {
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Mprobe(1, inner_tag, mine.comm, &message, MPI_STATUS_IGNORE);
    MPI_Status status;
    MPI_Mrecv(mine.big.data(), static_cast<int>(mine.big.size()), MPI_CHAR, &message, &status);
    EXPECT_EQ(MPI_MESSAGE_NULL, message);
    EXPECT_EQ(inner_tag, status.MPI_TAG);
    mine.got = static_cast<unsigned char>(mine.big.back());
}
void answer_big_recv(job &mine) {
    std::fill(mine.big.begin(), mine.big.end(), static_cast<char>(42));
    MPI_Send(mine.big.data(), static_cast<int>(mine.big.size()), MPI_CHAR, 0, inner_tag, mine.comm);
}
void both_sendrecv_replace(job &mine) {
    int rank = 0;
    MPI_Comm_rank(mine.comm, &rank);
    std::fill(mine.big.begin(), mine.big.end(), static_cast<char>(rank == 0 ? 41 : 42));
    MPI_Status status;
    MPI_Sendrecv_replace(mine.big.data(), static_cast<int>(mine.big.size()), MPI_CHAR, 1 - rank, inner_tag, 1 - rank,
                         inner_tag, mine.comm, &status);
    EXPECT_EQ(1 - rank, status.MPI_SOURCE);
    EXPECT_EQ(rank == 0 ? 42 : 41, mine.big.front());
    mine.got = static_cast<unsigned char>(mine.big.back());
}
void inside_bsend(job &mine) {
    std::vector<char> buffer(mine.big.size() + MPI_BSEND_OVERHEAD);
    MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
    MPI_Bsend(mine.big.data(), static_cast<int>(mine.big.size()), MPI_CHAR, 1, inner_tag, mine.comm);
    void *address = nullptr;
    int bytes = 0;
    MPI_Buffer_detach(&address, &bytes); // waits until it was received
    mine.got = 42;
}
void both_alltoallw(job &mine) {
    const int counts[] = {1, 1}, displs[] = {0, sizeof(int)};
    const MPI_Datatype types[] = {MPI_INT, MPI_INT};
    const int out[] = {42, 42};
    int in[] = {0, 0};
    MPI_Alltoallw(out, counts, displs, types, in, counts, displs, types, mine.comm);
    mine.got = in[1];
}
void both_neighborhood(job &mine) {
    const int size = 2, periodic = 1, out = 42;
    int in[] = {0, 0};
    MPI_Comm ring = MPI_COMM_NULL;
    MPI_Cart_create(mine.comm, 1, &size, &periodic, 0, &ring);
    MPI_Neighbor_allgather(&out, 1, MPI_INT, in, 1, MPI_INT, ring);
    MPI_Comm_free(&ring);
    mine.got = in[1];
}
void both_communicators(job &mine) {
    int rank = 0;
    MPI_Comm_rank(mine.comm, &rank);
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm_group(mine.comm, &group);
    MPI_Comm made[6];
    MPI_Comm_create(mine.comm, group, &made[0]);
    MPI_Comm_create_group(mine.comm, group, 7, &made[1]);
    MPI_Comm_dup_with_info(mine.comm, MPI_INFO_NULL, &made[2]);
    MPI_Comm_split_type(mine.comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made[3]);
    MPI_Comm_split(mine.comm, rank, 0, &made[4]);
    MPI_Intercomm_create(made[4], 0, mine.comm, 1 - rank, 8, &made[5]);
    for (MPI_Comm &one : made) {
        MPI_Comm_free(&one);
    }
    MPI_Group_free(&group);
    mine.got = 42;
}
void both_windows(job &mine) {
    int rank = 0, put = 42;
    int *value = nullptr;
    MPI_Comm_rank(mine.comm, &rank);
    MPI_Win win = MPI_WIN_NULL;
    MPI_Win_allocate(sizeof *value, sizeof *value, MPI_INFO_NULL, mine.comm, &value, &win);
    *value = 0;
    MPI_Win_fence(0, win);
    MPI_Put(&put, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    mine.got = *value;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1 - rank, 0, win);
    MPI_Put(&put, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT, win);
    MPI_Win_flush(1 - rank, win);
    MPI_Win_unlock(1 - rank, win);
    MPI_Win_lock_all(0, win);
    MPI_Win_flush_all(win);
    MPI_Win_unlock_all(win);
    MPI_Group all = MPI_GROUP_NULL, other = MPI_GROUP_NULL;
    const int peer = 1 - rank;
    MPI_Comm_group(mine.comm, &all);
    MPI_Group_incl(all, 1, &peer, &other);
    MPI_Win_post(other, 0, win);
    MPI_Win_start(other, 0, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    MPI_Group_free(&other);
    MPI_Group_free(&all);
    MPI_Win_free(&win);
}
void both_files(job &mine) {
    int rank = 0, value = 42;
    char name[] = "/tmp/thence_file_XXXXXX";
    MPI_Comm_rank(mine.comm, &rank);
    if (rank == 0) {
        close(mkstemp(name));
    }
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, mine.comm);
    MPI_File file = MPI_FILE_NULL;
    MPI_File_open(mine.comm, name, MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_File_set_size(file, 8);
    MPI_File_write_at_all(file, MPI_Offset{4} * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(mine.comm);
    MPI_File_read_at_all(file, 4 - 4 * rank, &mine.got, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

#define WITH_EVERY_OUTER(name, inside, answer)                                                                         \
    TEST_F(blocking, name##_while_in_wait) {                                                                           \
        nested(outer::wait, &inside, &answer);                                                                         \
    }                                                                                                                  \
    TEST_F(blocking, name##_while_in_recv) {                                                                           \
        nested(outer::recv, &inside, &answer);                                                                         \
    }                                                                                                                  \
    TEST_F(blocking, name##_while_in_wait_of_its_cr) {                                                                 \
        nested(outer::wait_cr, &inside, &answer);                                                                      \
    }                                                                                                                  \
    TEST_F(blocking, name##_while_in_waitall) {                                                                        \
        nested(outer::waitall, &inside, &answer);                                                                      \
    }                                                                                                                  \
    TEST_F(blocking, name##_while_in_test_loop) {                                                                      \
        nested(outer::test_loop, &inside, &answer);                                                                    \
    }

WITH_EVERY_OUTER(recv, inside_recv, answer_recv)
WITH_EVERY_OUTER(irecv_and_wait, inside_irecv_wait, answer_recv)
WITH_EVERY_OUTER(irecv_and_waitall, inside_irecv_waitall, answer_recv)
WITH_EVERY_OUTER(probe, inside_probe, answer_recv)
WITH_EVERY_OUTER(send_of_one_mebibyte, inside_big_send, answer_big_send)
WITH_EVERY_OUTER(ssend, inside_ssend, answer_ssend)
WITH_EVERY_OUTER(sendrecv, both_sendrecv, both_sendrecv)
WITH_EVERY_OUTER(barrier, both_barrier, both_barrier)
WITH_EVERY_OUTER(allreduce, both_allreduce, both_allreduce)
WITH_EVERY_OUTER(bcast_of_one_mebibyte, both_big_bcast, both_big_bcast)
WITH_EVERY_OUTER(comm_dup, both_comm_dup, both_comm_dup)
WITH_EVERY_OUTER(mrecv, inside_mrecv, answer_big_recv)
WITH_EVERY_OUTER(sendrecv_replace, both_sendrecv_replace, both_sendrecv_replace)
WITH_EVERY_OUTER(bsend_and_detach, inside_bsend, answer_big_send)
WITH_EVERY_OUTER(alltoallw, both_alltoallw, both_alltoallw)
WITH_EVERY_OUTER(neighborhood_collective, both_neighborhood, both_neighborhood)
WITH_EVERY_OUTER(communicators, both_communicators, both_communicators)
WITH_EVERY_OUTER(windows, both_windows, both_windows)
WITH_EVERY_OUTER(files, both_files, both_files)
WITH_EVERY_OUTER(iallreduce_and_wait, both_iallreduce_wait, both_iallreduce_wait)

} // namespace
