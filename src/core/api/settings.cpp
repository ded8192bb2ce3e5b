// SPDX-License-Identifier: BSD-3-Clause
// The query of the settings: first those of the table, then the variables that only look like settings.
#include <thence/thence.h>

#include "core/api/errors.hpp"
#include "core/api/sized.hpp"
#include "core/base/settings.hpp"
#include "core/engine/engine.hpp"

using namespace thence;
using api::fail;
namespace reason = api::reason;

namespace {

constexpr std::size_t first_setting_info = THENCE_SIZE_UP_TO(thence_setting_info, complaint);
static_assert(sizeof(thence_setting_info) == first_setting_info);

const char *or_null(const std::string &text) noexcept {
    return text.empty() ? nullptr : text.c_str();
}

} // namespace

extern "C" int thence_setting_query(int index, thence_setting_info *info, size_t size) {
    constexpr const char *call = "thence_setting_query";
    if (index < 0) {
        return fail(call, reason::negative_index);
    }
    if (info == nullptr || size < first_setting_info) {
        return fail(call, info == nullptr ? reason::null_info : reason::size_too_small);
    }
    const base::settings &all = base::current_settings();
    const auto i = static_cast<std::size_t>(index);
    thence_setting_info facts{};
    if (i < base::setting_count) {
        const base::setting_row &row = base::row(static_cast<base::setting>(i));
        const base::setting_state &state = all.states[i];
        facts.name = row.name;
        facts.values = row.values;
        facts.default_value = row.default_value;
        facts.meaning = row.meaning;
        facts.text = state.text ? state.text->c_str() : nullptr;
        facts.in_force = state.in_force.c_str();
        facts.complaint = or_null(state.complaint);
        // Whether the named engine works is known once one was selected.
        if (i == static_cast<std::size_t>(base::setting::engine) && !all.engine.empty() && engine::current != nullptr &&
            all.engine != engine::current->name()) {
            facts.in_force = engine::current->name();
            facts.complaint = engine::current->why();
        }
    } else if (i - base::setting_count < all.unknown.size()) {
        facts.name = all.unknown[i - base::setting_count].c_str();
        facts.complaint = "no setting has this name";
    }
    api::copy_sized(facts, info, size);
    return MPI_SUCCESS;
}
