// SPDX-License-Identifier: BSD-3-Clause
#include "dataflow/block_pool.hpp"

#include "core/base/free_list.hpp"
#include "core/base/spin_lock.hpp"

#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <sys/mman.h>

namespace thence::dataflow {

namespace {

constexpr std::size_t chunk_bytes = std::size_t{256} << 10;
constexpr int spare_chunks = 8; // of each size
constexpr unsigned batch = 32;

struct free_block {
    free_block *next;
};

struct chunk {
    chunk *next; // all chunks of a size; those with free blocks first
    chunk *before;
    base::free_list<free_block> free;
    char *fresh; // from here on no block has been used yet
    unsigned used;
    int size_class;

    char *begin() { return reinterpret_cast<char *>(this) + 64; }
    char *end() { return reinterpret_cast<char *>(this) + chunk_bytes; }
};
static_assert(sizeof(chunk) <= 64);

struct large_block {
    large_block *next;
    large_block *before;
    std::size_t bytes;
};
constexpr std::size_t large_header = 64;
constexpr std::size_t cleared = 256; // of a large block: a visitor may see it before its user has written to it
static_assert(sizeof(large_block) <= large_header);

std::size_t size_of(int size_class) {
    return block_pool::smallest << size_class;
}

// What all threads share, under its lock. Never destroyed: threads that outlive main() may still give blocks.
struct shared_blocks {
    base::spin_lock lock;
    chunk *first[block_pool::sizes] = {};
    chunk *last[block_pool::sizes] = {};
    int empty[block_pool::sizes] = {};
    large_block *large = nullptr;
    std::size_t held = 0;
};
constinit shared_blocks shared;

void unlink(chunk *one) {
    (one->before == nullptr ? shared.first[one->size_class] : one->before->next) = one->next;
    (one->next == nullptr ? shared.last[one->size_class] : one->next->before) = one->before;
}
void link_first(chunk *one) {
    one->before = nullptr;
    one->next = shared.first[one->size_class];
    (one->next == nullptr ? shared.last[one->size_class] : one->next->before) = one;
    shared.first[one->size_class] = one;
}
void link_last(chunk *one) {
    one->next = nullptr;
    one->before = shared.last[one->size_class];
    (one->before == nullptr ? shared.first[one->size_class] : one->before->next) = one;
    shared.last[one->size_class] = one;
}

bool has_free(chunk *one) {
    return !one->free.empty() || one->fresh + size_of(one->size_class) <= one->end();
}

// Aligned to its size, so that a block's address gives its chunk.
chunk *map_chunk(int size_class) {
    void *const raw = mmap(nullptr, 2 * chunk_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) {
        throw std::bad_alloc();
    }
    const auto address = reinterpret_cast<std::uintptr_t>(raw);
    const std::uintptr_t aligned = (address + chunk_bytes - 1) & ~(chunk_bytes - 1);
    if (aligned != address) {
        munmap(raw, aligned - address);
    }
    munmap(reinterpret_cast<void *>(aligned + chunk_bytes), address + chunk_bytes - aligned);
    auto *const made = new (reinterpret_cast<void *>(aligned)) chunk{};
    made->fresh = made->begin();
    made->size_class = size_class;
    shared.held += chunk_bytes;
    return made;
}

chunk *chunk_of(void *block) {
    return reinterpret_cast<chunk *>(reinterpret_cast<std::uintptr_t>(block) & ~(chunk_bytes - 1));
}

// A thread's cache.
struct thread_cache {
    base::free_list<free_block> free[block_pool::sizes];
    unsigned count[block_pool::sizes];
};

[[maybe_unused]] void fill(thread_cache &mine, int size_class) {
    const std::scoped_lock guard(shared.lock);
    for (unsigned i = 0; i < batch; ++i) {
        chunk *source = shared.first[size_class];
        if (source == nullptr || !has_free(source)) {
            if (i != 0) {
                return;
            }
            source = map_chunk(size_class);
            link_first(source);
            ++shared.empty[size_class];
        }
        if (source->used++ == 0) {
            --shared.empty[size_class];
        }
        free_block *block = source->free.take();
        if (block == nullptr) {
            block = reinterpret_cast<free_block *>(source->fresh);
            source->fresh += size_of(size_class);
        }
        if (!has_free(source)) {
            unlink(source);
            link_last(source);
        }
        mine.free[size_class].give(*block);
        ++mine.count[size_class];
    }
}

void empty(thread_cache &mine, int size_class, unsigned count) noexcept {
    const std::scoped_lock guard(shared.lock);
    for (; count != 0 && !mine.free[size_class].empty(); --count) {
        free_block *const block = mine.free[size_class].take();
        --mine.count[size_class];
        chunk *const to = chunk_of(block);
        const bool was_full = !has_free(to);
        to->free.give(*block);
        if (was_full) {
            unlink(to);
            link_first(to);
        }
        if (--to->used == 0 && ++shared.empty[size_class] > spare_chunks) {
            --shared.empty[size_class];
            unlink(to);
            munmap(to, chunk_bytes);
            shared.held -= chunk_bytes;
        }
    }
}

struct own_cache : thread_cache {
    constexpr own_cache() : thread_cache{} {}
    own_cache &operator=(own_cache &&) = delete;
    ~own_cache() {
        for (int i = 0; i < block_pool::sizes; ++i) {
            empty(*this, i, ~0U);
        }
    }
};

// A task may change threads while its function runs. So nothing here may keep the address of a cache across a task, and
// nothing does: this function is called for each block.
[[maybe_unused]] thread_cache &my_cache() noexcept {
    static constinit thread_local own_cache mine;
    return mine;
}

[[maybe_unused]] void *take_large(std::size_t bytes) {
    auto *const made =
        static_cast<large_block *>(::operator new (bytes + large_header, std::align_val_t{large_header}));
    std::memset(made, 0, bytes + large_header < cleared ? bytes + large_header : cleared);
    const std::scoped_lock guard(shared.lock);
    *made = {shared.large, nullptr, bytes};
    if (shared.large != nullptr) {
        shared.large->before = made;
    }
    shared.large = made;
    shared.held += bytes;
    return reinterpret_cast<char *>(made) + large_header;
}

void give_large(void *block) noexcept {
    auto *const gone = reinterpret_cast<large_block *>(static_cast<char *>(block) - large_header);
    {
        const std::scoped_lock guard(shared.lock);
        (gone->before == nullptr ? shared.large : gone->before->next) = gone->next;
        if (gone->next != nullptr) {
            gone->next->before = gone->before;
        }
        shared.held -= gone->bytes;
    }
    ::operator delete (gone, std::align_val_t{large_header});
}

} // namespace

void *block_pool::take(int size_class, std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__) // each block by itself, so that uses after the end are found
    return take_large(size_class < sizes ? size_of(size_class) : bytes);
#else
    if (size_class >= sizes) [[unlikely]] {
        return take_large(bytes);
    }
    thread_cache &mine = my_cache();
    if (mine.free[size_class].empty()) [[unlikely]] {
        fill(mine, size_class);
    }
    --mine.count[size_class];
    return &mine.free[size_class].take_first();
#endif
}

void block_pool::give(int size_class, void *block) noexcept {
#if defined(__SANITIZE_ADDRESS__)
    static_cast<void>(size_class);
    give_large(block);
#else
    if (size_class >= sizes) [[unlikely]] {
        return give_large(block);
    }
    thread_cache &mine = my_cache();
    mine.free[size_class].give(*static_cast<free_block *>(block));
    if (++mine.count[size_class] > 3 * batch) [[unlikely]] {
        empty(mine, size_class, 2 * batch);
    }
#endif
}

std::size_t block_pool::held() noexcept {
    const std::scoped_lock guard(shared.lock);
    return shared.held;
}

void block_pool::for_each(std::size_t bytes, void (*visit)(void *, void *), void *data) {
    const std::scoped_lock guard(shared.lock);
    for (int i = size_class(bytes); i < sizes; ++i) {
        for (chunk *one = shared.first[i]; one != nullptr; one = one->next) {
            for (char *block = one->begin(); block < one->fresh; block += size_of(i)) {
                visit(block, data);
            }
        }
    }
    for (large_block *one = shared.large; one != nullptr; one = one->next) {
        if (one->bytes >= bytes) {
            visit(reinterpret_cast<char *>(one) + large_header, data);
        }
    }
}

} // namespace thence::dataflow
