// SPDX-License-Identifier: BSD-3-Clause
// Calls on requests that MPI refuses.
#include "table.hpp"

#include <initializer_list>
#include <type_traits>

namespace wrong_arguments {

namespace {

// A call on w.requests, which are set just before it, in a child of its own.
template <class Run> void add(table &to, world &w, const char *function, const char *what, Run run, bool wrong = true) {
    to.add_call({function, what, true, wrong, [&w, run](bool pmpi) {
                     w.requests[0] = w.complete[0];
                     w.requests[1] = w.complete[1];
                     w.requests[2] = MPI_REQUEST_NULL;
                     w.requests[3] = w.persistent[0];
                     return run(pmpi);
                 }});
}

#define CALL(name, what, ...)                                                                                          \
    add(to, w, "MPI_" #name, what, [&w](bool pmpi) { return (pmpi ? &PMPI_##name : &MPI_##name)(__VA_ARGS__); })
#define GOOD(name, ...)                                                                                                \
    add(                                                                                                               \
        to, w, "MPI_" #name, "nothing is wrong",                                                                       \
        [&w](bool pmpi) { return (pmpi ? &PMPI_##name : &MPI_##name)(__VA_ARGS__); }, false)
// With other requests than those above: `first` is done before.
#define CALL_AFTER(first, name, what, ...)                                                                             \
    add(to, w, "MPI_" #name, what, [&w](bool pmpi) {                                                                   \
        first;                                                                                                         \
        return (pmpi ? &PMPI_##name : &MPI_##name)(__VA_ARGS__);                                                       \
    })

#define SET(...) (set(w, {__VA_ARGS__}))
void set(world &w, std::initializer_list<MPI_Request> requests) {
    int i = 0;
    for (MPI_Request request : requests) {
        w.requests[i++] = request;
    }
}

// A value that no MPI returns as a request. If handles are pointers, MPI would read from it and crash, so it is null.
template <class Handle = MPI_Request> Handle garbage() {
    if constexpr (std::is_integral_v<Handle>) {
        return static_cast<Handle>(0x12345678);
    } else {
        return MPI_REQUEST_NULL;
    }
}

void add_single(table &to, world &w) {
    GOOD(Test, w.requests, &w.flag, w.statuses);
    CALL(Test, "request: null pointer", nullptr, &w.flag, w.statuses);
    CALL(Test, "flag: null pointer", w.requests, nullptr, w.statuses);
    CALL(Test, "status: null pointer", w.requests, &w.flag, nullptr);
    CALL(Test, "all: null pointers", nullptr, nullptr, nullptr);
    CALL_AFTER(SET(MPI_REQUEST_NULL), Test, "null request, flag: null pointer", w.requests, nullptr, w.statuses);
    CALL_AFTER(SET(w.pending), Test, "pending, flag: null pointer", w.requests, nullptr, MPI_STATUS_IGNORE);
    CALL_AFTER(SET(w.pending), Test, "pending, status: null pointer", w.requests, &w.flag, nullptr);
    CALL_AFTER(SET(garbage()), Test, "request that MPI never made", w.requests, &w.flag, w.statuses);
    CALL_AFTER(SET(w.persistent[0]), Test, "not started", w.requests, &w.flag, w.statuses);

    GOOD(Wait, w.requests, w.statuses);
    CALL(Wait, "request: null pointer", nullptr, w.statuses);
    CALL(Wait, "status: null pointer", w.requests, nullptr);
    CALL(Wait, "all: null pointers", nullptr, nullptr);
    CALL_AFTER(SET(MPI_REQUEST_NULL), Wait, "null request, status: null pointer", w.requests, nullptr);
    CALL_AFTER(SET(garbage()), Wait, "request that MPI never made", w.requests, w.statuses);
    CALL_AFTER(SET(w.persistent[0]), Wait, "not started", w.requests, w.statuses);

    GOOD(Request_get_status, w.requests[0], &w.flag, w.statuses);
    CALL(Request_get_status, "flag: null pointer", w.requests[0], nullptr, w.statuses);
    CALL(Request_get_status, "status: null pointer", w.requests[0], &w.flag, nullptr);
    CALL(Request_get_status, "null request", MPI_REQUEST_NULL, &w.flag, w.statuses);
    CALL(Request_get_status, "null request, flag: null pointer", MPI_REQUEST_NULL, nullptr, w.statuses);
    CALL(Request_get_status, "request that MPI never made", garbage(), &w.flag, w.statuses);
}

void add_starting(table &to, world &w) {
    CALL_AFTER(SET(w.persistent[0]), Start, "request: null pointer", nullptr);
    CALL_AFTER(SET(MPI_REQUEST_NULL), Start, "null request", w.requests);
    CALL_AFTER(SET(w.pending), Start, "request that is not persistent", w.requests);
    CALL_AFTER(SET(garbage()), Start, "request that MPI never made", w.requests);
    add(
        to, w, "MPI_Start", "nothing is wrong",
        [&w](bool pmpi) {
            SET(w.persistent[0]);
            return (pmpi ? &PMPI_Start : &MPI_Start)(w.requests);
        },
        false);
    CALL_AFTER((SET(w.persistent[0]), PMPI_Start(w.requests)), Start, "started already", w.requests);

    add(
        to, w, "MPI_Startall", "nothing is wrong",
        [&w](bool pmpi) {
            SET(w.persistent[0], w.persistent[1]);
            return (pmpi ? &PMPI_Startall : &MPI_Startall)(2, w.requests);
        },
        false);
    CALL_AFTER(SET(w.persistent[0]), Startall, "negative count", -1, w.requests);
    CALL(Startall, "requests: null pointer", 2, nullptr);
    CALL(Startall, "no requests: null pointer", 0, nullptr);
    CALL(Startall, "negative count, requests: null pointer", -1, nullptr);
    CALL_AFTER(SET(w.persistent[0], MPI_REQUEST_NULL), Startall, "null request, after one that is good", 2, w.requests);
    CALL_AFTER(SET(MPI_REQUEST_NULL, w.persistent[0]), Startall, "null request, before one that is good", 2,
               w.requests);
    CALL_AFTER(SET(w.persistent[0], w.pending), Startall, "not persistent, after one that is good", 2, w.requests);
    CALL_AFTER(SET(w.persistent[0], garbage()), Startall, "never made by MPI, after one that is good", 2, w.requests);
    CALL_AFTER((SET(w.persistent[1], w.persistent[0]), PMPI_Start(&w.requests[1])), Startall,
               "started already, after one that is good", 2, w.requests);

    CALL_AFTER(SET(w.persistent[0]), Request_free, "request: null pointer", nullptr);
    CALL_AFTER(SET(MPI_REQUEST_NULL), Request_free, "null request", w.requests);
    CALL_AFTER(SET(garbage()), Request_free, "request that MPI never made", w.requests);
    CALL_AFTER(SET(w.persistent[0]), Request_free, "nothing is wrong", w.requests);

    CALL_AFTER(SET(w.pending), Cancel, "request: null pointer", nullptr);
    CALL_AFTER(SET(MPI_REQUEST_NULL), Cancel, "null request", w.requests);
    CALL_AFTER(SET(garbage()), Cancel, "request that MPI never made", w.requests);
    CALL_AFTER(SET(w.persistent[0]), Cancel, "not started", w.requests);
    CALL_AFTER(SET(w.pending), Cancel, "nothing is wrong", w.requests);

    CALL_AFTER(SET(MPI_REQUEST_NULL), Grequest_complete, "null request", w.requests[0]);
    CALL_AFTER(SET(w.pending), Grequest_complete, "no generalized request", w.requests[0]);
    to.add_call({"MPI_Grequest_start", "null request", true, true, [](bool pmpi) {
                     return (pmpi ? &PMPI_Grequest_start : &MPI_Grequest_start)(
                         [](void *, MPI_Status *) { return int{MPI_SUCCESS}; }, [](void *) { return int{MPI_SUCCESS}; },
                         [](void *, int) { return int{MPI_SUCCESS}; }, nullptr, nullptr);
                 }});
}

#define ANY(name, ...)                                                                                                 \
    GOOD(name, 4, w.requests, &w.index __VA_ARGS__, w.statuses);                                                       \
    CALL(name, "negative count", -1, w.requests, &w.index __VA_ARGS__, w.statuses);                                    \
    CALL(name, "requests: null pointer", 2, nullptr, &w.index __VA_ARGS__, w.statuses);                                \
    CALL(name, "no requests: null pointer", 0, nullptr, &w.index __VA_ARGS__, w.statuses);                             \
    CALL(name, "index: null pointer", 4, w.requests, nullptr __VA_ARGS__, w.statuses);                                 \
    CALL(name, "status: null pointer", 4, w.requests, &w.index __VA_ARGS__, nullptr);                                  \
    CALL_AFTER(SET(garbage(), w.complete[0]), name, "request that MPI never made", 2, w.requests,                      \
               &w.index __VA_ARGS__, w.statuses);                                                                      \
    CALL_AFTER(SET(MPI_REQUEST_NULL, w.persistent[0]), name, "none active", 2, w.requests, &w.index __VA_ARGS__,       \
               w.statuses);                                                                                            \
    CALL_AFTER(SET(MPI_REQUEST_NULL), name, "null requests, index: null pointer", 1, w.requests, nullptr __VA_ARGS__,  \
               w.statuses)

#define SOME(name)                                                                                                     \
    GOOD(name, 4, w.requests, &w.number, w.indices, w.statuses);                                                       \
    CALL(name, "negative count", -1, w.requests, &w.number, w.indices, w.statuses);                                    \
    CALL(name, "requests: null pointer", 2, nullptr, &w.number, w.indices, w.statuses);                                \
    CALL(name, "no requests: null pointer", 0, nullptr, &w.number, w.indices, w.statuses);                             \
    CALL(name, "outcount: null pointer", 4, w.requests, nullptr, w.indices, w.statuses);                               \
    CALL(name, "indices: null pointer", 4, w.requests, &w.number, nullptr, w.statuses);                                \
    CALL(name, "statuses: null pointer", 4, w.requests, &w.number, w.indices, nullptr);                                \
    CALL_AFTER(SET(garbage(), w.complete[0]), name, "request that MPI never made", 2, w.requests, &w.number,           \
               w.indices, w.statuses);                                                                                 \
    CALL_AFTER(SET(MPI_REQUEST_NULL, w.persistent[0]), name, "none active", 2, w.requests, &w.number, w.indices,       \
               w.statuses)

#define ALL(name, ...)                                                                                                 \
    GOOD(name, 4, w.requests, __VA_ARGS__ w.statuses);                                                                 \
    CALL(name, "negative count", -1, w.requests, __VA_ARGS__ w.statuses);                                              \
    CALL(name, "requests: null pointer", 2, nullptr, __VA_ARGS__ w.statuses);                                          \
    CALL(name, "no requests: null pointer", 0, nullptr, __VA_ARGS__ w.statuses);                                       \
    CALL(name, "statuses: null pointer", 4, w.requests, __VA_ARGS__ nullptr);                                          \
    CALL_AFTER(SET(garbage(), w.complete[0]), name, "request that MPI never made", 2, w.requests,                      \
               __VA_ARGS__ w.statuses);                                                                                \
    CALL_AFTER(SET(MPI_REQUEST_NULL, w.persistent[0]), name, "none active", 2, w.requests, __VA_ARGS__ w.statuses)

#define COMMA ,

void add_arrays(table &to, world &w) {
    ANY(Testany, COMMA & w.flag);
    ANY(Waitany);
    CALL(Testany, "flag: null pointer", 4, w.requests, &w.index, nullptr, w.statuses);
    SOME(Testsome);
    SOME(Waitsome);
    ALL(Testall, &w.flag COMMA);
    ALL(Waitall);
    CALL(Testall, "flag: null pointer", 4, w.requests, nullptr, w.statuses);
    CALL_AFTER(SET(w.complete[0], w.pending), Testall, "pending, statuses: null pointer", 2, w.requests, &w.flag,
               nullptr);
#if defined(THENCE_MPI_GET_STATUS_FORMS)
    ANY(Request_get_status_any, COMMA & w.flag);
    SOME(Request_get_status_some);
    ALL(Request_get_status_all, &w.flag COMMA);
    CALL(Request_get_status_any, "flag: null pointer", 4, w.requests, &w.index, nullptr, w.statuses);
    CALL(Request_get_status_all, "flag: null pointer", 4, w.requests, nullptr, w.statuses);
#endif
}

// A request that MPI never made, beside a persistent one that has continuations in some states of the library.
#define BESIDE_ACTIVE(name, ...)                                                                                       \
    CALL_AFTER(SET(w.active, garbage()), name, "after an active one, request that MPI never made", 2, w.requests,      \
               __VA_ARGS__);                                                                                           \
    CALL_AFTER(SET(garbage(), w.active), name, "before an active one, request that MPI never made", 2, w.requests,     \
               __VA_ARGS__);                                                                                           \
    CALL_AFTER(SET(w.complete[0], w.active, garbage()), name,                                                          \
               "after one complete, one active, one that MPI never made", 3, w.requests, __VA_ARGS__)

void add_mixed(table &to, world &w) {
    if (garbage() == MPI_REQUEST_NULL) {
        return; // nothing is wrong then, and a call that waits for the active one blocks
    }
    BESIDE_ACTIVE(Testany, &w.index, &w.flag, w.statuses);
    BESIDE_ACTIVE(Waitany, &w.index, w.statuses);
    BESIDE_ACTIVE(Testsome, &w.number, w.indices, w.statuses);
    BESIDE_ACTIVE(Waitsome, &w.number, w.indices, w.statuses);
    BESIDE_ACTIVE(Testall, &w.flag, w.statuses);
    BESIDE_ACTIVE(Waitall, w.statuses);
#if defined(THENCE_MPI_GET_STATUS_FORMS)
    BESIDE_ACTIVE(Request_get_status_any, &w.index, &w.flag, w.statuses);
    BESIDE_ACTIVE(Request_get_status_some, &w.number, w.indices, w.statuses);
    BESIDE_ACTIVE(Request_get_status_all, &w.flag, w.statuses);
#endif
}

// The persistent request that may have a continuation. A call that waits for it alone returns only if it is complete.
void add_active(table &to, world &w) {
#define ACTIVE(name, what, ...) CALL_AFTER(SET(w.complete[0], w.active), name, what, __VA_ARGS__)
    ACTIVE(Test, "an active one", w.requests + 1, &w.flag, w.statuses);
    ACTIVE(Test, "an active one, status ignored", w.requests + 1, &w.flag, MPI_STATUS_IGNORE);
    ACTIVE(Test, "an active one, flag: null pointer", w.requests + 1, nullptr, w.statuses);
    ACTIVE(Test, "an active one, status: null pointer", w.requests + 1, &w.flag, nullptr);
    ACTIVE(Wait, "an active one", w.requests + 1, w.statuses);
    ACTIVE(Wait, "an active one, status: null pointer", w.requests + 1, nullptr);
    ACTIVE(Request_get_status, "an active one", w.requests[1], &w.flag, w.statuses);
    ACTIVE(Request_get_status, "an active one, flag: null pointer", w.requests[1], nullptr, w.statuses);
    ACTIVE(Cancel, "an active one", w.requests + 1);
    ACTIVE(Testany, "one active", 1, w.requests + 1, &w.index, &w.flag, w.statuses);
    ACTIVE(Testany, "one complete, one active", 2, w.requests, &w.index, &w.flag, w.statuses);
    ACTIVE(Testany, "one active, index: null pointer", 1, w.requests + 1, nullptr, &w.flag, w.statuses);
    ACTIVE(Waitany, "one complete, one active", 2, w.requests, &w.index, w.statuses);
    ACTIVE(Waitany, "one active, status: null pointer", 1, w.requests + 1, &w.index, nullptr);
    ACTIVE(Testsome, "one complete, one active", 2, w.requests, &w.number, w.indices, w.statuses);
    ACTIVE(Testsome, "one active, indices: null pointer", 1, w.requests + 1, &w.number, nullptr, w.statuses);
    ACTIVE(Waitsome, "one complete, one active", 2, w.requests, &w.number, w.indices, w.statuses);
    ACTIVE(Waitsome, "one active, outcount: null pointer", 1, w.requests + 1, nullptr, w.indices, w.statuses);
    ACTIVE(Testall, "one complete, one active", 2, w.requests, &w.flag, w.statuses);
    ACTIVE(Testall, "one complete, one active, flag: null pointer", 2, w.requests, nullptr, w.statuses);
    ACTIVE(Testall, "one complete, one active, negative count", -1, w.requests, &w.flag, w.statuses);
    ACTIVE(Waitall, "one complete, one active", 2, w.requests, w.statuses);
    ACTIVE(Waitall, "one complete, one active, statuses ignored", 2, w.requests, MPI_STATUSES_IGNORE);
    ACTIVE(Waitall, "one complete, one active, statuses: null pointer", 2, w.requests, nullptr);
#if defined(THENCE_MPI_GET_STATUS_FORMS)
    ACTIVE(Request_get_status_any, "one active", 1, w.requests + 1, &w.index, &w.flag, w.statuses);
    ACTIVE(Request_get_status_some, "one complete, one active", 2, w.requests, &w.number, w.indices, w.statuses);
    ACTIVE(Request_get_status_all, "one complete, one active", 2, w.requests, &w.flag, w.statuses);
#endif
}

} // namespace

void add_requests(table &to, world &w) {
    add_single(to, w);
    add_active(to, w);
    add_starting(to, w);
    add_arrays(to, w);
    add_mixed(to, w);
}

} // namespace wrong_arguments
