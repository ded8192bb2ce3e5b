// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_MPI_HPP
#define THENCE_MPI_HPP
#if __cplusplus < 202002L
#error "thence/mpi.hpp needs C++20: compile with -std=c++20"
#else

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
 *  Nothing happens before it is started. What can be sent and received is in mpi/buffer.hpp and
 *  mpi/element.hpp; how errors, stop requests and threads are dealt with, in transform_mpi.hpp. A stop request
 *  cancels receives that are pending, and nothing else.
 *
 *  Before MPI_Init and after MPI_Finalize, what asks MPI at once throws thence::mpi_inactive; senders complete with it.
 *
 *  Completion signatures: set_value_t() unless the function says otherwise, with each owning buffer that was moved in
 *  before, in the order of the arguments; set_error_t(std::exception_ptr), a thence::mpi_error; set_stopped_t() for
 *  receives whose stop token may be asked to stop.
 *
 *  Memory: nothing is allocated, except by reductions of strided views, and for counts of blocks that differ in size.
 *
 *  Threads: several may use a communicator at the level `MPI_THREAD_MULTIPLE`. Collective operations are started by one
 *  thread at a time, in the same order on all processes. */

#include <thence/mpi/message_status.hpp>
#include <thence/mpi/reduction.hpp>

namespace thence {

/** @brief A communicator handle. world(), self() and view() only name one; duplicate(), split() own what they made: the
 *         destructor frees it, so all its processes destroy it. Owned ones return errors (`MPI_ERRORS_RETURN`), which
 *         become exceptions; for others set that yourself. */
class communicator {
public:
    static communicator world() noexcept { return communicator(MPI_COMM_WORLD, false); }
    static communicator self() noexcept { return communicator(MPI_COMM_SELF, false); }
    static communicator view(MPI_Comm comm) noexcept { return communicator(comm, false); }
    /** @brief Takes over a communicator that the caller has made. Of `MPI_COMM_NULL`, which MPI gives to processes that
     *         it leaves out, an empty handle. @throws thence::mpi_inactive */
    static communicator owning(MPI_Comm comm) {
        if (comm == MPI_COMM_NULL)
            return communicator(comm, false);
        detail::need_mpi("thence::communicator::owning: called");
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
    /** @brief Collective, and blocks. @throws thence::error; thence::mpi_inactive */
    communicator duplicate() const {
        detail::need_mpi("thence::communicator::duplicate: called");
        MPI_Comm made = MPI_COMM_NULL;
        check(MPI_Comm_dup(comm_, &made), "duplicate a communicator");
        return owning(made);
    }
    /** @brief Collective, and blocks. Processes of one color form one; with `MPI_UNDEFINED` a process gets an empty
     *         handle. @throws thence::error; thence::mpi_inactive */
    communicator split(int color, int key = 0) const {
        detail::need_mpi("thence::communicator::split: called");
        MPI_Comm made = MPI_COMM_NULL;
        check(MPI_Comm_split(comm_, color, key, &made), "split a communicator");
        return owning(made);
    }
    MPI_Comm get() const noexcept { return comm_; }
    /** @return whether this process is in a communicator: false for an empty handle, on which nothing else works. */
    explicit operator bool() const noexcept { return comm_ != MPI_COMM_NULL; }
    /** @return the rank of this process; `MPI_PROC_NULL` of an empty handle. @throws thence::mpi_inactive */
    int rank() const {
        detail::need_mpi("thence::communicator::rank: called");
        int result = MPI_PROC_NULL;
        if (comm_ != MPI_COMM_NULL)
            MPI_Comm_rank(comm_, &result);
        return result;
    }
    /** @return the number of processes; 0 of an empty handle. @throws thence::mpi_inactive */
    int size() const {
        detail::need_mpi("thence::communicator::size: called");
        int result = 0;
        if (comm_ != MPI_COMM_NULL)
            MPI_Comm_size(comm_, &result);
        return result;
    }

    /** @brief Sends the elements. Complete when the buffer may be used again.
     *  @param buffer what to send, see mpi/buffer.hpp.
     *  @param to     the rank of the receiver, or `MPI_PROC_NULL`. */
    template <class B> auto send(B &&buffer, int to, int tag = 0) const {
        return start_send(static_cast<B &&>(buffer), to, tag, MPI_Isend);
    }
    /** @brief As send(), complete when the receiver has matched it too: what back-pressure needs. */
    template <class B> auto ssend(B &&buffer, int to, int tag = 0) const {
        return start_send(static_cast<B &&>(buffer), to, tag, MPI_Issend);
    }
    /** @brief Receives at most as many elements as there is room for. Can be cancelled.
     *
     *  Sends message_status, after a buffer that was moved in. A longer message is an error of class
     *  `MPI_ERR_TRUNCATE`, a shorter one none: message_status::count() tells. */
    template <class B> auto recv(B &&buffer, int from = MPI_ANY_SOURCE, int tag = MPI_ANY_TAG) const {
        detail::check_buffer<B>();
        static_assert(detail::writable<std::remove_reference_t<B>>(), "recv: the buffer is const");
        return detail::on_buffer(
            static_cast<B &&>(buffer),
            [comm = comm_, from, tag](const auto &where, MPI_Request *request) -> int {
                detail::described room;
                const int code = room.describe(where);
                return code != MPI_SUCCESS ? code
                                           : MPI_Irecv(room.first, room.count, room.type, from, tag, comm, request);
            },
            detail::status_as<message_status>());
    }
    /** @brief Both at once. Sends message_status, after buffers that were moved in, `out` first. */
    template <class S, class R> auto sendrecv(S &&out, int to, R &&in, int from, int tag = 0) const {
        return ex::when_all(send(static_cast<S &&>(out), to, tag), recv(static_cast<R &&>(in), from, tag));
    }

    /** @name Collective operations
     *  All processes of the communicator, an intracommunicator, call them in the same order, and start them in that
     *  order. Where two buffers are given, their elements are of one type; blocks whose sizes do not fit together are
     *  an error of class `MPI_ERR_COUNT`. The blocks of a strided buffer are slices along its first dimension, whose
     *  extent is a multiple of their number. */
    /** @{ */

    /** @brief Complete when all processes have started it. */
    auto barrier() const {
        return transform_mpi(
            ex::just(), [comm = comm_](MPI_Request *request) { return MPI_Ibarrier(comm, request); }, uncancellable);
    }
    /** @brief The root's elements go to all others. */
    template <class B> auto bcast(B &&buffer, int root = 0) const {
        detail::check_buffer<B>();
        static_assert(detail::writable<std::remove_reference_t<B>>(), "bcast: the buffer is const");
        return detail::on_buffer(
            static_cast<B &&>(buffer),
            [comm = comm_, root](const auto &where, MPI_Request *request) -> int {
                detail::described all;
                const int code = all.describe(where);
                return code != MPI_SUCCESS ? code : MPI_Ibcast(all.first, all.count, all.type, root, comm, request);
            },
            uncancellable);
    }
    /** @brief The root gets a block from each process, by rank.
     *  @param in  the block of this process.
     *  @param out room for all blocks; only the root's is used. */
    template <class S, class R> auto gather(S &&in, R &&out, int root = 0) const {
        return detail::exchange(
            static_cast<S &&>(in), 1, static_cast<R &&>(out), rank() == root ? processes() : detail::unused,
            [comm = comm_, root](const auto &from, const auto &to, MPI_Request *request) {
                return MPI_Igather(from.first, from.count, from.type, to.first, to.count, to.type, root, comm, request);
            });
    }
    /** @brief As gather(), and every process gets all blocks. */
    template <class S, class R> auto allgather(S &&in, R &&out) const {
        return detail::exchange(static_cast<S &&>(in), 1, static_cast<R &&>(out), processes(),
                                [comm = comm_](const auto &from, const auto &to, MPI_Request *request) {
                                    return MPI_Iallgather(from.first, from.count, from.type, to.first, to.count,
                                                          to.type, comm, request);
                                });
    }
    /** @brief Each process gets a block from the root, by rank.
     *  @param in  all blocks; only the root's is used.
     *  @param out room for the block of this process. */
    template <class S, class R> auto scatter(S &&in, R &&out, int root = 0) const {
        return detail::exchange(static_cast<S &&>(in), rank() == root ? processes() : detail::unused,
                                static_cast<R &&>(out), 1,
                                [comm = comm_, root](const auto &from, const auto &to, MPI_Request *request) {
                                    return MPI_Iscatter(from.first, from.count, from.type, to.first, to.count, to.type,
                                                        root, comm, request);
                                });
    }
    /** @brief Each process gets a block from each. Both buffers have one for each process, by rank. */
    template <class S, class R> auto alltoall(S &&in, R &&out) const {
        return detail::exchange(static_cast<S &&>(in), processes(), static_cast<R &&>(out), processes(),
                                [comm = comm_](const auto &from, const auto &to, MPI_Request *request) {
                                    return MPI_Ialltoall(from.first, from.count, from.type, to.first, to.count, to.type,
                                                         comm, request);
                                });
    }

    /** @brief As gather(), with blocks that may differ in size.
     *  @param in       the block of this process.
     *  @param out      contiguous room for all blocks; only the root's is used.
     *  @param received how many elements come from each process, and where they go; only the root's is used. */
    template <class S, class R> auto gatherv(S &&in, R &&out, const counts_displs &received, int root = 0) const {
        return detail::exchange_varying<detail::varying_side::out>(
            static_cast<S &&>(in), static_cast<R &&>(out), blocks_of(received, root == rank()),
            [comm = comm_, root](const auto &from, const auto &to, const counts_displs &p, MPI_Request *request) {
                return MPI_Igatherv(from.first, from.count, from.type, to.first, p.counts().data(), p.displs().data(),
                                    to.type, root, comm, request);
            });
    }
    /** @brief As gatherv(), and every process gets all blocks. All of them give the same counts. */
    template <class S, class R> auto allgatherv(S &&in, R &&out, const counts_displs &received) const {
        return detail::exchange_varying<detail::varying_side::out>(
            static_cast<S &&>(in), static_cast<R &&>(out), blocks_of(received, true),
            [comm = comm_](const auto &from, const auto &to, const counts_displs &p, MPI_Request *request) {
                return MPI_Iallgatherv(from.first, from.count, from.type, to.first, p.counts().data(),
                                       p.displs().data(), to.type, comm, request);
            });
    }
    /** @brief As scatter(), with blocks that may differ in size.
     *  @param in   all blocks, contiguous; only the root's is used.
     *  @param sent how many elements go to each process, and where they lie; only the root's is used.
     *  @param out  room for the block of this process. */
    template <class S, class R> auto scatterv(S &&in, const counts_displs &sent, R &&out, int root = 0) const {
        return detail::exchange_varying<detail::varying_side::in>(
            static_cast<S &&>(in), static_cast<R &&>(out), blocks_of(sent, root == rank()),
            [comm = comm_, root](const auto &from, const auto &to, const counts_displs &p, MPI_Request *request) {
                return MPI_Iscatterv(from.first, p.counts().data(), p.displs().data(), from.type, to.first, to.count,
                                     to.type, root, comm, request);
            });
    }
    /** @brief As alltoall(), with blocks that may differ in size. Both buffers are contiguous.
     *  @param sent     how many elements go to each process, and where they lie in `in`.
     *  @param received how many elements come from each process, and where they go in `out`. */
    template <class S, class R>
    auto alltoallv(S &&in, const counts_displs &sent, R &&out, const counts_displs &received) const {
        detail::check_both<S, R>();
        detail::check_contiguous<S>();
        detail::check_contiguous<R>();
        return detail::on_buffers(static_cast<S &&>(in), static_cast<R &&>(out),
                                  [comm = comm_, all = processes(), sent, received](const auto &from, const auto &to,
                                                                                    MPI_Request *request) -> int {
                                      if (!sent.fit(all, from.count()) || !received.fit(all, to.count()))
                                          return MPI_ERR_COUNT;
                                      detail::described out_of;
                                      detail::described into;
                                      int code = out_of.describe_elements(from);
                                      if (code == MPI_SUCCESS)
                                          code = into.describe_elements(to);
                                      if (code != MPI_SUCCESS)
                                          return code;
                                      return MPI_Ialltoallv(out_of.first, sent.counts().data(), sent.displs().data(),
                                                            out_of.type, into.first, received.counts().data(),
                                                            received.displs().data(), into.type, comm, request);
                                  });
    }
    /** @} */

    /** @name Reductions
     *  Element by element over all processes. They are collective operations, see above.
     *
     *  The operation is a function object: `std::plus<>`, `std::multiplies<>`, `std::logical_and<>`,
     *  `std::logical_or<>`, `std::bit_and<>`, `std::bit_or<>`, `std::bit_xor<>`, a lambda that does one of these,
     *  thence::minimum or thence::maximum; elements are then of arithmetic types or std::complex. Or it is an MPI_Op:
     *  one of MPI's own, or one that `MPI_Op_create` made. The function of the latter is given elements of the type of
     *  the buffer, whatever that is, as `void *`, their number, and for structs a contiguous datatype of `sizeof`
     *  bytes. Such an MPI_Op must live until the operation has been started.
     *
     *  Strided operands are packed into memory that the operation allocates, and unpacked when it is complete. */
    /** @{ */

    /** @brief In place: every process has the result in its buffer. */
    template <class B, class Op> auto allreduce(B &&buffer, Op op) const {
        return start_in_place(static_cast<B &&>(buffer), op, MPI_Iallreduce);
    }
    /** @brief Every process has the result in `out`, which has as many elements as `in`. */
    template <class S, class R, class Op> auto allreduce(S &&in, R &&out, Op op) const {
        return start_reduction(static_cast<S &&>(in), static_cast<R &&>(out), op, MPI_Iallreduce);
    }
    /** @brief Only the root's `out` is used. */
    template <class S, class R, class Op> auto reduce(S &&in, R &&out, Op op, int root = 0) const {
        detail::check_reduction<S, Op>();
        return detail::reduction(
            static_cast<S &&>(in), static_cast<R &&>(out),
            [comm = comm_, root, op = detail::operator_of(op)](void *from, void *to, int count, MPI_Datatype type,
                                                               MPI_Request *request) {
                return MPI_Ireduce(from, to, count, type, op, root, comm, request);
            },
            rank() == root);
    }
    /** @brief In place: each process has the result over the processes up to itself, by rank. */
    template <class B, class Op> auto scan(B &&buffer, Op op) const {
        return start_in_place(static_cast<B &&>(buffer), op, MPI_Iscan);
    }
    /** @brief Each process has the result over the processes up to itself, by rank, in `out`. */
    template <class S, class R, class Op> auto scan(S &&in, R &&out, Op op) const {
        return start_reduction(static_cast<S &&>(in), static_cast<R &&>(out), op, MPI_Iscan);
    }
    /** @brief In place: each process has the result over the processes before itself. What is in the buffer of rank 0
     *         afterwards is undefined. */
    template <class B, class Op> auto exscan(B &&buffer, Op op) const {
        return start_in_place(static_cast<B &&>(buffer), op, MPI_Iexscan);
    }
    /** @brief Each process has the result over the processes before itself in `out`. What is in that of rank 0
     *         afterwards is undefined. */
    template <class S, class R, class Op> auto exscan(S &&in, R &&out, Op op) const {
        return start_reduction(static_cast<S &&>(in), static_cast<R &&>(out), op, MPI_Iexscan, true);
    }
    /** @} */

private:
    communicator(MPI_Comm comm, bool owns) noexcept : comm_(comm), owns_(owns) {}

    std::size_t processes() const { return static_cast<std::size_t>(size()); }
    detail::varying_blocks blocks_of(const counts_displs &given, bool used) const {
        return {given, used, processes(), static_cast<std::size_t>(rank())};
    }
    template <class B, class Op, class Start> auto start_in_place(B &&buffer, Op op, Start start) const {
        detail::check_reduction<B, Op>();
        static_assert(detail::writable<std::remove_reference_t<B>>(), "the buffer of a reduction in place is const");
        return detail::reduction_in_place(static_cast<B &&>(buffer),
                                          [comm = comm_, op = detail::operator_of(op),
                                           start](void *all, int count, MPI_Datatype type, MPI_Request *request) {
                                              return start(MPI_IN_PLACE, all, count, type, op, comm, request);
                                          });
    }
    /** `reads`: it may leave `out` alone. */
    template <class S, class R, class Op, class Start>
    auto start_reduction(S &&in, R &&out, Op op, Start start, bool reads = false) const {
        detail::check_reduction<S, Op>();
        return detail::reduction(
            static_cast<S &&>(in), static_cast<R &&>(out),
            [comm = comm_, op = detail::operator_of(op), start](void *from, void *to, int count, MPI_Datatype type,
                                                                MPI_Request *request) {
                return start(from, to, count, type, op, comm, request);
            },
            true, reads);
    }
    template <class B, class Start> auto start_send(B &&buffer, int to, int tag, Start start) const {
        detail::check_buffer<B>();
        return detail::on_buffer(
            static_cast<B &&>(buffer),
            [comm = comm_, to, tag, start](const auto &where, MPI_Request *request) -> int {
                detail::described sent;
                const int code = sent.describe(where);
                return code != MPI_SUCCESS ? code : start(sent.first, sent.count, sent.type, to, tag, comm, request);
            },
            uncancellable);
    }

    MPI_Comm comm_;
    bool owns_;
};

} // namespace thence

#endif // C++20
#endif
