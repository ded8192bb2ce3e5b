// SPDX-License-Identifier: BSD-3-Clause
#include "types.hpp"

#include "fake_mpi.hpp"
#include "request.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace thence::fake {
namespace {

struct derived_type {
    constructor by;
    long references = 1;
    std::map<int, void *> attributes;
};
struct keyval_functions {
    MPI_Type_copy_attr_function *copy;
    MPI_Type_delete_attr_function *del;
};
struct named_type {
    MPI_Datatype type;
    int size;
    MPI_Aint extent;
};

std::mutex mutex;
std::map<std::uintptr_t, derived_type> types;
std::map<std::pair<std::uintptr_t, int>, void *> attributes_of_named;
std::vector<keyval_functions> keyvals; // these stay, since the library keeps its keyvals
std::uintptr_t made = 0;
long contents = 0;
int attribute_error = MPI_SUCCESS;

template <class Value> struct with_int {
    Value value;
    int index;
};
template <class T> named_type plain(MPI_Datatype type) {
    return {type, sizeof(T), sizeof(T)};
}
template <class T> named_type pair(MPI_Datatype type) {
    return {type, sizeof(T) + sizeof(int), sizeof(with_int<T>)};
}

const std::vector<named_type> &all_named() {
    static const std::vector<named_type> all = {
        plain<char>(MPI_CHAR),
        plain<char>(MPI_SIGNED_CHAR),
        plain<char>(MPI_UNSIGNED_CHAR),
        plain<char>(MPI_BYTE),
        plain<char>(MPI_PACKED),
        plain<short>(MPI_SHORT),
        plain<short>(MPI_UNSIGNED_SHORT),
        plain<int>(MPI_INT),
        plain<int>(MPI_UNSIGNED),
        plain<long>(MPI_LONG),
        plain<long>(MPI_UNSIGNED_LONG),
        plain<long long>(MPI_LONG_LONG),
        plain<long long>(MPI_UNSIGNED_LONG_LONG),
        plain<float>(MPI_FLOAT),
        plain<double>(MPI_DOUBLE),
        plain<long double>(MPI_LONG_DOUBLE),
        plain<int[2]>(MPI_2INT),
        pair<short>(MPI_SHORT_INT),
        pair<long>(MPI_LONG_INT),
        pair<float>(MPI_FLOAT_INT),
        pair<double>(MPI_DOUBLE_INT),
        pair<long double>(MPI_LONG_DOUBLE_INT),
    };
    return all;
}

std::optional<named_type> named(MPI_Datatype type) {
    for (const named_type &one : all_named()) {
        if (one.type == type) {
            return one;
        }
    }
    return std::nullopt;
}

// Null for a named datatype. Under the mutex.
derived_type *find(const char *call, MPI_Datatype type) {
    const auto found = types.find(value_of(type));
    if (found != types.end()) {
        return &found->second;
    }
    if (!named(type)) {
        misuse(call, nullptr, "no datatype, or one that was freed");
    }
    return nullptr;
}

int get_envelope(MPI_Datatype type, MPI_Count lengths[4], int *combiner) {
    std::scoped_lock guard(mutex);
    const derived_type *t = find("MPI_Type_get_envelope", type);
    static const constructor no_arguments{.combiner = MPI_COMBINER_NAMED};
    const constructor &by = t == nullptr ? no_arguments : t->by;
    lengths[0] = static_cast<MPI_Count>(by.integers.size());
    lengths[1] = static_cast<MPI_Count>(by.addresses.size());
    lengths[2] = static_cast<MPI_Count>(by.counts.size());
    lengths[3] = static_cast<MPI_Count>(by.types.size());
    *combiner = by.combiner;
    return MPI_SUCCESS;
}

int get_contents(MPI_Datatype type, int integers[], MPI_Aint addresses[], MPI_Count counts[], MPI_Datatype olds[]) {
    std::scoped_lock guard(mutex);
    const derived_type *t = find("MPI_Type_get_contents", type);
    if (t == nullptr) {
        misuse("MPI_Type_get_contents", nullptr, "a named datatype has none");
        return MPI_ERR_TYPE;
    }
    ++contents;
    std::ranges::copy(t->by.integers, integers);
    std::ranges::copy(t->by.addresses, addresses);
    std::ranges::copy(t->by.counts, counts);
    std::ranges::copy(t->by.types, olds);
    for (const MPI_Datatype old : t->by.types) {
        if (derived_type *inner = find("MPI_Type_get_contents", old); inner != nullptr && !inner->by.predefined) {
            ++inner->references;
        }
    }
    return MPI_SUCCESS;
}

int Type_get_envelope(MPI_Datatype type, int *integers, int *addresses, int *olds, int *combiner) {
    MPI_Count lengths[4];
    const int code = get_envelope(type, lengths, combiner);
    if (lengths[2] != 0) {
        misuse("MPI_Type_get_envelope", nullptr, "the datatype has large counts");
    }
    *integers = static_cast<int>(lengths[0]);
    *addresses = static_cast<int>(lengths[1]);
    *olds = static_cast<int>(lengths[3]);
    return code;
}
int Type_get_contents(MPI_Datatype type, int, int, int, int integers[], MPI_Aint addresses[], MPI_Datatype olds[]) {
    return get_contents(type, integers, addresses, nullptr, olds);
}
int Type_get_envelope_c(MPI_Datatype type, MPI_Count *integers, MPI_Count *addresses, MPI_Count *counts,
                        MPI_Count *olds, int *combiner) {
    MPI_Count lengths[4];
    const int code = get_envelope(type, lengths, combiner);
    *integers = lengths[0];
    *addresses = lengths[1];
    *counts = lengths[2];
    *olds = lengths[3];
    return code;
}
int Type_get_contents_c(MPI_Datatype type, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int integers[],
                        MPI_Aint addresses[], MPI_Count counts[], MPI_Datatype olds[]) {
    return get_contents(type, integers, addresses, counts, olds);
}

int Type_get_extent(MPI_Datatype type, MPI_Aint *lower, MPI_Aint *extent) {
    std::scoped_lock guard(mutex);
    const derived_type *t = find("MPI_Type_get_extent", type);
    *lower = 0;
    *extent = t != nullptr ? t->by.extent : named(type).value_or(named_type{}).extent;
    return MPI_SUCCESS;
}
int Type_size(MPI_Datatype type, int *size) {
    std::scoped_lock guard(mutex);
    const derived_type *t = find("MPI_Type_size", type);
    if (t != nullptr && !t->by.predefined) {
        misuse("MPI_Type_size", nullptr, "the fake knows that of predefined datatypes only");
    }
    *size = t != nullptr ? t->by.size : named(type).value_or(named_type{}).size;
    return MPI_SUCCESS;
}

void drop_reference(MPI_Datatype type) {
    derived_type last;
    {
        std::scoped_lock guard(mutex);
        derived_type *t = find("MPI_Type_free", type);
        if (t == nullptr || (t->by.predefined && t->references == 0)) {
            misuse("MPI_Type_free", nullptr, "a predefined datatype");
            return;
        }
        if (--t->references != 0) {
            return;
        }
        last = std::move(*t);
        types.erase(value_of(type));
    }
    for (const auto &[key, value] : last.attributes) {
        keyvals.at(static_cast<std::size_t>(key)).del(type, key, value, nullptr);
    }
    for (const MPI_Datatype old : last.by.types) {
        if (!named(old)) {
            drop_reference(old);
        }
    }
}

int Type_free(MPI_Datatype *type) {
    drop_reference(*type);
    *type = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}
int Type_create_keyval(MPI_Type_copy_attr_function *copy, MPI_Type_delete_attr_function *del, int *keyval, void *) {
    std::scoped_lock guard(mutex);
    keyvals.push_back({copy, del});
    *keyval = static_cast<int>(keyvals.size()) - 1;
    return MPI_SUCCESS;
}
int Type_get_attr(MPI_Datatype type, int keyval, void *value, int *flag) {
    std::scoped_lock guard(mutex);
    void *found = nullptr;
    if (const derived_type *t = find("MPI_Type_get_attr", type); t != nullptr) {
        const auto at = t->attributes.find(keyval);
        found = at != t->attributes.end() ? at->second : nullptr;
    } else if (const auto at = attributes_of_named.find({value_of(type), keyval}); at != attributes_of_named.end()) {
        found = at->second;
    }
    *static_cast<void **>(value) = found;
    *flag = found != nullptr ? 1 : 0;
    return MPI_SUCCESS;
}
int Type_set_attr(MPI_Datatype type, int keyval, void *value) {
    std::scoped_lock guard(mutex);
    if (const int code = std::exchange(attribute_error, MPI_SUCCESS); code != MPI_SUCCESS) {
        return code;
    }
    if (derived_type *t = find("MPI_Type_set_attr", type); t != nullptr) {
        if (!t->attributes.emplace(keyval, value).second) {
            misuse("MPI_Type_set_attr", nullptr, "the datatype has this attribute");
        }
    } else {
        attributes_of_named[{value_of(type), keyval}] = value;
    }
    return MPI_SUCCESS;
}

} // namespace

MPI_Datatype make_type(const constructor &by) {
    std::scoped_lock guard(mutex);
    const std::uintptr_t value = 0x8c100000U + 64 * ++made;
    for (const MPI_Datatype old : by.types) {
        if (derived_type *inner = find("a constructor", old); inner != nullptr) {
            ++inner->references;
        }
    }
    types[value].by = by;
    return make_handle<MPI_Datatype>(value);
}

MPI_Datatype duplicate(MPI_Datatype of) {
    MPI_Aint extent = 0;
    MPI_Aint lower = 0;
    Type_get_extent(of, &lower, &extent);
    const MPI_Datatype copy = make_type({.combiner = MPI_COMBINER_DUP, .types = {of}, .extent = extent});
    std::scoped_lock guard(mutex);
    if (const derived_type *original = find("MPI_Type_dup", of); original != nullptr) {
        for (const auto &[key, value] : original->attributes) {
            void *copied = nullptr;
            int flag = 0;
            keyvals.at(static_cast<std::size_t>(key)).copy(of, key, nullptr, value, &copied, &flag);
            if (flag != 0) {
                types.at(value_of(copy)).attributes[key] = copied;
            }
        }
    }
    return copy;
}

void free_type(MPI_Datatype &type) {
    Type_free(&type);
}

long type_references() {
    std::scoped_lock guard(mutex);
    long sum = 0;
    for (const auto &[value, type] : types) {
        sum += type.references;
    }
    return sum;
}

long contents_calls() {
    std::scoped_lock guard(mutex);
    return contents;
}

void fail_next_attribute(int code) {
    std::scoped_lock guard(mutex);
    attribute_error = code;
}

void install_type_calls(thence::mpi::calls &table, bool large_counts) {
#define INSTALL(name) table.name = &name
    INSTALL(Type_get_envelope);
    INSTALL(Type_get_contents);
    INSTALL(Type_get_extent);
    INSTALL(Type_size);
    INSTALL(Type_free);
    INSTALL(Type_create_keyval);
    INSTALL(Type_get_attr);
    INSTALL(Type_set_attr);
#undef INSTALL
    table.type_get_envelope_c = large_counts ? &Type_get_envelope_c : nullptr;
    table.type_get_contents_c = large_counts ? &Type_get_contents_c : nullptr;
}

} // namespace thence::fake
