// SPDX-License-Identifier: BSD-3-Clause
// GASPI for the time of one test, and what its tests share.
#pragma once

#include "onesided.hpp"
#include "support.hpp"

#include <GASPI_Ext.h>
#include <GASPI_Lowlevel.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

class gaspi : public testing::Test {
protected:
    void SetUp() override {
        ASSERT_EQ(gaspi_proc_init(GASPI_BLOCK), GASPI_SUCCESS);
        gaspi_proc_rank(&rank);
        gaspi_proc_num(&size);
        next = static_cast<gaspi_rank_t>((rank + 1) % size);
        previous = static_cast<gaspi_rank_t>((rank + size - 1) % size);
    }
    void TearDown() override {
        gaspi_number_t initialized = 0;
        gaspi_initialized(&initialized);
        if (!HasFatalFailure() && initialized != 0) {
            EXPECT_EQ(gaspi_proc_term(GASPI_BLOCK), GASPI_SUCCESS);
        }
    }
    unsigned char *make(gaspi_segment_id_t number, gaspi_size_t bytes) {
        EXPECT_EQ(gaspi_segment_create(number, bytes, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED),
                  GASPI_SUCCESS);
        gaspi_pointer_t memory = nullptr;
        EXPECT_EQ(gaspi_segment_ptr(number, &memory), GASPI_SUCCESS);
        return static_cast<unsigned char *>(memory);
    }
    static gaspi_notification_t await(gaspi_segment_id_t segment, gaspi_notification_id_t id) {
        gaspi_notification_id_t found = 0;
        gaspi_notification_t value = 0;
        EXPECT_EQ(gaspi_notify_waitsome(segment, id, 1, &found, GASPI_BLOCK), GASPI_SUCCESS);
        EXPECT_EQ(found, id);
        EXPECT_EQ(gaspi_notify_reset(segment, id, &value), GASPI_SUCCESS);
        return value;
    }
    static double ms_of(auto call) {
        const auto begun = std::chrono::steady_clock::now();
        call();
        return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count();
    }

    // Stops a process of this host. Each of its threads stops when it runs next, which takes long on a busy machine.
    static void stop(int process) {
        ASSERT_EQ(kill(process, SIGSTOP), 0);
        const auto is_stopped = [](const std::filesystem::path &thread) {
            std::ifstream about(thread / "stat");
            std::string text;
            std::getline(about, text);
            const std::size_t behind_name = text.rfind(')');
            return behind_name == std::string::npos || text.compare(behind_name, 3, ") T") == 0;
        };
        const auto threads = [&] {
            return std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task");
        };
        while (!std::all_of(begin(threads()), end(threads()), is_stopped)) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

    // The call returns when its time is over. The best of several, since this machine may have other work.
    static void expect_time(int asked_ms, auto call) {
        double best = 1e9;
        for (int i = 0; i < 60 && best > asked_ms + 20; ++i) {
            best =
                std::min(best, ms_of([&] { EXPECT_EQ(call(static_cast<gaspi_timeout_t>(asked_ms)), GASPI_TIMEOUT); }));
        }
        EXPECT_GE(best, asked_ms);
        EXPECT_LE(best, asked_ms + 20);
    }

    gaspi_rank_t rank = 0;
    gaspi_rank_t size = 1;
    gaspi_rank_t next = 0;
    gaspi_rank_t previous = 0;
};

// With a configuration of its own.
class configured_gaspi : public gaspi {
protected:
    virtual void configure(gaspi_config_t &config) = 0;
    void SetUp() override {
        ASSERT_EQ(gaspi_config_get(&before_), GASPI_SUCCESS);
        gaspi_config_t config = before_;
        configure(config);
        ASSERT_EQ(gaspi_config_set(config), GASPI_SUCCESS);
        gaspi::SetUp();
    }
    void TearDown() override {
        gaspi::TearDown();
        EXPECT_EQ(gaspi_config_set(before_), GASPI_SUCCESS);
    }

private:
    gaspi_config_t before_{};
};
