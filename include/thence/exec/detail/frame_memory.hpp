// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Memory of coroutine frames. Each thread keeps some freed blocks, in one list for each size. So a coroutine that is
// created again and again allocates once.
//
// Invariants.
//  - A block is in one list of one thread, or in use. All blocks of a list have the size of that list.
//  - A thread whose state is `closed` allocates and frees directly. So do sizes without a list.
//  - A list ends with open_end or closed_end, which are never written. If that is the first entry, the list is empty.
// With AddressSanitizer there are no lists, so it detects the use of a destroyed frame.

#include <thence/detail/cxx20.hpp>

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

/** The lists of a thread. */
struct kept_frames {
    struct block {
        block *next;
        std::size_t capacity; // how many more blocks the list takes
    };
    static inline constinit block open_end{nullptr, 64};
    static inline constinit block closed_end{nullptr, 0};

    enum class state : unsigned char { fresh, keeps, closed };
    struct lists {
        std::array<block *, 16> first;
        state current = state::fresh;
        constexpr lists() : first() { first.fill(&closed_end); }
    };
};

class frame_memory {
public:
    static void *allocate(std::size_t size) {
        const std::size_t which = list_of(size);
        if (which < lists) [[likely]] {
            if (kept *first = lists_of_thread.first[which]; first->next != nullptr) [[likely]] {
                lists_of_thread.first[which] = first->next;
                return first;
            }
            size = (which + 1) * step;
        }
        return ::operator new(size);
    }
    static void deallocate(void *memory, std::size_t size) noexcept {
        const std::size_t which = list_of(size);
        if (which < lists && lists_of_thread.first[which]->capacity != 0) [[likely]] {
            keep(memory, which);
        } else {
            deallocate_rarely(memory, which);
        }
    }

private:
    static constexpr std::size_t step = 128;
    static constexpr std::size_t lists = THENCE_EXEC_KEEPS_FRAMES != 0 ? 16 : 0;

    using kept = kept_frames::block;
    using state = kept_frames::state;
    static constexpr kept_frames::block &open_end = kept_frames::open_end;
    static constexpr kept_frames::block &closed_end = kept_frames::closed_end;
    struct closer {
        ~closer() {
            lists_of_thread.current = state::closed;
            for (kept *&list : lists_of_thread.first) {
                for (kept *first = std::exchange(list, &closed_end); first->next != nullptr;) {
                    ::operator delete(std::exchange(first, first->next));
                }
            }
        }
    };

    static std::size_t list_of(std::size_t size) noexcept { return (size - 1) / step; }
    static void keep(void *memory, std::size_t which) noexcept {
        kept *first = lists_of_thread.first[which];
        lists_of_thread.first[which] = ::new (memory) kept{first, first->capacity - 1};
    }
    // Frees the block, or keeps the first block of a thread. The destructor of `at_exit` frees the blocks when the
    // thread ends.
    [[gnu::noinline]] static void deallocate_rarely(void *memory, std::size_t which) noexcept {
        if (which >= lists || lists_of_thread.current != state::fresh) {
            ::operator delete(memory);
            return;
        }
        static thread_local closer at_exit;
        lists_of_thread.current = state::keeps;
        lists_of_thread.first.fill(&open_end);
        keep(memory, which);
    }

    static inline constinit thread_local kept_frames::lists lists_of_thread{};
};

/** A base class of promises. Their coroutine frames are allocated here. */
struct kept_frame {
    static void *operator new(std::size_t size) { return frame_memory::allocate(size); }
    static void operator delete(void *memory, std::size_t size) noexcept { frame_memory::deallocate(memory, size); }
};

} // namespace thence::exec::detail
