// SPDX-License-Identifier: BSD-3-Clause
// The sanitizer sees no synchronization inside oneTBB, which is not instrumented. So it must not check the memory that
// oneTBB itself gives to functions such as memcmp and delete.
#if defined(__SANITIZE_THREAD__)
extern "C" __attribute__((visibility("default"))) const char *__tsan_default_suppressions() {
    return "called_from_lib:libtbb.so\n";
}
#endif
