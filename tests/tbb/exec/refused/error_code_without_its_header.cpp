// SPDX-License-Identifier: BSD-3-Clause
// refused: include <thence/exec/error_code.hpp> to throw a std::error_code as std::system_error
#include <thence/exec.hpp>

namespace ex = thence::exec;

#include <system_error>
#ifdef MENDED
#include <thence/exec/error_code.hpp>
#endif

int main() {
    ex::sync_wait(ex::when_all(ex::just(1), ex::just_error(std::error_code())) |
                  ex::let_stopped([] { return ex::just(); }) | ex::let_error([](std::error_code &code) noexcept {
                      return ex::any_sender<ex::set_value_t(), ex::set_error_t(std::error_code)>(ex::just_error(code));
                  }));
}
