// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_MPI_HPP
#define THENCE_MPI_HPP

/** @file mpi.hpp
 *  @brief MPI as senders and coroutines over C++ types: `co_await comm.recv(values, 0)`.
 *
 *      thence::ex::task<> shift(const thence::communicator &comm, std::span<double> out, std::span<double> in) {
 *          const int right = (comm.rank() + 1) % comm.size();
 *          const int left = (comm.rank() + comm.size() - 1) % comm.size();
 *          co_await comm.sendrecv(out, right, in, left);
 *      }
 *
 *  Each member function returns a sender: to `co_await`, to join with `when_all`, to wait for with thence::sync_wait().
 *  Nothing happens before it is started. What can be sent and received is in senders/buffer.hpp; how errors, stop
 * requests and threads are dealt with, in transform_mpi.hpp. A stop request cancels receives that are pending, and
 * nothing else.
 *
 *  Completion signatures: set_value_t() unless the function says otherwise, with each owning buffer that was moved in
 * before; set_error_t(std::exception_ptr), a thence::mpi_error; set_stopped_t() for receives whose stop token may be
 * asked to stop. */

#include <thence/senders/buffer.hpp>
#include <thence/transform_mpi.hpp>

namespace thence {

/** @brief What a receive has got. */
class message_status {
public:
    explicit message_status(const MPI_Status &status) noexcept : status_(status) {}
    int source() const noexcept { return status_.MPI_SOURCE; }
    int tag() const noexcept { return status_.MPI_TAG; }
    /** @return how many elements of type T came. */
    template <class T> std::size_t count() const noexcept {
        int found = 0;
        if constexpr (detail::has_mpi_type<T>) {
            MPI_Get_count(&status_, detail::mpi_type<T>(), &found);
            return static_cast<std::size_t>(found);
        } else {
            MPI_Get_count(&status_, MPI_BYTE, &found);
            return static_cast<std::size_t>(found) / sizeof(T);
        }
    }
    const MPI_Status &get() const noexcept { return status_; }

private:
    MPI_Status status_;
};

namespace detail {

/** The sender of an operation on one buffer: an owning one moves in and is sent back. `call(elements, request)`. */
template <class B, class Call, class... Given> auto on_buffer(B &&buffer, Call call, Given... options) {
    if constexpr (moves_in<B>)
        return transform_mpi(
            ex::just(static_cast<B &&>(buffer)),
            [call](std::remove_cvref_t<B> &held, MPI_Request *request) { return call(elements_of(held), request); },
            options...);
    else
        return transform_mpi(
            ex::just(), [call, where = elements_of(buffer)](MPI_Request *request) { return call(where, request); },
            options...);
}

} // namespace detail

/** @brief A communicator handle. world(), self() and view() only name one; duplicate(), split() own what they made: the
 *         destructor frees it, so all its processes destroy it. Owned ones return errors (`MPI_ERRORS_RETURN`), which
 * become exceptions; for others set that yourself. */
class communicator {
public:
    static communicator world() noexcept { return communicator(MPI_COMM_WORLD, false); }
    static communicator self() noexcept { return communicator(MPI_COMM_SELF, false); }
    static communicator view(MPI_Comm comm) noexcept { return communicator(comm, false); }
    /** @brief Takes over a communicator that the caller has made. */
    static communicator owning(MPI_Comm comm) {
        MPI_Comm_set_errhandler(comm, thence_errors_return());
        return communicator(comm, true);
    }
    communicator(communicator &&other) noexcept
        : comm_(std::exchange(other.comm_, MPI_COMM_NULL)), owns_(std::exchange(other.owns_, false)) {}
    communicator &operator=(communicator &&other) noexcept {
        std::swap(comm_, other.comm_);
        std::swap(owns_, other.owns_);
        return *this;
    }
    ~communicator() {
        int finalized = 0;
        if (owns_ && MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized)
            MPI_Comm_free(&comm_);
    }
    /** @brief Collective, and blocks. @throws thence::error */
    communicator duplicate() const {
        MPI_Comm made = MPI_COMM_NULL;
        check(MPI_Comm_dup(comm_, &made), "duplicate a communicator");
        return owning(made);
    }
    /** @brief Collective, and blocks. Processes of one color form one. @throws thence::error */
    communicator split(int color, int key = 0) const {
        MPI_Comm made = MPI_COMM_NULL;
        check(MPI_Comm_split(comm_, color, key, &made), "split a communicator");
        return made == MPI_COMM_NULL ? communicator(made, false) : owning(made);
    }
    MPI_Comm get() const noexcept { return comm_; }
    int rank() const noexcept {
        int result = 0;
        MPI_Comm_rank(comm_, &result);
        return result;
    }
    int size() const noexcept {
        int result = 0;
        MPI_Comm_size(comm_, &result);
        return result;
    }

    /** @brief Complete when the buffer may be used again. */
    template <detail::buffer_like B> auto send(B &&buffer, int to, int tag = 0) const {
        return detail::on_buffer(
            static_cast<B &&>(buffer),
            [comm = comm_, to, tag](const auto &where, MPI_Request *request) {
                return detail::with_datatype(where, [&](void *first, int count, MPI_Datatype type) {
                    return MPI_Isend(first, count, type, to, tag, comm, request);
                });
            },
            uncancellable);
    }
    /** @brief As send(), complete when the receiver has matched it too: what back-pressure needs. */
    template <detail::buffer_like B> auto ssend(B &&buffer, int to, int tag = 0) const {
        return detail::on_buffer(
            static_cast<B &&>(buffer),
            [comm = comm_, to, tag](const auto &where, MPI_Request *request) {
                return detail::with_datatype(where, [&](void *first, int count, MPI_Datatype type) {
                    return MPI_Issend(first, count, type, to, tag, comm, request);
                });
            },
            uncancellable);
    }
    /** @brief Receives at most as many elements as there is room for. Sends message_status. Can be cancelled. */
    template <detail::buffer_like B> auto recv(B &&buffer, int from = MPI_ANY_SOURCE, int tag = MPI_ANY_TAG) const {
        static_assert(detail::writable<std::remove_reference_t<B>>(), "recv: the buffer is const");
        return detail::on_buffer(
            static_cast<B &&>(buffer),
            [comm = comm_, from, tag](const auto &where, MPI_Request *request) {
                return detail::with_datatype(where, [&](void *first, int count, MPI_Datatype type) {
                    return MPI_Irecv(first, count, type, from, tag, comm, request);
                });
            },
            detail::status_as<message_status>());
    }
    /** @brief Both at once. Sends message_status. The buffers are lvalues or views. */
    template <detail::buffer_like S, detail::buffer_like R>
    auto sendrecv(S &&out, int to, R &&in, int from, int tag = 0) const {
        static_assert(!detail::moves_in<S> && !detail::moves_in<R>, "sendrecv: pass lvalues or views as buffers");
        return ex::when_all(send(static_cast<S &&>(out), to, tag), recv(static_cast<R &&>(in), from, tag));
    }

    /** @brief Collective operations. All processes call them in the same order, and start them in that order. */
    auto barrier() const {
        return transform_mpi(
            ex::just(), [comm = comm_](MPI_Request *request) { return MPI_Ibarrier(comm, request); }, uncancellable);
    }
    template <detail::buffer_like B> auto bcast(B &&buffer, int root = 0) const {
        static_assert(detail::writable<std::remove_reference_t<B>>(), "bcast: the buffer is const");
        return detail::on_buffer(
            static_cast<B &&>(buffer),
            [comm = comm_, root](const auto &where, MPI_Request *request) {
                return detail::with_datatype(where, [&](void *first, int count, MPI_Datatype type) {
                    return MPI_Ibcast(first, count, type, root, comm, request);
                });
            },
            uncancellable);
    }
    /** @brief In place: every process has the result in its buffer. `op`: see senders/datatype.hpp. */
    template <detail::buffer_like B, class Op> auto allreduce(B &&buffer, Op op) const {
        check_reduction<B>();
        static_assert(detail::writable<std::remove_reference_t<B>>(), "allreduce: the buffer is const");
        return detail::on_buffer(
            static_cast<B &&>(buffer),
            [comm = comm_, op = detail::operator_of(op)](const auto &where, MPI_Request *request) {
                return detail::with_datatype(where, [&](void *first, int count, MPI_Datatype type) {
                    return MPI_Iallreduce(MPI_IN_PLACE, first, count, type, op, comm, request);
                });
            },
            uncancellable);
    }
    template <detail::buffer_like S, detail::buffer_like R, class Op> auto allreduce(S &&in, R &&out, Op op) const {
        check_reduction<S>();
        return between<1, 1>(in, out,
                             [comm = comm_, op = detail::operator_of(op)](void *from, int count, MPI_Datatype type,
                                                                          void *to, int, MPI_Datatype,
                                                                          MPI_Request *request) {
                                 return MPI_Iallreduce(from, to, count, type, op, comm, request);
                             });
    }
    /** @brief Only the root's `out` is used. */
    template <detail::buffer_like S, detail::buffer_like R, class Op>
    auto reduce(S &&in, R &&out, Op op, int root = 0) const {
        check_reduction<S>();
        const bool here = rank() == root;
        return between<1, 1>(
            in, out,
            [comm = comm_, root, op = detail::operator_of(op)](void *from, int count, MPI_Datatype type, void *to, int,
                                                               MPI_Datatype, MPI_Request *request) {
                return MPI_Ireduce(from, to, count, type, op, root, comm, request);
            },
            here);
    }
    /** @brief `out` has room for one part from each process; only the root's is used. */
    template <detail::buffer_like S, detail::buffer_like R> auto gather(S &&in, R &&out, int root = 0) const {
        const bool here = rank() == root;
        return between<1, 0>(
            in, out,
            [comm = comm_, root](void *from, int sent, MPI_Datatype type, void *to, int room, MPI_Datatype other,
                                 MPI_Request *request) {
                return MPI_Igather(from, sent, type, to, room, other, root, comm, request);
            },
            here);
    }
    template <detail::buffer_like S, detail::buffer_like R> auto allgather(S &&in, R &&out) const {
        return between<1, 0>(in, out,
                             [comm = comm_](void *from, int sent, MPI_Datatype type, void *to, int room,
                                            MPI_Datatype other, MPI_Request *request) {
                                 return MPI_Iallgather(from, sent, type, to, room, other, comm, request);
                             });
    }
    /** @brief `in` has one part for each process; only the root's is used. */
    template <detail::buffer_like S, detail::buffer_like R> auto scatter(S &&in, R &&out, int root = 0) const {
        const bool here = rank() == root;
        return between<0, 1>(
            in, out,
            [comm = comm_, root](void *from, int sent, MPI_Datatype type, void *to, int room, MPI_Datatype other,
                                 MPI_Request *request) {
                return MPI_Iscatter(from, sent, type, to, room, other, root, comm, request);
            },
            true, here);
    }
    template <detail::buffer_like S, detail::buffer_like R> auto alltoall(S &&in, R &&out) const {
        return between<0, 0>(in, out,
                             [comm = comm_](void *from, int sent, MPI_Datatype type, void *to, int room,
                                            MPI_Datatype other, MPI_Request *request) {
                                 return MPI_Ialltoall(from, sent, type, to, room, other, comm, request);
                             });
    }

private:
    communicator(MPI_Comm comm, bool owns) noexcept : comm_(comm), owns_(owns) {}

    template <class B> static void check_reduction() {
        static_assert(detail::has_mpi_type<typename detail::element_of<std::remove_reference_t<B>>::type>,
                      "a reduction takes elements of arithmetic types or std::complex");
    }
    /** An operation from one buffer to another, both lvalues or views. `Sends`, `Receives`: how many parts each side
     * has, 0 for one part per process. A side that this process does not use may have any size. */
    template <std::size_t Sends, std::size_t Receives, class S, class R, class Call>
    auto between(S &in, R &out, Call call, bool receives = true, bool sends = true) const {
        static_assert(detail::writable<std::remove_reference_t<R>>(), "the buffer to receive into is const");
        static_assert(std::is_same_v<typename detail::element_of<std::remove_cv_t<S>>::type,
                                     typename detail::element_of<std::remove_cv_t<R>>::type>,
                      "both buffers must have elements of the same type");
        const auto processes = static_cast<std::size_t>(size());
        const std::size_t send_parts = Sends == 0 ? processes : Sends;
        const std::size_t receive_parts = Receives == 0 ? processes : Receives;
        auto from = detail::elements_of(in);
        auto to = detail::elements_of(out);
        return transform_mpi(
            ex::just(),
            [=](MPI_Request *request) -> int {
                if (sends && receives && from.count() / send_parts != to.count() / receive_parts)
                    return MPI_ERR_COUNT; // the parts differ in size
                return detail::with_datatype(
                    from,
                    [&](void *sent, int count, MPI_Datatype type) {
                        if (!receives)
                            return call(sent, count, type, nullptr, 0, type, request);
                        return detail::with_datatype(
                            to,
                            [&](void *room, int places, MPI_Datatype other) {
                                return call(sent, sends ? count : 0, type, room, places, other, request);
                            },
                            receive_parts);
                    },
                    sends ? send_parts : 1);
            },
            uncancellable);
    }

    MPI_Comm comm_;
    bool owns_;
};

} // namespace thence

#endif
