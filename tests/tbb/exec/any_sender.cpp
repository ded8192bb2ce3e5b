// SPDX-License-Identifier: BSD-3-Clause
// any_sender: type erasure of a sender with given completion signatures.
#include <array>

#include "support.hpp"

namespace {

using any_int = ex::any_sender<ex::set_value_t(int), ex::set_error_t(std::exception_ptr), ex::set_stopped_t()>;
static_assert(ex::sender<any_int>);
static_assert(completes_with<any_int, ex::set_value_t(int), throws, ex::set_stopped_t()>);

any_int make(int kind) {
    switch (kind) {
    case 0:
        return ex::just(1);
    case 1:
        return ex::just(std::array<int, 1000>{}) |
               ex::then([](const std::array<int, 1000> &big) { return big[7] + 2; });
    case 2:
        return ex::just_stopped();
    default:
        return ex::just() | ex::then([]() -> int { raise("any"); });
    }
}

TEST(AnySender, completes_as_the_wrapped_sender) {
    EXPECT_EQ(std::get<0>(ex::sync_wait(make(0)).value()), 1);
    EXPECT_EQ(std::get<0>(ex::sync_wait(make(1)).value()), 2); // too large for the internal buffer
    EXPECT_FALSE(ex::sync_wait(make(2)).has_value());
    EXPECT_THROW(ex::sync_wait(make(3)), std::runtime_error);
}

#if defined(THENCE_EXECUTION_IS_THENCE)
TEST(AnySender, an_empty_one_throws) {
    any_int moved = make(0);
    const any_int taken = std::move(moved);
    EXPECT_THROW(ex::sync_wait(std::move(moved)), ex::empty_any_sender); // NOLINT(bugprone-use-after-move): the subject
    const auto awaits = [](any_int sender) -> ex::task<int> { co_return co_await std::move(sender); };
    any_int again = make(0);
    const any_int took = std::move(again);
    EXPECT_THROW(ex::sync_wait(awaits(std::move(again))), ex::empty_any_sender); // NOLINT(bugprone-use-after-move)
}
#endif

TEST(AnySender, can_be_moved_and_assigned) {
    any_int a = make(0), b = make(1);
    std::swap(a, b);
    any_int c = std::move(a);
    EXPECT_EQ(std::get<0>(ex::sync_wait(std::move(c)).value()), 2);
    EXPECT_EQ(std::get<0>(ex::sync_wait(std::move(b)).value()), 1);
}

TEST(AnySender, destroys_the_wrapped_sender) {
    {
        any_int kept = ex::just(counted()) | ex::then([](const counted &) noexcept { return 1; });
        any_int dropped = ex::just(std::array<counted, 100>()) | ex::then([](const auto &) noexcept { return 1; });
        dropped = std::move(kept);
        EXPECT_EQ(counted::alive, 1);
    }
    EXPECT_EQ(counted::alive, 0);
}

#if THENCE_EXECUTION_IS_THENCE // in stdexec it has an environment only if it is declared with queries
TEST(AnySender, forwards_the_stop_token) {
    ex::inplace_stop_source source;
    source.request_stop();
    any_int asks =
        ex::read_env(ex::get_stop_token) | ex::then([](auto token) noexcept { return token.stop_requested() ? 1 : 0; });
    auto [seen] =
        ex::sync_wait(ex::write_env(std::move(asks), ex::prop{ex::get_stop_token, source.get_token()})).value();
    EXPECT_EQ(seen, 1);
}
#endif

TEST(AnySender, composes) {
    auto [sum] = ex::sync_wait(ex::when_all(make(0), make(1)) | ex::then([](int a, int b) { return a + b; })).value();
    EXPECT_EQ(sum, 3);
}

} // namespace
