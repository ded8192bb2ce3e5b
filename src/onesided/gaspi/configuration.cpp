// SPDX-License-Identifier: BSD-3-Clause
// The configuration, and the calls that tell a limit.
#include "onesided/gaspi/process.hpp"

#include <PGASPI.h>

#include <climits>
#include <thence/notify.h>

namespace thence::gaspi {

namespace {

constexpr gaspi_config_t make_default() noexcept {
    gaspi_config_t made{};
    made.logger = 1;
    made.sn_port = 12121;
    made.sn_timeout = 30000;
    made.dev_config.network_type = GASPI_ETHERNET;
    made.dev_config.params.tcp.port = 19000;
    made.network = GASPI_ETHERNET;
    made.queue_size_max = 1024;
    made.queue_num = 8;
    made.group_max = 32;
    made.segment_max = most_segments;
    made.transfer_size_max = gaspi_size_t{1} << 30;
    made.notification_num = 65536;
    made.passive_queue_size_max = 1024;
    made.passive_transfer_size_max = 65535;
    made.allreduce_buf_size = 2040;
    made.allreduce_elem_max = 255;
    made.rw_list_elem_max = 255;
    made.build_infrastructure = GASPI_TOPOLOGY_STATIC;
    return made;
}

// In bytes. A process sends all packets of a value at once, so that many may be on their way to a rank that is slow.
constexpr std::size_t most_reduced = std::size_t{1} << 24;

bool is_in(unsigned long value, unsigned long least, unsigned long most) noexcept {
    return value >= least && value <= most;
}

bool is_valid(const gaspi_config_t &given) noexcept {
    return is_in(given.queue_size_max, 1, 4096) && is_in(given.queue_num, 1, most_queues) &&
           is_in(given.group_max, 1, 255) && is_in(given.segment_max, 1, most_segments) &&
           is_in(given.transfer_size_max, 1, gaspi_size_t{1} << 40) &&
           given.notification_num <= THENCE_MOST_NOTIFICATIONS && is_in(given.passive_queue_size_max, 1, 4096) &&
           is_in(given.passive_transfer_size_max, 1, INT_MAX) && is_in(given.allreduce_buf_size, 1, most_reduced) &&
           is_in(given.allreduce_elem_max, 1, most_reduced / 8) && is_in(given.rw_list_elem_max, 1, 255) &&
           is_in(given.sn_port, 1024, 65535) && given.network <= GASPI_OFI &&
           given.build_infrastructure <= GASPI_TOPOLOGY_DYNAMIC;
}

template <class T, class V> gaspi_return_t tell(T *to, V value) noexcept {
    THENCE_GASPI_NOT_NULL(to);
    *to = static_cast<T>(value);
    return GASPI_SUCCESS;
}

} // namespace

gaspi_config_t configuration = make_default();

} // namespace thence::gaspi

using namespace thence::gaspi;

extern "C" {

gaspi_return_t pgaspi_config_get(gaspi_config_t *config) {
    return tell(config, configuration);
}

gaspi_return_t pgaspi_config_set(gaspi_config_t new_config) {
    if (current.load() != nullptr || !is_valid(new_config)) {
        return GASPI_ERR_CONFIG;
    }
    configuration = new_config;
    return GASPI_SUCCESS;
}

gaspi_return_t pgaspi_version(float *version) {
    return tell(version, GASPI_MAJOR_VERSION + GASPI_MINOR_VERSION / 10.0F);
}

gaspi_return_t pgaspi_group_max(gaspi_number_t *group_max) {
    return tell(group_max, configuration.group_max);
}
gaspi_return_t pgaspi_segment_max(gaspi_number_t *segment_max) {
    return tell(segment_max, configuration.segment_max);
}
gaspi_return_t pgaspi_queue_size_max(gaspi_number_t *queue_size_max) {
    return tell(queue_size_max, configuration.queue_size_max);
}
gaspi_return_t pgaspi_queue_max(gaspi_number_t *queue_max) {
    return tell(queue_max, most_queues);
}
gaspi_return_t pgaspi_transfer_size_min(gaspi_size_t *transfer_size_min) {
    return tell(transfer_size_min, 0); // nothing can be transferred
}
gaspi_return_t pgaspi_transfer_size_max(gaspi_size_t *transfer_size_max) {
    return tell(transfer_size_max, configuration.transfer_size_max);
}
gaspi_return_t pgaspi_notification_num(gaspi_number_t *notification_num) {
    return tell(notification_num, configuration.notification_num);
}
gaspi_return_t pgaspi_passive_transfer_size_min(gaspi_size_t *passive_transfer_size_min) {
    return tell(passive_transfer_size_min, 1);
}
gaspi_return_t pgaspi_passive_transfer_size_max(gaspi_size_t *passive_transfer_size_max) {
    return tell(passive_transfer_size_max, configuration.passive_transfer_size_max);
}
gaspi_return_t pgaspi_allreduce_buf_size(gaspi_size_t *buf_size) {
    return tell(buf_size, configuration.allreduce_buf_size);
}
gaspi_return_t pgaspi_allreduce_elem_max(gaspi_number_t *elem_max) {
    return tell(elem_max, configuration.allreduce_elem_max);
}
gaspi_return_t pgaspi_rw_list_elem_max(gaspi_number_t *elem_max) {
    return tell(elem_max, configuration.rw_list_elem_max);
}
gaspi_return_t pgaspi_network_type(gaspi_network_t *network_type) {
    return tell(network_type, configuration.network);
}
gaspi_return_t pgaspi_build_infrastructure(gaspi_number_t *build_infrastructure) {
    return tell(build_infrastructure, configuration.build_infrastructure);
}
gaspi_return_t pgaspi_atomic_max(gaspi_atomic_value_t *max_value) {
    return tell(max_value, ULONG_MAX);
}

THENCE_GASPI_ALIAS(config_get);
THENCE_GASPI_ALIAS(config_set);
THENCE_GASPI_ALIAS(version);
THENCE_GASPI_ALIAS(group_max);
THENCE_GASPI_ALIAS(segment_max);
THENCE_GASPI_ALIAS(queue_size_max);
THENCE_GASPI_ALIAS(queue_max);
THENCE_GASPI_ALIAS(atomic_max);
THENCE_GASPI_ALIAS(transfer_size_min);
THENCE_GASPI_ALIAS(transfer_size_max);
THENCE_GASPI_ALIAS(notification_num);
THENCE_GASPI_ALIAS(passive_transfer_size_min);
THENCE_GASPI_ALIAS(passive_transfer_size_max);
THENCE_GASPI_ALIAS(allreduce_buf_size);
THENCE_GASPI_ALIAS(allreduce_elem_max);
THENCE_GASPI_ALIAS(network_type);
THENCE_GASPI_ALIAS(build_infrastructure);
THENCE_GASPI_ALIAS(rw_list_elem_max);

} // extern "C"
