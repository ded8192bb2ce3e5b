// SPDX-License-Identifier: BSD-3-Clause
// What the Fortran modules call: integers in place of handles, and addresses of statuses, which have the same bytes in
// Fortran and in C. `ignored` is MPI_STATUS_IGNORE or MPI_STATUSES_IGNORE of Fortran, for comparison.
//
// A callback with a context of type(c_ptr) and its context lie in a block of a pool, and run_block() calls it: then
// `bytes` is 0 and `data` the context. A continuation request that reports failures keeps the data of failed
// continuations, so there the library copies them, and run_copied() gets the copy. A callback with an object is called
// by a procedure of the module (`run`: 0 thence, 1 thence_f08), and the library copies its `data`. The addresses of
// these procedures as arguments would make the compiler write relocations into read-only memory.
#include "pooled.hpp"

#include <thence/progress.h>
#include <thence/thence.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <iterator>
#include <new>
#include <type_traits>
#include <vector>

#define THENCE_FORTRAN extern "C" THENCE_EXPORT

static_assert(sizeof(MPI_Fint) == sizeof(int), "the modules have integers of the size of int");

// In module.inc. There is no module thence_f08 where the compiler finds no mpi_f08.
extern "C" {
thence_callback thence_f_run_object_callback;
__attribute__((weak)) thence_callback thence_f08_run_object_callback;
using each_procedure = int(int, int, MPI_Status *, void (*)(), void *);
each_procedure thence_f_run_each_callback;
__attribute__((weak)) each_procedure thence_f08_run_each_callback;
void thence_f_tell_ignored();
__attribute__((weak)) void thence_f08_tell_ignored();
}

namespace {

thence_callback *const object_runs[] = {&thence_f_run_object_callback, &thence_f08_run_object_callback};
each_procedure *const each_runs[] = {&thence_f_run_each_callback, &thence_f08_run_each_callback};

using thence::fortran::attached;
using thence::fortran::block;

// Arguments of a procedure in Fortran are addresses.
inline int run(void (*procedure)(), void *&context, int error, MPI_Status *statuses) {
    MPI_Fint code = error;
    reinterpret_cast<void (*)(MPI_Fint *, MPI_Status *, void **)>(procedure)(&code, statuses, &context);
    return code;
}

// The callback of a block, which is free before the program's callback begins: that may attach the next one.
int run_block(int error, MPI_Status *statuses, void *data) {
    auto *const its_block = static_cast<block *>(data);
    void (*const procedure)() = its_block->callback.procedure;
    void *context = its_block->callback.context;
    thence::fortran::give_back(its_block);
    return run(procedure, context, error, statuses);
}

int run_copied(int error, MPI_Status *statuses, void *data) {
    attached callback = *static_cast<const attached *>(data);
    return run(callback.procedure, callback.context, error, statuses);
}

// MPI_STATUS_IGNORE of each module. It is set when this library is loaded, and does not change: a program may get its
// continuation requests from C, or from the other module.
const void *ignored_by[2] = {nullptr, nullptr};

int refuse(const char *call, int error_class, const char *why) {
    std::fprintf(stderr, "thence: %s: %s\n", call, why);
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, error_class);
    return error_class;
}

MPI_Status *status_of(void *status, const void *ignored) {
    return status == ignored ? MPI_STATUS_IGNORE : static_cast<MPI_Status *>(status);
}
MPI_Status *statuses_of(void *statuses, const void *ignored) {
    return statuses == ignored ? MPI_STATUSES_IGNORE : static_cast<MPI_Status *>(statuses);
}

// A procedure that is internal to another and uses its variables has code that the compiler has put on the stack of the
// other one, or on the heap. That is in no file. The last procedures that were found to be in one are remembered.
bool is_in_a_file(void (*procedure)()) noexcept {
    constexpr std::size_t remembered = 64;
    static std::atomic<void (*)()> known[remembered];
    std::atomic<void (*)()> &slot = known[(reinterpret_cast<std::uintptr_t>(procedure) >> 4) % remembered];
    if (slot.load(std::memory_order_relaxed) == procedure) [[likely]] {
        return true;
    }
    Dl_info found;
    if (procedure == nullptr || dladdr(reinterpret_cast<void *>(procedure), &found) == 0) {
        return procedure == nullptr; // the library refuses a null pointer
    }
    slot.store(procedure, std::memory_order_relaxed);
    return true;
}
constexpr const char *internal_procedure = "callback is an internal procedure that uses variables of its host, which "
                                           "ends before the callback runs: make it a procedure of a module";

bool statuses_are_the_same() noexcept {
    static const bool same = [] {
        MPI_Status in_c;
        MPI_Fint in_fortran[64] = {};
        static_assert(sizeof in_c <= sizeof in_fortran);
        std::memset(&in_c, 0x5a, sizeof in_c);
        return MPI_Status_c2f(&in_c, in_fortran) == MPI_SUCCESS && std::memcmp(&in_c, in_fortran, sizeof in_c) == 0;
    }();
    return same;
}

// The continuation request that this thread has used last of those that do not report failures. The handle of one names
// the same MPI_Request for ever, and none that reports failures (see thence_cr_create()).
struct known_cr {
    MPI_Fint handle;
    MPI_Request request;
};
constinit thread_local known_cr last_cr{INT_MIN, {}};

struct found_cr {
    MPI_Request request;
    bool reports_failed;
};

[[gnu::noinline]] found_cr find_cr(MPI_Fint handle) noexcept {
    MPI_Request request = MPI_Request_f2c(handle);
    thence_cr_info info;
    if (thence_is_cr(request) == 0 || thence_cr_query(request, &info, sizeof info) != MPI_SUCCESS) {
        return {request, false};
    }
    const bool reports_failed = (info.flags & THENCE_CR_REPORT_FAILED) != 0;
    if (!reports_failed) {
        last_cr = {handle, request};
    }
    return {request, reports_failed};
}
inline MPI_Request cr_of(MPI_Fint handle) noexcept {
    return last_cr.handle == handle ? last_cr.request : find_cr(handle).request;
}

// The handle of MPI_REQUEST_NULL, once thence_cr_create has asked for it.
std::atomic<MPI_Fint> null_handle{-1};

void give(MPI_Request request, MPI_Fint &handle) noexcept {
    const MPI_Fint null = null_handle.load(std::memory_order_relaxed);
    handle = request == MPI_REQUEST_NULL && null != -1 ? null : MPI_Request_c2f(request);
}

// True if MPI knows no request with this handle. Open MPI says so by a null pointer, which its other calls do not take.
template <class Request> bool is_unknown(Request request) noexcept {
    if constexpr (std::is_pointer_v<Request>) {
        return request == nullptr;
    } else {
        return false;
    }
}
constexpr const char *unknown_request = "a request is no handle of MPI";

// Requests in C for a call, given back to Fortran when it is over.
class requests_of {
public:
    requests_of(MPI_Fint count, MPI_Fint handles[]) : handles_(handles) {
        for (MPI_Fint i = 0; i < count; ++i) {
            requests_.push_back(MPI_Request_f2c(handles[i]));
        }
        requests_.reserve(1); // so that data() is not null
    }
    ~requests_of() {
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            if (!is_unknown(requests_[i])) {
                give(requests_[i], handles_[i]);
            }
        }
    }
    requests_of &operator=(requests_of &&) = delete;
    MPI_Request *data() noexcept { return requests_.data(); }
    bool any_unknown() const noexcept {
        return std::any_of(requests_.begin(), requests_.end(), [](MPI_Request each) { return is_unknown(each); });
    }

private:
    std::vector<MPI_Request> requests_;
    MPI_Fint *handles_;
};

// The data of thence_attach_each(), which has one pointer for all callbacks: counted, since the last callback ends it.
// Not for a CR that keeps data: a failed continuation may not run, or is kept after it has run.
struct each_data {
    attached callback;
    each_procedure *run;
    std::atomic<int> left;
};

void let_go(each_data *data, int count) noexcept {
    if (data->left.fetch_sub(count, std::memory_order_acq_rel) == count) {
        delete data;
    }
}

int run_each(int index, int error, MPI_Status *status, void *data) noexcept {
    auto *const each = static_cast<each_data *>(data);
    const int code = each->run(index, error, status, each->callback.procedure, each->callback.context);
    let_go(each, 1);
    return code;
}

// For such a CR: the library copies this for each operation.
struct copied_each {
    attached callback; // first: thence_f_get_failed() reads it
    each_procedure *run;
    int index;
};

int run_copied_each(int error, MPI_Status *status, void *data) noexcept {
    const auto *const each = static_cast<const copied_each *>(data);
    return each->run(each->index, error, status, each->callback.procedure, each->callback.context);
}

// thence_attach_each() by one call for each operation. If one cannot be attached, those before it are.
int attach_copied_each(int count, MPI_Request requests[], copied_each each, unsigned flags, MPI_Status statuses[],
                       MPI_Request cr, MPI_Fint *outcount, MPI_Fint indices[]) {
    int result = MPI_SUCCESS;
    int complete = 0;
    for (each.index = 0; each.index < count; ++each.index) {
        const int i = each.index;
        int at_once = 0;
        const int code =
            thence_attach_copy(1, requests + i, &run_copied_each, &each, sizeof each, flags,
                               statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i, cr, &at_once);
        if (at_once != 0) {
            indices[complete++] = i + 1;
            result = code == MPI_SUCCESS ? result : MPI_ERR_IN_STATUS;
        } else if (code != MPI_SUCCESS) {
            result = code;
            break;
        }
    }
    if (each.index > 0 || count == 0) {
        *outcount = complete;
    }
    return result;
}

const char *text(int index, const thence_info &info) noexcept {
    const char *const texts[] = {info.version, info.mpi, info.engine,         info.engine_why, info.hook,
                                 info.helper,  info.abi, info.interposed_why, info.fortran};
    return index >= 1 && index <= static_cast<int>(std::size(texts)) ? texts[index - 1] : nullptr;
}

inline int attach(int count, MPI_Request requests[], MPI_Fint run, void (*procedure)(), void *data, std::size_t bytes,
                  MPI_Fint flags, MPI_Status *statuses, MPI_Fint cr, MPI_Fint *flag) {
    if (!is_in_a_file(procedure)) [[unlikely]] {
        return refuse("thence_attach", MPI_ERR_ARG, internal_procedure);
    }
    if (bytes != 0) {
        return thence_attach_copy(count, requests, object_runs[run], data, bytes, static_cast<unsigned>(flags),
                                  statuses, cr_of(cr), flag);
    }
    MPI_Request its_cr = last_cr.request;
    if (last_cr.handle != cr) [[unlikely]] {
        const found_cr found = find_cr(cr);
        if (found.reports_failed) {
            const attached callback{procedure, data};
            return thence_attach_copy(count, requests, &run_copied, &callback, sizeof callback,
                                      static_cast<unsigned>(flags), statuses, found.request, flag);
        }
        its_cr = found.request;
    }
    block *const its_block = thence::fortran::take_block();
    if (its_block == nullptr) [[unlikely]] {
        return refuse("thence_attach", MPI_ERR_NO_MEM, "no memory");
    }
    its_block->callback = {procedure, data};
    const int code =
        thence_attach(count, requests, &run_block, its_block, static_cast<unsigned>(flags), statuses, its_cr, flag);
    if (code != MPI_SUCCESS || *flag != 0) { // the callback will not run
        thence::fortran::give_back(its_block);
    }
    return code;
}

inline int attach_one(MPI_Fint *request, MPI_Fint run, void (*procedure)(), void *data, std::size_t bytes,
                      MPI_Fint flags, MPI_Status *status, MPI_Fint cr, MPI_Fint *flag) {
    MPI_Request operation = MPI_Request_f2c(*request);
    if (is_unknown(operation)) [[unlikely]] {
        return refuse("thence_attach", MPI_ERR_REQUEST, unknown_request);
    }
    const int code = attach(1, &operation, run, procedure, data, bytes, flags, status, cr, flag);
    give(operation, *request);
    return code;
}

[[gnu::constructor]] void find_ignored() {
    thence_f_tell_ignored();
    if (&thence_f08_tell_ignored != nullptr) {
        thence_f08_tell_ignored();
    }
}

} // namespace

THENCE_FORTRAN int thence_f_refuse(const char *call, const char *why) {
    return refuse(call, MPI_ERR_ARG, why);
}

THENCE_FORTRAN int thence_f_same(const void *first, const void *second) {
    return first == second ? 1 : 0;
}

THENCE_FORTRAN void thence_f_set_ignored(MPI_Fint module, const void *ignored) {
    ignored_by[module] = ignored;
}

THENCE_FORTRAN int thence_f_cr_create(MPI_Fint flags, MPI_Fint max_poll, MPI_Fint info, MPI_Fint *cr) {
    null_handle.store(MPI_Request_c2f(MPI_REQUEST_NULL), std::memory_order_relaxed);
    if (!statuses_are_the_same()) {
        return refuse("thence_cr_create", MPI_ERR_OTHER, "this MPI has other statuses in Fortran than in C");
    }
    MPI_Request created = MPI_REQUEST_NULL;
    const int code = thence_cr_create(static_cast<unsigned>(flags), max_poll, MPI_Info_f2c(info), &created);
    if (created != MPI_REQUEST_NULL) {
        give(created, *cr);
    }
    return code;
}

THENCE_FORTRAN int thence_f_attach_one(MPI_Fint *request, MPI_Fint run, void (*procedure)(), void *data,
                                       std::size_t bytes, MPI_Fint flags, void *status, const void *ignored,
                                       MPI_Fint cr, MPI_Fint *flag) {
    return attach_one(request, run, procedure, data, bytes, flags, status_of(status, ignored), cr, flag);
}

// The specific procedures of thence_attach for one request. A null `error`: the argument is not present.
#define THENCE_ATTACH_ONE(name, module)                                                                                \
    THENCE_FORTRAN void name(MPI_Fint *request, void (*procedure)(), void **context, const MPI_Fint *flags,            \
                             void *status, const MPI_Fint *cr, MPI_Fint *flag, MPI_Fint *error) {                      \
        *flag = 0;                                                                                                     \
        const int code =                                                                                               \
            attach_one(request, 0, procedure, *context, 0, *flags, status_of(status, ignored_by[module]), *cr, flag);  \
        if (error != nullptr) {                                                                                        \
            *error = code;                                                                                             \
        }                                                                                                              \
    }
#define THENCE_WAIT_FOR(name, module)                                                                                  \
    THENCE_FORTRAN void name(const MPI_Fint *cr, void *status, MPI_Fint *error) {                                      \
        MPI_Request request = cr_of(*cr);                                                                              \
        const int code = thence_wait(&request, status_of(status, ignored_by[module]));                                 \
        if (error != nullptr) {                                                                                        \
            *error = code;                                                                                             \
        }                                                                                                              \
    }
THENCE_ATTACH_ONE(thence_attach_one_f_, 0)
THENCE_ATTACH_ONE(thence_attach_one_f08_, 1)
THENCE_WAIT_FOR(thence_wait_f_, 0)
THENCE_WAIT_FOR(thence_wait_f08_, 1)

THENCE_FORTRAN int thence_f_attach(MPI_Fint count, MPI_Fint handles[], MPI_Fint run, void (*procedure)(), void *data,
                                   std::size_t bytes, MPI_Fint flags, void *statuses, const void *ignored, MPI_Fint cr,
                                   MPI_Fint *flag) try {
    requests_of requests(count, handles);
    if (requests.any_unknown()) {
        return refuse("thence_attach", MPI_ERR_REQUEST, unknown_request);
    }
    return attach(count, requests.data(), run, procedure, data, bytes, flags, statuses_of(statuses, ignored), cr, flag);
} catch (const std::bad_alloc &) {
    return refuse("thence_attach", MPI_ERR_NO_MEM, "no memory");
}

THENCE_FORTRAN int thence_f_attach_each(MPI_Fint count, MPI_Fint handles[], MPI_Fint run, void (*procedure)(),
                                        void *context, MPI_Fint flags, void *statuses, const void *ignored, MPI_Fint cr,
                                        MPI_Fint *outcount, MPI_Fint indices[]) try {
    constexpr const char *call = "thence_attach_each";
    if (!is_in_a_file(procedure)) {
        return refuse(call, MPI_ERR_ARG, internal_procedure);
    }
    requests_of requests(count, handles);
    if (requests.any_unknown()) {
        return refuse(call, MPI_ERR_REQUEST, unknown_request);
    }
    const found_cr its_cr = find_cr(cr);
    const bool with_itself = std::find(handles, handles + std::max(count, 0), cr) != handles + std::max(count, 0);
    if (its_cr.reports_failed && count > 0 && !with_itself) {
        return attach_copied_each(count, requests.data(), {{procedure, context}, each_runs[run], 0},
                                  static_cast<unsigned>(flags), statuses_of(statuses, ignored), its_cr.request,
                                  outcount, indices);
    }
    auto *const data = new each_data{{procedure, context}, each_runs[run], {count + 1}};
    int complete = 0;
    const int code = thence_attach_each(count, requests.data(), &run_each, data, static_cast<unsigned>(flags),
                                        statuses_of(statuses, ignored), its_cr.request, &complete, indices);
    int error_class = MPI_SUCCESS;
    MPI_Error_class(code, &error_class);
    const bool is_attached = code == MPI_SUCCESS || error_class == MPI_ERR_IN_STATUS;
    for (int i = 0; is_attached && i < complete; ++i) {
        ++indices[i];
    }
    if (is_attached) {
        *outcount = complete;
        let_go(data, complete + 1);
    } else {
        let_go(data, count + 1);
    }
    return code;
} catch (const std::bad_alloc &) {
    return refuse("thence_attach_each", MPI_ERR_NO_MEM, "no memory");
}

THENCE_FORTRAN int thence_f_test(MPI_Fint *cr, MPI_Fint *flag, void *status, const void *ignored) {
    MPI_Request request = MPI_Request_f2c(*cr);
    return thence_test(&request, flag, status_of(status, ignored));
}

THENCE_FORTRAN int thence_f_take_complete(MPI_Fint *handle, MPI_Fint *flag, void *status, const void *ignored) {
    MPI_Request request = MPI_Request_f2c(*handle);
    const int code = thence_take_complete(&request, flag, status_of(status, ignored));
    give(request, *handle);
    return code;
}

THENCE_FORTRAN int thence_f_start(MPI_Fint *cr) {
    MPI_Request request = MPI_Request_f2c(*cr);
    return thence_start(&request);
}

THENCE_FORTRAN int thence_f_free(MPI_Fint *cr) {
    MPI_Request request = MPI_Request_f2c(*cr);
    const int code = thence_free(&request);
    give(request, *cr);
    return code;
}

THENCE_FORTRAN int thence_f_cancel(MPI_Fint *cr) {
    MPI_Request request = MPI_Request_f2c(*cr);
    return thence_cancel(&request);
}

// The contexts are written in the place of the pointers to our data: copies, which the library releases later.
THENCE_FORTRAN int thence_f_get_failed(MPI_Fint cr, MPI_Fint *count, void *contexts[]) {
    const int code = thence_get_failed(MPI_Request_f2c(cr), count, contexts);
    for (MPI_Fint i = 0; code == MPI_SUCCESS && i < *count; ++i) {
        contexts[i] = static_cast<attached *>(contexts[i])->context;
    }
    return code;
}

THENCE_FORTRAN int thence_f_is_cr(MPI_Fint request) {
    return thence_is_cr(MPI_Request_f2c(request));
}

THENCE_FORTRAN int thence_f_request_is_complete(MPI_Fint request) {
    return thence_request_is_complete(MPI_Request_f2c(request));
}

THENCE_FORTRAN int thence_f_cr_query(MPI_Fint cr, thence_cr_info *info) {
    return thence_cr_query(MPI_Request_f2c(cr), info, sizeof *info);
}

THENCE_FORTRAN int thence_f_progress_thread(MPI_Fint start) {
    return start != 0 ? thence_start_progress_thread(THENCE_STREAM_NULL)
                      : thence_stop_progress_thread(THENCE_STREAM_NULL);
}

// The members of thence_info by their number in the module. thence_f_text() returns the length of the text.
THENCE_FORTRAN int thence_f_text(MPI_Fint index, char *out, MPI_Fint capacity) {
    thence_info info;
    if (thence_query(&info, sizeof info) != MPI_SUCCESS || text(index, info) == nullptr) {
        return 0;
    }
    const auto length = std::min(std::strlen(text(index, info)), static_cast<std::size_t>(capacity));
    std::memcpy(out, text(index, info), length);
    return static_cast<int>(length);
}

THENCE_FORTRAN int thence_f_number(MPI_Fint index, MPI_Fint *number) {
    thence_info info;
    const int code = thence_query(&info, sizeof info);
    if (code == MPI_SUCCESS) {
        const int numbers[] = {info.thread_level, info.interposed, info.detects_persistent, info.any_thread,
                               info.in_completion};
        *number = numbers[index - 1];
    }
    return code;
}
