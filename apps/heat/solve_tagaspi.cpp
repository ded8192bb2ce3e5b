// SPDX-License-Identifier: BSD-3-Clause
// The variant tagaspi: the task that sends a piece of a row writes it into the halo row of the next band, with a
// notification; the task that receives it waits for the notification. No acknowledgements: a band writes a piece again
// only after a message of the other direction, which the next band sends when it has used the piece.
#include "solve_flow.hpp"

#include "common/gaspi.hpp"

namespace heat {
namespace {

constexpr gaspi_segment_id_t band = 0; // the cells, with halo rows

struct Notified {
    static constexpr bool blocking = false;
    static constexpr Receiving receiving = Receiving::in_own_task;

    // Two notifications for each column of blocks, one for each direction.
    void start(Run &run, const Message &m) {
        const bool down = static_cast<Direction>(m.direction) == Direction::down;
        const auto id = static_cast<gaspi_notification_id_t>(2 * m.col + (down ? 0 : 1));
        if (!m.sent) {
            apps::check_gaspi(tagaspi_notify_iwait(band, id, GASPI_NOTIFICATION_IGNORE));
            return;
        }
        const int from = down ? run.band.rows() - 1 : 0, to = down ? -1 : run.partition.rows_of(m.peer);
        apps::check_gaspi(tagaspi_write_notify(band, offset(run, from, m.col), static_cast<gaspi_rank_t>(m.peer), band,
                                               offset(run, to, m.col),
                                               static_cast<gaspi_size_t>(m.cells) * sizeof(double), id, 1,
                                               apps::queue_of(static_cast<std::size_t>(m.col))));
    }

private:
    // Bands differ in their number of rows, not in their columns.
    static gaspi_offset_t offset(const Run &run, int row, int col) {
        return apps::offset_of(static_cast<std::size_t>(run.band.offset(row) + run.col0(col)));
    }
};

} // namespace

void solve_tagaspi(Run &run) {
    FlowSolver<Notified>(run).solve();
}

void prepare_tagaspi(Run &run) {
    apps::check_notifications(run.comm, 2 * static_cast<std::size_t>(run.partition.block_cols()),
                              "the blocks of a row need, two for each; use a larger --block");
    apps::check_gaspi(tagaspi_proc_init(GASPI_BLOCK));
    run.band.use_memory(apps::make_segment(band, run.band.size()));
}

void release_tagaspi(Run &) {
    apps::check_gaspi(tagaspi_proc_term(GASPI_BLOCK));
}

} // namespace heat
