// SPDX-License-Identifier: BSD-3-Clause
// The fixture of the tests of THENCE_CR_IN_COMPLETION: it records in which order operations complete and callbacks run.
#pragma once

#include "library.hpp"

#include "core/engine/engine.hpp"

#include <cstring>
#include <functional>
#include <map>
#include <string>

namespace thence::fake {

inline constexpr unsigned flag = THENCE_CR_IN_COMPLETION;

inline unsigned in_force(MPI_Request c) {
    thence_cr_info info{};
    EXPECT_EQ(thence_cr_query(c, &info, sizeof info), MPI_SUCCESS);
    return info.flags;
}

// On every MPI the option changes nothing but the order.
class in_completion_fixture : public on_fake {
protected:
    void SetUp() override {
        in_force_ = std::strcmp(engine::current->name(), "openmpi") == 0;
        world.at_step = [this](step where, MPI_Request request) {
            if (where == step::before_callback) {
                order_ += names_.count(request) != 0 ? names_.at(request) : '?';
            }
        };
    }
    void TearDown() override { world.at_step = nullptr; }

    // An operation. Its completion is recorded as this capital letter, its callback as the small one.
    MPI_Request start(char name, kind what = kind::point_to_point) {
        MPI_Request r = world.start(what);
        names_[r] = name;
        return r;
    }
    struct noted : note {
        noted(in_completion_fixture &test, char small) {
            inside = [&test, small] { test.order_ += small; };
        }
    };
    struct two_operations {
        two_operations(in_completion_fixture &test, MPI_Request c) : a(test, 'a'), b(test, 'b') {
            MPI_Request first = test.start('A');
            MPI_Request second = test.start('B');
            tickets[0] = world.ticket_of(first);
            tickets[1] = world.ticket_of(second);
            attach(first, a, c);
            attach(second, b, c);
        }
        void complete_in_progress() const {
            world.complete_in_progress(tickets[0]);
            world.complete_in_progress(tickets[1]);
        }
        noted a;
        noted b;
        ticket tickets[2];
    };
    void expect_in_turn(const two_operations &both) const {
        EXPECT_EQ(both.a.runs + both.b.runs, 2);
        if (in_force_) {
            EXPECT_EQ(order_, "AaBb");
        }
    }
    // No other call makes progress than the one in `done`.
    static bool eventually_with(const std::function<bool()> &done) {
        for (int i = 0; i < 1000; ++i) {
            if (done()) {
                return true;
            }
        }
        return false;
    }
    void let_all_run() {
        for (int i = 0; i < 5; ++i) {
            let_run();
        }
    }

    bool in_force_ = false;
    std::string order_;
    std::map<MPI_Request, char> names_;
};

} // namespace thence::fake
