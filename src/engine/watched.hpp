// SPDX-License-Identifier: BSD-3-Clause
// Visiting every operation that is being watched: rare, O(outstanding), for searches and reports.
//
// The continuation layer, which holds the operations, supplies the walk. It calls the visitor only for operations of
// continuations that are fully attached and that nobody can start to run meanwhile.
#pragma once

#include "engine/operation.hpp"

namespace thence::engine {

using operation_visitor = void (*)(operation &op, void *context);
extern void (*visit_watched)(operation_visitor visit, void *context);

template <class Visitor> void for_each_watched(Visitor &&visit) noexcept {
    if (visit_watched != nullptr) {
        visit_watched([](operation &op, void *context) { (*static_cast<Visitor *>(context))(op); }, &visit);
    }
}

} // namespace thence::engine
