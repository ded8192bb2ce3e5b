// SPDX-License-Identifier: BSD-3-Clause
// Source: System V Application Binary Interface, chapter 5 (dynamic section, relocation), and its supplements for each
// machine.
#include "interpose/calls/function_slots.hpp"

#include <cstring>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

namespace thence::pmpi {

namespace {

// The relocations that put the address of a function of another object into a slot: for calls, and for its address.
#if defined(__x86_64__) && defined(__LP64__)
constexpr unsigned for_calls = R_X86_64_JUMP_SLOT;
constexpr unsigned for_addresses = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__) && defined(__LP64__)
constexpr unsigned for_calls = R_AARCH64_JUMP_SLOT;
constexpr unsigned for_addresses = R_AARCH64_GLOB_DAT;
#elif defined(__riscv) && __riscv_xlen == 64
constexpr unsigned for_calls = R_RISCV_JUMP_SLOT;
constexpr unsigned for_addresses = R_RISCV_64;
#elif defined(__powerpc64__) && _CALL_ELF == 2
constexpr unsigned for_calls = R_PPC64_JMP_SLOT;
constexpr unsigned for_addresses = R_PPC64_GLOB_DAT;
#else
constexpr unsigned for_calls = 0;
constexpr unsigned for_addresses = 0;
#endif

// What the dynamic section of an object says of its relocations.
struct dynamic_section {
    const ElfW(Sym) *symbols = nullptr;
    const char *names = nullptr;
    const ElfW(Rela) *calls = nullptr;
    const ElfW(Rela) *others = nullptr;
    std::size_t call_count = 0;
    std::size_t other_count = 0;
};

dynamic_section read_dynamic(const loaded_object &object) noexcept {
    dynamic_section found;
    bool with_addends = true;
    const auto at = [&](const ElfW(Dyn) & entry) { // the loader of glibc has added the base, others do not
        return reinterpret_cast<const void *>(entry.d_un.d_ptr < object.base ? object.base + entry.d_un.d_ptr
                                                                             : entry.d_un.d_ptr);
    };
    for (int i = 0; i < object.header_count; ++i) {
        if (object.headers[i].p_type != PT_DYNAMIC) {
            continue;
        }
        const auto *entry = reinterpret_cast<const ElfW(Dyn) *>(object.base + object.headers[i].p_vaddr);
        for (; entry->d_tag != DT_NULL; ++entry) {
            switch (entry->d_tag) {
            case DT_SYMTAB:
                found.symbols = static_cast<const ElfW(Sym) *>(at(*entry));
                break;
            case DT_STRTAB:
                found.names = static_cast<const char *>(at(*entry));
                break;
            case DT_JMPREL:
                found.calls = static_cast<const ElfW(Rela) *>(at(*entry));
                break;
            case DT_PLTRELSZ:
                found.call_count = entry->d_un.d_val / sizeof(ElfW(Rela));
                break;
            case DT_PLTREL:
                with_addends = entry->d_un.d_val == DT_RELA;
                break;
            case DT_RELA:
                found.others = static_cast<const ElfW(Rela) *>(at(*entry));
                break;
            case DT_RELASZ:
                found.other_count = entry->d_un.d_val / sizeof(ElfW(Rela));
                break;
            default:
                break;
            }
        }
    }
    const bool complete = with_addends && found.symbols != nullptr && found.names != nullptr;
    found.call_count = complete && found.calls != nullptr ? found.call_count : 0;
    found.other_count = complete && found.others != nullptr ? found.other_count : 0;
    return found;
}

} // namespace

Dl_info object_of(const void *address) noexcept {
    Dl_info found{};
    if (address == nullptr || dladdr(address, &found) == 0) {
        found = {};
    }
    return found;
}

const char *file_name(const char *path) noexcept {
    const char *const slash = std::strrchr(path, '/');
    return slash != nullptr ? slash + 1 : path;
}

bool knows_slots() noexcept {
    return for_calls != 0;
}

unsigned long long objects_loaded() noexcept {
    unsigned long long count = 0;
    dl_iterate_phdr(
        [](dl_phdr_info *each, std::size_t, void *result) {
            *static_cast<unsigned long long *>(result) = each->dlpi_adds;
            return 1; // the first says it for all
        },
        &count);
    return count;
}

std::vector<std::string> paths_of_loaded_objects() {
    std::vector<std::string> all;
    dl_iterate_phdr(
        [](dl_phdr_info *each, std::size_t, void *result) {
            if (each->dlpi_name != nullptr && each->dlpi_name[0] != '\0') { // the program itself has no name
                static_cast<std::vector<std::string> *>(result)->emplace_back(each->dlpi_name);
            }
            return 0;
        },
        &all);
    return all;
}

void *pinned_object::defined(const char *name) const noexcept {
    void *const found = handle_ != nullptr ? dlsym(handle_, name) : nullptr;
    const link_map *own = nullptr;
    if (found == nullptr || dlinfo(handle_, RTLD_DI_LINKMAP, &own) != 0) {
        return nullptr;
    }
    return reinterpret_cast<ElfW(Addr)>(object_of(found).dli_fbase) == own->l_addr ? found : nullptr;
}

loaded_object pinned_object::object() const noexcept {
    loaded_object found{};
    const link_map *own = nullptr;
    if (handle_ == nullptr || dlinfo(handle_, RTLD_DI_LINKMAP, &own) != 0) {
        return found;
    }
    found.base = own->l_addr;
    dl_iterate_phdr(
        [](dl_phdr_info *each, std::size_t, void *result) {
            auto &wanted = *static_cast<loaded_object *>(result);
            if (each->dlpi_addr != wanted.base) {
                return 0;
            }
            wanted.headers = each->dlpi_phdr;
            wanted.header_count = each->dlpi_phnum;
            return 1;
        },
        &found);
    return found;
}

std::vector<function_slot> slots_of(const loaded_object &object, const char *prefix) {
    std::vector<function_slot> found;
    const dynamic_section dynamic = read_dynamic(object);
    const std::size_t length = std::strlen(prefix);
    const auto look = [&](const ElfW(Rela) * relocations, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            const auto kind = ELF64_R_TYPE(relocations[i].r_info);
            if (kind != for_calls && kind != for_addresses) {
                continue;
            }
            const char *const name = dynamic.names + dynamic.symbols[ELF64_R_SYM(relocations[i].r_info)].st_name;
            if (std::strncmp(name, prefix, length) == 0) {
                found.push_back({name, reinterpret_cast<void **>(object.base + relocations[i].r_offset)});
            }
        }
    };
    if (knows_slots()) {
        look(dynamic.calls, dynamic.call_count);
        look(dynamic.others, dynamic.other_count);
    }
    return found;
}

// The loader protects the whole pages of PT_GNU_RELRO. Their bounds are rounded down, as it does.
writable_slots::writable_slots(const loaded_object &object) noexcept {
    const auto page = static_cast<ElfW(Addr)>(sysconf(_SC_PAGESIZE));
    for (int i = 0; i < object.header_count; ++i) {
        const ElfW(Phdr) &header = object.headers[i];
        if (header.p_type == PT_GNU_RELRO) {
            const ElfW(Addr) begin = (object.base + header.p_vaddr) & ~(page - 1);
            const ElfW(Addr) end = (object.base + header.p_vaddr + header.p_memsz) & ~(page - 1);
            begin_ = reinterpret_cast<void *>(begin);
            bytes_ = end - begin;
        }
    }
    writable_ = bytes_ == 0 || mprotect(begin_, bytes_, PROT_READ | PROT_WRITE) == 0;
}

writable_slots::~writable_slots() {
    if (writable_ && bytes_ != 0) {
        mprotect(begin_, bytes_, PROT_READ);
    }
}

} // namespace thence::pmpi
