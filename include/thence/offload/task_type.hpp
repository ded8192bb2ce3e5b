// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file task_type.hpp
 *  @brief What a type of task for thence/offload.hpp has to have, and the same without its type. */

#include <thence/detail/cxx20.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace thence {

namespace detail {

inline constexpr std::size_t most_results = 3;
inline constexpr std::size_t largest_message = static_cast<std::size_t>(std::numeric_limits<int>::max());

template <class Task>
inline constexpr std::size_t offload_result_count =
    std::tuple_size_v<decltype(Task::result_bytes(std::declval<const typename Task::metadata &>()))>;
template <class Task> using offload_results = std::array<std::span<std::byte>, offload_result_count<Task>>;

} // namespace detail

/** @brief A type of task. Its `metadata` are trivially copyable: they are sent as bytes. `input_bytes` and
 *         `result_bytes` give the sizes; there are 1 to 3 results. `run` must not throw: on another rank nobody could
 *         catch it. It may be called on several threads at once. */
template <class Task>
concept offload_task = std::is_trivially_copyable_v<typename Task::metadata> &&
                       std::is_default_constructible_v<typename Task::metadata> &&
                       (detail::offload_result_count<Task> >= 1) &&
                       (detail::offload_result_count<Task> <= detail::most_results) &&
                       requires(const typename Task::metadata &metadata, std::span<const std::byte> input,
                                const detail::offload_results<Task> &results) {
    { Task::input_bytes(metadata) } -> std::convertible_to<std::size_t>;
    { Task::run(metadata, input, results) }
    noexcept;
};

namespace detail {

struct offload_type {
    using sizes = std::array<std::size_t, most_results>;
    using results_of = std::array<std::span<std::byte>, most_results>;
    const char *(*name)(); // the same in all programs of one compiler
    std::size_t metadata_bytes;
    int results;
    std::size_t (*input_bytes)(const std::byte *metadata);
    sizes (*result_bytes)(const std::byte *metadata);
    void (*run)(const std::byte *metadata, std::span<const std::byte> input, const results_of &results);
};

template <class Task> typename Task::metadata offload_metadata(const std::byte *bytes) {
    typename Task::metadata metadata;
    std::memcpy(&metadata, bytes, sizeof metadata);
    return metadata;
}

template <class Task>
inline constexpr offload_type offload_type_of{
    [] { return typeid(Task).name(); },
    sizeof(typename Task::metadata),
    static_cast<int>(offload_result_count<Task>),
    [](const std::byte *metadata) -> std::size_t { return Task::input_bytes(offload_metadata<Task>(metadata)); },
    [](const std::byte *metadata) {
        const auto given = Task::result_bytes(offload_metadata<Task>(metadata));
        offload_type::sizes sizes{};
        for (std::size_t i = 0; i < given.size(); ++i) {
            sizes[i] = given[i];
        }
        return sizes;
    },
    [](const std::byte *metadata, std::span<const std::byte> input, const offload_type::results_of &results) {
        offload_results<Task> own;
        for (std::size_t i = 0; i < own.size(); ++i) {
            own[i] = results[i];
        }
        Task::run(offload_metadata<Task>(metadata), input, own);
    }};

} // namespace detail
} // namespace thence
