// SPDX-License-Identifier: BSD-3-Clause
// The C names.
#include <thence/dataflow.h>
#include <thence/dataflow.hpp>

#include "dataflow/flow.hpp"

#include <cerrno>
#include <vector>

namespace {

namespace libthence_tasks = thence::libthence_tasks;
using thence::dataflow::this_thread;

static_assert(THENCE_FLOW_IN == static_cast<int>(thence::access_kind::in));
static_assert(THENCE_FLOW_CONCURRENT == static_cast<int>(thence::access_kind::concurrent));
static_assert(THENCE_FLOW_COMMUTATIVE == static_cast<int>(thence::access_kind::commutative));
static_assert(THENCE_FLOW_OUT == static_cast<int>(thence::access_kind::out));
static_assert(THENCE_FLOW_INOUT == static_cast<int>(thence::access_kind::inout));

constinit thread_local int failure = 0;

thence::detail::flow_state &current_flow() {
    thence::dataflow::task *const running = this_thread().running;
    return running != nullptr ? *running->runs_in : libthence_tasks::default_flow();
}

// Calls `what`, and turns exceptions into codes.
template <class What> int coded(What &&what) noexcept {
    try {
        what();
        return 0;
    } catch (const thence::event_error &error) {
        failure = error.code();
        return EIO;
    } catch (const std::bad_alloc &) {
        return ENOMEM;
    } catch (...) {
        failure = -1;
        return EIO;
    }
}

struct c_body {
    void (*body)(void *);
    void *arg;
    void (*ready)(void *);
    void *ready_arg;

    static void run(void *object) noexcept { static_cast<c_body *>(object)->body(static_cast<c_body *>(object)->arg); }
    static void onready(void *object) noexcept {
        static_cast<c_body *>(object)->ready(static_cast<c_body *>(object)->ready_arg);
    }
};
constexpr thence::detail::task_body plain{sizeof(c_body), c_body::run, nullptr, nullptr};
constexpr thence::detail::task_body with_onready{sizeof(c_body), c_body::run, c_body::onready, nullptr};

// Accesses of C as those of C++. Few need no memory.
class converted {
public:
    converted(std::size_t count, const thence_flow_access *accesses) {
        thence::access *to = few_;
        if (count > std::size(few_)) {
            many_.resize(count);
            to = many_.data();
        }
        for (std::size_t i = 0; i < count; ++i) {
            to[i] = {accesses[i].start, static_cast<thence::access_kind>(accesses[i].kind)};
        }
        all_ = {to, count};
    }
    converted &operator=(converted &&) = delete;
    std::span<const thence::access> all() const { return all_; }

private:
    thence::access few_[16];
    std::vector<thence::access> many_;
    std::span<const thence::access> all_;
};

bool valid(std::size_t count, const thence_flow_access *accesses) noexcept {
    if (count != 0 && accesses == nullptr) {
        return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (accesses[i].kind < THENCE_FLOW_IN || accesses[i].kind > THENCE_FLOW_INOUT) {
            return false;
        }
    }
    return true;
}

} // namespace

extern "C" {

int thence_flow_submit(size_t count, const thence_flow_access *accesses, void (*body)(void *), void *arg,
                       const thence_flow_options *options) {
    const void *const submitted_at = __builtin_return_address(0);
    if (body == nullptr || !valid(count, accesses)) {
        return EINVAL;
    }
    if (this_thread().in_onready) {
        return EPERM;
    }
    constexpr thence_flow_options none{};
    const thence_flow_options &chosen = options != nullptr ? *options : none;
    return coded([&] {
        const converted own(count, accesses);
        thence::detail::flow_state &flow = current_flow();
        auto *const made = flow.prepare(chosen.onready != nullptr ? with_onready : plain, count);
        new (made->object) c_body{body, arg, chosen.onready, chosen.onready_arg};
        flow.submit(*made, own.all(), {chosen.priority, chosen.label}, submitted_at);
    });
}

int thence_flow_taskwait(void) {
    if (this_thread().in_onready) {
        return EPERM;
    }
    return coded([] { current_flow().wait_for_children(); });
}

int thence_flow_taskwait_on(size_t count, const thence_flow_access *accesses) {
    if (!valid(count, accesses)) {
        return EINVAL;
    }
    if (this_thread().in_onready) {
        return EPERM;
    }
    return coded([&] {
        const converted own(count, accesses);
        libthence_tasks::wait_for_accesses(current_flow(), own.all().data(), own.all().size());
    });
}

int thence_flow_failure(void) {
    return failure;
}

int thence_flow_spawn(void (*body)(void *), void *args, void (*completed)(void *), void *completed_args,
                      const char *label) {
    const void *const submitted_at = __builtin_return_address(0);
    if (body == nullptr) {
        return EINVAL;
    }
    return coded([&] {
        thence::detail::flow_state &flow = current_flow();
        auto *const made = flow.prepare(plain, 0);
        new (made->object) c_body{body, args, nullptr, nullptr};
        made->completed = completed;
        made->completed_argument = completed_args;
        flow.spawn(*made, {.label = label}, submitted_at);
    });
}

void *thence_flow_current(void) {
    return libthence_tasks::running_task();
}

int thence_flow_block(void *task) {
    if (task == nullptr || task != thence_flow_current()) {
        return EPERM;
    }
    return libthence_tasks::block() ? 0 : EPERM;
}

int thence_flow_unblock(void *task) {
    if (task == nullptr) {
        return EINVAL;
    }
    return libthence_tasks::unblock(static_cast<thence::detail::dataflow_task *>(task)) ? 0 : EALREADY;
}

int thence_flow_raise(void *task, uint64_t n) {
    if (libthence_tasks::raise(static_cast<thence::detail::dataflow_task *>(task), n)) [[likely]] {
        return 0;
    }
    return task == nullptr ? EINVAL : EPERM;
}

int thence_flow_lower(void *task, uint64_t n) {
    return thence_flow_lower_error(task, n, 0);
}

int thence_flow_lower_error(void *task, uint64_t n, int error) {
    return libthence_tasks::lower(static_cast<thence::detail::dataflow_task *>(task), n, error) ? 0 : EINVAL;
}

int thence_flow_sleep_for(uint64_t ns, uint64_t *slept_ns) {
    std::uint64_t slept = 0;
    try {
        slept = libthence_tasks::sleep_ns(ns);
    } catch (...) {
        return ENOMEM;
    }
    if (slept_ns != nullptr) {
        *slept_ns = slept;
    }
    return 0;
}

int thence_flow_workers(void) {
    return libthence_tasks::workers_of(current_flow());
}

void thence_flow_on_idle(int (*poll)(void)) {
    thence::dataflow::task_scheduler::poll_while_idle(poll);
}

void thence_flow_between_tasks(int (*poll)(void)) {
    thence::dataflow::task_scheduler::poll_between_tasks(poll);
}

int thence_flow_report(void (*tell)(const thence_flow_waiting *, void *), void *data) {
    if (tell == nullptr) {
        return EINVAL;
    }
    struct report {
        void (*tell)(const thence_flow_waiting *, void *);
        void *data;
    } to{tell, data};
    return coded([&] {
        libthence_tasks::report_waiting(
            [](const thence::detail::task_report &one, void *argument) {
                const thence_flow_waiting line{one.label, one.submitted_at, one.state, one.events};
                static_cast<report *>(argument)->tell(&line, static_cast<report *>(argument)->data);
            },
            &to);
    });
}

} // extern "C"
