// SPDX-License-Identifier: BSD-3-Clause
#include "interpose/calls/harmless_calls.hpp"

#include "interpose/calls/collective_table.hpp"
#include "interpose/calls/function_slots.hpp"
#include "interpose/calls/on_threadcomm.hpp"
#include "interpose/requests/requests.hpp"
#include "interpose/waiting/init_finalize.hpp"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <string_view>
#include <type_traits>

namespace thence::pmpi {

namespace {

// An array of zeros of whatever type a call wants.
struct zeros {
    template <class T> operator const T *() const noexcept {
        static constexpr T values[2]{};
        return values;
    }
};

// Arguments under the names that collective_table.hpp gives them. A nonblocking call that has reached MPI is waited
// for. Two neighbors or one rank, and no elements.
struct arguments {
    arguments() = default;
    ~arguments() {
        if (request != MPI_REQUEST_NULL) {
            PMPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        if (created != MPI_COMM_NULL) {
            PMPI_Comm_free(&created);
        }
    }
    arguments &operator=(arguments &&) = delete;

    MPI_Comm comm = MPI_COMM_SELF;
    MPI_Comm created = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Message message = MPI_MESSAGE_NO_PROC;
    MPI_Datatype type = MPI_INT;
    MPI_Op op = MPI_SUM;
    int root = 0;
    int flag = 0;
    int index = 0;
    int storage[2]{};
    void *buf = &storage[0];
    const void *sendbuf = &storage[0];
    void *recvbuf = &storage[1];
    int count = 0;
    int sendcount = 0;
    int recvcount = 0;
    zeros sendcounts, recvcounts, sdispls, rdispls;
    MPI_Datatype sendtype = MPI_INT;
    MPI_Datatype recvtype = MPI_INT;
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    const MPI_Datatype *sendtypes = types;
    const MPI_Datatype *recvtypes = types;
};

// With neighbors, which are MPI_PROC_NULL.
struct neighbor_arguments : arguments {
    neighbor_arguments() noexcept {
        const int size = 1;
        const int periodic = 0;
        PMPI_Cart_create(MPI_COMM_SELF, 1, &size, &periodic, 0, &created);
        comm = created;
    }
};

// A communicator without attributes. Those of MPI_COMM_SELF are the user's: a duplicate would call their copy
// functions, and the library is being set up, so that a call of the library in one of them would wait for ever.
MPI_Comm without_attributes() noexcept {
    MPI_Comm created = MPI_COMM_NULL;
    PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &created);
    return created;
}

// With messages to itself that no other call can receive.
struct messages_to_itself : arguments {
    messages_to_itself() noexcept { comm = created = without_attributes(); }
};

struct duplicated : arguments {
    duplicated() noexcept { comm = without_attributes(); }
    ~duplicated() { PMPI_Comm_free(&comm); }
};

int query(void *, MPI_Status *status) {
    PMPI_Status_set_elements(status, MPI_BYTE, 0);
    PMPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}
int do_nothing(void *) {
    return MPI_SUCCESS;
}
int ignore_cancel(void *, int) {
    return MPI_SUCCESS;
}

// With a request that no other thread and no other process knows.
struct grequest_arguments : arguments {
    grequest_arguments() noexcept {
        PMPI_Grequest_start(&query, &do_nothing, &ignore_cancel, nullptr, &request);
        own = request;
    }
    ~grequest_arguments() {
        if (!ended) {
            PMPI_Grequest_complete(own);
        }
    }
    MPI_Request own = MPI_REQUEST_NULL;
    bool ended = false;
};
struct completed_grequest : grequest_arguments {
    completed_grequest() noexcept { ended = true; } // by the call
};

// Of a call that creates a persistent request.
template <class Base> struct creating : Base {
    ~creating() {
        if (this->request != MPI_REQUEST_NULL) {
            interpose::free(&this->request, &PMPI_Request_free); // if it came to us, it was noted
        }
    }
};

struct persistent_arguments : creating<arguments> {
    persistent_arguments() noexcept { PMPI_Send_init(buf, 0, type, MPI_PROC_NULL, 0, comm, &request); }
    ~persistent_arguments() { PMPI_Wait(&request, MPI_STATUS_IGNORE); }
};

constexpr bool is_neighbor_call(std::string_view name) {
    return name.starts_with("Neighbor");
}
template <bool with_neighbors> using names_for = std::conditional_t<with_neighbors, neighbor_arguments, arguments>;

#define HARMLESS(on_requests, base, name, args)                                                                        \
    harmless_call {                                                                                                    \
        "MPI_" #name,                                                                                                  \
            [](void *function) {                                                                                       \
                struct call : base {                                                                                   \
                    void make(void *to) { reinterpret_cast<decltype(&PMPI_##name)>(to) args; }                         \
                };                                                                                                     \
                call with_arguments;                                                                                   \
                return interpose::reaches_libthence([](void *to, void *it) { static_cast<call *>(it)->make(to); },     \
                                                    function, &with_arguments);                                        \
            },                                                                                                         \
            on_requests                                                                                                \
    }
#define ON_REQUESTS(name, args) HARMLESS(true, arguments, name, args)
#define ON_COMMUNICATOR(name, args) HARMLESS(false, arguments, name, args)
#define CREATING(name, args) HARMLESS(false, creating<arguments>, name, args)

#define SEND buf, 0, type, MPI_PROC_NULL, 0
#define BOTH_WAYS buf, 0, type, MPI_PROC_NULL, 0, recvbuf, 0, type, MPI_PROC_NULL, 0, comm
#define REPLACE buf, 0, type, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, comm
#define POINT_TO_POINT(c)                                                                                              \
    ON_REQUESTS(Send##c, (SEND, comm)), ON_REQUESTS(Ssend##c, (SEND, comm)), ON_REQUESTS(Rsend##c, (SEND, comm)),      \
        ON_REQUESTS(Recv##c, (SEND, comm, MPI_STATUS_IGNORE)),                                                         \
        ON_REQUESTS(Mrecv##c, (buf, 0, type, &message, MPI_STATUS_IGNORE)),                                            \
        ON_REQUESTS(Sendrecv##c, (BOTH_WAYS, MPI_STATUS_IGNORE)),                                                      \
        ON_REQUESTS(Sendrecv_replace##c, (REPLACE, MPI_STATUS_IGNORE)), ON_COMMUNICATOR(Bsend##c, (SEND, comm)),       \
        ON_COMMUNICATOR(Isend##c, (SEND, comm, &request)), ON_COMMUNICATOR(Issend##c, (SEND, comm, &request)),         \
        ON_COMMUNICATOR(Irsend##c, (SEND, comm, &request)), ON_COMMUNICATOR(Ibsend##c, (SEND, comm, &request)),        \
        ON_COMMUNICATOR(Irecv##c, (SEND, comm, &request)),                                                             \
        ON_COMMUNICATOR(Imrecv##c, (buf, 0, type, &message, &request)),                                                \
        CREATING(Send_init##c, (SEND, comm, &request)), CREATING(Bsend_init##c, (SEND, comm, &request)),               \
        CREATING(Ssend_init##c, (SEND, comm, &request)), CREATING(Rsend_init##c, (SEND, comm, &request)),              \
        CREATING(Recv_init##c, (SEND, comm, &request))
// On MPICH 4.0 they never complete if both peers are MPI_PROC_NULL.
#define NONBLOCKING_BOTH_WAYS(c)                                                                                       \
    HARMLESS(false, messages_to_itself, Isendrecv##c, (buf, 0, type, 0, 0, recvbuf, 0, type, 0, 0, comm, &request)),   \
        HARMLESS(false, messages_to_itself, Isendrecv_replace##c, (buf, 0, type, 0, 0, 0, 0, comm, &request))

#define NAMES_FOR(name) names_for<is_neighbor_call(#name)>
#define BLOCKING(name, parameters, args) HARMLESS(true, NAMES_FOR(name), name, args),
#define BLOCKING_C(name, parameters, args) HARMLESS(true, NAMES_FOR(name), name##_c, args),
#define STARTING(name, parameters, args) STARTING_AS(THENCE_I_##name, NAMES_FOR(name), args)
#define STARTING_C(name, parameters, args) STARTING_AS(THENCE_PASTE(THENCE_I_##name, _c), NAMES_FOR(name), args)
#define STARTING_AS(name, base, args) STARTING_AS_AGAIN(name, base, args)
#define STARTING_AS_AGAIN(name, base, args) HARMLESS(false, base, name, (THENCE_UNPACK args, &request)),
#define PERSISTENT(name, parameters, args)                                                                             \
    HARMLESS(false, creating<NAMES_FOR(name)>, name##_init, (THENCE_UNPACK args, MPI_INFO_NULL, &request)),
#define PERSISTENT_C(name, parameters, args)                                                                           \
    HARMLESS(false, creating<NAMES_FOR(name)>, name##_init_c, (THENCE_UNPACK args, MPI_INFO_NULL, &request)),

constexpr harmless_call harmless_calls[] = {
    ON_REQUESTS(Wait, (&request, MPI_STATUS_IGNORE)),
    ON_REQUESTS(Waitall, (1, &request, MPI_STATUSES_IGNORE)),
    ON_REQUESTS(Waitany, (1, &request, &index, MPI_STATUS_IGNORE)),
    ON_REQUESTS(Waitsome, (1, &request, &flag, &index, MPI_STATUSES_IGNORE)),
    ON_REQUESTS(Test, (&request, &flag, MPI_STATUS_IGNORE)),
    ON_REQUESTS(Testall, (1, &request, &flag, MPI_STATUSES_IGNORE)),
    ON_REQUESTS(Testany, (1, &request, &index, &flag, MPI_STATUS_IGNORE)),
    ON_REQUESTS(Testsome, (1, &request, &flag, &index, MPI_STATUSES_IGNORE)),
    ON_REQUESTS(Request_get_status, (request, &flag, MPI_STATUS_IGNORE)),
#if defined(THENCE_MPI_GET_STATUS_FORMS)
    ON_REQUESTS(Request_get_status_any, (1, &request, &index, &flag, MPI_STATUS_IGNORE)),
    ON_REQUESTS(Request_get_status_all, (1, &request, &flag, MPI_STATUSES_IGNORE)),
    ON_REQUESTS(Request_get_status_some, (1, &request, &flag, &index, MPI_STATUSES_IGNORE)),
#endif
    HARMLESS(true, persistent_arguments, Start, (&request)),
    HARMLESS(true, persistent_arguments, Startall, (1, &request)),
    HARMLESS(true, grequest_arguments, Cancel, (&request)),
    HARMLESS(true, grequest_arguments, Request_free, (&request)),
    HARMLESS(true, completed_grequest, Grequest_complete, (request)),
    ON_REQUESTS(Probe, (MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE)),
    ON_REQUESTS(Mprobe, (MPI_PROC_NULL, 0, comm, &message, MPI_STATUS_IGNORE)),
    ON_COMMUNICATOR(Iprobe, (MPI_PROC_NULL, 0, comm, &flag, MPI_STATUS_IGNORE)),
    ON_COMMUNICATOR(Improbe, (MPI_PROC_NULL, 0, comm, &flag, &message, MPI_STATUS_IGNORE)),
    ON_COMMUNICATOR(Comm_rank, (comm, &index)),
    ON_COMMUNICATOR(Comm_size, (comm, &index)),
    HARMLESS(false, duplicated, Comm_dup, (comm, &created)),
    ON_COMMUNICATOR(Comm_split, (comm, 0, 0, &created)),
    HARMLESS(false, neighbor_arguments, Comm_free, (&created)),
    POINT_TO_POINT(),
#if defined(THENCE_MPI_LARGE_COUNTS)
    POINT_TO_POINT(_c),
#endif
#if defined(THENCE_MPI_ISENDRECV)
    NONBLOCKING_BOTH_WAYS(),
#if defined(THENCE_MPI_LARGE_COUNTS)
    NONBLOCKING_BOTH_WAYS(_c),
#endif
#endif
    THENCE_COLLECTIVES(BLOCKING, int, int) THENCE_COLLECTIVES(STARTING, int, int)
#if defined(THENCE_MPI_PERSISTENT_COLLECTIVES)
        THENCE_COLLECTIVES(PERSISTENT, int, int)
            HARMLESS(false, creating<arguments>, Barrier_init, (comm, MPI_INFO_NULL, &request)),
#endif
#if defined(THENCE_MPI_LARGE_COUNTS)
    THENCE_COLLECTIVES(BLOCKING_C, MPI_Count, MPI_Aint) THENCE_COLLECTIVES(STARTING_C, MPI_Count, MPI_Aint)
        THENCE_COLLECTIVES(PERSISTENT_C, MPI_Count, MPI_Aint)
#endif
            ON_COMMUNICATOR(Ibarrier, (comm, &request)),
    ON_REQUESTS(Barrier, (comm)),
};

} // namespace

const harmless_call *find_harmless(const char *name) noexcept {
    const auto *const found = std::find_if(std::begin(harmless_calls), std::end(harmless_calls),
                                           [&](const auto &each) { return std::strcmp(each.name, name) == 0; });
    return found != std::end(harmless_calls) ? found : nullptr;
}

bool defines_harmless(const void *object) noexcept {
    return std::any_of(std::begin(harmless_calls), std::end(harmless_calls), [&](const harmless_call &each) {
        void *const function = dlsym(RTLD_DEFAULT, each.name);
        return function != nullptr && object_of(function).dli_fbase == object;
    });
}

} // namespace thence::pmpi
