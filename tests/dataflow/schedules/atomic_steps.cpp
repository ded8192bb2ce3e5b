// SPDX-License-Identifier: BSD-3-Clause
// The sources under test are compiled for the thread sanitizer, so each of their atomic operations calls a function of
// it. These are here, in place of the sanitizer's own: a step of the schedule, then the operation.
#include "threads.hpp"

#include <cstdint>
#include <ctime>

namespace {

template <class T, class Operation> T step(Operation &&operation) {
    schedules::begin_step();
    return operation();
}
template <class T, class Operation> T change(volatile T *word, Operation &&operation) {
    return step<T>([&] {
        const T before = operation();
        schedules::end_step(before != __atomic_load_n(word, __ATOMIC_SEQ_CST));
        return before;
    });
}
template <class T> int exchange_if(volatile T *word, T *expected, T wanted) {
    return step<int>([&] {
        const bool done =
            __atomic_compare_exchange_n(word, expected, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        schedules::end_step(done);
        return done ? 1 : 0;
    });
}

} // namespace

extern "C" {

// A lock of the sources sleeps when it has waited for some time.
int nanosleep(const timespec *, timespec *) {
    schedules::give_way();
    return 0;
}

#define ATOMIC_OPERATIONS(bits)                                                                                        \
    std::uint##bits##_t __tsan_atomic##bits##_load(const volatile std::uint##bits##_t *word, int) {                    \
        return step<std::uint##bits##_t>([&] {                                                                         \
            schedules::end_step(false);                                                                                \
            return __atomic_load_n(word, __ATOMIC_SEQ_CST);                                                            \
        });                                                                                                            \
    }                                                                                                                  \
    void __tsan_atomic##bits##_store(volatile std::uint##bits##_t *word, std::uint##bits##_t value, int) {             \
        change(word, [&] { return __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST); });                              \
    }                                                                                                                  \
    std::uint##bits##_t __tsan_atomic##bits##_exchange(volatile std::uint##bits##_t *word, std::uint##bits##_t value,  \
                                                       int) {                                                          \
        return change(word, [&] { return __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST); });                       \
    }                                                                                                                  \
    int __tsan_atomic##bits##_compare_exchange_strong(                                                                 \
        volatile std::uint##bits##_t *word, std::uint##bits##_t *expected, std::uint##bits##_t wanted, int, int) {     \
        return exchange_if(word, expected, wanted);                                                                    \
    }                                                                                                                  \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile std::uint##bits##_t *word, std::uint##bits##_t *expected, \
                                                    std::uint##bits##_t wanted, int, int) {                            \
        return exchange_if(word, expected, wanted);                                                                    \
    }                                                                                                                  \
    READ_MODIFY_WRITE(bits, fetch_add)                                                                                 \
    READ_MODIFY_WRITE(bits, fetch_sub)                                                                                 \
    READ_MODIFY_WRITE(bits, fetch_and)                                                                                 \
    READ_MODIFY_WRITE(bits, fetch_or)
#define READ_MODIFY_WRITE(bits, name)                                                                                  \
    std::uint##bits##_t __tsan_atomic##bits##_##name(volatile std::uint##bits##_t *word, std::uint##bits##_t value,    \
                                                     int) {                                                            \
        return change(word, [&] { return __atomic_##name(word, value, __ATOMIC_SEQ_CST); });                           \
    }
ATOMIC_OPERATIONS(8)
ATOMIC_OPERATIONS(32)
ATOMIC_OPERATIONS(64)

// What else the compiler calls: nothing of it is a step.
#define NO_STEP(name)                                                                                                  \
    void __tsan_##name(const void *) {}
NO_STEP(read1)
NO_STEP(read2)
NO_STEP(read4)
NO_STEP(read8)
NO_STEP(read16)
NO_STEP(write1)
NO_STEP(write2)
NO_STEP(write4)
NO_STEP(write8)
NO_STEP(write16)
NO_STEP(unaligned_read2)
NO_STEP(unaligned_read4)
NO_STEP(unaligned_read8)
NO_STEP(unaligned_read16)
NO_STEP(unaligned_write2)
NO_STEP(unaligned_write4)
NO_STEP(unaligned_write8)
NO_STEP(unaligned_write16)
NO_STEP(vptr_read)
NO_STEP(func_entry)
void __tsan_init() {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void **, void *) {}
void __tsan_read_range(const void *, unsigned long) {}
void __tsan_write_range(void *, unsigned long) {}
void *__tsan_memset(void *to, int value, unsigned long bytes) {
    return __builtin_memset(to, value, bytes);
}
void *__tsan_memcpy(void *to, const void *from, unsigned long bytes) {
    return __builtin_memcpy(to, from, bytes);
}
void *__tsan_memmove(void *to, const void *from, unsigned long bytes) {
    return __builtin_memmove(to, from, bytes);
}

} // extern "C"
