// SPDX-License-Identifier: BSD-3-Clause
// An engine for active messages: joins what sends (outbox), what is called (handler_table), long data (outgoing_data)
// and the waves that find out when all is quiet.
//
// `sent` counts what this process has begun, before it leaves. `handled` counts what has ended here, after all that it
// has caused is counted in `sent`, and is the last access to the engine by whoever counts: see termination.hpp. Where a
// packet has left, outbox::left() is the last.
#pragma once

#include "am/handler_table.hpp"
#include "am/network.hpp"
#include "am/outbox.hpp"
#include "am/outgoing_data.hpp"
#include "am/pending.hpp"
#include "am/registered_memory.hpp"
#include "am/termination.hpp"
#include "core/base/linked_list.hpp"

#include <atomic>
#include <cstdint>

namespace thence::am {

// What a send does if too much waits for its receiver.
enum class when_full { wait, give_up, queue };

class message_engine final : network_events, outgoing_data::owner {
public:
    // `in_force`: no value is 0.
    explicit message_engine(const thence_am_options &in_force); // throws std::bad_alloc
    message_engine &operator=(message_engine &&) = delete;
    int begin(MPI_Comm comm) noexcept; // collective
    // Collective; waits until all is quiet, and before for a quiesce_then() that is under way: whoever waits by that is
    // told. `is_clean`: the engine may be deleted. Else MPI may still use its memory.
    int end(bool &is_clean) noexcept;

    handler_table &handlers() noexcept { return handlers_; }
    registered_memory &memory() noexcept { return memory_; }
    network &processes() noexcept { return network_; }
    const thence_am_options &options() const noexcept { return options_; }
    bool has_ended() const noexcept { return has_ended_.load(std::memory_order_relaxed); }
    // Why nothing is sent or waited for any more; MPI_SUCCESS: the engine goes on.
    int broken() const noexcept { return broken_.load(std::memory_order_relaxed); }

    // Arguments are checked before. `sent`: false if it has given up. `departure` is owned from here on if this
    // succeeds.
    int send(int rank, int number, piece payload, when_full full, departure_callback *departure, bool &sent) noexcept;
    // Own the transfer. It has rank, memory, number, payload and `done`.
    int put(transfer &t, const thence_am_memory &to, std::size_t offset) noexcept;
    int get(transfer &t, const thence_am_memory &from, std::size_t offset) noexcept;

    int progress(long *count) noexcept;
    // As thence_am_progress(): the error of a broken engine is returned once the memory of the program is given up.
    int progress_or_error(long *count) noexcept;
    // This thread runs a handler, of any engine, or a callback of a continuation.
    bool must_not_wait() noexcept;
    void hold() noexcept;
    bool release() noexcept;
    bool quiesce(int &code) noexcept;                                  // false: one is under way
    bool quiesce_then(thence_am_done *done, void *data) noexcept;      // false: one is under way
    std::size_t packets_made() const noexcept { return pool_.made(); } // for tests
    void query(thence_am_info &info) noexcept;

private:
    void arrived(lane in, int source, unsigned char *content, std::size_t length) noexcept override;
    void left(packet &p, int error) noexcept override;
    void data_left(transfer &t, int error) noexcept override;
    void data_arrived(transfer &t, int error, std::size_t bytes) noexcept override;
    void wave_ended(int error, totals all) noexcept override;
    void receive_failed(int error, bool cannot_go_on) noexcept override;
    void other_is_broken(int rank) noexcept override;
    bool may_leave(transfer &t) noexcept override;
    void has_left(transfer &t, int error, bool is_told) noexcept override;

    // What a packet has brought.
    struct packet_origin {
        lane in;
        int source;
        kept_credit *kept; // null until a part of it goes on
    };
    void handle(packet_origin &from, thence_am_message &m) noexcept;
    void call(const registered_handler &handler, const thence_am_message &m) noexcept;
    // Outside of a packet: what it sends leaves when it has returned.
    void call_alone(const registered_handler &handler, const thence_am_message &m) noexcept;
    // Tells that it has ended, unless that was told.
    void end_operation(pending_operation &o, int error) noexcept;
    void tell(thence_am_done *done, int error, void *data) noexcept;
    void hold_or_fail(const thence_am_message &m, kept_credit *credit) noexcept;
    void has_no_handler(const thence_am_message &m) noexcept;
    void run_held() noexcept;
    void release_held() noexcept;
    void drop(held_message *lost) noexcept;
    void handle_control(control_message what, packet_origin &from, const unsigned char *payload,
                        std::size_t bytes) noexcept;
    transfer *transfer_for(packet_origin &from, const announcement &what, transfer::kind kind,
                           std::size_t payload_bytes) noexcept;
    void receive_put(packet_origin &from, const announcement &what, piece payload) noexcept;
    void answer(packet_origin &from, const announcement &what) noexcept;
    int withdraw(transfer &t, int code) noexcept;
    void begin_transfer(transfer &t, int error) noexcept;
    void placed(transfer &t, int error, std::size_t bytes) noexcept;
    void drop_data(transfer *t) noexcept;
    int announce(control_message what, transfer &t, const thence_am_memory &memory, std::size_t offset) noexcept;
    std::uint32_t data_tags() const noexcept;
    unsigned most_announced() const noexcept;
    int wait_for_room(int rank) noexcept;
    // From now on all that waits returns an error, here and, if it is the first process, in all others.
    void break_off(int error, bool is_first) noexcept;
    // Tells the end of all operations of a broken engine for which MPI does this with memory of the program.
    void end_pending(pending_operation::use used_for) noexcept;
    // The engine is broken: the program may use its memory for something else when this returns.
    void give_up_memory() noexcept;
    // The first call does that. Returns why the engine is broken, or MPI_SUCCESS while another thread does it.
    int give_up_memory_once() noexcept;
    // A thread may call a function of the program. One that would later sees `has_ended_` if it was set before.
    bool may_call_program() noexcept;
    // Who has to be told that all is quiet, and with which error; null: nobody.
    struct quiescence_callback {
        thence_am_done *done = nullptr;
        void *data = nullptr;
        int error = MPI_SUCCESS;
    };
    quiescence_callback step_quiescence() noexcept;
    // Sleeps where progress finds nothing.
    template <class Condition> void progress_until(Condition condition) noexcept;
    bool is_passive() const noexcept;
    void fail(int error, int rank, int number, const char *what, bool all_waits_return_it = false) noexcept;
    // What quiescence returns: the first error since the last one. By who holds `polling_`.
    int take_first_error() noexcept;

    const thence_am_options options_;
    pending_operations pending_;
    network network_;
    packet_pool pool_;
    outbox outbox_;
    alignas(64) std::atomic<std::uint64_t> sent_{0};
    alignas(64) std::atomic<std::uint64_t> handled_{0};
    alignas(64) handler_table handlers_;
    registered_memory memory_;
    outgoing_data outgoing_;

    std::atomic<long> holds_{0};
    // Returned only after `failed` was told it: who keeps what `failed` is told has it before quiescence returns.
    static constexpr std::int64_t is_being_told = INT64_MIN;
    std::atomic<std::int64_t> first_error_{MPI_SUCCESS}; // an error code, or that
    std::atomic<int> broken_{MPI_SUCCESS}; // this process or another can receive nothing, or take no part in waves
    // Of memory of the program, by a broken engine; `ends`: a thread gives it up.
    enum class memory_use { may_last, ends, has_ended };
    std::atomic<memory_use> memory_in_use_{memory_use::may_last};
    std::atomic<int> telling_{0};        // threads that tell the end of an operation
    std::atomic<int> failing_{0};        // threads that tell a failure
    std::atomic<bool> has_ended_{false}; // though MPI still uses it: nothing of the user is called any more

    std::atomic<bool> has_lost_credits_{false};

    // Puts to memory that is not registered here: their data are received and dropped, one after the other.
    base::spin_lock dropping_; // guards these
    bool is_dropping_ = false;
    base::linked_list<transfer> to_drop_;

    // Only tried: handlers of polls run under it, and the members below are used. Who is told that all is quiet is told
    // without it, so that it may wait.
    base::spin_lock polling_;
    std::atomic<bool> handles_in_poll_{false}; // packets for handlers that may take long; by who holds `polling_`
    std::atomic<int> handling_{0};             // threads that handle what else may take long, or data that have arrived

    // Quiescence.
    enum class stage { idle, wanted, wave_under_way, wave_has_ended };
    std::atomic<stage> stage_{stage::idle};
    base::spin_lock beginning_; // guards the change from `idle`, and who is told
    thence_am_done *quiet_ = nullptr;
    void *quiet_data_ = nullptr;
    termination termination_;
    totals all_;
    int wave_error_ = MPI_SUCCESS;
};

// In a handler of this engine, or in what it calls like one, on this thread.
bool in_handler(const message_engine &engine) noexcept;

} // namespace thence::am
