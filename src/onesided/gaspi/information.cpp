// SPDX-License-Identifier: BSD-3-Clause
// Time, texts of codes, statistics, and what GPI-2 offers to print.
#include "onesided/gaspi/process.hpp"

#include <PGASPI.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sched.h>
#include <string>
#include <unistd.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace thence::gaspi {

namespace {

struct text_of_code {
    gaspi_return_t code;
    const char *text;
};
constexpr text_of_code texts[] = {
    {GASPI_ERROR, "general error"},
    {GASPI_SUCCESS, "success"},
    {GASPI_TIMEOUT, "timeout"},
    {GASPI_ERR_EMFILE, "too many open files"},
    {GASPI_ERR_ENV, "incorrect environment"},
    {GASPI_ERR_SN_PORT, "invalid port"},
    {GASPI_ERR_CONFIG, "invalid configuration"},
    {GASPI_ERR_NOINIT, "not initialized"},
    {GASPI_ERR_INITED, "initialized already"},
    {GASPI_ERR_NULLPTR, "null pointer"},
    {GASPI_ERR_INV_SEGSIZE, "invalid segment size"},
    {GASPI_ERR_INV_SEG, "invalid segment"},
    {GASPI_ERR_INV_GROUP, "invalid group"},
    {GASPI_ERR_INV_RANK, "invalid rank"},
    {GASPI_ERR_INV_QUEUE, "invalid queue"},
    {GASPI_ERR_INV_LOC_OFF, "invalid local offset"},
    {GASPI_ERR_INV_REM_OFF, "invalid remote offset"},
    {GASPI_ERR_INV_COMMSIZE, "invalid size of transfer"},
    {GASPI_ERR_INV_NOTIF_VAL, "invalid notification value"},
    {GASPI_ERR_INV_NOTIF_ID, "invalid notification"},
    {GASPI_ERR_INV_NUM, "invalid number"},
    {GASPI_ERR_INV_SIZE, "invalid size"},
    {GASPI_ERR_MANY_SEG, "too many segments"},
    {GASPI_ERR_MANY_GRP, "too many groups"},
    {GASPI_QUEUE_FULL, "queue full"},
    {GASPI_ERR_UNALIGN_OFF, "offset not aligned"},
    {GASPI_ERR_ACTIVE_COLL, "another collective call is active"},
    {GASPI_ERR_DEVICE, "device error"},
    {GASPI_ERR_SN, "error of a connection"},
    {GASPI_ERR_MEMALLOC, "memory exhausted"},
};

const char *text_of(gaspi_return_t code) noexcept {
    for (const text_of_code &each : texts) {
        if (each.code == code) {
            return each.text;
        }
    }
    return "undefined";
}

struct counter_row {
    const char *name;
    const char *description;
};
constexpr counter_row rows[most_counters] = {
    {"writes", "pieces written"},
    {"reads", "pieces read"},
    {"notifications", "notifications sent"},
    {"bytes written", "bytes written"},
    {"bytes read", "bytes read"},
    {"barriers", "calls of gaspi_barrier"},
    {"reductions", "calls of gaspi_allreduce and gaspi_allreduce_user"},
    {"atomics", "atomic operations"},
    {"passive sends", "passive messages sent"},
    {"passive receives", "passive messages received"},
    {"passive bytes", "bytes of the passive messages that were sent"},
    {"bytes by messages", "bytes written and read by messages of MPI, not by shared memory"}};

void print(long rank, const char *format, std::va_list arguments) noexcept {
    char line[4096];
    std::vsnprintf(line, sizeof line, format, arguments);
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    std::printf("[Rank %4ld]: %s", rank, line);
    std::fflush(stdout);
}

long own_rank() noexcept {
    const process *const self = current.load(std::memory_order_acquire);
    return self != nullptr ? self->rank : -1;
}

// The number of the package of a processor; -1 if the system does not tell.
int package_of(int processor) {
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/topology/physical_package_id");
    int package = -1;
    file >> package;
    return file ? package : -1;
}

} // namespace

std::chrono::steady_clock::time_point begin_of_time() noexcept {
    static const auto begun = std::chrono::steady_clock::now();
    return begun;
}

} // namespace thence::gaspi

using namespace thence::gaspi;

extern "C" {

gaspi_return_t pgaspi_time_ticks(gaspi_cycles_t *ticks) {
    THENCE_GASPI_NOT_NULL(ticks);
#if defined(__x86_64__)
    *ticks = __rdtsc();
#else
    *ticks = static_cast<gaspi_cycles_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_time_get(gaspi_time_t *wtime) {
    THENCE_GASPI_NOT_NULL(wtime);
    const auto begun = begin_of_time(); // before the other, which is later then
    *wtime = std::chrono::duration<float, std::milli>(std::chrono::steady_clock::now() - begun).count();
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_cpu_frequency(gaspi_float *cpu_mhz) {
    THENCE_GASPI_NOT_NULL(cpu_mhz);
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        const std::size_t colon = line.find(':');
        if (line.starts_with("cpu MHz") && colon != std::string::npos) {
            *cpu_mhz = std::strtof(line.c_str() + colon + 1, nullptr);
            return GASPI_SUCCESS;
        }
    }
    return GASPI_ERROR;
}

gaspi_return_t pgaspi_print_error(gaspi_return_t error_code, gaspi_string_t *error_message) {
    THENCE_GASPI_NOT_NULL(error_message);
    *error_message = strdup(text_of(error_code));
    return *error_message != nullptr ? GASPI_SUCCESS : GASPI_ERR_MEMALLOC;
}

gaspi_string_t gaspi_error_str(gaspi_return_t error_code) {
    return const_cast<char *>(text_of(error_code)); // the interface has no const
}

gaspi_return_t pgaspi_statistic_verbosity_level(gaspi_number_t) {
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_statistic_counter_max(gaspi_number_t *counter_max) {
    THENCE_GASPI_NOT_NULL(counter_max);
    *counter_max = most_counters;
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_statistic_counter_info(gaspi_statistic_counter_t number,
                                             gaspi_statistic_argument_t *counter_argument, gaspi_string_t *counter_name,
                                             gaspi_string_t *counter_description, gaspi_number_t *verbosity_level) {
    THENCE_GASPI_NOT_NULL(counter_argument);
    THENCE_GASPI_NOT_NULL(counter_name);
    THENCE_GASPI_NOT_NULL(counter_description);
    THENCE_GASPI_NOT_NULL(verbosity_level);
    if (number >= most_counters) {
        return GASPI_ERR_INV_NUM;
    }
    *counter_argument = GASPI_STATISTIC_ARGUMENT_NONE;
    *counter_name = const_cast<char *>(rows[number].name);
    *counter_description = const_cast<char *>(rows[number].description);
    *verbosity_level = 1;
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_statistic_counter_get(gaspi_statistic_counter_t number, gaspi_number_t, unsigned long *value) {
    THENCE_GASPI_NOT_NULL(value);
    if (number >= most_counters) {
        return GASPI_ERR_INV_NUM;
    }
    *value = counters[number].load(std::memory_order_relaxed);
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_statistic_counter_reset(gaspi_statistic_counter_t number) {
    if (number >= most_counters) {
        return GASPI_ERR_INV_NUM;
    }
    counters[number].store(0, std::memory_order_relaxed);
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_numa_socket(gaspi_uchar *socket) {
    THENCE_GASPI_NOT_NULL(socket);
    const int package = package_of(sched_getcpu());
    if (package < 0) {
        return GASPI_ERROR;
    }
    *socket = static_cast<gaspi_uchar>(package);
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_set_socket_affinity(gaspi_uchar socket) {
    cpu_set_t wanted;
    CPU_ZERO(&wanted);
    bool any = false;
    for (int i = 0; i < CPU_SETSIZE && i < sysconf(_SC_NPROCESSORS_CONF); ++i) {
        if (package_of(i) == socket) {
            CPU_SET(static_cast<std::size_t>(i), &wanted);
            any = true;
        }
    }
    return any && sched_setaffinity(0, sizeof wanted, &wanted) == 0 ? GASPI_SUCCESS : GASPI_ERROR;
}

void gaspi_printf(const char *fmt, ...) {
    std::va_list arguments;
    va_start(arguments, fmt);
    print(own_rank(), fmt, arguments);
    va_end(arguments);
}

void gaspi_printf_to(gaspi_rank_t rank, const char *fmt, ...) {
    std::va_list arguments;
    va_start(arguments, fmt);
    print(rank, fmt, arguments);
    va_end(arguments);
}

void gaspi_print_affinity_mask(void) {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed);
    std::string text = "processors";
    for (int i = 0; i < CPU_SETSIZE; ++i) {
        if (CPU_ISSET(static_cast<std::size_t>(i), &allowed)) {
            text.append(" ").append(std::to_string(i));
        }
    }
    gaspi_printf("%s\n", text.c_str());
}

void gaspi_delay(void) {
    thence::detail::spin_pause();
}

THENCE_GASPI_ALIAS(time_ticks);
THENCE_GASPI_ALIAS(time_get);
THENCE_GASPI_ALIAS(print_error);
THENCE_GASPI_ALIAS(statistic_verbosity_level);
THENCE_GASPI_ALIAS(statistic_counter_max);
THENCE_GASPI_ALIAS(statistic_counter_info);
THENCE_GASPI_ALIAS(statistic_counter_get);
THENCE_GASPI_ALIAS(statistic_counter_reset);
THENCE_GASPI_ALIAS(cpu_frequency);
THENCE_GASPI_ALIAS(numa_socket);
THENCE_GASPI_ALIAS(set_socket_affinity);

} // extern "C"
