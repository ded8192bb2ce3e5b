// SPDX-License-Identifier: BSD-3-Clause
#include "library.hpp"

#include "core/continuation/complete.hpp"
#include "core/continuation/lifetime.hpp"
#include "core/continuation/request.hpp"
#include "core/engine/engine.hpp"
#include "core/progress/interposed.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>

namespace thence::fake {

std::ostream &operator<<(std::ostream &out, const variant &v) {
    return out << v.name;
}

std::vector<variant> all_variants() {
    features opal;
    opal.opal_progress = true;
    features unread = opal;
    unread.requests = layout::other_state;
    features async;
    async.async_start = true;
    async.is_complete = true;
    features look;
    look.is_complete = true;
    return {
#if defined(OPEN_MPI)
        {"openmpi_native", "openmpi", opal, true},
#endif
            {"opal_hook", "testsome", opal, true},
#if defined(OPEN_MPI)
            {"opal_unread", "testsome", unread, true},
#endif
            {"mpich_async", "mpich", async, false}, // its hook runs under a lock of MPI, so it only finds completions
            {"mpich_no_hook", "mpich", look, false}, {"plain", "testsome", features{}, false},
    };
}

std::vector<variant> variants_where(bool (*holds)(const variant &)) {
    std::vector<variant> found = all_variants();
    std::erase_if(found, [&](const variant &v) { return !holds(v); });
    return found;
}

std::string name_of(const ::testing::TestParamInfo<variant> &info) {
    return info.param.name;
}

library::library(const variant &v) : before_(continuation::continuation_request::registered_in_all()) {
    world.begin(v.offers);
    // The choice of an engine depends on the header of this MPI. In tests each engine runs with every header.
    setenv("THENCE_ENGINE", std::strcmp(v.engine, "openmpi") == 0 ? "openmpi" : "testsome", 1);
    unsetenv("THENCE_PROGRESS");
    if (continuation::set_up() != continuation::setting_up::done) {
        ADD_FAILURE() << "the library could not be set up";
        return;
    }
    if (std::strcmp(v.engine, "mpich") == 0) {
        const char *reason = "";
        engine::reset();
        engine::current =
            engine::make_mpich({&continuation::operation_complete, nullptr, progress::interposed.calls}, &reason);
        if (engine::current == nullptr) {
            abort_test("mpich engine", reason);
        }
    }
    EXPECT_STREQ(engine::current->name(), v.engine) << engine::current->why();
    good_ = true;
}

library::~library() {
    if (!good_) {
        return;
    }
    EXPECT_EQ(continuation::continuation_request::registered_in_all(), before_) << "continuations are left";
    continuation::tear_down();
    engine::reset();
    progress::slow_path_reasons.store(0);
    world.end();
}

int note::run(int error, MPI_Status *statuses, void *data) {
    note &n = *static_cast<note *>(data);
    n.error = error;
    n.statuses = statuses;
    n.thread = std::this_thread::get_id();
    if (n.inside) {
        n.inside();
    }
    n.runs.fetch_add(1, std::memory_order_release);
    return n.answer;
}

int attach(MPI_Request &request, note &n, MPI_Request cr, MPI_Status *status, unsigned flags) {
    int flag = -1;
    EXPECT_EQ(thence_attach(1, &request, &note::run, &n, flags, status, cr, &flag), MPI_SUCCESS);
    return flag;
}

int attach(std::vector<MPI_Request> &requests, note &n, MPI_Request cr, MPI_Status *statuses, unsigned flags) {
    int flag = -1;
    EXPECT_EQ(
        thence_attach(static_cast<int>(requests.size()), requests.data(), &note::run, &n, flags, statuses, cr, &flag),
        MPI_SUCCESS);
    return flag;
}

ticket attach_pending(note &n, MPI_Request cr, MPI_Status *status, unsigned flags) {
    MPI_Request request = world.start();
    const ticket operation = world.ticket_of(request);
    EXPECT_EQ(attach(request, n, cr, status, flags), 0);
    return operation;
}

MPI_Request completed(int source) {
    MPI_Request request = world.start();
    world.complete(request, {source});
    return request;
}

void let_run() {
    EXPECT_EQ(thence_progress(), MPI_SUCCESS);
}

bool eventually(const std::function<bool()> &done) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!done()) {
        let_run();
        std::this_thread::yield();
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
    }
    return true;
}

thence_stats_info stats() {
    thence_stats_info s{};
    EXPECT_EQ(thence_stats_query(&s, sizeof s), MPI_SUCCESS);
    return s;
}

} // namespace thence::fake
