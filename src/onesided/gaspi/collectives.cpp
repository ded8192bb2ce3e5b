// SPDX-License-Identifier: BSD-3-Clause
// Barriers and reductions (tree.cpp).
#include "onesided/gaspi/groups.hpp"

#include <PGASPI.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace thence::gaspi {

namespace {

// Integers wrap.
template <class T> T sum_of(T a, T b) noexcept {
    if constexpr (std::is_integral_v<T>) {
        using unsigned_type = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<unsigned_type>(a) + static_cast<unsigned_type>(b));
    } else {
        return a + b;
    }
}

template <class T> void reduce(gaspi_operation_t operation, bytes &into, const bytes &other) {
    for (std::size_t at = 0; at + sizeof(T) <= into.size(); at += sizeof(T)) {
        T a;
        T b;
        std::memcpy(&a, into.data() + at, sizeof a);
        std::memcpy(&b, other.data() + at, sizeof b);
        const T result = operation == GASPI_OP_MIN   ? std::min(a, b)
                         : operation == GASPI_OP_MAX ? std::max(a, b)
                                                     : sum_of(a, b);
        std::memcpy(into.data() + at, &result, sizeof result);
    }
}

std::size_t size_of(gaspi_datatype_t type) noexcept {
    switch (type) {
    case GASPI_TYPE_INT:
    case GASPI_TYPE_UINT:
    case GASPI_TYPE_FLOAT:
        return 4;
    case GASPI_TYPE_DOUBLE:
    case GASPI_TYPE_LONG:
    case GASPI_TYPE_ULONG:
        return 8;
    }
    return 0;
}

void reduce(gaspi_datatype_t type, gaspi_operation_t operation, bytes &into, const bytes &other) {
    switch (type) {
    case GASPI_TYPE_INT:
        return reduce<int>(operation, into, other);
    case GASPI_TYPE_UINT:
        return reduce<unsigned>(operation, into, other);
    case GASPI_TYPE_FLOAT:
        return reduce<float>(operation, into, other);
    case GASPI_TYPE_DOUBLE:
        return reduce<double>(operation, into, other);
    case GASPI_TYPE_LONG:
        return reduce<long>(operation, into, other);
    case GASPI_TYPE_ULONG:
        return reduce<unsigned long>(operation, into, other);
    }
}

class reduction final : public combination {
public:
    reduction(gaspi_datatype_t type, gaspi_operation_t operation) noexcept : type_(type), operation_(operation) {}
    bool combine(bytes &into, const bytes &other) const override {
        if (other.size() != into.size()) {
            return false; // another process reduces another number of elements
        }
        reduce(type_, operation_, into, other);
        return true;
    }

private:
    gaspi_datatype_t type_;
    gaspi_operation_t operation_;
};

struct reduction_of_program final : combination {
    gaspi_reduce_operation_t function = nullptr;
    gaspi_reduce_state_t state = nullptr;
    gaspi_number_t number = 0;
    gaspi_size_t element_size = 0;
    gaspi_timeout_t timeout_ms = 0;

    bool combine(bytes &into, const bytes &other) const override {
        if (other.size() != into.size()) {
            return false;
        }
        bytes second = other;
        bytes result(into.size());
        const gaspi_return_t code =
            function(into.data(), second.data(), result.data(), state, number, element_size, timeout_ms);
        into = std::move(result);
        return code == GASPI_SUCCESS;
    }
};

gaspi_return_t wrong_group(gaspi_group_t number) noexcept {
    const group *const g = find_group(number);
    return g != nullptr && g->is_committed ? GASPI_SUCCESS : GASPI_ERR_INV_GROUP;
}

gaspi_return_t reduce(process &self, gaspi_group_t number, call what, const combination &with, const void *from,
                      void *to, std::size_t length, gaspi_timeout_t timeout_ms) noexcept {
    group *const g = find_group(number);
    const gaspi_return_t code = run(self, *g, what, from, length, with, timeout_ms);
    if (code == GASPI_SUCCESS && length != 0) {
        std::memcpy(to, g->value.data(), std::min(length, g->value.size()));
    }
    return code;
}

} // namespace

} // namespace thence::gaspi

using namespace thence::gaspi;

extern "C" {

gaspi_return_t pgaspi_barrier(gaspi_group_t number, gaspi_timeout_t timeout_ms) {
    THENCE_GASPI_SELF();
    THENCE_GASPI_CHECK(wrong_group(number));
    count(counter::barriers);
    return reduce(self, number, call::barrier, nothing(), nullptr, nullptr, 0, timeout_ms);
}

gaspi_return_t pgaspi_allreduce(gaspi_pointer_t buffer_send, gaspi_pointer_t buffer_receive, gaspi_number_t num,
                                gaspi_operation_t operation, gaspi_datatype_t datatype, gaspi_group_t number,
                                gaspi_timeout_t timeout_ms) {
    THENCE_GASPI_SELF();
    THENCE_GASPI_NOT_NULL(buffer_send);
    THENCE_GASPI_NOT_NULL(buffer_receive);
    THENCE_GASPI_CHECK(wrong_group(number));
    if (num > configuration.allreduce_elem_max) {
        return GASPI_ERR_INV_NUM;
    }
    const std::size_t length = num * size_of(datatype);
    if (operation > GASPI_OP_SUM || (length == 0 && num != 0)) {
        return GASPI_ERROR;
    }
    count(counter::allreduces);
    return reduce(self, number, call::allreduce, reduction(datatype, operation), buffer_send, buffer_receive, length,
                  timeout_ms);
}

gaspi_return_t pgaspi_allreduce_user(gaspi_pointer_t buffer_send, gaspi_pointer_t buffer_receive, gaspi_number_t num,
                                     gaspi_size_t element_size, gaspi_reduce_operation_t reduce_operation,
                                     gaspi_reduce_state_t reduce_state, gaspi_group_t number,
                                     gaspi_timeout_t timeout_ms) {
    THENCE_GASPI_SELF();
    THENCE_GASPI_NOT_NULL(buffer_send);
    THENCE_GASPI_NOT_NULL(buffer_receive);
    THENCE_GASPI_NOT_NULL(reduce_operation);
    THENCE_GASPI_CHECK(wrong_group(number));
    if (num > configuration.allreduce_elem_max) {
        return GASPI_ERR_INV_NUM;
    }
    const std::size_t length = num * element_size;
    if (element_size > configuration.allreduce_buf_size || length > configuration.allreduce_buf_size) {
        return GASPI_ERR_INV_SIZE;
    }
    reduction_of_program with;
    with.function = reduce_operation;
    with.state = reduce_state;
    with.number = num;
    with.element_size = element_size;
    with.timeout_ms = timeout_ms;
    count(counter::allreduces);
    return reduce(self, number, call::allreduce_user, with, buffer_send, buffer_receive, length, timeout_ms);
}

THENCE_GASPI_ALIAS(barrier);
THENCE_GASPI_ALIAS(allreduce);
THENCE_GASPI_ALIAS(allreduce_user);

} // extern "C"
