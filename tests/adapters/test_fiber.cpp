// SPDX-License-Identifier: BSD-3-Clause
// Each test runs its fibers on threads of its own, since a thread keeps its scheduling algorithm.
#include "mpi_fixture.hpp"

#include <boost/fiber/algo/round_robin.hpp>
#include <boost/fiber/algo/shared_work.hpp>
#include <boost/fiber/barrier.hpp>
#include <boost/fiber/future.hpp>

#include <thence/fiber.hpp>

#include <list>
#include <vector>

namespace {

using boost::fibers::algo::round_robin;
using boost::fibers::algo::shared_work;
using thence::fibers::block;

template <class Algorithm = void, class F> void on_thread(F f) {
    std::thread([&] {
        if constexpr (!std::is_void_v<Algorithm>) {
            boost::fibers::use_scheduling_algorithm<Algorithm>();
        }
        f();
    }).join();
}

TEST(fiber_block, does_not_switch_when_complete_already) {
    on_thread([] {
        const thence::continuation_request cr;
        complete_receive r(1);
        bool other_ran = false;
        boost::fibers::fiber other([&] { other_ran = true; });
        EXPECT_EQ(block(r.request, cr).MPI_TAG, 1);
        EXPECT_FALSE(other_ran);
        other.join();
    });
}

TEST(fiber_block, leaves_the_thread_to_other_fibers_and_wakes_after_the_last_operation) {
    on_thread<thence::fibers::polling<round_robin>>([] {
        const thence::continuation_request cr;
        pending_receive a(1);
        pending_receive b(2);
        int sent = 0;
        int seen = -1;
        boost::fibers::fiber receiver([&] {
            std::array<MPI_Request, 2> requests{a.request, b.request};
            const std::vector<MPI_Status> statuses = block(requests, cr);
            seen = sent;
            EXPECT_EQ(statuses[0].MPI_TAG, 1);
            EXPECT_EQ(statuses[1].MPI_TAG, 2);
        });
        boost::fibers::fiber sender([&] {
            b.complete(20);
            boost::this_fiber::sleep_for(std::chrono::milliseconds(5));
            sent = 2;
            a.complete(10);
        });
        receiver.join();
        sender.join();
        EXPECT_EQ(seen, 2);
        EXPECT_EQ(a.value() + b.value(), 30);
    });
}

// Rank 1's only thread has all its fibers blocked, so only the scheduler can make progress.
template <class Run> void receive_from_rank_0(Run run) {
    NEEDS_TWO_RANKS();
    constexpr int count = 200;
    if (rank() == 0) {
        for (int tag = count - 1; tag >= 0; --tag) {
            if (tag % 50 == 0) {
                std::this_thread::sleep_for(std::chrono::milliseconds(3));
            }
            MPI_Send(&tag, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
        }
        return;
    }
    run([count] {
        const thence::continuation_request cr;
        int right = 0;
        std::vector<boost::fibers::fiber> fibers;
        for (int tag = 0; tag < count; ++tag) {
            fibers.emplace_back([&, tag] {
                int value = -1;
                MPI_Request request = MPI_REQUEST_NULL;
                MPI_Irecv(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, &request);
                right += block(request, cr).MPI_TAG == tag && value == tag;
            });
        }
        for (boost::fibers::fiber &fiber : fibers) {
            fiber.join();
        }
        EXPECT_EQ(right, count);
    });
}

TEST(fiber_polling, makes_progress_when_all_fibers_are_blocked) {
    receive_from_rank_0([](auto body) { on_thread<thence::fibers::polling<round_robin>>(body); });
}

TEST(fiber_progress, makes_progress_between_the_other_fibers) {
    receive_from_rank_0([](auto body) {
        on_thread([&] {
            const thence::fibers::progress_fiber progress;
            body();
        });
    });
}

TEST(fiber_polling, pauses_while_nothing_arrives) {
    on_thread<thence::fibers::polling<round_robin>>([] {
        const thence::continuation_request cr;
        expect_pauses_while_nothing_arrives([&](MPI_Request request) { block(request, cr); });
    });
}

TEST(fiber_progress, pauses_while_nothing_arrives) {
    on_thread([] {
        const thence::continuation_request cr;
        const thence::fibers::progress_fiber polling;
        expect_pauses_while_nothing_arrives([&](MPI_Request request) { block(request, cr); });
    });
}

TEST(fiber_block, can_be_resumed_by_the_librarys_thread) {
    on_thread([] {
        const thence::continuation_request cr(THENCE_CR_ANY_THREAD);
        std::list<pending_receive> receives;
        int woken = 0;
        std::vector<boost::fibers::fiber> fibers;
        for (int tag = 0; tag < 100; ++tag) {
            pending_receive &r = receives.emplace_back(tag);
            fibers.emplace_back([&] {
                block(r.request, cr);
                ++woken;
            });
        }
        boost::fibers::fiber([&] {
            for (const pending_receive &r : receives) {
                r.complete();
            }
        }).join();
        for (boost::fibers::fiber &fiber : fibers) {
            fiber.join();
        }
        EXPECT_EQ(woken, 100);
    });
}

// Fibers move between threads while they are blocked; the thread that wakes one is often another than the one it slept
// on.
TEST(fiber_block, works_where_fibers_move_between_threads) {
    constexpr int threads_count = 3;
    constexpr int count = 60;
    constexpr int rounds = 10;
    const thence::continuation_request cr;
    std::atomic<int> right = 0;
    std::atomic<int> left = count;
    const auto body = [&](int lane) {
        for (int i = 0; i < rounds; ++i) {
            const int out = 100 * lane + i;
            int in = -1;
            std::array<MPI_Request, 2> requests;
            MPI_Irecv(&in, 1, MPI_INT, 0, lane, MPI_COMM_SELF, &requests[0]);
            boost::this_fiber::yield();
            MPI_Isend(&out, 1, MPI_INT, 0, lane, MPI_COMM_SELF, &requests[1]);
            block(requests, cr);
            right += in == out;
        }
        --left;
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < threads_count; ++t) {
        threads.emplace_back([&, t] {
            boost::fibers::use_scheduling_algorithm<thence::fibers::polling<shared_work>>();
            if (t == 0) {
                for (int lane = 0; lane < count; ++lane) {
                    boost::fibers::fiber(body, lane).detach();
                }
            }
            while (left.load() > 0) {
                boost::this_fiber::sleep_for(std::chrono::microseconds(100));
            }
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    EXPECT_EQ(right.load(), count * rounds);
}

TEST(fiber_block, throws_the_error_in_the_fiber_that_waited) {
    NEEDS_TWO_RANKS();
    const errors_return scope;
    truncated_receive bad(1);
    if (rank() == 0) {
        bad.send_when_asked();
        return;
    }
    on_thread<thence::fibers::polling<round_robin>>([&] {
        const thence::continuation_request cr;
        int error_class = 0;
        boost::fibers::fiber([&] {
            bad.ask();
            try {
                block(bad.request, cr);
            } catch (const thence::error &e) {
                error_class = e.error_class();
            }
        }).join();
        EXPECT_EQ(error_class, MPI_ERR_TRUNCATE);
    });
}

TEST(fiber_block, changes_nothing_when_nothing_can_be_attached) {
    const errors_return scope;
    on_thread([] {
        pending_receive r(1);
        const MPI_Request before = r.request;
        EXPECT_THROW(block(r.request, MPI_REQUEST_NULL), thence::error);
        EXPECT_EQ(r.request, before);
        r.complete();
        MPI_Wait(&r.request, MPI_STATUS_IGNORE);
    });
}

// A user's callback starts a fiber that blocks in its turn; the callback itself does not block.
TEST(fiber_block, can_be_started_from_a_callback) {
    on_thread<thence::fibers::polling<round_robin>>([] {
        const thence::continuation_request cr;
        struct relay {
            MPI_Request cr;
            pending_receive second{2};
            boost::fibers::promise<int> done{};
        } state{cr};
        pending_receive first(1);
        int flag = 0;
        const auto callback = [](int, MPI_Status *, void *data) -> int {
            auto *self = static_cast<relay *>(data);
            boost::fibers::fiber(boost::fibers::launch::post, [self] {
                self->second.complete(11);
                block(self->second.request, self->cr);
                self->done.set_value(self->second.value());
            }).detach();
            return MPI_SUCCESS;
        };
        ASSERT_EQ(thence_attach(1, &first.request, callback, &state, 0, MPI_STATUSES_IGNORE, cr, &flag), MPI_SUCCESS);
        ASSERT_EQ(flag, 0);
        boost::fibers::fiber([&] { first.complete(); }).detach();
        EXPECT_EQ(state.done.get_future().get(), 11);
    });
}

} // namespace
