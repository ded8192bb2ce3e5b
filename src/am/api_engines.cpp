// SPDX-License-Identifier: BSD-3-Clause
// How an engine is made and freed, and the engines of the process.
#include "am/api.hpp"
#include "core/api/sized.hpp"

#include <exception>
#include <mutex>
#include <new>
#include <vector>

using namespace thence;
using namespace thence::am;

namespace {

constexpr failure unknown_flags{MPI_ERR_ARG, "flags of the options has bits that are no option of an engine"};
constexpr failure bad_window{MPI_ERR_ARG, "window of the options is not 2 to 32767, or 0 for the default"};
constexpr failure bad_receives{MPI_ERR_ARG, "receives of the options is not 1 to 4096, or 0 for the default"};
constexpr failure bad_outgoing{MPI_ERR_ARG, "max_outgoing of the options is not 1 or more, or 0 for the default"};
constexpr failure bad_payload{MPI_ERR_ARG, "max_payload of the options is more than 1048576 bytes"};
constexpr failure other_options{MPI_ERR_ARG, "window or max_payload of the options differ between processes"};
constexpr failure options_size{MPI_ERR_ARG, "size is not that of thence_am_options, or not 0 with null options"};
constexpr failure few_tags{MPI_ERR_ARG,
                           "window of the options is larger than half of MPI_TAG_UB: choose a smaller one"};
constexpr failure bad_comm{MPI_ERR_COMM, "comm is null, or an intercommunicator"};
constexpr failure helper_and_one_thread{
    MPI_ERR_UNSUPPORTED_OPERATION,
    "THENCE_AM_HELPER needs an MPI with MPI_THREAD_MULTIPLE, and no THENCE_AM_ONE_THREAD"};

constexpr std::size_t first_options = THENCE_SIZE_UP_TO(thence_am_options, failed_data);
static_assert(sizeof(thence_am_options) == first_options);
constexpr std::size_t most_payload = std::size_t{1} << 20;

// 0 stands for the default.
template <class T> void set_default(T &value, T otherwise) noexcept {
    value = value == 0 ? otherwise : value;
}

failure wrong(MPI_Comm comm, const thence_am_options &o) noexcept {
    constexpr unsigned known = THENCE_AM_ONE_THREAD | THENCE_AM_HELPER;
    if ((o.flags & ~known) != 0) {
        return unknown_flags;
    }
    if (o.window < 2 || o.window > 32767) {
        return bad_window;
    }
    if (o.receives < 1 || o.receives > 4096) {
        return bad_receives;
    }
    if (o.max_outgoing < 1) {
        return bad_outgoing;
    }
    if (o.max_payload > most_payload) {
        return bad_payload;
    }
    int level = MPI_THREAD_SINGLE;
    MPI_Query_thread(&level);
    if ((o.flags & THENCE_AM_HELPER) != 0 && ((o.flags & THENCE_AM_ONE_THREAD) != 0 || level != MPI_THREAD_MULTIPLE)) {
        return helper_and_one_thread;
    }
    return o.window > largest_tag(comm) / 2 ? few_tags : failure{}; // each message may announce data
}

// The worst of all processes, and whether what must not differ does.
failure wrong_anywhere(MPI_Comm comm, const thence_am_options &o, const failure &own_failure) noexcept {
    const long mine[5] = {own_failure ? own_failure.error_class : 0, o.window, -static_cast<long>(o.window),
                          static_cast<long>(o.max_payload), -static_cast<long>(o.max_payload)};
    long most[5];
    MPI_Allreduce(mine, most, 5, MPI_LONG, MPI_MAX, comm);
    if (most[0] != 0) {
        return own_failure ? own_failure
                           : failure{static_cast<int>(most[0]), "another process has refused its options"};
    }
    return most[1] != -most[2] || most[3] != -most[4] ? other_options : failure{};
}

// Those of the process, in the order in which they were made.
constinit std::mutex engines_mutex;
std::vector<message_engine *> &engines() {                  // under the mutex
    static auto &made = *new std::vector<message_engine *>; // used until the process ends
    return made;
}

// Those whose memory MPI may still use, and those that MPI_Finalize has ended, whose handles the program has. They
// stay, and a tool that looks for lost memory finds them here.
struct kept_engine {
    message_engine *engine;
    kept_engine *next;
};
constinit kept_engine *kept_engines = nullptr; // under the mutex

void keep(message_engine *ended_one) noexcept {
    if (auto *const made = new (std::nothrow) kept_engine{ended_one, nullptr}) {
        const std::scoped_lock guard(engines_mutex);
        made->next = kept_engines;
        kept_engines = made;
    }
}

// In MPI_Finalize. All processes are there or free what they have, so that is collective as it must be.
void end_engines() noexcept {
    std::vector<message_engine *> left;
    {
        const std::scoped_lock guard(engines_mutex);
        left.swap(engines());
    }
    for (message_engine *const each : left) {
        bool is_clean = false;
        each->end(is_clean);
        if (is_clean) {
            each->processes().free();
        }
        keep(each);
    }
}

void add_engine(message_engine *made) {
    const std::scoped_lock guard(engines_mutex);
    engines().push_back(made);
    thence_at_finalize_(&end_engines);
}

void remove_engine(message_engine *freed) noexcept {
    const std::scoped_lock guard(engines_mutex);
    std::erase(engines(), freed);
}

} // namespace

extern "C" {

int thence_am_create(MPI_Comm comm, const thence_am_options *options, size_t size, thence_am *created) {
    static const char call[] = "thence_am_create";
    if (created == nullptr) {
        return fail(call, null_am);
    }
    thence_info info{};
    if (const int code = thence_query(&info, sizeof info); code != MPI_SUCCESS) {
        return fail(call, reason::mpi_inactive);
    }
    int is_inter = 1;
    if (comm == MPI_COMM_NULL || MPI_Comm_test_inter(comm, &is_inter) != MPI_SUCCESS || is_inter != 0) {
        return fail(call, bad_comm);
    }
    thence_am_options o{};
    failure own_failure =
        (options == nullptr) != (size == 0) || (size != 0 && size != sizeof o) ? options_size : failure{};
    if (options != nullptr && !own_failure) {
        o = *options;
    }
    set_default(o.window, 16);
    set_default(o.receives, 8);
    set_default(o.max_outgoing, 8);
    set_default<std::size_t>(o.max_payload, 3840);
    set_default<std::size_t>(o.max_queued, 262144);
    if (!own_failure) {
        own_failure = wrong(comm, o);
    }
    if (const failure f = wrong_anywhere(comm, o, own_failure)) {
        return fail(call, f);
    }
    message_engine *made = nullptr;
    try {
        made = new message_engine(o);
    } catch (const std::exception &) {
        made = nullptr;
    }
    const int has_memory = made != nullptr ? 1 : 0;
    int all_have = 0;
    MPI_Allreduce(&has_memory, &all_have, 1, MPI_INT, MPI_MIN, comm);
    if (all_have == 0) {
        delete made;
        return fail(call, reason::no_memory);
    }
    if (const int code = made->begin(comm); code != MPI_SUCCESS) {
        delete made;
        return ended(nullptr, call, code);
    }
    try {
        add_engine(made);
    } catch (const std::exception &) { // then it is not freed in MPI_Finalize
    }
    *created = reinterpret_cast<thence_am>(made);
    return MPI_SUCCESS;
}

int thence_am_free(thence_am *freed) {
    static const char call[] = "thence_am_free";
    if (freed == nullptr || *freed == nullptr) {
        return fail(call, null_am);
    }
    message_engine &e = *object_of(*freed);
    if (e.has_ended()) { // in MPI_Finalize
        *freed = nullptr;
        return MPI_SUCCESS;
    }
    if (!e.processes().may_call()) {
        return refuse(*freed, call, not_communication_thread);
    }
    if (e.must_not_wait()) {
        return fail(call, in_callback);
    }
    remove_engine(&e);
    bool is_clean = false;
    const int code = e.end(is_clean);
    if (is_clean) {
        delete &e;
    } else {
        keep(&e);
    }
    *freed = nullptr;
    return code;
}

} // extern "C"
