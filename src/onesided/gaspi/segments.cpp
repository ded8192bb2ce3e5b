// SPDX-License-Identifier: BSD-3-Clause
// Segments: parts are made locally, and told to others by packets, which they acknowledge.
#include "onesided/gaspi/process.hpp"

#include <PGASPI.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <vector>

namespace thence::gaspi {

namespace {

std::mutex registration_mutex; // guards these
// Of each segment and rank: the number of the last packet that has told of the part, of the last that was acknowledged,
// and of the last for which the other process had no memory.
struct registration_of_part {
    std::uint64_t sent = 0;
    std::uint64_t known = 0;
    std::uint64_t refused = 0;
    bool is_known() const noexcept { return known >= sent; }
    bool is_refused() const noexcept { return refused != 0 && refused == sent; }
};
std::vector<registration_of_part> &registrations() {
    static auto &made = *new std::vector<registration_of_part>; // the helper thread outlives main()
    return made;
}
std::uint64_t last_number = 0;
// What a call that has timed out has done.
enum class stage : unsigned char { none, registering, barrier };
std::array<stage, most_segments> creating{};

std::size_t index_of(const process &self, int number, int rank) noexcept {
    return static_cast<std::size_t>(number) * static_cast<std::size_t>(self.size) + static_cast<std::size_t>(rank);
}

registration_of_part &registration(const process &self, int number, int rank) noexcept {
    return registrations()[index_of(self, number, rank)];
}

gaspi_return_t make_part(process &self, gaspi_segment_id_t number, void *memory, gaspi_size_t bytes) noexcept {
    if (number >= configuration.segment_max) {
        return GASPI_ERR_INV_SEG;
    }
    if (bytes == 0) {
        return GASPI_ERR_INV_SEGSIZE;
    }
    onesided::segment *const view = view_of(self, number);
    if (view == nullptr) {
        return GASPI_ERR_MEMALLOC;
    }
    const std::scoped_lock guard(self.mutex);
    if (self.has_part[number]) {
        return GASPI_ERR_INV_SEG;
    }
    if (!view->give_own(memory, bytes, configuration.notification_num)) {
        return GASPI_ERR_MEMALLOC;
    }
    self.has_part[number] = true;
    return GASPI_SUCCESS;
}

bool has_part(process &self, gaspi_segment_id_t number) noexcept {
    return number < most_segments && self.has_part[number];
}

// Tells a process of the part, if that was not done. The caller uses it.
gaspi_return_t tell(process &self, const onesided::segment &view, int rank) noexcept {
    const int number = view.number;
    std::uint64_t packet = 0;
    {
        const std::scoped_lock guard(registration_mutex);
        registration_of_part &entry = registration(self, number, rank);
        if (!entry.is_known() && !entry.is_refused()) {
            return GASPI_SUCCESS; // it is under way
        }
        packet = entry.sent = ++last_number;
    }
    const onesided::part_description mine = view.describe();
    const gaspi_return_t code = send(self, rank, {subject::part, packet, 0, &mine, sizeof mine});
    if (code != GASPI_SUCCESS) { // no other thread has told anew: it was under way
        const std::scoped_lock guard(registration_mutex);
        registration_of_part &entry = registration(self, number, rank);
        entry.sent = entry.sent == packet ? entry.known : entry.sent;
    }
    return code;
}

gaspi_return_t wait_until_known(process &self, gaspi_segment_id_t number, int rank, const deadline &end) noexcept {
    registration_of_part found;
    const bool in_time = wait_until(self, end, [&] {
        const std::scoped_lock guard(registration_mutex);
        found = registration(self, number, rank);
        return found.is_known() || found.is_refused() || self.world->is_gone(rank);
    });
    return found.is_known()     ? GASPI_SUCCESS
           : found.is_refused() ? GASPI_ERR_MEMALLOC
           : in_time            ? GASPI_ERROR
                                : GASPI_TIMEOUT;
}

stage stage_of(gaspi_segment_id_t number) noexcept {
    const std::scoped_lock guard(registration_mutex);
    return creating[number];
}
void set_stage(gaspi_segment_id_t number, stage reached) noexcept {
    const std::scoped_lock guard(registration_mutex);
    creating[number] = reached;
}

// GASPI_ERROR: the part is in use, and nothing has changed.
gaspi_return_t drop_part(process &self, gaspi_segment_id_t number) noexcept {
    using dropped = onesided::segment::dropped;
    const dropped result = find_view(self, number)->drop_own();
    if (result != dropped::yes) {
        return result == dropped::in_use ? GASPI_ERROR : GASPI_ERR_INV_SEG; // another thread has deleted it
    }
    {
        const std::scoped_lock guard(registration_mutex);
        for (int i = 0; i < self.size; ++i) {
            registration(self, number, i) = {};
        }
        creating[number] = stage::none; // its creation may have timed out
    }
    const std::scoped_lock guard(self.mutex);
    self.has_part[number] = false; // last: then another one may be made
    return GASPI_SUCCESS;
}

// Goes on with a part that was made, until all members know each other's.
gaspi_return_t register_with_all(process &self, gaspi_segment_id_t number, std::span<const gaspi_rank_t> members,
                                 gaspi_group_t group, const deadline &end) noexcept {
    if (stage_of(number) == stage::none) {
        const own_part own(self, number);
        if (!own.exists()) {
            return GASPI_ERR_INV_SEG;
        }
        for (const gaspi_rank_t each : members) {
            if (each != self.rank) {
                THENCE_GASPI_CHECK(tell(self, *own.view(), each));
            }
        }
        set_stage(number, stage::registering);
    }
    if (stage_of(number) == stage::registering) {
        for (const gaspi_rank_t each : members) {
            if (each != self.rank) {
                THENCE_GASPI_CHECK(wait_until_known(self, number, each, end));
            }
        }
        set_stage(number, stage::barrier);
    }
    return pgaspi_barrier(group, end.left());
}

// What gaspi_segment_create() and _use() do. After a time-out it goes on where it was; after an error there is no part.
gaspi_return_t create(gaspi_segment_id_t number, void *memory, gaspi_size_t bytes, gaspi_group_t group,
                      gaspi_timeout_t timeout_ms) noexcept {
    THENCE_GASPI_SELF();
    gaspi_number_t members = 0;
    THENCE_GASPI_CHECK(pgaspi_group_size(group, &members));
    const std::unique_ptr<gaspi_rank_t[]> ranks(new (std::nothrow) gaspi_rank_t[members]);
    if (ranks == nullptr) {
        return GASPI_ERR_MEMALLOC;
    }
    THENCE_GASPI_CHECK(pgaspi_group_ranks(group, ranks.get()));
    if (number >= configuration.segment_max) {
        return GASPI_ERR_INV_SEG;
    }
    if (stage_of(number) == stage::none) {
        THENCE_GASPI_CHECK(make_part(self, number, memory, bytes));
    }
    const gaspi_return_t code = register_with_all(self, number, {ranks.get(), members}, group, deadline(timeout_ms));
    if (code == GASPI_SUCCESS) {
        set_stage(number, stage::none);
    } else if (code != GASPI_TIMEOUT) {
        drop_part(self, number);
    }
    return code;
}

} // namespace

void begin_segments(const process &self) {
    const std::scoped_lock guard(registration_mutex);
    registrations().assign(static_cast<std::size_t>(most_segments) * static_cast<std::size_t>(self.size), {});
    creating = {};
}

void forget_segments() noexcept {
    const std::scoped_lock guard(registration_mutex);
    registrations().clear();
    creating = {};
}

onesided::segment *view_of(process &self, int number) noexcept {
    const std::scoped_lock guard(self.mutex);
    std::unique_ptr<onesided::segment> &view = self.views[static_cast<std::size_t>(number)];
    if (view == nullptr) {
        view = onesided::segment::make_view(*self.world, number);
        if (view != nullptr && !self.world->add_segment(*view)) {
            view.reset();
        }
        self.known_views[static_cast<std::size_t>(number)].store(view.get(), std::memory_order_release);
    }
    return view.get();
}

void take_part(process &self, const wire::packet &p) noexcept {
    onesided::part_description said{};
    std::memcpy(&said, p.data, sizeof said);
    onesided::segment *const view = view_of(self, said.number);
    const bool is_known = view != nullptr && view->learn(p.process, said); // else memory is exhausted
    content answer{subject::part_answer, p.head.operands[0], static_cast<std::uint64_t>(said.number)};
    answer.failed = !is_known;
    send(self, p.process, answer);
}

void take_part_answer(const wire::packet &p) noexcept {
    process *const self = current.load(std::memory_order_acquire);
    if (self == nullptr) {
        return;
    }
    const std::scoped_lock guard(registration_mutex);
    registration_of_part &entry = registration(*self, static_cast<int>(p.head.operands[1]), p.process);
    (p.head.serial != 0 ? entry.refused : entry.known) = p.head.operands[0];
}

gaspi_return_t wrong_local(const onesided::segment *view, gaspi_offset_t offset, gaspi_size_t bytes) noexcept {
    const wire::local_part *const own = view != nullptr ? view->find_own() : nullptr;
    if (own == nullptr) {
        return GASPI_ERR_INV_SEG;
    }
    const std::size_t has = own->bytes;
    return offset > has || bytes > has - offset ? GASPI_ERR_INV_LOC_OFF : GASPI_SUCCESS;
}

gaspi_return_t wrong_remote(process &self, gaspi_segment_id_t number, gaspi_rank_t rank, gaspi_offset_t offset,
                            gaspi_size_t bytes) noexcept {
    if (rank >= self.size) {
        return GASPI_ERR_INV_RANK;
    }
    const onesided::segment *const view = find_view(self, number);
    if (view == nullptr) {
        return GASPI_ERR_INV_SEG;
    }
    const onesided::part &to = view->part_of(rank);
    if (to.how == onesided::way::unknown) {
        return GASPI_ERR_INV_SEG;
    }
    return offset > to.bytes || bytes > to.bytes - offset ? GASPI_ERR_INV_REM_OFF : GASPI_SUCCESS;
}

} // namespace thence::gaspi

using namespace thence;
using namespace thence::gaspi;

extern "C" {

gaspi_return_t pgaspi_segment_alloc(gaspi_segment_id_t segment_id, gaspi_size_t size, gaspi_alloc_t) {
    THENCE_GASPI_SELF();
    return make_part(self, segment_id, nullptr, size);
}

gaspi_return_t pgaspi_segment_bind(gaspi_segment_id_t segment_id, gaspi_pointer_t pointer, gaspi_size_t size,
                                   gaspi_memory_description_t) {
    THENCE_GASPI_SELF();
    THENCE_GASPI_NOT_NULL(pointer);
    return make_part(self, segment_id, pointer, size);
}

gaspi_return_t pgaspi_segment_delete(gaspi_segment_id_t segment_id) {
    THENCE_GASPI_SELF();
    if (!has_part(self, segment_id)) {
        return GASPI_ERR_INV_SEG;
    }
    return drop_part(self, segment_id);
}

gaspi_return_t pgaspi_segment_register(gaspi_segment_id_t segment_id, gaspi_rank_t rank, gaspi_timeout_t timeout_ms) {
    THENCE_GASPI_SELF();
    if (rank >= self.size) {
        return GASPI_ERR_INV_RANK;
    }
    const own_part told(self, segment_id); // it stays while this call waits
    if (!told.exists()) {
        return GASPI_ERR_INV_SEG;
    }
    if (rank == self.rank) {
        return GASPI_SUCCESS;
    }
    THENCE_GASPI_CHECK(tell(self, *told.view(), rank));
    return wait_until_known(self, segment_id, rank, deadline(timeout_ms));
}

gaspi_return_t pgaspi_segment_create(gaspi_segment_id_t segment_id, gaspi_size_t size, gaspi_group_t group,
                                     gaspi_timeout_t timeout_ms, gaspi_alloc_t) {
    return create(segment_id, nullptr, size, group, timeout_ms);
}

gaspi_return_t pgaspi_segment_use(gaspi_segment_id_t segment_id, gaspi_pointer_t pointer, gaspi_size_t size,
                                  gaspi_group_t group, gaspi_timeout_t timeout_ms, gaspi_memory_description_t) {
    THENCE_GASPI_NOT_NULL(pointer);
    return create(segment_id, pointer, size, group, timeout_ms);
}

gaspi_return_t pgaspi_segment_num(gaspi_number_t *segment_num) {
    THENCE_GASPI_NOT_NULL(segment_num);
    THENCE_GASPI_SELF();
    const std::scoped_lock guard(self.mutex);
    *segment_num = static_cast<gaspi_number_t>(std::count(self.has_part.begin(), self.has_part.end(), true));
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_segment_list(gaspi_number_t num, gaspi_segment_id_t *segment_id_list) {
    THENCE_GASPI_NOT_NULL(segment_id_list);
    THENCE_GASPI_SELF();
    const std::scoped_lock guard(self.mutex);
    gaspi_number_t listed = 0;
    for (int i = 0; i < most_segments && listed < num; ++i) {
        if (self.has_part[static_cast<std::size_t>(i)]) {
            segment_id_list[listed++] = static_cast<gaspi_segment_id_t>(i);
        }
    }
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_segment_ptr(gaspi_segment_id_t segment_id, gaspi_pointer_t *ptr) {
    THENCE_GASPI_NOT_NULL(ptr);
    THENCE_GASPI_SELF();
    const own_part own(self, segment_id);
    if (!own.exists()) {
        return GASPI_ERR_INV_SEG;
    }
    *ptr = own->memory;
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_segment_avail_local(gaspi_segment_id_t *avail_seg_id) {
    THENCE_GASPI_NOT_NULL(avail_seg_id);
    THENCE_GASPI_SELF();
    const std::scoped_lock guard(self.mutex);
    for (unsigned i = 0; i < configuration.segment_max; ++i) {
        if (!self.has_part[i]) {
            *avail_seg_id = static_cast<gaspi_segment_id_t>(i);
            return GASPI_SUCCESS;
        }
    }
    return GASPI_ERR_MANY_SEG;
}

gaspi_return_t pgaspi_segment_size(gaspi_segment_id_t segment_id, gaspi_rank_t rank, gaspi_size_t *size) {
    THENCE_GASPI_NOT_NULL(size);
    THENCE_GASPI_SELF();
    const onesided::space::use in_use(*self.world);
    THENCE_GASPI_CHECK(wrong_remote(self, segment_id, rank, 0, 0));
    *size = find_view(self, segment_id)->part_of(rank).bytes;
    return GASPI_SUCCESS;
}

THENCE_GASPI_ALIAS(segment_alloc);
THENCE_GASPI_ALIAS(segment_delete);
THENCE_GASPI_ALIAS(segment_register);
THENCE_GASPI_ALIAS(segment_create);
THENCE_GASPI_ALIAS(segment_bind);
THENCE_GASPI_ALIAS(segment_use);
THENCE_GASPI_ALIAS(segment_num);
THENCE_GASPI_ALIAS(segment_list);
THENCE_GASPI_ALIAS(segment_ptr);
THENCE_GASPI_ALIAS(segment_avail_local);
THENCE_GASPI_ALIAS(segment_size);

} // extern "C"
