// SPDX-License-Identifier: BSD-3-Clause
// MPI operations together with senders of NVIDIA's stdexec: blocks of numbers go round a ring, and a thread pool of
// stdexec works on each block while the next one is in flight. The threads of the pool do not call MPI. The main thread
// waits and makes progress.
#include <thence/mpi.hpp>

#include <exec/static_thread_pool.hpp>

#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <vector>

namespace ex = thence::ex; // stdexec: this program is built with THENCE_USE_STDEXEC

namespace {

constexpr int elements = 10000;

struct ring {
    MPI_Comm comm;
    int left, right;
};

// Plain MPI calls, whose arguments come from just().
auto exchange(const ring &where, std::vector<double> &out, std::vector<double> &in) {
    return ex::when_all(ex::just(out.data(), elements, MPI_DOUBLE, where.right, 0, where.comm) |
                            thence::transform_mpi(MPI_Isend, thence::uncancellable),
                        ex::just(in.data(), elements, MPI_DOUBLE, where.left, 0, where.comm) |
                            thence::transform_mpi(MPI_Irecv)) |
           ex::then([](auto &&...) noexcept {}); // the arguments are not needed any more
}

// Runs on the pool, in four parallel parts.
auto sum(auto pool, const std::vector<double> &block) {
    const auto part = [&block, pool](std::ptrdiff_t i) {
        return ex::schedule(pool) | ex::then([&block, i] {
                   const auto first = block.begin() + i * (elements / 4);
                   return std::accumulate(first, first + elements / 4, 0.0);
               });
    };
    return ex::when_all(part(0), part(1), part(2), part(3)) |
           ex::then([](double a, double b, double c, double d) { return a + b + c + d; });
}

} // namespace

int main(int argc, char **argv) {
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    bool ok = false;
    {
        const thence::communicator world = thence::communicator::world().duplicate();
        const int size = world.size();
        // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a communicator has a rank
        const ring where{world.get(), (world.rank() + size - 1) % size, (world.rank() + 1) % size};
        exec::static_thread_pool threads(2);
        const auto pool = threads.get_scheduler();

        std::vector<double> here(elements, world.rank() + 1.0);
        std::vector<double> next(elements);
        double total = 0;
        for (int step = 0; step < size; ++step) {
            auto [of_this_block] =
                thence::sync_wait(ex::when_all(sum(pool, here), exchange(where, here, next))).value();
            total += of_this_block;
            std::swap(here, next);
        }
        double largest = total;
        thence::sync_wait(world.allreduce(largest, thence::maximum()) | ex::continues_on(pool) | ex::then([&] {
                              largest *= 2; // work after an operation may run on the pool, too
                          }));
        ok = total == elements * (size * (size + 1) / 2.0) && largest == 2 * total;
        if (world.rank() == 0 || !ok) {
            std::cout << (ok ? "every block was seen by every rank: " : "wrong: ") << total << '\n';
        }
    }
    MPI_Finalize();
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
