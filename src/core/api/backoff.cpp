// SPDX-License-Identifier: BSD-3-Clause
// The calls of <thence/backoff.h>.
#include "core/progress/backoff.hpp"

using namespace thence;

int64_t thence_backoff_next(thence_backoff *backoff) {
    return progress::next_pause(*backoff);
}

void thence_backoff_pause(thence_backoff *backoff) {
    progress::pause(*backoff);
}

void thence_backoff_found(thence_backoff *backoff) {
    progress::found(*backoff);
}
