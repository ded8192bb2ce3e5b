// SPDX-License-Identifier: BSD-3-Clause
// Nonblocking collectives on thread communicators: several are open at once and are completed in any order, by any
// completion call, among ordinary requests, and by continuations. Each is compared with what its arguments mean.
#include "threadcomm.hpp"

#include <thence/thence.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>

namespace {

int class_of(int code) {
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    return error_class;
}

// x -> a x + b modulo a prime: their composition does not commute.
struct affine {
    std::int64_t a, b;
    bool operator==(const affine &) const = default;
};
constexpr std::int64_t prime = 10007;
affine after(const affine &first, const affine &second) {
    return {first.a * second.a % prime, (first.b * second.a + second.b) % prime};
}
void compose(void *in, void *inout, int *n, MPI_Datatype *) {
    for (int i = 0; i < *n; ++i) {
        auto &right = static_cast<affine *>(inout)[i];
        right = after(static_cast<const affine *>(in)[i], right);
    }
}
affine of_rank(int rank, int salt) {
    return {rank + 2 + salt % 5, (3 * rank + salt) % prime};
}
affine of_ranks(int first, int end, int salt) {
    affine result{1, 0};
    for (int i = first; i < end; ++i) {
        result = after(result, of_rank(i, salt));
    }
    return result;
}

// What all ranks know of the types and operations of these tests.
struct types {
    types() {
        MPI_Type_contiguous(2, MPI_INT64_T, &pair);
        MPI_Type_commit(&pair);
        MPI_Op_create(&compose, 0, &op);
    }
    ~types() {
        MPI_Op_free(&op);
        MPI_Type_free(&pair);
    }
    types(const types &) = delete;
    types &operator=(const types &) = delete;
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
};

// One open operation: its buffers, and a check of what it gave.
struct open {
    MPI_Request request = MPI_REQUEST_NULL;
    std::vector<int> out, in, counts, places, bytes;
    std::vector<MPI_Datatype> datatypes;
    std::vector<affine> left, right;
    std::function<void(const open &)> check;
};

constexpr int kinds = 17;

// Starts an operation of this kind on `comm`; `n`: elements, `salt`: what makes the data differ.
void start(int kind, MPI_Comm comm, int rank, int size, int root, int n, int salt, const types &with, open &o) {
    const auto all = static_cast<std::size_t>(size);
    const auto many = static_cast<std::size_t>(n);
    const auto value = [salt](int from, int to, int i) { return salt + 1000 * from + 100 * to + i; };
    const auto fill = [&](std::vector<int> &data, int from, int to) {
        for (int i = 0; i < n; ++i) {
            data.push_back(value(from, to, i));
        }
    };
    o = {};
    o.counts.assign(all, n);
    for (int i = 0; i < size; ++i) {
        o.places.push_back((size - 1 - i) * n); // in reverse order
        o.bytes.push_back((size - 1 - i) * n * static_cast<int>(sizeof(int)));
    }
    o.datatypes.assign(all, MPI_INT);
    o.left.assign(many, of_rank(rank, salt));
    o.right.assign(many, affine{-1, -1});
    const auto blocks_from_all = [=](const open &operation, bool reversed) {
        for (int from = 0; from < size; ++from) {
            for (int i = 0; i < n; ++i) {
                const int place = reversed ? size - 1 - from : from;
                ASSERT_EQ(operation.in[static_cast<std::size_t>(place * n + i)], value(from, rank, i));
            }
        }
    };
    const auto is = [=](affine wanted) {
        return [=](const open &operation) { ASSERT_TRUE(operation.right == std::vector<affine>(many, wanted)); };
    };
    const auto gathered = [=](bool reversed) {
        return [=](const open &operation) {
            for (int from = 0; from < size; ++from) {
                for (int i = 0; i < n; ++i) {
                    const int place = reversed ? size - 1 - from : from;
                    ASSERT_EQ(operation.in[static_cast<std::size_t>(place * n + i)], value(from, 0, i));
                }
            }
        };
    };
    const auto nothing = [](const open &) {};
    int code = MPI_SUCCESS;
    switch (kind) {
    case 0:
        code = MPI_Ibarrier(comm, &o.request);
        o.check = nothing;
        break;
    case 1:
        fill(o.in, rank == root ? root : -1, 0);
        code = MPI_Ibcast(o.in.data(), n, MPI_INT, root, comm, &o.request);
        o.check = [=](const open &operation) {
            for (int i = 0; i < n; ++i) {
                ASSERT_EQ(operation.in[static_cast<std::size_t>(i)], value(root, 0, i));
            }
        };
        break;
    case 2:
    case 3:
        fill(o.out, rank, 0);
        o.in.assign(rank == root ? all * many : 0, -1);
        code = kind == 2 ? MPI_Igather(o.out.data(), n, MPI_INT, o.in.data(), n, MPI_INT, root, comm, &o.request)
                         : MPI_Igatherv(o.out.data(), n, MPI_INT, o.in.data(), o.counts.data(), o.places.data(),
                                        MPI_INT, root, comm, &o.request);
        o.check = rank == root ? std::function<void(const open &)>(gathered(kind == 3)) : nothing;
        break;
    case 4:
    case 5:
        for (int place = 0; rank == root && place < size; ++place) {
            fill(o.out, root, kind == 4 ? place : size - 1 - place);
        }
        o.in.assign(many, -1);
        code = kind == 4 ? MPI_Iscatter(o.out.data(), n, MPI_INT, o.in.data(), n, MPI_INT, root, comm, &o.request)
                         : MPI_Iscatterv(o.out.data(), o.counts.data(), o.places.data(), MPI_INT, o.in.data(), n,
                                         MPI_INT, root, comm, &o.request);
        o.check = [=](const open &operation) {
            for (int i = 0; i < n; ++i) {
                ASSERT_EQ(operation.in[static_cast<std::size_t>(i)], value(root, rank, i));
            }
        };
        break;
    case 6:
    case 7:
        fill(o.out, rank, 0);
        o.in.assign(all * many, -1);
        code = kind == 6 ? MPI_Iallgather(o.out.data(), n, MPI_INT, o.in.data(), n, MPI_INT, comm, &o.request)
                         : MPI_Iallgatherv(o.out.data(), n, MPI_INT, o.in.data(), o.counts.data(), o.places.data(),
                                           MPI_INT, comm, &o.request);
        o.check = gathered(kind == 7);
        break;
    case 8:
        for (int to = 0; to < size; ++to) {
            fill(o.in, rank, to);
        }
        code = MPI_Ialltoall(MPI_IN_PLACE, 0, MPI_INT, o.in.data(), n, MPI_INT, comm, &o.request);
        o.check = [=](const open &operation) { blocks_from_all(operation, false); };
        break;
    case 9:
    case 10:
        for (int place = 0; place < size; ++place) {
            fill(o.out, rank, size - 1 - place);
        }
        o.in.assign(all * many, -1);
        code = kind == 9
                   ? MPI_Ialltoallv(o.out.data(), o.counts.data(), o.places.data(), MPI_INT, o.in.data(),
                                    o.counts.data(), o.places.data(), MPI_INT, comm, &o.request)
                   : MPI_Ialltoallw(o.out.data(), o.counts.data(), o.bytes.data(), o.datatypes.data(), o.in.data(),
                                    o.counts.data(), o.bytes.data(), o.datatypes.data(), comm, &o.request);
        o.check = [=](const open &operation) { blocks_from_all(operation, true); };
        break;
    case 11:
        code = MPI_Ireduce(o.left.data(), rank == root ? o.right.data() : nullptr, n, with.pair, with.op, root, comm,
                           &o.request);
        o.check = is(rank == root ? of_ranks(0, size, salt) : affine{-1, -1});
        break;
    case 12:
        o.right = o.left;
        code = MPI_Iallreduce(MPI_IN_PLACE, o.right.data(), n, with.pair, with.op, comm, &o.request);
        o.check = is(of_ranks(0, size, salt));
        break;
    case 13:
        code = MPI_Iscan(o.left.data(), o.right.data(), n, with.pair, with.op, comm, &o.request);
        o.check = is(of_ranks(0, rank + 1, salt));
        break;
    case 14:
        code = MPI_Iexscan(o.left.data(), o.right.data(), n, with.pair, with.op, comm, &o.request);
        o.check = is(rank == 0 ? affine{-1, -1} : of_ranks(0, rank, salt));
        break;
    default:
        o.left.assign(all * many, of_rank(rank, salt));
        code = kind == 15
                   ? MPI_Ireduce_scatter_block(o.left.data(), o.right.data(), n, with.pair, with.op, comm, &o.request)
                   : MPI_Ireduce_scatter(o.left.data(), o.right.data(), o.counts.data(), with.pair, with.op, comm,
                                         &o.request);
        o.check = is(of_ranks(0, size, salt));
    }
    ASSERT_EQ(code, MPI_SUCCESS);
    ASSERT_NE(o.request, MPI_REQUEST_NULL);
}

} // namespace

TEST(threadcomm_nonblocking, several_are_open_at_once_and_complete_in_any_order) {
    const types with;
    threads_of t(3);
    t.run([&](int rank, int size) {
        MPI_Comm copy = MPI_COMM_NULL;
        ASSERT_EQ(MPI_Comm_dup(t.comm, &copy), MPI_SUCCESS);
        std::mt19937 same(7);                              // on all ranks
        std::mt19937 own(static_cast<unsigned>(rank) + 1); // how this rank waits
        constexpr int together = 6;
        for (int round = 0; round < 15; ++round) {
            std::array<open, together> all;
            for (int i = 0; i < together; ++i) {
                const int kind = round < 3 ? (round * together + i) % kinds : static_cast<int>(same() % kinds);
                const MPI_Comm comm = same() % 2 == 0 ? t.comm : copy;
                const int root = static_cast<int>(same() % static_cast<unsigned>(size));
                const int n = same() % 4 == 0 ? 1500 : static_cast<int>(same() % 20); // 6 and 24 KB, or small
                start(kind, comm, rank, size, root, n, 10'000 * round + i, with, all[static_cast<std::size_t>(i)]);
            }
            int in = -1;
            MPI_Request message[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
            MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, MPI_ANY_TAG, t.comm, &message[0]);
            MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, round, t.comm, &message[1]);
            std::array<MPI_Request, together + 2> requests;
            for (std::size_t i = 0; i < together; ++i) {
                requests[i] = all[i].request;
            }
            requests[together] = message[0];
            requests[together + 1] = message[1];
            std::shuffle(requests.begin(), requests.end(), own);
            constexpr int n = together + 2;
            switch (own() % 5) {
            case 0:
                ASSERT_EQ(MPI_Waitall(n, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
                break;
            case 1:
                for (MPI_Request &each : requests) {
                    ASSERT_EQ(MPI_Wait(&each, MPI_STATUS_IGNORE), MPI_SUCCESS);
                }
                break;
            case 2:
                for (int i = 0; i < n; ++i) {
                    int index = -1;
                    ASSERT_EQ(MPI_Waitany(n, requests.data(), &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
                    ASSERT_NE(index, MPI_UNDEFINED);
                }
                break;
            case 3:
                for (int done = 0; done < n;) {
                    int found = 0;
                    std::array<int, n> indices{};
                    ASSERT_EQ(MPI_Waitsome(n, requests.data(), &found, indices.data(), MPI_STATUSES_IGNORE),
                              MPI_SUCCESS);
                    done += found;
                }
                break;
            default:
                for (int flag = 0; flag == 0;) {
                    ASSERT_EQ(MPI_Testall(n, requests.data(), &flag, MPI_STATUSES_IGNORE), MPI_SUCCESS);
                    std::this_thread::yield();
                }
            }
            ASSERT_EQ(in, (rank + size - 1) % size);
            for (const open &each : all) {
                each.check(each);
            }
        }
        ASSERT_EQ(MPI_Comm_free(&copy), MPI_SUCCESS);
    });
}

// A thread that waits for something else takes part meanwhile.
TEST(threadcomm_nonblocking, go_on_while_a_thread_does_something_else) {
    threads_of t(2);
    t.run([&](int rank, int size) {
        for (int i = 0; i < 20; ++i) {
            int sum = rank;
            MPI_Request request = MPI_REQUEST_NULL;
            ASSERT_EQ(MPI_Iallreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, t.comm, &request), MPI_SUCCESS);
            ASSERT_EQ(MPI_Barrier(t.comm), MPI_SUCCESS);
            int root = i;
            ASSERT_EQ(MPI_Bcast(&root, 1, MPI_INT, i % size, t.comm), MPI_SUCCESS);
            ASSERT_EQ(root, i);
            ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
            ASSERT_EQ(sum, size * (size - 1) / 2);
        }
    });
}

TEST(threadcomm_nonblocking, continuations_take_them) {
    threads_of t(2);
    t.run([&](int rank, int size) {
        MPI_Request cr = MPI_REQUEST_NULL;
        ASSERT_EQ(thence_cr_create(THENCE_CR_ANY_THREAD, -1, MPI_INFO_NULL, &cr), MPI_SUCCESS);
        constexpr int many = 20;
        std::array<int, many> sums{};
        std::atomic<int> right{0};
        struct data {
            const int *sum;
            int wanted;
            std::atomic<int> *right;
        };
        std::array<data, many> told{};
        for (std::size_t i = 0; i < many; ++i) {
            sums[i] = rank + static_cast<int>(i);
            told[i] = {&sums[i], size * (size - 1) / 2 + size * static_cast<int>(i), &right};
            MPI_Request request = MPI_REQUEST_NULL;
            ASSERT_EQ(MPI_Iallreduce(MPI_IN_PLACE, &sums[i], 1, MPI_INT, MPI_SUM, t.comm, &request), MPI_SUCCESS);
            int flag = 0;
            const auto check = [](int, MPI_Status *, void *argument) {
                const auto &d = *static_cast<const data *>(argument);
                *d.right += *d.sum == d.wanted ? 1 : 0;
                return int{MPI_SUCCESS};
            };
            ASSERT_EQ(thence_attach(1, &request, check, &told[i], 0, MPI_STATUS_IGNORE, cr, &flag), MPI_SUCCESS);
            if (flag != 0) {
                check(MPI_SUCCESS, MPI_STATUS_IGNORE, &told[i]);
            }
        }
        ASSERT_EQ(thence_wait(&cr, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(right.load(), many);
        thence_free(&cr);
    });
}

// The user frees the datatype and the communicator before the end.
TEST(threadcomm_nonblocking, datatypes_and_communicators_may_be_freed) {
    threads_of t(2);
    t.run([&](int rank, int size) {
        MPI_Comm copy = MPI_COMM_NULL;
        ASSERT_EQ(MPI_Comm_dup(t.comm, &copy), MPI_SUCCESS);
        MPI_Datatype pairs = MPI_DATATYPE_NULL; // every other int
        MPI_Type_vector(1000, 1, 2, MPI_INT, &pairs);
        MPI_Type_commit(&pairs);
        std::vector<int> data(2000, -1);
        for (std::size_t i = 0; rank == 0 && i < data.size(); i += 2) {
            data[i] = static_cast<int>(i);
        }
        std::vector<int> all(static_cast<std::size_t>(size) * 2000, -1);
        std::vector<MPI_Datatype> types(static_cast<std::size_t>(size), pairs);
        std::vector<int> ones(static_cast<std::size_t>(size), 1);
        std::vector<int> places(static_cast<std::size_t>(size));
        for (std::size_t i = 0; i < places.size(); ++i) {
            places[i] = static_cast<int>(i * 2000 * sizeof(int));
        }
        std::vector<int> from(all);
        for (std::size_t i = 0; i < from.size(); i += 2) {
            from[i] = rank;
        }
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        ASSERT_EQ(MPI_Ibcast(data.data(), 1, pairs, 0, copy, &requests[0]), MPI_SUCCESS);
        ASSERT_EQ(MPI_Ialltoallw(from.data(), ones.data(), places.data(), types.data(), all.data(), ones.data(),
                                 places.data(), types.data(), copy, &requests[1]),
                  MPI_SUCCESS);
        MPI_Type_free(&pairs);
        ASSERT_EQ(MPI_Comm_free(&copy), MPI_SUCCESS);
        ASSERT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
        for (std::size_t i = 0; i < data.size(); ++i) {
            ASSERT_EQ(data[i], i % 2 == 0 ? static_cast<int>(i) : -1);
        }
        for (std::size_t i = 0; i < all.size(); ++i) {
            ASSERT_EQ(all[i], i % 2 == 0 ? static_cast<int>(i / 2000) : -1);
        }
    });
}

// The last rank begins after the others have freed the operation; it frees it after the end.
TEST(threadcomm_nonblocking, operations_may_be_freed) {
    threads_of t(2);
    t.run([&](int rank, int size) {
        MPI_Comm copy = MPI_COMM_NULL;
        ASSERT_EQ(MPI_Comm_dup(t.comm, &copy), MPI_SUCCESS);
        MPI_Datatype pair = MPI_DATATYPE_NULL;
        MPI_Type_contiguous(2, MPI_INT64_T, &pair);
        MPI_Type_commit(&pair);
        for (int salt = 0; salt < 10; ++salt) {
            MPI_Op op = MPI_OP_NULL;
            ASSERT_EQ(MPI_Op_create(&compose, 0, &op), MPI_SUCCESS);
            const affine mine = of_rank(rank, salt);
            affine all[2] = {{-1, -1}, {-1, -1}};
            MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
            if (rank == size - 1) {
                ASSERT_EQ(MPI_Barrier(copy), MPI_SUCCESS);
            }
            for (int i : {0, 1}) {
                ASSERT_EQ(MPI_Iallreduce(&mine, &all[i], 1, pair, op, t.comm, &requests[i]), MPI_SUCCESS);
            }
            if (rank != size - 1) {
                ASSERT_EQ(MPI_Op_free(&op), MPI_SUCCESS);
                ASSERT_EQ(op, MPI_OP_NULL);
                ASSERT_EQ(MPI_Barrier(copy), MPI_SUCCESS);
            }
            ASSERT_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
            for (const affine &each : all) {
                ASSERT_TRUE(each == of_ranks(0, size, salt));
            }
            if (rank == size - 1) {
                ASSERT_EQ(MPI_Op_free(&op), MPI_SUCCESS);
            }
        }
        MPI_Type_free(&pair);
        ASSERT_EQ(MPI_Comm_free(&copy), MPI_SUCCESS);
    });
}

// Also if all threads of a process block in MPI's own communicators.
TEST(threadcomm_nonblocking, go_on_while_threads_block_in_mpi) {
    threads_of t(1);
    t.run([&](int rank, int size) {
        for (int i = 0; i < 10; ++i) {
            std::vector<int> sum(3000, rank);
            MPI_Request request = MPI_REQUEST_NULL;
            ASSERT_EQ(MPI_Iallreduce(MPI_IN_PLACE, sum.data(), 3000, MPI_INT, MPI_SUM, t.comm, &request), MPI_SUCCESS);
            int told = -1;
            if (rank == i % size) {
                ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
                for (int other = 0; other < size; ++other) {
                    if (other != rank) {
                        MPI_Send(&i, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
                    }
                }
            } else {
                MPI_Recv(&told, 1, MPI_INT, i % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                ASSERT_EQ(told, i);
                ASSERT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
            }
            ASSERT_EQ(sum, std::vector<int>(3000, size * (size - 1) / 2));
        }
    });
}

TEST(threadcomm_nonblocking, errors_come_with_the_request) {
    threads_of t(2);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, thence_errors_return()); // errors of generalized requests
    MPI_Comm_set_errhandler(MPI_COMM_SELF, thence_errors_return());
    t.run([&](int rank, int) {
        std::vector<int> data(100, rank);
        MPI_Request request = MPI_REQUEST_NULL;
        ASSERT_EQ(MPI_Ibcast(data.data(), rank == 1 ? 50 : 100, MPI_INT, 0, t.comm, &request), MPI_SUCCESS);
        const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT_EQ(class_of(code), rank == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
        int value = 0;
        EXPECT_EQ(class_of(MPI_Ibcast(&value, 1, MPI_INT, -1, t.comm, &request)), MPI_ERR_ROOT);
        EXPECT_EQ(class_of(MPI_Iallreduce(&rank, &value, 1, MPI_INT, MPI_OP_NULL, t.comm, &request)), MPI_ERR_OP);
        EXPECT_EQ(class_of(MPI_Ibarrier(t.comm, nullptr)), MPI_ERR_ARG);
    });
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(class_of(MPI_Ibarrier(t.comm, &request)), MPI_ERR_COMM); // outside
}

#if defined(THENCE_MPI_ISENDRECV)
TEST(threadcomm_nonblocking, send_and_receive_with_one_request) {
    threads_of t(2);
    t.run([&](int rank, int size) {
        const int to = (rank + 1) % size;
        const int from = (rank + size - 1) % size;
        for (const std::size_t n : {std::size_t{1}, std::size_t{20'000}}) {
            const std::vector<int> out(n, rank);
            std::vector<int> in(n, -1);
            std::vector<int> both(n, 100 + rank);
            MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
            const int count = static_cast<int>(n);
            ASSERT_EQ(MPI_Isendrecv(out.data(), count, MPI_INT, to, 1, in.data(), count, MPI_INT, MPI_ANY_SOURCE, 1,
                                    t.comm, &requests[0]),
                      MPI_SUCCESS);
            ASSERT_EQ(MPI_Isendrecv_replace(both.data(), count, MPI_INT, to, 2, from, 2, t.comm, &requests[1]),
                      MPI_SUCCESS);
            MPI_Status statuses[2];
            ASSERT_EQ(MPI_Waitall(2, requests, statuses), MPI_SUCCESS);
            EXPECT_EQ(statuses[0].MPI_SOURCE, from);
            EXPECT_EQ(statuses[1].MPI_TAG, 2);
            EXPECT_EQ(in, std::vector<int>(n, from));
            EXPECT_EQ(both, std::vector<int>(n, 100 + from));
        }
    });
}
#endif
