// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file mpi.hpp
 *  @brief MPI as senders and coroutines over C++ types: `co_await comm.recv(values, 0)`.
 *
 *      thence::ex::task<> shift(const thence::communicator &comm, std::span<double> out, std::span<double> in) {
 *          const int right = (comm.rank() + 1) % comm.size();
 *          const int left = (comm.rank() + comm.size() - 1) % comm.size();
 *          co_await comm.sendrecv(out, right, in, left);
 *      }
 *
 *  Each operation is a member function that returns a sender. `co_await` it, join it with `when_all`, or wait for it
 *  with thence::sync_wait(). MPI is not called before the sender is started. mpi/buffer.hpp and mpi/element.hpp say
 *  what can be sent and received; transform_mpi.hpp has the rules for errors, stop requests and threads. A stop request
 *  cancels pending receives, and no other operation.
 *
 *  Before MPI_Init and after MPI_Finalize, functions that call MPI at once throw thence::mpi_inactive, and senders
 *  complete with it.
 *
 *  Completion signatures: set_value_t() unless the function says otherwise. Buffers that were moved in are sent before
 *  other values, in the order of the arguments. set_error_t(std::exception_ptr), a thence::mpi_error. set_stopped_t()
 *  for receives, if stop_possible() may be true for the stop token.
 *
 *  Memory: nothing is allocated, except by reductions of strided views, and for counts of blocks that differ in size.
 *
 *  Threads: several may use a communicator at the level `MPI_THREAD_MULTIPLE`. Collective operations must be started by
 *  one thread at a time, in the same order on all processes. */

#include <thence/mpi/message_status.hpp>
#include <thence/mpi/reduction.hpp>

namespace thence {

/** @brief A communicator handle. Those of world(), self() and view() do not own their communicator. Those of
 *         duplicate(), split() and owning() do: the destructor frees it, which is collective. An owned communicator has
 *         the error handler `MPI_ERRORS_RETURN`, so errors become exceptions. For others set it yourself. */
class communicator {
public:
    static communicator world() noexcept { return communicator(MPI_COMM_WORLD, false); }
    static communicator self() noexcept { return communicator(MPI_COMM_SELF, false); }
    static communicator view(MPI_Comm comm) noexcept { return communicator(comm, false); }
    /** @brief Takes over a communicator that the caller has created.
     *  @param comm the communicator. `MPI_COMM_NULL`, which MPI gives to processes that are not in a new communicator,
     *              makes an empty handle.
     *  @throws thence::mpi_inactive */
    static communicator owning(MPI_Comm comm) {
        if (comm == MPI_COMM_NULL) {
            return communicator(comm, false);
        }
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
        if (owns_ && MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized) {
            MPI_Comm_free(&comm_);
        }
    }
    /** @brief Duplicates the communicator. Collective, and blocks.
     *  @throws thence::error; thence::mpi_inactive */
    communicator duplicate() const {
        detail::need_mpi("thence::communicator::duplicate: called");
        MPI_Comm made = MPI_COMM_NULL;
        check(MPI_Comm_dup(comm_, &made), "duplicate a communicator");
        return owning(made);
    }
    /** @brief Splits the communicator. Collective, and blocks.
     *  @param color processes with the same color form a communicator. With `MPI_UNDEFINED` a process gets an empty
     *               handle.
     *  @param key   the order of ranks in the new communicator.
     *  @throws thence::error; thence::mpi_inactive */
    communicator split(int color, int key = 0) const {
        detail::need_mpi("thence::communicator::split: called");
        MPI_Comm made = MPI_COMM_NULL;
        check(MPI_Comm_split(comm_, color, key, &made), "split a communicator");
        return owning(made);
    }
    MPI_Comm get() const noexcept { return comm_; }
    /** @return false for an empty handle. Only get(), rank() and size() may be called for an empty handle. */
    explicit operator bool() const noexcept { return comm_ != MPI_COMM_NULL; }
    /** @return the rank of this process; `MPI_PROC_NULL` of an empty handle. @throws thence::mpi_inactive */
    int rank() const {
        detail::need_mpi("thence::communicator::rank: called");
        int result = MPI_PROC_NULL;
        if (comm_ != MPI_COMM_NULL) {
            MPI_Comm_rank(comm_, &result);
        }
        return result;
    }
    /** @return the number of processes; 0 of an empty handle. @throws thence::mpi_inactive */
    int size() const {
        detail::need_mpi("thence::communicator::size: called");
        int result = 0;
        if (comm_ != MPI_COMM_NULL) {
            MPI_Comm_size(comm_, &result);
        }
        return result;
    }

    /** @brief Sends the elements. Complete when the buffer may be used again.
     *  @param buffer what to send, see mpi/buffer.hpp.
     *  @param to     the rank of the receiver, or `MPI_PROC_NULL`. */
    template <class B> auto send(B &&buffer, int to, int tag = 0) const {
        return start_send(static_cast<B &&>(buffer), to, tag, MPI_Isend);
    }
    /** @brief As send(), but complete only when the receiver has matched the message. Use it for back-pressure. */
    template <class B> auto ssend(B &&buffer, int to, int tag = 0) const {
        return start_send(static_cast<B &&>(buffer), to, tag, MPI_Issend);
    }
    /** @brief Receives at most as many elements as the buffer has. A stop request cancels it.
     *
     *  It sends message_status, after a buffer that was moved in. A longer message is an error of class
     *  `MPI_ERR_TRUNCATE`. A shorter one is not an error: message_status::count() is its length. */
    template <class B> auto recv(B &&buffer, int source = MPI_ANY_SOURCE, int tag = MPI_ANY_TAG) const {
        detail::check_buffer<B>();
        static_assert(detail::writable<std::remove_reference_t<B>>(), "recv: the buffer is const");
        return detail::on_buffer(
            static_cast<B &&>(buffer),
            [comm = comm_, source, tag](const auto &where, MPI_Request *request) -> int {
                detail::described received;
                const int code = received.describe(where);
                return code != MPI_SUCCESS
                           ? code
                           : MPI_Irecv(received.first, received.count, received.type, source, tag, comm, request);
            },
            detail::status_as<message_status>());
    }
    /** @brief A send and a receive, started together. Sends message_status, after buffers that were moved in, first
     *         `out`. */
    template <class S, class R> auto sendrecv(S &&out, int to, R &&in, int source, int tag = 0) const {
        return ex::when_all(send(static_cast<S &&>(out), to, tag), recv(static_cast<R &&>(in), source, tag));
    }

    /** @name Collective operations
     *  The communicator must be an intracommunicator. All its processes call and start these operations in the same
     *  order. If there are two buffers, their elements must have the same type. If the sizes of their blocks differ,
     *  the error has the class `MPI_ERR_COUNT`. The blocks of a strided buffer are slices along its first dimension,
     *  whose extent must be a multiple of their number. */
    /** @{ */

    /** @brief Complete when all processes have started it. */
    auto barrier() const {
        return transform_mpi(
            ex::just(), [comm = comm_](MPI_Request *request) { return MPI_Ibarrier(comm, request); }, uncancellable);
    }
    /** @brief The elements of the root are sent to all other processes. */
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
     *  @param out memory for all blocks; only that of the root is used. */
    template <class S, class R> auto gather(S &&in, R &&out, int root = 0) const {
        return detail::exchange(static_cast<S &&>(in), 1, static_cast<R &&>(out),
                                rank() == root ? processes() : detail::unused,
                                [comm = comm_, root](const auto &source, const auto &target, MPI_Request *request) {
                                    return MPI_Igather(source.first, source.count, source.type, target.first,
                                                       target.count, target.type, root, comm, request);
                                });
    }
    /** @brief As gather(), but every process gets all blocks. */
    template <class S, class R> auto allgather(S &&in, R &&out) const {
        return detail::exchange(static_cast<S &&>(in), 1, static_cast<R &&>(out), processes(),
                                [comm = comm_](const auto &source, const auto &target, MPI_Request *request) {
                                    return MPI_Iallgather(source.first, source.count, source.type, target.first,
                                                          target.count, target.type, comm, request);
                                });
    }
    /** @brief Each process gets a block from the root, by rank.
     *  @param in  all blocks; only those of the root are used.
     *  @param out memory for the block of this process. */
    template <class S, class R> auto scatter(S &&in, R &&out, int root = 0) const {
        return detail::exchange(static_cast<S &&>(in), rank() == root ? processes() : detail::unused,
                                static_cast<R &&>(out), 1,
                                [comm = comm_, root](const auto &source, const auto &target, MPI_Request *request) {
                                    return MPI_Iscatter(source.first, source.count, source.type, target.first,
                                                        target.count, target.type, root, comm, request);
                                });
    }
    /** @brief Each process gets a block from each process. Both buffers have one block for each process, by rank. */
    template <class S, class R> auto alltoall(S &&in, R &&out) const {
        return detail::exchange(static_cast<S &&>(in), processes(), static_cast<R &&>(out), processes(),
                                [comm = comm_](const auto &source, const auto &target, MPI_Request *request) {
                                    return MPI_Ialltoall(source.first, source.count, source.type, target.first,
                                                         target.count, target.type, comm, request);
                                });
    }

    /** @brief As gather(), with blocks that may differ in size.
     *  @param in       the block of this process.
     *  @param out      contiguous memory for all blocks; only that of the root is used.
     *  @param received the counts and displacements of the blocks in `out`; only that of the root is used. */
    template <class S, class R> auto gatherv(S &&in, R &&out, const counts_displs &received, int root = 0) const {
        return detail::exchange_varying<detail::varying_side::out>(
            static_cast<S &&>(in), static_cast<R &&>(out), blocks_of(received, root == rank()),
            [comm = comm_, root](const auto &source, const auto &target, const counts_displs &p, MPI_Request *request) {
                return MPI_Igatherv(source.first, source.count, source.type, target.first, p.counts().data(),
                                    p.displs().data(), target.type, root, comm, request);
            });
    }
    /** @brief As gatherv(), but every process gets all blocks. All processes must pass the same counts. */
    template <class S, class R> auto allgatherv(S &&in, R &&out, const counts_displs &received) const {
        return detail::exchange_varying<detail::varying_side::out>(
            static_cast<S &&>(in), static_cast<R &&>(out), blocks_of(received, true),
            [comm = comm_](const auto &source, const auto &target, const counts_displs &p, MPI_Request *request) {
                return MPI_Iallgatherv(source.first, source.count, source.type, target.first, p.counts().data(),
                                       p.displs().data(), target.type, comm, request);
            });
    }
    /** @brief As scatter(), with blocks that may differ in size.
     *  @param in   all blocks, contiguous; only those of the root are used.
     *  @param sent the counts and displacements of the blocks in `in`; only that of the root is used.
     *  @param out  memory for the block of this process. */
    template <class S, class R> auto scatterv(S &&in, const counts_displs &sent, R &&out, int root = 0) const {
        return detail::exchange_varying<detail::varying_side::in>(
            static_cast<S &&>(in), static_cast<R &&>(out), blocks_of(sent, root == rank()),
            [comm = comm_, root](const auto &source, const auto &target, const counts_displs &p, MPI_Request *request) {
                return MPI_Iscatterv(source.first, p.counts().data(), p.displs().data(), source.type, target.first,
                                     target.count, target.type, root, comm, request);
            });
    }
    /** @brief As alltoall(), with blocks that may differ in size. Both buffers are contiguous.
     *  @param sent     the counts and displacements of the blocks in `in`.
     *  @param received the counts and displacements of the blocks in `out`. */
    template <class S, class R>
    auto alltoallv(S &&in, const counts_displs &sent, R &&out, const counts_displs &received) const {
        detail::check_both<S, R>();
        detail::check_contiguous<S>();
        detail::check_contiguous<R>();
        return detail::on_buffers(static_cast<S &&>(in), static_cast<R &&>(out),
                                  [comm = comm_, all = processes(), sent,
                                   received](const auto &source, const auto &target, MPI_Request *request) -> int {
                                      if (!sent.fit(all, source.count()) || !received.fit(all, target.count())) {
                                          return MPI_ERR_COUNT;
                                      }
                                      detail::described out_of;
                                      detail::described into;
                                      int code = out_of.describe_elements(source);
                                      if (code == MPI_SUCCESS) {
                                          code = into.describe_elements(target);
                                      }
                                      if (code != MPI_SUCCESS) {
                                          return code;
                                      }
                                      return MPI_Ialltoallv(out_of.first, sent.counts().data(), sent.displs().data(),
                                                            out_of.type, into.first, received.counts().data(),
                                                            received.displs().data(), into.type, comm, request);
                                  });
    }
    /** @} */

    /** @name Reductions
     *  They combine the elements of all processes, element by element. They are collective operations, see above.
     *
     *  The operation is a function object: `std::plus<>`, `std::multiplies<>`, `std::logical_and<>`,
     *  `std::logical_or<>`, `std::bit_and<>`, `std::bit_or<>`, `std::bit_xor<>`, a lambda that calls one of these
     *  operators, thence::minimum or thence::maximum. Elements must then have an arithmetic type or be std::complex. Or
     *  the operation is an MPI_Op: a predefined one, or one of `MPI_Op_create`. The function of the latter gets a
     *  pointer to the elements, of any type, as `void *`, their number, and for structs a contiguous datatype of
     *  `sizeof` bytes. Such an MPI_Op must not be freed before the operation has been started.
     *
     *  Strided operands are copied into memory that the operation allocates, and back when it is complete. */
    /** @{ */

    /** @brief In place: every process gets the result in its buffer. */
    template <class B, class Op> auto allreduce(B &&buffer, Op op) const {
        return start_in_place(static_cast<B &&>(buffer), op, MPI_Iallreduce);
    }
    /** @brief Every process gets the result in `out`, which must have as many elements as `in`. */
    template <class S, class R, class Op> auto allreduce(S &&in, R &&out, Op op) const {
        return start_reduction(static_cast<S &&>(in), static_cast<R &&>(out), op, MPI_Iallreduce);
    }
    /** @brief The root gets the result in `out`. The `out` of other processes is not used. */
    template <class S, class R, class Op> auto reduce(S &&in, R &&out, Op op, int root = 0) const {
        detail::check_reduction<S, Op>();
        return detail::reduction(
            static_cast<S &&>(in), static_cast<R &&>(out),
            [comm = comm_, root, op = detail::operator_of(op)](void *source, void *target, int count, MPI_Datatype type,
                                                               MPI_Request *request) {
                return MPI_Ireduce(source, target, count, type, op, root, comm, request);
            },
            rank() == root);
    }
    /** @brief In place: each process gets the result over the ranks up to its own. */
    template <class B, class Op> auto scan(B &&buffer, Op op) const {
        return start_in_place(static_cast<B &&>(buffer), op, MPI_Iscan);
    }
    /** @brief Each process gets the result over the ranks up to its own in `out`. */
    template <class S, class R, class Op> auto scan(S &&in, R &&out, Op op) const {
        return start_reduction(static_cast<S &&>(in), static_cast<R &&>(out), op, MPI_Iscan);
    }
    /** @brief In place: each process gets the result over the ranks below its own. The buffer of rank 0 is undefined
     *         afterwards. */
    template <class B, class Op> auto exscan(B &&buffer, Op op) const {
        return start_in_place(static_cast<B &&>(buffer), op, MPI_Iexscan);
    }
    /** @brief Each process gets the result over the ranks below its own in `out`. That of rank 0 is undefined
     *         afterwards. */
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
    /** `reads`: the operation may leave `out` unchanged. */
    template <class S, class R, class Op, class Start>
    auto start_reduction(S &&in, R &&out, Op op, Start start, bool reads = false) const {
        detail::check_reduction<S, Op>();
        return detail::reduction(
            static_cast<S &&>(in), static_cast<R &&>(out),
            [comm = comm_, op = detail::operator_of(op), start](void *source, void *target, int count,
                                                                MPI_Datatype type, MPI_Request *request) {
                return start(source, target, count, type, op, comm, request);
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
