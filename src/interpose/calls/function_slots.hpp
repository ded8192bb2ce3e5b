// SPDX-License-Identifier: BSD-3-Clause
// The objects in this process, and the slots of their global offset tables (ELF): the pointers through which an object
// calls functions of other objects.
#pragma once

#include <string>
#include <vector>

#include <dlfcn.h>
#include <link.h>

namespace thence::pmpi {

struct loaded_object {
    ElfW(Addr) base;
    const ElfW(Phdr) * headers;
    int header_count;
};

// The object that has this address; all members null if none has.
Dl_info object_of(const void *address) noexcept;
// A path without its folders.
const char *file_name(const char *path) noexcept;

// The number of objects that were ever loaded.
unsigned long long objects_loaded() noexcept;

// The paths of the objects that are loaded, but of the program itself. They are copies, since other threads may unload
// an object at any time.
std::vector<std::string> paths_of_loaded_objects();

// An object that is not unloaded while this one exists. It reads nothing of an object before that is so.
class pinned_object {
public:
    explicit pinned_object(const char *path) noexcept : handle_(dlopen(path, RTLD_LAZY | RTLD_NOLOAD)) {}
    ~pinned_object() {
        if (handle_ != nullptr) {
            dlclose(handle_);
        }
    }
    pinned_object &operator=(pinned_object &&) = delete;
    // It stays loaded until the process ends.
    void keep() noexcept { handle_ = nullptr; }
    // The function of this name in this object itself, or null.
    void *defined(const char *name) const noexcept;
    // Its headers are null if the object is not loaded any more.
    loaded_object object() const noexcept;

private:
    void *handle_; // null: it was unloaded before
};

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
