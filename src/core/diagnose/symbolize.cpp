// SPDX-License-Identifier: BSD-3-Clause
#include "core/diagnose/symbolize.hpp"

#include "core/diagnose/addr2line.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>
#include <map>
#include <memory>
#include <mutex>
#include <unistd.h>
#include <utility>

namespace thence::diagnose {

namespace {

struct by_code {
    bool operator()(const code_address &a, const code_address &b) const noexcept {
        return a.code != b.code ? std::less<>()(a.code, b.code) : a.is_return < b.is_return;
    }
};

// All results so far. Never destroyed: a thread may report while the process exits.
struct symbol_cache {
    std::mutex mutex;
    std::map<code_address, code_location, by_code> locations;
};
symbol_cache &global_cache() {
    static auto *cache = new symbol_cache;
    return *cache;
}

struct object_offset {
    std::string object; // the ELF file; empty if unknown
    std::uintptr_t offset = 0;
};

std::string hex(std::uintptr_t value) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%zx", static_cast<std::size_t>(value));
    return text;
}

std::string demangled(const char *name) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void *)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                       &std::free);
    return status == 0 && text != nullptr ? text.get() : name;
}

std::string base_name(const std::string &path) {
    return path.substr(path.rfind('/') + 1);
}

std::string own_program() {
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

// Relative to the working directory if the file is below it, else unchanged.
std::string short_path(const std::string &file) {
    char directory[4096];
    if (getcwd(directory, sizeof directory) != nullptr) {
        const std::string prefix = std::string(directory) + "/";
        if (prefix.size() > 1 && file.starts_with(prefix)) {
            return file.substr(prefix.size());
        }
    }
    return file;
}

// The instruction to look up. A call ends just before its return address; the return address itself may belong to the
// next source line.
std::uintptr_t code_of(const code_address &which) noexcept {
    return reinterpret_cast<std::uintptr_t>(which.code) - (which.is_return ? 1 : 0);
}

// Asks the dynamic linker for the object file, and for the symbol if it is exported.
object_offset look_up(const code_address &which, code_location &found) {
    object_offset where;
    Dl_info info{};
    link_map *map = nullptr;
    const std::uintptr_t code = code_of(which);
    if (dladdr1(reinterpret_cast<void *>(code), &info, reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP) == 0 ||
        map == nullptr) {
        found.module = hex(code);
        return where;
    }
    where.object = map->l_name != nullptr && *map->l_name != '\0' ? map->l_name : own_program();
    where.offset = code - map->l_addr;
    found.module = base_name(where.object) + "+" + hex(where.offset);
    if (info.dli_sname != nullptr) {
        const std::uintptr_t distance =
            reinterpret_cast<std::uintptr_t>(which.code) - reinterpret_cast<std::uintptr_t>(info.dli_saddr);
        found.function = demangled(info.dli_sname);
        if (distance != 0) {
            found.function.append("+").append(hex(distance));
        }
    }
    return where;
}

// True if the user wrote the frame: its file is neither a header of this library (an inlined adapter) nor one of the
// C++ standard library.
bool is_user_code(const source_frame &frame) noexcept {
    return !frame.file.empty() && frame.file.find("include/thence/") == std::string::npos &&
           frame.file.find("/include/c++/") == std::string::npos;
}

// Selects the frame to show from those at one address (innermost first). For a call: the innermost frame of user code.
// For a function: the outermost frame, since its first instruction may belong to an inlined function.
const source_frame *frame_to_show(const std::vector<source_frame> &frames, bool is_return) noexcept {
    if (frames.empty()) {
        return nullptr;
    }
    const auto found = std::find_if(frames.begin(), frames.end(), is_user_code);
    return !is_return ? &frames.back() : found != frames.end() ? &*found : &frames.front();
}

void add_source(code_location &found, const std::vector<source_frame> &frames, bool is_return) {
    const source_frame *frame = frame_to_show(frames, is_return);
    if (frame == nullptr) {
        return;
    }
    if (!frame->function.empty() && (found.function.empty() || !frame->file.empty())) {
        found.function = frame->function;
    }
    if (!frame->file.empty()) {
        found.line = short_path(frame->file) + ":" + frame->line;
    }
}

} // namespace

std::string code_location::text() const {
    constexpr std::size_t longest = 160;
    std::string result = function.size() > longest ? function.substr(0, longest) + "..." : function;
    if (!line.empty()) {
        return result.empty() ? line : result + " (" + line + ")";
    }
    return result.empty() ? module : result + " in " + module;
}

std::vector<code_location> symbolize(const std::vector<code_address> &addresses) {
    symbol_cache &cache = global_cache();
    std::scoped_lock guard(cache.mutex);
    struct batch { // the new addresses of one object file
        std::vector<std::uintptr_t> offsets;
        std::vector<std::pair<const code_address, code_location> *> entries;
    };
    std::map<std::string, batch> batches;
    for (const code_address &which : addresses) {
        auto [entry, is_new] = cache.locations.try_emplace(which);
        if (is_new) {
            const object_offset where = look_up(which, entry->second);
            if (!where.object.empty()) {
                batches[where.object].offsets.push_back(where.offset);
                batches[where.object].entries.push_back(&*entry);
            }
        }
    }
    for (auto &[object, pending] : batches) {
        const auto frames = addr2line(object, pending.offsets);
        for (std::size_t i = 0; i < frames.size(); ++i) {
            auto &[which, found] = *pending.entries[i];
            add_source(found, frames[i], which.is_return);
        }
    }
    std::vector<code_location> result;
    result.reserve(addresses.size());
    for (const code_address &which : addresses) {
        result.push_back(cache.locations.at(which));
    }
    return result;
}

} // namespace thence::diagnose
