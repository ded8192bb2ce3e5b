// SPDX-License-Identifier: BSD-3-Clause
#ifndef THENCE_EXEC_DETAIL_FRAME_MEMORY_HPP
#define THENCE_EXEC_DETAIL_FRAME_MEMORY_HPP

// Memory of coroutine frames. A thread keeps the last few that it gave up, by size: a coroutine that is made over and
// over again allocates once.
//
// Invariants.
//  - A block is in one list of one thread, or in use. Each block of a list has the size of that list.
//  - A thread whose lists are `closed` allocates and frees directly, as do sizes without a list.
// With AddressSanitizer there are no lists, so it sees a frame that is used after its end.

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#define THENCE_EXEC_KEEPS_FRAMES 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define THENCE_EXEC_KEEPS_FRAMES 0
#endif
#endif
#ifndef THENCE_EXEC_KEEPS_FRAMES
#define THENCE_EXEC_KEEPS_FRAMES 1
#endif

namespace thence::exec::detail {

class frame_memory {
public:
    static void *allocate(std::size_t size) {
        const std::size_t which = list_of(size);
        if (which < lists) [[likely]] {
            if (kept *block = here.first[which]; block != nullptr) [[likely]] {
                here.first[which] = block->next;
                return block;
            }
            size = (which + 1) * step;
        }
        return ::operator new(size);
    }
    static void deallocate(void *memory, std::size_t size) noexcept {
        const std::size_t which = list_of(size);
        if (which < lists) [[likely]] {
            kept *first = here.first[which];
            const std::uint32_t count = first == nullptr ? 0 : first->count;
            if (count < most && (here.now == state::keeps || may_keep())) [[likely]] {
                here.first[which] = ::new (memory) kept{first, count + 1};
                return;
            }
        }
        ::operator delete(memory);
    }

private:
    static constexpr std::size_t step = 128;
    static constexpr std::size_t lists = THENCE_EXEC_KEEPS_FRAMES != 0 ? 16 : 0;
    static constexpr std::uint32_t most = 64; // in each list

    enum class state : unsigned char { fresh, keeps, closed };
    struct kept {
        kept *next;
        std::uint32_t count; // of this one and those behind it
    };
    struct thread_lists {
        std::array<kept *, 16> first;
        state now;
    };
    struct closer {
        ~closer() {
            here.now = state::closed;
            for (kept *&first : here.first)
                while (first != nullptr)
                    ::operator delete(std::exchange(first, first->next));
        }
    };

    static std::size_t list_of(std::size_t size) noexcept { return (size - 1) / step; }
    // What a thread keeps is freed at its end: said when it keeps the first.
    [[gnu::noinline]] static bool may_keep() noexcept {
        if (here.now == state::closed)
            return false;
        static thread_local closer at_exit;
        here.now = state::keeps;
        return true;
    }

    static inline constinit thread_local thread_lists here{};
};

/** Base of a promise whose coroutine's frame is kept for the next. */
struct kept_frame {
    static void *operator new(std::size_t size) { return frame_memory::allocate(size); }
    static void operator delete(void *memory, std::size_t size) noexcept { frame_memory::deallocate(memory, size); }
};

} // namespace thence::exec::detail

#endif
