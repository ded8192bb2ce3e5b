// SPDX-License-Identifier: BSD-3-Clause
// What sanitizers report of oneTBB itself, which is not instrumented.
//
// ThreadSanitizer sees no synchronization inside oneTBB. So it must not check the memory that oneTBB itself gives to
// functions such as memcmp and delete, nor the stack on which it calls our observer: another thread may have run a task
// there before.
//
// LeakSanitizer looks when the program ends. A worker of oneTBB may then not have left its arena yet, and oneTBB keeps
// what it has allocated for the arena's observer until it has.
#if defined(__SANITIZE_THREAD__)
extern "C" __attribute__((visibility("default"))) const char *__tsan_default_suppressions() {
    return "called_from_lib:libtbb.so\nrace:thence::detail::block_signals\n";
}
#endif
#if defined(__SANITIZE_ADDRESS__)
extern "C" __attribute__((visibility("default"))) const char *__lsan_default_suppressions() {
    return "leak:tbb::detail::r1::observe\n";
}
#endif
