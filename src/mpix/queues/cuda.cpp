// SPDX-License-Identifier: BSD-3-Clause
#include "mpix/queues/cuda.hpp"

#include "core/api/errors.hpp"
#include "core/mpi/gpu.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace thence::queues {

namespace {

// Of the driver's interface. All of it is stable: the names with `_v2` are what its headers map the plain names to.
using result = int;
using device_pointer = unsigned long long;
constexpr result success = 0;
constexpr unsigned portable_and_mapped = 1 | 2; // CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_DEVICEMAP
constexpr unsigned wait_geq = 0;                // CU_STREAM_WAIT_VALUE_GEQ
constexpr int pointer_memory_type = 2;          // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
constexpr unsigned host_memory = 1;             // CU_MEMORYTYPE_HOST
constexpr int can_use_64_bit_mem_ops = 122;     // CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS
constexpr int can_use_mem_ops_of_v1 = 92;       // CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1

struct driver {
    result (*cuInit)(unsigned flags);
    result (*cuStreamGetCtx)(void *stream, void **context);
    result (*cuCtxPushCurrent_v2)(void *context);
    result (*cuCtxPopCurrent_v2)(void **context);
    result (*cuCtxGetDevice)(int *device);
    result (*cuDeviceGetAttribute)(int *value, int attribute, int device);
    result (*cuMemHostAlloc)(void **memory, std::size_t bytes, unsigned flags);
    result (*cuMemFreeHost)(void *memory);
    result (*cuMemHostGetDevicePointer_v2)(device_pointer *device, void *memory, unsigned flags);
    result (*cuPointerGetAttribute)(void *value, int attribute, device_pointer pointer);
    result (*cuMemcpyAsync)(device_pointer to, device_pointer from, std::size_t bytes, void *stream);
    result (*cuLaunchHostFunc)(void *stream, void (*function)(void *), void *data);
    result (*cuStreamIsCapturing)(void *stream, int *status);
    // Null in an old driver.
    result (*cuStreamWriteValue32_v2)(void *stream, device_pointer word, std::uint32_t value, unsigned flags);
    result (*cuStreamWaitValue32_v2)(void *stream, device_pointer word, std::uint32_t value, unsigned flags);

    const char *missing = nullptr; // why it cannot be used
};

// Loads the driver once.
const driver &the_driver() noexcept {
    static const driver loaded = [] {
        driver d{};
        void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) {
            d.missing = "the driver library libcuda.so.1 is not found";
            return d;
        }
        const auto find = [&](auto *&slot, const char *name, bool optional = false) {
            slot = reinterpret_cast<std::remove_reference_t<decltype(slot)>>(dlsym(library, name));
            if (slot == nullptr && !optional) {
                d.missing = "the driver library libcuda.so.1 is too old";
            }
        };
#define FIND(name) find(d.name, #name)
        FIND(cuInit);
        FIND(cuStreamGetCtx);
        FIND(cuCtxPushCurrent_v2);
        FIND(cuCtxPopCurrent_v2);
        FIND(cuCtxGetDevice);
        FIND(cuDeviceGetAttribute);
        FIND(cuMemHostAlloc);
        FIND(cuMemFreeHost);
        FIND(cuMemHostGetDevicePointer_v2);
        FIND(cuPointerGetAttribute);
        FIND(cuMemcpyAsync);
        FIND(cuLaunchHostFunc);
        FIND(cuStreamIsCapturing);
#undef FIND
        find(d.cuStreamWriteValue32_v2, "cuStreamWriteValue32_v2", true);
        find(d.cuStreamWaitValue32_v2, "cuStreamWaitValue32_v2", true);
        if (d.missing == nullptr && d.cuInit(0) != success) {
            d.missing = "the CUDA driver finds no device that it can use";
        }
        return d;
    }();
    return loaded;
}

struct cuda_queue {
    void *stream;
    void *context;
    std::uint32_t *done = nullptr; // for waits in host functions
    struct block {
        void *memory;
        std::size_t bytes;
    };
    std::mutex mutex{}; // guards the blocks
    std::vector<block> used{};
    std::vector<block> unused{};
};

cuda_queue &cuda_queue_of(void *queue) noexcept {
    return *static_cast<cuda_queue *>(queue);
}

// Calls a function of the driver in the context of the stream. There is no cuda_queue without the driver and a context.
template <class Call> result in_context(const cuda_queue &cuda, Call call) noexcept {
    const driver &d = the_driver();
    // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage)
    if (const result r = d.cuCtxPushCurrent_v2(cuda.context); r != success) {
        return r;
    }
    const result r = call(d);
    void *popped = nullptr;
    d.cuCtxPopCurrent_v2(&popped);
    return r;
}

// The same for a call that enqueues. A stream that captures a graph is refused: each run of the graph would have to
// start the operation again.
template <class Call> int enqueue(void *queue, Call call) noexcept {
    const cuda_queue &cuda = cuda_queue_of(queue);
    return in_context(cuda, [&](const driver &d) {
        int capturing = 0;
        if (const result r = d.cuStreamIsCapturing(cuda.stream, &capturing); r != success) {
            return r;
        }
        constexpr result refused = 1;
        return capturing != 0 ? refused : call(d, cuda);
    });
}

device_pointer on_device(const driver &d, std::uint32_t *word) noexcept {
    device_pointer there = 0;
    return d.cuMemHostGetDevicePointer_v2(&there, word, 0) == success ? there : 0;
}

int launch(void *queue, void (*function)(void *), void *data) noexcept {
    return enqueue(queue, [=](const driver &d, const cuda_queue &cuda) {
        return d.cuLaunchHostFunc(cuda.stream, function, data);
    });
}

int record(void *queue, std::uint32_t *word, std::uint32_t value) noexcept {
    return enqueue(queue, [=](const driver &d, const cuda_queue &cuda) {
        return d.cuStreamWriteValue32_v2(cuda.stream, on_device(d, word), value, 0);
    });
}

int wait(void *queue, std::uint32_t *word, std::uint32_t value) noexcept {
    return enqueue(queue, [=](const driver &d, const cuda_queue &cuda) {
        return d.cuStreamWaitValue32_v2(cuda.stream, on_device(d, word), value, wait_geq);
    });
}

// Without memory operations of the stream.
struct awaited {
    std::uint32_t *word;
    std::uint32_t value;
};
void wait_in_host_function(void *data) noexcept {
    const awaited what = *static_cast<awaited *>(data);
    delete static_cast<awaited *>(data);
    const std::atomic_ref word(*what.word);
    for (std::uint32_t seen = word.load(std::memory_order_acquire); static_cast<std::int32_t>(seen - what.value) < 0;
         seen = word.load(std::memory_order_acquire)) {
        word.wait(seen, std::memory_order_acquire);
    }
}
int wait_by_host_function(void *queue, std::uint32_t *word, std::uint32_t value) noexcept {
    auto *what = new (std::nothrow) awaited{word, value};
    if (what == nullptr) {
        return 1;
    }
    cuda_queue_of(queue).done = word;
    const int refused = launch(queue, &wait_in_host_function, what);
    if (refused != 0) {
        delete what;
    }
    return refused;
}
void wake(void *queue) noexcept {
    if (std::uint32_t *word = cuda_queue_of(queue).done; word != nullptr) {
        std::atomic_ref(*word).notify_all();
    }
}

void *allocate(void *queue, std::size_t bytes) noexcept {
    cuda_queue &cuda = cuda_queue_of(queue);
    try {
        const std::scoped_lock guard(cuda.mutex);
        cuda.used.reserve(cuda.used.size() + cuda.unused.size() + 1);
        cuda.unused.reserve(cuda.used.size() + cuda.unused.size() + 1); // so that release() needs no memory
        for (auto &each : cuda.unused) {
            if (each.bytes >= bytes && each.bytes <= 2 * bytes) {
                cuda.used.push_back(each);
                std::swap(each, cuda.unused.back());
                cuda.unused.pop_back();
                return cuda.used.back().memory;
            }
        }
        void *memory = nullptr;
        if (in_context(cuda, [&](const driver &d) { return d.cuMemHostAlloc(&memory, bytes, portable_and_mapped); }) !=
            success) {
            return nullptr;
        }
        cuda.used.push_back({memory, bytes});
        return memory;
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

void release(void *queue, void *memory) noexcept {
    cuda_queue &cuda = cuda_queue_of(queue);
    const std::scoped_lock guard(cuda.mutex);
    for (auto &each : cuda.used) {
        if (each.memory == memory) {
            cuda.unused.push_back(each);
            std::swap(each, cuda.used.back());
            cuda.used.pop_back();
            return;
        }
    }
}

int needs_copy(void *queue, const void *buffer, int *is) noexcept {
    static const bool mpi_takes_it = mpi::takes_memory_of(mpi::gpu::cuda);
    *is = 0;
    if (mpi_takes_it) {
        return 0;
    }
    unsigned type = host_memory;
    in_context(cuda_queue_of(queue), [&](const driver &d) { // fails for memory that CUDA does not know
        const result r = d.cuPointerGetAttribute(&type, pointer_memory_type, reinterpret_cast<device_pointer>(buffer));
        type = r == success ? type : host_memory;
        return r;
    });
    *is = type != host_memory ? 1 : 0;
    return 0;
}

int copy(void *queue, void *to, const void *from, std::size_t bytes) noexcept {
    return enqueue(queue, [=](const driver &d, const cuda_queue &cuda) {
        return d.cuMemcpyAsync(reinterpret_cast<device_pointer>(to), reinterpret_cast<device_pointer>(from), bytes,
                               cuda.stream);
    });
}

int use(void *queue, int on) noexcept {
    if (on == 0) {
        cuda_queue *cuda = &cuda_queue_of(queue);
        for (const auto *blocks : {&cuda->used, &cuda->unused}) {
            for (const auto &each : *blocks) {
                in_context(*cuda, [&](const driver &d) { return d.cuMemFreeHost(each.memory); });
            }
        }
        delete cuda;
    }
    return 0;
}

// Without stream memory operations, host functions begin the items and wait.
constexpr thence_queue_table table_with(bool memory_operations) noexcept {
    thence_queue_table table{};
    table.size = sizeof table;
    table.name = "CUDA stream";
    table.launch = &launch;
    table.record = memory_operations ? &record : nullptr;
    table.wait = memory_operations ? &wait : &wait_by_host_function;
    table.wake = memory_operations ? nullptr : &wake;
    table.allocate = &allocate;
    table.release = &release;
    table.needs_copy = &needs_copy;
    table.copy = &copy;
    table.use = &use;
    return table;
}
constexpr thence_queue_table with_memory_operations = table_with(true);
constexpr thence_queue_table with_host_functions = table_with(false);

bool has_memory_operations(const cuda_queue &cuda) noexcept {
    int device = 0;
    int supported = 0;
    int supported_by_v1 = 0;
    in_context(cuda, [&](const driver &d) {
        if (d.cuStreamWriteValue32_v2 == nullptr || d.cuStreamWaitValue32_v2 == nullptr) {
            return success;
        }
        d.cuCtxGetDevice(&device);
        d.cuDeviceGetAttribute(&supported, can_use_64_bit_mem_ops, device);
        return d.cuDeviceGetAttribute(&supported_by_v1, can_use_mem_ops_of_v1, device);
    });
    return supported != 0 || supported_by_v1 != 0;
}

} // namespace

thence_queue open_cuda_stream(void *cuda_stream, const char *&why) noexcept {
    const driver &d = the_driver();
    if (d.missing != nullptr) {
        why = d.missing;
        return {};
    }
    void *context = nullptr;
    if (d.cuStreamGetCtx(cuda_stream, &context) != success) {
        why = "the CUDA driver does not know the stream, or the thread has no current context";
        return {};
    }
    auto *made = new (std::nothrow) cuda_queue{cuda_stream, context};
    if (made == nullptr) {
        why = api::reason::out_of_memory.text;
        return {};
    }
    return {has_memory_operations(*made) ? &with_memory_operations : &with_host_functions, made};
}

mpi::extension_facts cuda_streams() noexcept {
    const char *missing = the_driver().missing;
    return missing == nullptr
               ? mpi::extension_facts{mpi::extension_state::ours, "the driver library libcuda.so.1 is loaded"}
               : mpi::extension_facts{mpi::extension_state::not_possible, missing};
}

} // namespace thence::queues
