// SPDX-License-Identifier: BSD-3-Clause
// A stand-in of CUDA's driver: the functions that Thence and the tests use. Each stream is a thread that does what is
// enqueued. "Device memory" is memory of the process that cuPointerGetAttribute() tells apart. The rules of CUDA are
// checked: a call of the driver inside a host function, a copy from freed memory, or an access in no context ends the
// process.
//
// CUDA_STANDIN_MEMOPS=0: a device without stream memory operations, whose host functions all run on one thread, as CUDA
// may do.
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

namespace {

using result = int;
using device_pointer = unsigned long long;
constexpr result success = 0;
constexpr result invalid_value = 1;
constexpr result invalid_handle = 400;

thread_local bool in_host_function = false;
thread_local int pushed = 0;
char the_context;

[[noreturn]] void violation(const char *what) {
    std::fprintf(stderr, "stand-in of the CUDA driver: %s\n", what);
    std::abort();
}
void check() {
    if (in_host_function) {
        violation("a function of CUDA is called in a host function");
    }
}

bool has_memory_operations() {
    const char *text = std::getenv("CUDA_STANDIN_MEMOPS");
    return text == nullptr || *text != '0';
}

// Runs functions one after the other.
class worker {
public:
    void push(std::function<void()> function) {
        const std::scoped_lock guard(mutex_);
        functions_.push_back(std::move(function));
        if (!started_) {
            started_ = true;
            std::thread([this] { work(); }).detach();
        }
        changed_.notify_all();
    }
    void synchronize() {
        std::atomic<bool> reached{false};
        push([&] { reached = true; });
        while (!reached) {
            std::this_thread::yield();
        }
    }

private:
    void work() {
        for (;;) {
            std::function<void()> next;
            {
                std::unique_lock guard(mutex_);
                changed_.wait(guard, [this] { return !functions_.empty(); });
                next = std::move(functions_.front());
                functions_.pop_front();
            }
            next();
        }
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> functions_;
    bool started_ = false;
};

struct stream : worker {
    std::atomic<bool> capturing{false};
};

struct {
    std::mutex mutex;
    std::map<device_pointer, std::pair<std::size_t, unsigned>> memory; // bytes, kind: 1 host, 2 device
    std::map<void *, stream *> streams;
} &state = *new std::remove_reference_t<decltype(state)>;

worker &host_functions = *new worker;

stream *find_stream(void *handle) {
    check();
    const std::scoped_lock guard(state.mutex);
    const auto found = state.streams.find(handle);
    return found == state.streams.end() ? nullptr : found->second;
}

void *allocate(std::size_t bytes, unsigned kind) {
    check();
    void *memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    std::memset(memory, 0x5a, bytes);
    const std::scoped_lock guard(state.mutex);
    state.memory[reinterpret_cast<device_pointer>(memory)] = {bytes, kind};
    return memory;
}

unsigned kind_of(device_pointer at) {
    const std::scoped_lock guard(state.mutex);
    auto found = state.memory.upper_bound(at);
    if (found == state.memory.begin()) {
        return 0;
    }
    --found;
    return at < found->first + found->second.first ? found->second.second : 0;
}

result free_memory(device_pointer at, unsigned kind) {
    check();
    const std::scoped_lock guard(state.mutex);
    const auto found = state.memory.find(at);
    if (found == state.memory.end() || found->second.second != kind) {
        return invalid_value;
    }
    state.memory.erase(found);
    std::memset(reinterpret_cast<void *>(at), 0x77, 1); // whoever uses it later sees other data
    std::free(reinterpret_cast<void *>(at));
    return success;
}

} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT result cuInit(unsigned) {
    check();
    return success;
}
EXPORT result cuDeviceGet(int *device, int) {
    *device = 0;
    return success;
}
EXPORT result cuDevicePrimaryCtxRetain(void **context, int) {
    *context = &the_context;
    return success;
}
EXPORT result cuCtxSetCurrent(void *) {
    return success;
}
EXPORT result cuCtxPushCurrent_v2(void *context) {
    check();
    if (context != &the_context) {
        return 201;
    }
    ++pushed;
    return success;
}
EXPORT result cuCtxPopCurrent_v2(void **context) {
    check();
    if (pushed-- == 0) {
        violation("no context to pop");
    }
    *context = &the_context;
    return success;
}
EXPORT result cuCtxGetDevice(int *device) {
    *device = 0;
    return success;
}
EXPORT result cuDeviceGetAttribute(int *value, int attribute, int) {
    *value = (attribute == 122 || attribute == 92) && has_memory_operations() ? 1 : 0;
    return success;
}
EXPORT result cuStreamCreate(void **handle, unsigned) {
    check();
    auto *made = new stream;
    const std::scoped_lock guard(state.mutex);
    state.streams[made] = made;
    *handle = made;
    return success;
}
EXPORT result cuStreamSynchronize(void *handle) {
    stream *named = find_stream(handle);
    if (named == nullptr) {
        return invalid_handle;
    }
    named->synchronize();
    return success;
}
EXPORT result cuStreamQuery(void *handle) {
    return find_stream(handle) == nullptr ? invalid_handle : success;
}
EXPORT result cuStreamGetCtx(void *handle, void **context) {
    *context = &the_context;
    return find_stream(handle) == nullptr ? invalid_handle : success;
}
EXPORT result cuStreamBeginCapture_v2(void *handle, int) {
    find_stream(handle)->capturing = true;
    return success;
}
EXPORT result cuStreamEndCapture(void *handle, void **graph) {
    find_stream(handle)->capturing = false;
    *graph = nullptr;
    return success;
}
EXPORT result cuStreamIsCapturing(void *handle, int *status) {
    stream *named = find_stream(handle);
    if (named == nullptr) {
        return invalid_handle;
    }
    *status = named->capturing ? 1 : 0;
    return success;
}
EXPORT result cuMemHostAlloc(void **memory, std::size_t bytes, unsigned flags) {
    if (pushed == 0) {
        violation("memory is allocated in no context");
    }
    *memory = allocate(bytes, 1);
    return flags == 3 ? success : invalid_value;
}
EXPORT result cuMemFreeHost(void *memory) {
    return free_memory(reinterpret_cast<device_pointer>(memory), 1);
}
EXPORT result cuMemHostGetDevicePointer_v2(device_pointer *there, void *memory, unsigned) {
    *there = reinterpret_cast<device_pointer>(memory);
    return kind_of(*there) == 1 ? success : invalid_value;
}
EXPORT result cuMemAlloc_v2(device_pointer *memory, std::size_t bytes) {
    *memory = reinterpret_cast<device_pointer>(allocate(bytes, 2));
    return success;
}
EXPORT result cuMemFree_v2(device_pointer memory) {
    return free_memory(memory, 2);
}
EXPORT result cuPointerGetAttribute(void *value, int attribute, device_pointer at) {
    check();
    const unsigned kind = kind_of(at);
    if (attribute != 2 || kind == 0) {
        return invalid_value;
    }
    std::memcpy(value, &kind, sizeof kind);
    return success;
}
EXPORT result cuMemcpyAsync(device_pointer to, device_pointer from, std::size_t bytes, void *handle) {
    stream *named = find_stream(handle);
    if (named == nullptr) {
        return invalid_handle;
    }
    named->push([=] {
        if (kind_of(to) != 2 && kind_of(from) != 2) {
            violation("neither side of a copy is device memory");
        }
        std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from), bytes);
    });
    return success;
}
EXPORT result cuMemcpyHtoDAsync_v2(device_pointer to, const void *from, std::size_t bytes, void *handle) {
    return cuMemcpyAsync(to, reinterpret_cast<device_pointer>(from), bytes, handle);
}
EXPORT result cuMemcpyDtoHAsync_v2(void *to, device_pointer from, std::size_t bytes, void *handle) {
    return cuMemcpyAsync(reinterpret_cast<device_pointer>(to), from, bytes, handle);
}
EXPORT result cuLaunchHostFunc(void *handle, void (*function)(void *), void *data) {
    stream *named = find_stream(handle);
    if (named == nullptr) {
        return invalid_handle;
    }
    named->push([=] {
        std::atomic<bool> done{false};
        host_functions.push([&] {
            in_host_function = true;
            function(data);
            in_host_function = false;
            done = true;
        });
        while (!done) {
            std::this_thread::yield();
        }
    });
    return success;
}
EXPORT result cuStreamWriteValue32_v2(void *handle, device_pointer word, std::uint32_t value, unsigned flags) {
    stream *named = find_stream(handle);
    if (named == nullptr || !has_memory_operations() || kind_of(word) == 0 || flags != 0) {
        return invalid_value;
    }
    named->push([=] { std::atomic_ref(*reinterpret_cast<std::uint32_t *>(word)).store(value); });
    return success;
}
EXPORT result cuStreamWaitValue32_v2(void *handle, device_pointer word, std::uint32_t value, unsigned flags) {
    stream *named = find_stream(handle);
    if (named == nullptr || !has_memory_operations() || kind_of(word) == 0 || flags != 0) {
        return invalid_value;
    }
    named->push([=] {
        const std::atomic_ref seen(*reinterpret_cast<std::uint32_t *>(word));
        while (static_cast<std::int32_t>(seen.load() - value) < 0) {
            std::this_thread::yield();
        }
    });
    return success;
}
