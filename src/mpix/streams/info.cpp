// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/streams/info.hpp"

#include "core/mpi/calls.hpp"
#include "core/mpi/info.hpp"

#include <charconv>
#include <cstring>

namespace thence::streams {

std::string to_hex(const void *bytes, std::size_t size) {
    constexpr char digits[] = "0123456789ABCDEF";
    const auto *from = static_cast<const unsigned char *>(bytes);
    std::string text;
    for (std::size_t i = 0; i < size;) {
        std::size_t end = i;
        while (end < size && from[end] == 0) {
            ++end;
        }
        if (end - i > 1) {
            text.append("[").append(std::to_string(end - i)).append("]");
            i = end;
        } else {
            text.push_back(digits[from[i] >> 4]);
            text.push_back(digits[from[i] & 15]);
            ++i;
        }
    }
    return text;
}

bool from_hex(std::string_view text, void *bytes, std::size_t size) noexcept {
    auto *to = static_cast<unsigned char *>(bytes);
    std::size_t filled = 0;
    const char *at = text.data();
    const char *const end = at + text.size();
    while (at != end) {
        if (*at == '[') {
            std::size_t zeros = 0;
            const auto [behind, fault] = std::from_chars(at + 1, end, zeros);
            if (fault != std::errc() || behind == end || *behind != ']' || zeros > size - filled) {
                return false;
            }
            std::memset(to + filled, 0, zeros);
            filled += zeros;
            at = behind + 1;
        } else {
            if (filled == size || end - at < 2) {
                return false;
            }
            const auto [behind, fault] = std::from_chars(at, at + 2, to[filled], 16);
            if (fault != std::errc() || behind != at + 2) {
                return false;
            }
            ++filled;
            at = behind;
        }
    }
    return filled == size;
}

int copy_assertions(MPI_Info info, MPI_Info &copy) {
    copy = MPI_INFO_NULL;
    int keys = 0;
    if (info == MPI_INFO_NULL) {
        return MPI_SUCCESS;
    }
    int code = mpi::table.Info_get_nkeys(info, &keys);
    for (int i = 0; i < keys && code == MPI_SUCCESS; ++i) {
        char key[MPI_MAX_INFO_KEY + 1] = {};
        code = mpi::table.Info_get_nthkey(info, i, key);
        if (code != MPI_SUCCESS || !std::string_view(key).starts_with("mpi_assert_")) {
            continue;
        }
        if (copy == MPI_INFO_NULL) {
            code = mpi::table.Info_create(&copy);
        }
        if (const std::optional<std::string> value = mpi::value_of(info, key); value && code == MPI_SUCCESS) {
            code = mpi::table.Info_set(copy, key, value->c_str());
        }
    }
    if (code != MPI_SUCCESS && copy != MPI_INFO_NULL) {
        mpi::table.Info_free(&copy);
    }
    return code;
}

} // namespace thence::streams
