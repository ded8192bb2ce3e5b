// SPDX-License-Identifier: BSD-3-Clause
// Heap allocations: only coroutine frames, split, start_detached, spawn, and large senders in any_sender allocate.
#include <array>
#include <cstdlib>
#include <memory>

#include "measure/count_allocations.hpp"
#include "support.hpp"

namespace {

template <class F> long allocated_by(F f) {
    const long before = measure::allocations;
    f();
    return measure::allocations - before;
}

ex::task<int> leaf() {
    co_return co_await ex::just(1);
}
ex::task<int> parent() {
    co_return co_await leaf() + co_await leaf();
}

TEST(Allocations, algorithms_do_not_allocate) {
    EXPECT_EQ(allocated_by([] {
                  ex::inplace_stop_source source;
                  auto work =
                      ex::when_all(ex::just(1) | ex::then([](int i) { return i; }), ex::read_env(ex::get_scheduler)) |
                      ex::let_value([](int i, auto scheduler) {
                          return ex::starts_on(scheduler, ex::just(i)) | ex::continues_on(scheduler);
                      }) |
                      ex::let_stopped([] { return ex::just(0); }) | ex::into_variant();
                  ex::sync_wait(ex::write_env(ex::stop_when(work, source.get_token()),
                                              ex::prop{ex::get_stop_token, source.get_token()}));
              }),
              0);
}

TEST(Allocations, a_coroutine_allocates_only_its_frame) {
    EXPECT_EQ(allocated_by([] { ex::sync_wait(leaf()); }), 1);
    // False in sanitizer builds, so that the sanitizer sees each deallocation.
    constexpr bool kept = THENCE_EXEC_KEEPS_FRAMES != 0;
    EXPECT_LE(allocated_by([] { ex::sync_wait(parent()); }), kept ? 2 : 3);
    EXPECT_EQ(allocated_by([] { ex::sync_wait(parent()); }), kept ? 0 : 3);
}

TEST(Allocations, any_sender_does_not_allocate_for_small_senders) {
    using any = ex::any_sender<ex::set_value_t(int), ex::set_error_t(std::exception_ptr), ex::set_stopped_t()>;
    EXPECT_EQ(allocated_by([] {
                  any sender = ex::just(1) | ex::then([](int i) { return i; });
                  any moved = std::move(sender);
                  ex::sync_wait(std::move(moved));
              }),
              0);
    EXPECT_EQ(allocated_by([] {
                  any sender = ex::just(std::array<char, 500>()) | ex::then([](const auto &) { return 1; });
                  ex::sync_wait(std::move(sender));
              }),
              2); // the sender and its operation
}

TEST(Allocations, operations_that_outlive_their_caller_allocate_once) {
    EXPECT_EQ(allocated_by([] { ex::sync_wait(ex::split(ex::just(1))); }), 1);
    // The sender stays pending, so that no compiler can elide the allocation.
    pending_list list;
    ex::start_detached(pending_sender{&list});
    list.complete(); // now the list has allocated its memory
    EXPECT_EQ(allocated_by([&] { ex::start_detached(pending_sender{&list}); }), 1);
    list.complete();
    ex::counting_scope scope;
    EXPECT_EQ(allocated_by([&] { ex::spawn(pending_sender{&list}, scope.get_token()); }), 1);
    list.complete();
    EXPECT_EQ(allocated_by([&] {
                  auto future = ex::spawn_future(pending_sender{&list}, scope.get_token());
                  list.complete();
                  ex::sync_wait(std::move(future));
                  ex::sync_wait(scope.join());
              }),
              1);
}

/** An allocator that counts its allocations. */
template <class T> struct own_allocator {
    using value_type = T;
    int *balance;
    int *made;
    own_allocator(int *b, int *m) : balance(b), made(m) {}
    template <class U> own_allocator(const own_allocator<U> &other) : balance(other.balance), made(other.made) {}
    T *allocate(std::size_t n) {
        ++*balance;
        ++*made;
        return static_cast<T *>(std::malloc(n * sizeof(T)));
    }
    void deallocate(T *room, std::size_t) {
        --*balance;
        std::free(room); // NOLINT(clang-analyzer-unix.Malloc): it comes from allocate()
    }
    template <class U> bool operator==(const own_allocator<U> &other) const { return balance == other.balance; }
};

TEST(Allocations, come_from_the_allocator_of_the_environment) {
    int balance = 0, made = 0;
    const auto env = ex::prop{ex::get_allocator, own_allocator<char>(&balance, &made)};
    EXPECT_EQ(allocated_by([&] {
                  ex::counting_scope scope;
                  ex::start_detached(ex::just(), env);
                  ex::spawn(ex::just(), scope.get_token(), env);
                  ex::sync_wait(ex::spawn_future(ex::just(1), scope.get_token(), env));
                  ex::sync_wait(scope.join());
              }),
              0);
    EXPECT_EQ(made, 3);
    EXPECT_EQ(balance, 0);
}

} // namespace
