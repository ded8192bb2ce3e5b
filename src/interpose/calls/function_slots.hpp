// SPDX-License-Identifier: BSD-3-Clause
// The objects in this process, and the slots of their global offset tables (ELF): the pointers through which an object
// calls functions of other objects.
#pragma once

#include <vector>

#include <dlfcn.h>
#include <link.h>

namespace thence::pmpi {

struct loaded_object {
    const char *path;
    ElfW(Addr) base;
    const ElfW(Phdr) * headers;
    int header_count;
};

// The object that has this address; all members null if none has.
Dl_info object_of(const void *address) noexcept;
// A path without its folders.
const char *file_name(const char *path) noexcept;

// The number of objects that were ever loaded. It changes when loaded_objects() does.
unsigned long long objects_loaded() noexcept;

// Without the program itself.
std::vector<loaded_object> loaded_objects();

// `name`: the function that the object calls through the slot. `address`: where its address is.
struct function_slot {
    const char *name;
    void **address;
};

// True if this machine's kinds of slots are known here. Else there are none.
bool knows_slots() noexcept;

// Those whose name begins with `prefix`.
std::vector<function_slot> slots_of(const loaded_object &object, const char *prefix);

// Makes the slots of an object writable, also those that the loader has protected. The destructor protects them again.
class writable_slots {
public:
    explicit writable_slots(const loaded_object &object) noexcept;
    ~writable_slots();
    writable_slots &operator=(writable_slots &&) = delete;
    bool writable() const noexcept { return writable_; }

private:
    void *begin_ = nullptr;
    unsigned long bytes_ = 0; // 0: none are protected
    bool writable_ = true;
};

} // namespace thence::pmpi
