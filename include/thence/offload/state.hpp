// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/** @file state.hpp
 *  @brief The tasks and messages of thence/offload.hpp. Callbacks point into it, so after a failure it stays for ever.
 *
 *  Invariant: a task of this rank is in `own`, or in a slot, or complete; `left` counts those that are not complete. A
 *  task of another rank is a remote_task, from its metadata until its results were sent. Whatever a message writes to
 *  or reads from lies in a slot, a remote_task or a receive, and these are used again only after their callback. */

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <thence/error.hpp>
#include <thence/offload/collectives.hpp>
#include <thence/offload/errors.hpp>
#include <thence/offload/idle_time.hpp>
#include <thence/offload/quotas.hpp>
#include <thence/offload/result_receives.hpp>
#include <thence/offload/settings.hpp>
#include <thence/offload/task_type.hpp>

namespace thence::detail {

template <class Completions> class offload_state {
public:
    struct task {
        const offload_type *type = nullptr;
        int type_number = 0;
        std::vector<std::byte> metadata;
        std::span<const std::byte> input;
        offload_type::results_of results;
    };

    offload_state(MPI_Comm comm, const offload_settings &given)
        : settings(given), completions_(settings), collectives_(completions_, errors_), results_(completions_),
          quotas_(settings, number(comm, MPI_Comm_rank), number(comm, MPI_Comm_size)), slots_(number_of_slots(given)) {
        offload_check("MPI_Comm_dup", MPI_Comm_dup(comm, &comm_));
        MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
        collectives_.begin(comm_, number(comm, MPI_Comm_size));
        for (std::size_t i = slots_.size(); i-- > 0;) {
            slots_[i].owner = this, slots_[i].id = static_cast<int>(i);
            free_slots_.push_back(&slots_[i]);
        }
    }
    offload_state &operator=(offload_state &&) = delete;

    // After the last step, on all ranks. Waits for them. Then messages of this rank to itself end the receives: to
    // cancel these is not safe while the library's thread makes progress, see thence_cancel(). @return whether all has
    // ended.
    bool end() {
        if (has_begun() && !collectives_.all_end()) {
            return false;
        }
        const int mine = number(comm_, MPI_Comm_rank);
        for (std::size_t left = receives_.size(); left > 0; --left) {
            if (!errors_.good(send_alone(&offload_ends_receive, sizeof(offload_head), mine, 0, comm_))) {
                return false;
            }
        }
        completions_.finish();
        if (failure() != MPI_SUCCESS) {
            return false;
        }
        for (receive &each : receives_) {
            MPI_Request_free(&each.request);
        }
        MPI_Comm_free(&comm_);
        return true;
    }

    void begin() {
        collectives_.agree(types);
        int code = MPI_SUCCESS;
        try {
            receives_ = std::vector<receive>(static_cast<std::size_t>(settings.receives));
            post_receives();
        } catch (const error &failed) {
            code = failed.code();
        } catch (const std::exception &) {
            code = MPI_ERR_NO_MEM;
        }
        collectives_.have_begun(code);
        began_ = MPI_Wtime();
    }

    void submit(task &&made) {
        slot *away = nullptr;
        {
            const std::scoped_lock guard(lock_);
            if (own_.size() + remotes_ready_.size() >= static_cast<std::size_t>(settings.workers)) {
                if (free_slots_.empty()) {
                    quotas_.lacks_slot();
                } else if (const int target = quotas_.take(); target >= 0) {
                    away = free_slots_.back();
                    free_slots_.pop_back();
                    away->target = target;
                    step_.offloaded++;
                }
            }
            if (away == nullptr) {
                own_.push_back(std::move(made));
            } else {
                away->sent = std::move(made);
            }
            left_++; // nothing is thrown any more: else a task would be waited for that is nowhere
        }
        if (away != nullptr) {
            errors_.kept(comm_, [&] { send(*away); });
        }
    }

    // Makes progress. Throws what has failed.
    void poll() {
        completions_.poll();
        if (const int code = failure(); code != MPI_SUCCESS) {
            errors_.tell(comm_);
            throw error("a message of an offloaded task, or another rank has broken off", code);
        }
    }
    bool work() {
        poll();
        remote_task *remote = nullptr;
        task next;
        {
            const std::scoped_lock guard(lock_);
            if (!remotes_ready_.empty()) {
                remote = remotes_ready_.front();
                remotes_ready_.pop_front();
            } else if (!own_.empty()) {
                next = std::move(own_.front());
                own_.pop_front();
            } else {
                return false;
            }
            idle_.task_begins();
        }
        const double began = MPI_Wtime();
        if (remote != nullptr) {
            errors_.kept(comm_, [&] { run(*remote); });
        } else {
            next.type->run(next.metadata.data(), next.input, next.results);
        }
        const double ended = MPI_Wtime(), took = ended - began;
        {
            const std::scoped_lock guard(lock_);
            idle_.task_ends(ended);
            step_.computed += took;
            if (remote != nullptr) {
                step_.foreign++;
            } else {
                own_seconds_ += took;
                step_.own++, left_--;
            }
        }
        if (remote != nullptr) {
            errors_.kept(comm_, [&] { send_results(*remote); });
        }
        return true;
    }

    bool has_left() {
        const std::scoped_lock guard(lock_);
        return left_ != 0;
    }
    // A worker has found no task since `since`; whether the rank has none, others know, too.
    void look_for_late(double since, double now) {
        std::string away;
        double seconds = 0;
        {
            const std::scoped_lock guard(lock_);
            step_.emergencies += quotas_.look_for_late(idle_.idle(since, now));
            seconds = idle_.without_result(since, now);
            away = seconds > settings.lost_after ? quotas_.away() : std::string();
        }
        if (away.empty()) {
            return;
        }
        break_off();
        throw lost_tasks("offload: no results for " + std::to_string(static_cast<int>(seconds)) + " s, waiting for " +
                         away + "; is the process dead?");
    }
    // This rank goes on no more: all others get an error.
    void break_off() {
        errors_.good(MPI_ERR_OTHER);
        errors_.tell(comm_);
    }
    // After break_off(). @return whether nothing is written to results of tasks any more.
    bool give_up_results() { return results_.cancel(settings.lost_after); }
    // What the others have to know of this step, which all have ended. What comes from here on belongs to the next one:
    // others may begin it before balance() is called here.
    offload_measured measured(double waited) {
        const std::scoped_lock guard(lock_);
        ended_ = std::exchange(step_, {});
        const double seconds = std::exchange(own_seconds_, 0);
        return {waited, ended_.own > 0 ? seconds / ended_.own : 0, static_cast<double>(ended_.foreign)};
    }
    offload_step balance(double waited) {
        const double now = MPI_Wtime();
        const std::scoped_lock guard(lock_);
        ended_.seconds = now - began_, ended_.waited = waited;
        quotas_.balance(collectives_.of_all(), ended_.seconds);
        began_ = now;
        return ended_;
    }

    offload_collectives<Completions> &collectives() { return collectives_; }
    // The first error of a message.
    int failure() { return errors_.code(); }
    bool has_begun() const { return !receives_.empty(); }

    const offload_settings settings;
    std::vector<const offload_type *> types;

private:
    using head = offload_head;
    struct slot { // a task of this rank that is away
        offload_state *owner = nullptr;
        int id = 0, target = -1;
        task sent;
        std::vector<std::byte> message;
        MPI_Request requests[most_results];
    };
    struct receive { // persistent, for metadata
        offload_state *owner = nullptr;
        std::vector<std::byte> message;
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Status status;
    };
    struct remote_task { // a task of another rank
        offload_state *owner = nullptr;
        int source = 0, id = 0;
        const offload_type *type = nullptr;
        std::vector<std::byte> metadata, input, results[most_results];
        offload_type::sizes sizes;
        MPI_Request requests[most_results];
    };

    template <class Ask> static int number(MPI_Comm comm, Ask ask) {
        int found = 0;
        ask(comm, &found);
        return found;
    }
    // Each slot needs a tag for its input and one for each result.
    static constexpr int tags_of_slot = static_cast<int>(most_results) + 1;
    static std::size_t number_of_slots(const offload_settings &given) {
        int *bound = nullptr, found = 0;
        MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &found);
        return static_cast<std::size_t>(found != 0 ? std::min(given.in_flight, *bound / tags_of_slot - 1)
                                                   : given.in_flight);
    }
    static int tag_of(int id, int message) { return 1 + id * tags_of_slot + message; }

    void attach(int count, MPI_Request requests[], thence_callback *done, void *data, MPI_Status *statuses,
                bool persistent) {
        offload_check("thence_attach", completions_.attach(count, requests, done, data, statuses, persistent));
    }
    void post_receives() {
        for (receive &each : receives_) {
            each.owner = this;
            each.message.resize(sizeof(head) + settings.metadata_bytes);
            offload_check("MPI_Recv_init", MPI_Recv_init(each.message.data(), static_cast<int>(each.message.size()),
                                                         MPI_BYTE, MPI_ANY_SOURCE, 0, comm_, &each.request));
            offload_check("MPI_Start", MPI_Start(&each.request));
            attach(1, &each.request, &metadata_came, &each, &each.status, true);
        }
    }

    void send(slot &away) {
        const task &sent = away.sent;
        const head first{sent.type_number, away.id};
        away.message.resize(sizeof first + sent.metadata.size());
        std::memcpy(away.message.data(), &first, sizeof first);
        std::memcpy(away.message.data() + sizeof first, sent.metadata.data(), sent.metadata.size());
        offload_check("MPI_Isend", MPI_Isend(away.message.data(), static_cast<int>(away.message.size()), MPI_BYTE,
                                             away.target, 0, comm_, &away.requests[0]));
        offload_check("MPI_Isend", MPI_Isend(sent.input.data(), static_cast<int>(sent.input.size()), MPI_BYTE,
                                             away.target, tag_of(away.id, 0), comm_, &away.requests[1]));
        attach(2, away.requests, &was_sent, &away, MPI_STATUSES_IGNORE, false);
    }
    static int was_sent(int code, MPI_Status *, void *data) {
        slot &away = *static_cast<slot *>(data);
        offload_state &self = *away.owner;
        if (self.errors_.good(code) && self.failure() == MPI_SUCCESS) { // else nobody wants results any more
            const std::span into(away.sent.results.data(), static_cast<std::size_t>(away.sent.type->results));
            self.errors_.good(self.results_.begin(into, away.target, tag_of(away.id, 1), self.comm_, away.requests,
                                                  &has_returned, &away));
        }
        return MPI_SUCCESS;
    }
    static int has_returned(int code, MPI_Status *, void *data) {
        slot &away = *static_cast<slot *>(data);
        offload_state &self = *away.owner;
        if (self.errors_.good(code) && self.failure() == MPI_SUCCESS) { // else the receives may be cancelled
            const double now = MPI_Wtime();
            const std::scoped_lock guard(self.lock_);
            self.quotas_.returned(away.target);
            self.idle_.result_came(now);
            self.left_--;
            self.free_slots_.push_back(&away);
        }
        self.results_.ended();
        return MPI_SUCCESS;
    }

    static int metadata_came(int code, MPI_Status *status, void *data) {
        receive &each = *static_cast<receive *>(data);
        offload_state &self = *each.owner;
        if (!self.errors_.good(code)) {
            return MPI_SUCCESS;
        }
        head first;
        std::memcpy(&first, each.message.data(), sizeof first);
        if (first.type == offload_ends_receive.type) {
            return MPI_SUCCESS;
        }
        if (first.type == offload_broken_off.type) {
            self.errors_.good(MPI_ERR_OTHER);
            return MPI_SUCCESS;
        }
        return self.errors_.in_callback_of(code, [&] { self.take(each, first, status->MPI_SOURCE); });
    }
    // The receive is pending again before the input can come: with the result of this task the last step may be over,
    // and end() ends as many receives as there are.
    void take(receive &each, const head &first, int source) {
        remote_task &remote = take_remote();
        remote.source = source, remote.id = first.id;
        remote.type = types[static_cast<std::size_t>(first.type)];
        const std::byte *const metadata = each.message.data() + sizeof first;
        remote.metadata.assign(metadata, metadata + remote.type->metadata_bytes);
        remote.input.resize(remote.type->input_bytes(remote.metadata.data()));
        offload_check("MPI_Start", MPI_Start(&each.request));
        attach(1, &each.request, &metadata_came, &each, &each.status, true);
        offload_check("MPI_Irecv", MPI_Irecv(remote.input.data(), static_cast<int>(remote.input.size()), MPI_BYTE,
                                             remote.source, tag_of(remote.id, 0), comm_, &remote.requests[0]));
        attach(1, remote.requests, &input_came, &remote, MPI_STATUSES_IGNORE, false);
    }
    static int input_came(int code, MPI_Status *, void *data) {
        remote_task &remote = *static_cast<remote_task *>(data);
        offload_state &self = *remote.owner;
        return self.errors_.in_callback_of(code, [&] {
            const std::scoped_lock guard(self.lock_);
            self.remotes_ready_.push_back(&remote);
        });
    }
    void run(remote_task &remote) {
        remote.sizes = remote.type->result_bytes(remote.metadata.data());
        offload_type::results_of results;
        for (std::size_t i = 0; i < most_results; ++i) {
            remote.results[i].resize(remote.sizes[i]);
            results[i] = remote.results[i];
        }
        remote.type->run(remote.metadata.data(), remote.input, results);
    }
    void send_results(remote_task &remote) {
        for (int i = 0; i < remote.type->results; ++i) {
            const std::vector<std::byte> &from = remote.results[i];
            offload_check("MPI_Isend", MPI_Isend(from.data(), static_cast<int>(from.size()), MPI_BYTE, remote.source,
                                                 tag_of(remote.id, 1 + i), comm_, &remote.requests[i]));
        }
        attach(remote.type->results, remote.requests, &results_sent, &remote, MPI_STATUSES_IGNORE, false);
    }
    static int results_sent(int code, MPI_Status *, void *data) {
        remote_task &remote = *static_cast<remote_task *>(data);
        offload_state &self = *remote.owner;
        return self.errors_.in_callback_of(code, [&] {
            const std::scoped_lock guard(self.lock_);
            self.free_remotes_.push_back(&remote);
        });
    }
    remote_task &take_remote() {
        const std::scoped_lock guard(lock_);
        if (free_remotes_.empty()) {
            free_remotes_.push_back(&remotes_.emplace_back());
            remotes_.back().owner = this;
        }
        remote_task &taken = *free_remotes_.back();
        free_remotes_.pop_back();
        return taken;
    }

    MPI_Comm comm_ = MPI_COMM_NULL;
    std::vector<receive> receives_;
    Completions completions_;
    offload_errors errors_;
    offload_collectives<Completions> collectives_;
    offload_result_receives<Completions> results_;

    // Guards all that follows. No call of MPI is made, and no task run, while it is held.
    std::mutex lock_;
    int left_ = 0;
    offload_quotas quotas_;
    offload_idle_time idle_;
    std::deque<task> own_; // that wait for a thread
    std::vector<slot> slots_;
    std::vector<slot *> free_slots_;
    std::deque<remote_task> remotes_;
    std::deque<remote_task *> remotes_ready_;
    std::vector<remote_task *> free_remotes_;
    offload_step step_, ended_; // ended_: between measured() and balance(), the step that they end
    double own_seconds_ = 0, began_ = 0;
};

} // namespace thence::detail
