// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/datatype/layout.hpp"

#include "core/continuation/lifetime.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/handles.hpp"
#include "mpix/datatype/read_type.hpp"

#include <array>
#include <memory>
#include <mutex>

namespace thence::datatype {

namespace {

// Predefined datatypes are never freed and their handles never used again, so a table needs no removal. Entries are
// added under the mutex; an entry is visible when its handle is.
class predefined_table {
public:
    const layout *find(MPI_Datatype type) const noexcept {
        const std::uintptr_t key = mpi::bits(type);
        for (std::size_t i = place_of(key), n = 0; n < most; i = next(i), ++n) {
            const std::uintptr_t there = keys_[i].load(std::memory_order_acquire);
            if (there == key) {
                return layouts_[i];
            }
            if (there == 0) {
                return nullptr;
            }
        }
        return nullptr;
    }
    // False if the table is full; then the datatype is read again each time.
    bool add(MPI_Datatype type, const layout *added) noexcept {
        if (used_ == most / 2) {
            return false;
        }
        const std::uintptr_t key = mpi::bits(type);
        std::size_t i = place_of(key);
        while (keys_[i].load(std::memory_order_relaxed) != 0) {
            i = next(i);
        }
        layouts_[i] = added;
        keys_[i].store(key, std::memory_order_release);
        ++used_;
        return true;
    }

private:
    static constexpr std::size_t most = 512; // an MPI has about 100
    // Handles differ in their low bits or are addresses of objects of some hundred bytes.
    static std::size_t place_of(std::uintptr_t key) noexcept {
        return static_cast<std::size_t>((static_cast<std::uint64_t>(key) * 0x9E3779B97F4A7C15U) >> 55U);
    }
    static std::size_t next(std::size_t i) noexcept { return (i + 1) % most; }

    std::array<std::atomic<std::uintptr_t>, most> keys_{};
    std::array<const layout *, most> layouts_{};
    std::size_t used_ = 0;
};
static_assert((~std::uint64_t{0} >> 55U) == 511);

predefined_table predefined;
std::mutex mutex; // held while a layout is read and kept, so that no two threads keep one for the same datatype

// Of the attributes that hold the layouts. Invalid before the first and after MPI_Finalize.
std::atomic<int> keyval{MPI_KEYVAL_INVALID};

int share(MPI_Datatype, int, void *, void *value, void *copy, int *flag) {
    static_cast<const layout *>(value)->acquire();
    *static_cast<void **>(copy) = value;
    *flag = 1;
    return MPI_SUCCESS;
}

int drop(MPI_Datatype, int, void *value, void *) {
    static_cast<const layout *>(value)->release();
    return MPI_SUCCESS;
}

void tear_down() noexcept {
    const std::scoped_lock guard(mutex);
    keyval.store(MPI_KEYVAL_INVALID);
}
constinit continuation::finalize_functions at_finalize{nullptr, &tear_down};

// Under the mutex.
found begin() {
    if (keyval.load(std::memory_order_relaxed) != MPI_KEYVAL_INVALID) {
        return found::yes;
    }
    switch (continuation::set_up()) {
    case continuation::setting_up::done:
        break;
    case continuation::setting_up::library_has_ended:
        return found::library_has_ended;
    case continuation::setting_up::mpi_is_inactive:
        return found::mpi_inactive;
    case continuation::setting_up::no_source_left:
        return found::no_memory;
    }
    continuation::add_finalize_functions(at_finalize);
    mpi::load_type_calls();
    int created = MPI_KEYVAL_INVALID;
    if (mpi::table.Type_create_keyval(&share, &drop, &created, nullptr) != MPI_SUCCESS) {
        return found::no_memory;
    }
    keyval.store(created, std::memory_order_release);
    return found::yes;
}

const layout *attribute_of(MPI_Datatype type, int key) noexcept {
    void *value = nullptr;
    int flag = 0;
    const int code = mpi::table.Type_get_attr(type, key, &value, &flag);
    return code == MPI_SUCCESS && flag != 0 ? static_cast<const layout *>(value) : nullptr;
}

const layout *kept(MPI_Datatype type, bool &is_predefined) noexcept {
    const layout *known = predefined.find(type);
    is_predefined = known != nullptr;
    return is_predefined ? known : attribute_of(type, keyval.load(std::memory_order_relaxed));
}

bool read_before(MPI_Datatype type, read_result &result) {
    const layout *known = kept(type, result.predefined);
    if (known != nullptr) {
        result.what = known->root;
    }
    return known != nullptr;
}

// Under the mutex.
const layout *read_and_keep(MPI_Datatype type) {
    type_reader reader(&read_before);
    const read_result result = reader.read(type);
    const number extent = extent_of(type);
    std::unique_ptr<layout> made(new layout{result.what, extent});
    if (result.predefined && predefined.add(type, made.get())) {
        return made.release();
    }
    // A predefined datatype can have an attribute, too.
    const int code = mpi::table.Type_set_attr(type, keyval.load(std::memory_order_relaxed), made.get());
    if (code != MPI_SUCCESS) {
        throw mpi_failure{code};
    }
    return made.release();
}

lookup read_first(MPI_Datatype type) noexcept {
    try {
        std::scoped_lock guard(mutex);
        if (const found begun = begin(); begun != found::yes) {
            return {.how = begun};
        }
        bool is_predefined = false;
        const layout *known = kept(type, is_predefined); // by another thread
        return {.what = known != nullptr ? known : read_and_keep(type)};
    } catch (const mpi_failure &failure) {
        return {.how = found::mpi_error, .code = failure.code};
    } catch (const unknown_combiner &unknown) {
        return {.how = found::unknown_combiner, .combiner = unknown.combiner};
    } catch (const too_large &) {
        return {.how = found::too_large};
    } catch (const too_deep &) {
        return {.how = found::too_deep};
    } catch (const std::exception &) {
        return {.how = found::no_memory};
    }
}

} // namespace

lookup layout_of(MPI_Datatype type) noexcept {
    if (type == MPI_DATATYPE_NULL) {
        return {.how = found::null_datatype};
    }
    if (const layout *known = predefined.find(type); known != nullptr) {
        return {.what = known};
    }
    const int key = keyval.load(std::memory_order_acquire);
    const layout *known = key != MPI_KEYVAL_INVALID ? attribute_of(type, key) : nullptr;
    return known != nullptr ? lookup{.what = known} : read_first(type);
}

mpi::extension_facts extension() noexcept {
    return {mpi::extension_state::ours,
            "segments are found in the depth of the datatype, which no MPI does, and -1 stands for all bytes"};
}

} // namespace thence::datatype
