// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/threadcomm/communicator.hpp"

#include "core/base/per_thread.hpp"
#include "core/mpi/calls.hpp"
#include "core/mpi/error_code.hpp"
#include "core/mpi/handles.hpp"
#include "core/progress/reaches_libthence.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <utility>

namespace thence::threadcomm {

namespace {

// Communicators by handle: open addressing, at most `most_probes` slots away from the place of the handle. Slots change
// under the mutex; readers take no lock. A communicator that a call uses is not freed meanwhile, or the program is
// wrong. Any other may be, so readers compare the keys and do not touch the communicators of other handles.
constexpr std::size_t slots = 4096;
constexpr std::size_t most_probes = 64;
std::array<std::atomic<std::uint64_t>, slots> keys{}; // the bits of the handle; zero: the slot is free
std::array<std::atomic<communicator *>, slots> table{};
std::atomic<std::size_t> alive{0};
std::mutex table_mutex;

int largest_tag_of(MPI_Comm comm) noexcept {
    const int *largest = nullptr;
    int flag = 0;
    mpi::table.Comm_get_attr(comm, MPI_TAG_UB, &largest, &flag);
    return flag != 0 ? *largest : std::numeric_limits<int>::max();
}

std::uint64_t key_of(MPI_Comm comm) noexcept {
    return static_cast<std::uint64_t>(mpi::bits(comm));
}
std::size_t home_slot(std::uint64_t key) noexcept {
    return (key * 0x9e3779b97f4a7c15U) >> 52;
}
static_assert(slots == std::size_t{1} << 12);

struct membership {
    root_state *root;
    int index;
};
struct memberships {
    MPI_Comm last_handle; // valid if `last` is not null
    member *last;
    std::uint64_t number;
    int count;
    membership list[most_memberships];

    ~memberships() {
        if (count != 0) {
            std::fputs("thence: a thread has ended between MPIX_Threadcomm_start and MPIX_Threadcomm_finish. The other "
                       "threads wait for it in MPIX_Threadcomm_finish for ever\n",
                       stderr);
        }
    }
};
using of_this_thread = base::per_thread<memberships>; // made by may_join()

} // namespace

communicator *find(MPI_Comm comm) noexcept {
    progress::note_if_probing();
    if (const memberships *mine = of_this_thread::existing();
        mine != nullptr && mine->last != nullptr && mine->last_handle == comm) {
        return mine->last->comm;
    }
    const std::uint64_t key = key_of(comm);
    const std::size_t home = home_slot(key);
    for (std::size_t i = 0; i < most_probes && alive.load(std::memory_order_relaxed) != 0; ++i) {
        const std::size_t at = (home + i) % slots;
        if (keys[at].load(std::memory_order_acquire) == key) {
            return key != 0 ? table[at].load(std::memory_order_relaxed) : nullptr;
        }
    }
    return nullptr;
}

member *self(const communicator &comm) noexcept {
    memberships *const mine = of_this_thread::existing();
    if (mine == nullptr) {
        return nullptr;
    }
    if (mine->last != nullptr && mine->last->comm == &comm) {
        return mine->last;
    }
    const int index = index_in(comm.root);
    if (index < 0) {
        return nullptr;
    }
    member *const found = comm.of_thread[static_cast<std::size_t>(index)];
    if (found != nullptr) {
        mine->last_handle = comm.handle;
        mine->last = found;
    }
    return found;
}

bool enter(communicator &comm) noexcept {
    const std::scoped_lock guard(table_mutex);
    const std::uint64_t key = key_of(comm.handle);
    const std::size_t home = home_slot(key);
    for (std::size_t i = 0; i < most_probes; ++i) {
        const std::size_t at = (home + i) % slots;
        if (keys[at].load(std::memory_order_relaxed) == 0) {
            table[at].store(&comm, std::memory_order_relaxed);
            keys[at].store(key, std::memory_order_release);
            if (alive.fetch_add(1) == 0) {
                progress::add_own_communicators();
            }
            const std::scoped_lock contexts(comm.root.lock);
            comm.root.by_context[comm.context] = &comm;
            return true;
        }
    }
    return false;
}

void hide(communicator &comm) noexcept {
    const std::scoped_lock guard(table_mutex);
    for (std::size_t at = 0; at < slots; ++at) {
        if (table[at].load(std::memory_order_relaxed) == &comm) {
            keys[at].store(0, std::memory_order_release);
            table[at].store(nullptr, std::memory_order_relaxed);
            if (alive.fetch_sub(1) == 1) {
                progress::remove_own_communicators();
            }
            break;
        }
    }
}

void hide_all() noexcept {
    const std::scoped_lock guard(table_mutex);
    for (std::size_t at = 0; at < slots; ++at) {
        keys[at].store(0, std::memory_order_release);
        table[at].store(nullptr, std::memory_order_relaxed);
    }
    if (alive.exchange(0) != 0) {
        progress::remove_own_communicators();
    }
}

void leave(communicator &comm) noexcept {
    hide(comm);
    const std::scoped_lock contexts(comm.root.lock);
    comm.root.by_context.erase(comm.context);
}

std::uint64_t this_thread_number() noexcept {
    static std::atomic<std::uint64_t> numbers{0};
    memberships &mine = *of_this_thread::existing();
    if (mine.number == 0) {
        mine.number = numbers.fetch_add(1) + 1;
    }
    return mine.number;
}

bool may_join() noexcept {
    const memberships *mine = of_this_thread::get();
    return mine != nullptr && mine->count < most_memberships;
}

void join(root_state &root, int index) noexcept {
    memberships &mine = *of_this_thread::existing();
    mine.list[mine.count++] = {&root, index};
}

void part(root_state &root) noexcept {
    memberships &mine = *of_this_thread::existing();
    mine.last = nullptr;
    for (int i = 0; i < mine.count; ++i) {
        if (mine.list[i].root == &root) {
            mine.list[i] = mine.list[--mine.count];
            return;
        }
    }
}

void forget(const communicator &comm) noexcept {
    memberships *const mine = of_this_thread::existing();
    if (mine != nullptr && mine->last != nullptr && mine->last->comm == &comm) {
        mine->last = nullptr;
    }
}

int index_in(const root_state &root) noexcept {
    const memberships *mine = of_this_thread::existing();
    for (int i = 0; mine != nullptr && i < mine->count; ++i) {
        if (mine->list[i].root == &root) {
            return mine->list[i].index;
        }
    }
    return -1;
}

void copy_error_handler(MPI_Comm from, MPI_Comm to) noexcept {
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    mpi::table.Comm_get_errhandler(from, &handler);
    mpi::table.Comm_set_errhandler(to, handler);
    mpi::table.Errhandler_free(&handler);
}

// The threads of a process must not call this at the same time. A split copies no attributes of MPI_COMM_SELF, which
// belong to the user.
int make_self(MPI_Comm like, MPI_Comm &created) noexcept {
    static std::mutex mutex;
    const std::scoped_lock guard(mutex);
    const int code = mpi::table.Comm_split(MPI_COMM_SELF, 0, 0, &created);
    if (code == MPI_SUCCESS) {
        copy_error_handler(like, created);
    }
    return code;
}

int fail(MPI_Comm handle, const char *call, int error_class, const char *why) noexcept {
    return mpi::report_on(handle, call, {error_class, why});
}

root_state::~root_state() {
    between.reset(); // it may reach the communicators that were kept
    while (kept != nullptr) {
        delete std::exchange(kept, kept->next_kept);
    }
}

communicator::communicator(MPI_Comm new_handle, root_state &root_of_all, std::uint64_t new_context, bool root_itself,
                           std::vector<int> processes, const std::vector<int> &threads)
    : handle(new_handle), root(root_of_all), context(new_context), is_root(root_itself),
      largest_tag(largest_tag_of(new_handle)), process_of(std::move(processes)), thread_of(threads),
      local(process_of.size(), nullptr), of_thread(static_cast<std::size_t>(root_of_all.threads.threads()), nullptr) {
    for (std::size_t rank = 0; rank < process_of.size(); ++rank) {
        if (process_of[rank] != root.process) {
            continue;
        }
        auto *const each = new member;
        each->comm = this;
        each->rank = static_cast<int>(rank);
        each->thread = thread_of[rank];
        local[rank] = each;
        of_thread[static_cast<std::size_t>(each->thread)] = each;
        ++members;
    }
    if (members == size() && members > 1) {
        exchange = std::make_unique<shared_exchange>(members);
    }
}

bool communicator::has_open_requests() const noexcept {
    return std::ranges::any_of(local, [](const member *each) {
        return each != nullptr && (each->user.is_needed() || each->collective.is_needed());
    });
}

communicator::~communicator() {
    for (member *each : local) {
        delete each;
    }
}

} // namespace thence::threadcomm
