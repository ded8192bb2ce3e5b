// SPDX-License-Identifier: BSD-3-Clause
// Comparison of an error code with the class and the text that it must have.
#pragma once

#include "support.hpp"

#include <string>

inline std::string text_of(int code) {
    std::string text(MPI_MAX_ERROR_STRING + 1, '\0');
    int length = 0;
    MPI_Error_string(code, text.data(), &length);
    text.resize(static_cast<std::size_t>(length));
    return text;
}

// MPICH 4.0 gives a user's code of a predefined class the text of another error. There the class itself is returned.
inline bool mpi_keeps_texts() {
    static const bool result = [] {
        int code = MPI_SUCCESS;
        MPI_Add_error_code(MPI_ERR_ARG, &code);
        MPI_Add_error_string(code, "a text of this test");
        return text_of(code) == "a text of this test";
    }();
    return result;
}

inline void expect(int error_class, const std::string &text, int code) {
    EXPECT_EQ(error_class, class_of(code)) << text;
    if (mpi_keeps_texts()) {
        EXPECT_EQ(text, text_of(code));
    } else {
        EXPECT_EQ(error_class, code) << text;
    }
}
