// SPDX-License-Identifier: BSD-3-Clause
// Visits every operation that an engine watches. It costs O(outstanding) and is rare: searches and reports use it.
//
// The continuation layer, which holds the operations, supplies the function. It calls the visitor only for operations
// of continuations that are fully attached and that no thread can start to run meanwhile.
#pragma once

#include "core/engine/operation.hpp"

namespace thence::engine {

using operation_visitor = void (*)(operation &op, void *context);
extern void (*visit_watched)(operation_visitor visit, void *context);

template <class Visitor> void for_each_watched(Visitor &&visit) noexcept {
    if (visit_watched != nullptr) {
        visit_watched([](operation &op, void *context) { (*static_cast<Visitor *>(context))(op); }, &visit);
    }
}

} // namespace thence::engine
