// SPDX-License-Identifier: BSD-3-Clause
// The bar is plain ASCII, so that every terminal and every log shows it.
#include "progress_bar.hpp"

#include <cstdio>
#include <unistd.h>

namespace apps {

bool draws_bar(When when, int rank) {
    return rank == 0 && (when == When::always || (when == When::automatic && isatty(STDERR_FILENO)));
}

void ProgressBar::show(int done) {
    if (!shown) {
        return;
    }
    const std::unique_lock lock(drawing, std::try_to_lock);
    if (!lock || (done < total && now() < next)) {
        return;
    }
    next = now() + 100'000'000;
    constexpr int width = 40;
    const int filled = static_cast<int>(static_cast<long>(width) * done / total);
    std::fprintf(stderr, "\r%-10s [%s%s] %3d %%  %d of %d %s", label.c_str(),
                 std::string(static_cast<std::size_t>(filled), '#').c_str(),
                 std::string(static_cast<std::size_t>(width - filled), '.').c_str(),
                 static_cast<int>(100L * done / total), done, total, unit.c_str());
    std::fflush(stderr);
}

void ProgressBar::clear() {
    if (!shown || next == 0) {
        return;
    }
    std::fprintf(stderr, "\r%*s\r", 100, "");
    std::fflush(stderr);
    next = 0;
}

} // namespace apps
