// SPDX-License-Identifier: BSD-3-Clause
// Point-to-point calls and calls that make persistent requests that MPI refuses.
#include "table.hpp"

namespace wrong_arguments {

// Each buffer holds one message; counts are of type int or MPI_Count.
#define BLOCKING(c, n)                                                                                                 \
    TRIED(Send##c, pointer(w.in), count(n), type(), rank(), tag(world::pending_tag), comm(w.comm));                    \
    TRIED(Ssend##c, pointer(w.in), count(n), type(), rank(), tag(world::pending_tag), comm(w.comm));                   \
    TRIED(Rsend##c, pointer(w.in), count(n), type(), rank(), tag(world::pending_tag), comm(w.comm));                   \
    TRIED(Recv##c, pointer(w.out), count(n), type(), rank(), tag(world::message_tag), comm(w.comm),                    \
          pointer(w.statuses));                                                                                        \
    TRIED(Mrecv##c, pointer(w.out), count(n), type(), pointer(&w.message), pointer(w.statuses));                       \
    to.add_call({"MPI_Mrecv" #c, "null message", true, true, [&w](bool pmpi) {                                         \
                     w.new_message = MPI_MESSAGE_NULL;                                                                 \
                     return (pmpi ? &PMPI_Mrecv##c : &MPI_Mrecv##c)(w.out, n, MPI_INT, &w.new_message, w.statuses);    \
                 }});                                                                                                  \
    TRIED(Sendrecv##c, pointer(w.in), count(n), type(), rank(), tag(world::pending_tag), pointer(w.out), count(n),     \
          type(), rank(), tag(world::message_tag), comm(w.comm), pointer(w.statuses));                                 \
    TRIED(Sendrecv_replace##c, pointer(w.in), count(n), type(), rank(), tag(world::pending_tag), rank(),               \
          tag(world::message_tag), comm(w.comm), pointer(w.statuses))

void add_messages(table &to, world &w) {
    BLOCKING(, 1);
#if defined(THENCE_MPI_LARGE_COUNTS)
    BLOCKING(_c, MPI_Count{1});
#endif
    TRIED(Probe, rank(), tag(world::message_tag), comm(w.comm), pointer(w.statuses));
    TRIED(Iprobe, rank(), tag(world::message_tag), comm(w.comm), pointer(&w.flag), pointer(w.statuses));
    TRIED(Mprobe, rank(), tag(world::message_tag), comm(w.comm), pointer(&w.new_message), pointer(w.statuses));
#if defined(THENCE_MPI_BUFFER_FLUSH)
    const argument<MPI_Session> session{w.session, {{"null session", MPI_SESSION_NULL}}};
    to.add_call({"MPI_Buffer_flush", "nothing is wrong", true, false,
                 [](bool pmpi) { return (pmpi ? &PMPI_Buffer_flush : &MPI_Buffer_flush)(); }});
    WRONG(Buffer_iflush, pointer(w.requests));
    TRIED(Comm_flush_buffer, comm(w.comm));
    WRONG(Comm_iflush_buffer, comm(w.comm), pointer(w.requests));
    TRIED(Session_flush_buffer, session);
    WRONG(Session_iflush_buffer, session, pointer(w.requests));
#endif
}

#define INIT(name, n) TRIED(name, pointer(w.in), count(n), type(), rank(), tag(1), comm(w.comm), pointer(w.requests))
#define PARTITIONED(name)                                                                                              \
    TRIED(name, pointer(w.in), number(1), count(MPI_Count{1}), type(), rank(), tag(1), comm(w.comm),                   \
          fixed(MPI_Info{MPI_INFO_NULL}), pointer(w.requests))

void add_persistent(table &to, world &w) {
    INIT(Send_init, 1);
    INIT(Bsend_init, 1);
    INIT(Ssend_init, 1);
    INIT(Rsend_init, 1);
    INIT(Recv_init, 1);
#if defined(THENCE_MPI_LARGE_COUNTS)
    INIT(Send_init_c, MPI_Count{1});
    INIT(Bsend_init_c, MPI_Count{1});
    INIT(Ssend_init_c, MPI_Count{1});
    INIT(Rsend_init_c, MPI_Count{1});
    INIT(Recv_init_c, MPI_Count{1});
#endif
#if defined(THENCE_MPI_PARTITIONED)
    PARTITIONED(Psend_init);
    PARTITIONED(Precv_init);
    // The request is no partitioned one.
    WRONG(Pready, number(0), fixed(w.persistent[1]));
    WRONG(Pready_range, number(0), number(0), fixed(w.persistent[1]));
    WRONG(Pready_list, number(1), pointer(w.indices), fixed(w.persistent[1]));
    WRONG(Parrived, fixed(w.persistent[0]), number(0), pointer(&w.flag));
#endif
}

} // namespace wrong_arguments
