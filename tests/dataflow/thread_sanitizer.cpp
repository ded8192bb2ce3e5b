// SPDX-License-Identifier: BSD-3-Clause
// The sanitizer sees no synchronization inside oneTBB, which is not instrumented. So it must not check the memory that
// oneTBB itself gives to functions such as memcmp and delete, nor the stack on which it calls our observer: another
// thread may have run a task there before.
#if defined(__SANITIZE_THREAD__)
extern "C" __attribute__((visibility("default"))) const char *__tsan_default_suppressions() {
    return "called_from_lib:libtbb.so\nrace:thence::detail::block_signals\n";
}
#endif
