// SPDX-License-Identifier: BSD-3-Clause
#include "request.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <new>
#include <string>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes) ((void)(address))
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) ((void)(address))
#endif

namespace thence::fake {
namespace {

constexpr std::uintptr_t integer_handles = 0x98000000U; // in the range of MPICH's requests

std::mutex mutex;
std::size_t fresh = 0; // the number of requests that have ever been used
std::size_t in_use = 0;
std::size_t quarantine = 0;
std::deque<request *> &released() {
    static std::deque<request *> list;
    return list;
}

request *arena() {
    static request *const memory = [] {
        void *mapped = mmap(nullptr, most_requests * sizeof(request), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mapped == MAP_FAILED) {
            abort_test("mmap", "no address space for the fake's requests");
        }
        return static_cast<request *>(mapped);
    }();
    return memory;
}

} // namespace

MPI_Request handle_of(const request &q) noexcept {
    if constexpr (std::is_integral_v<MPI_Request>) {
        return make_handle<MPI_Request>(integer_handles + static_cast<std::uintptr_t>(&q - arena()));
    } else {
        return make_handle<MPI_Request>(reinterpret_cast<std::uintptr_t>(&q));
    }
}

request *find_request(MPI_Request handle) noexcept {
    std::uintptr_t offset = value_of(handle);
    if constexpr (std::is_integral_v<MPI_Request>) {
        offset = (offset - integer_handles) * sizeof(request);
    } else {
        offset -= reinterpret_cast<std::uintptr_t>(arena());
    }
    if (offset >= most_requests * sizeof(request) || offset % sizeof(request) != 0) {
        return nullptr;
    }
    request *q = arena() + offset / sizeof(request);
    return q->now.load(std::memory_order_acquire) == life::never_used ? nullptr : q;
}

void set_quarantine(std::size_t how_many) {
    std::scoped_lock guard(mutex);
    quarantine = how_many;
}

request &take_request() {
    std::scoped_lock guard(mutex);
    request *q = nullptr;
    if (released().size() > quarantine) {
        // Without quarantine last in, first out, as MPIs do.
        q = quarantine == 0 ? released().back() : released().front();
        quarantine == 0 ? released().pop_back() : released().pop_front();
        ASAN_UNPOISON_MEMORY_REGION(q, laid_out_bytes);
    } else if (fresh < most_requests) {
        q = new (arena() + fresh++) request;
    } else {
        abort_test("a start of an operation", "no fake request is left");
    }
    ++in_use;
    return *q;
}

void give_request(request &q) {
    if (q.now.exchange(life::released, std::memory_order_acq_rel) == life::released) {
        misuse("the release", &q, "it is released already");
        return;
    }
    std::scoped_lock guard(mutex);
    --in_use;
    ASAN_POISON_MEMORY_REGION(&q, laid_out_bytes);
    released().push_back(&q);
}

std::size_t requests_in_use() noexcept {
    std::scoped_lock guard(mutex);
    return in_use;
}

void misuse(const char *call, const request *q, const char *what) {
    ADD_FAILURE() << "fake MPI: " << call << " of request " << static_cast<const void *>(q) << ": " << what;
}

void abort_test(const char *call, const char *what) {
    std::fprintf(stderr, "fake MPI: %s: %s\n", call, what);
    std::abort();
}

completing_call::completing_call(request &q, const char *call) noexcept : q_(&q) {
    const char *other = nullptr;
    if (!q.in_call.compare_exchange_strong(other, call)) {
        misuse(call, &q, (std::string("it is inside ") + other + " already").c_str());
        q_ = nullptr; // the other call clears it
    }
}

completing_call::~completing_call() {
    if (q_ != nullptr) {
        q_->in_call.store(nullptr);
    }
}

} // namespace thence::fake
