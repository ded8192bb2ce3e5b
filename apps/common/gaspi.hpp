// SPDX-License-Identifier: BSD-3-Clause
// What the variants with one-sided operations in tasks (TAGASPI.h) need beside their messages: errors end the program,
// and memory that other ranks can write lies in segments.
#pragma once

#include "check.hpp"
#include "program.hpp"

#include <TAGASPI.h>
#include <cstddef>
#include <cstdio>

namespace apps {

// An error of GASPI or TAGASPI ends the program and names its place.
inline void check_gaspi(gaspi_return_t code, const std::source_location &where = std::source_location::current()) {
    if (code != GASPI_SUCCESS) [[unlikely]] {
        gaspi_string_t text = nullptr;
        gaspi_print_error(code, &text);
        std::fprintf(stderr, "%s:%u: %s\n", where.file_name(), static_cast<unsigned>(where.line()),
                     text == nullptr ? "an error of GASPI" : text);
        fail(MPI_ERR_OTHER, where);
    }
}

// Throws an InputError on every rank if one of them needs more notifications than a segment has. Collective.
inline void check_notifications(MPI_Comm comm, std::size_t needed, const std::string &uses) {
    gaspi_number_t most = 0;
    check_gaspi(gaspi_notification_num(&most));
    check_notifications(comm, needed, most, uses);
}

// Makes a segment of so many doubles, at least one. Collective over all ranks.
inline double *make_segment(gaspi_segment_id_t id, std::size_t doubles) {
    gaspi_pointer_t memory = nullptr;
    check_gaspi(gaspi_segment_create(id, (doubles == 0 ? 1 : doubles) * sizeof(double), GASPI_GROUP_ALL, GASPI_BLOCK,
                                     GASPI_MEM_UNINITIALIZED));
    check_gaspi(gaspi_segment_ptr(id, &memory));
    return static_cast<double *>(memory);
}

// The place of a number in a segment, in bytes.
inline gaspi_offset_t offset_of(std::size_t number) {
    return static_cast<gaspi_offset_t>(number * sizeof(double));
}

// Messages are spread over all queues.
inline gaspi_queue_id_t queue_of(std::size_t message) {
    static const gaspi_number_t queues = [] {
        gaspi_number_t number = 1;
        check_gaspi(gaspi_queue_num(&number));
        return number;
    }();
    return static_cast<gaspi_queue_id_t>(message % queues);
}

} // namespace apps
