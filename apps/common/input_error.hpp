// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <stdexcept>

namespace apps {

// Wrong input that all ranks find alike, because they read the same bytes.
class InputError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

} // namespace apps
