// SPDX-License-Identifier: BSD-3-Clause
#include "core/diagnose/symbolize.hpp"

#ifdef THENCE_HAS_BACKTRACE
#include <backtrace.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

namespace thence::diagnose {

namespace {

struct source_frame {
    std::string function;
    std::string file;
    int line;
};

std::string hex(std::uintptr_t value) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%zx", static_cast<std::size_t>(value));
    return text;
}

std::string demangled(const char *name) {
    if (name == nullptr || !std::string_view(name).starts_with("_Z")) {
        return name == nullptr ? "" : name;
    }
    const std::unique_ptr<char, void (*)(void *)> text(abi::__cxa_demangle(name, nullptr, nullptr, nullptr),
                                                       &std::free);
    return text != nullptr ? text.get() : name;
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

// True if the user wrote the frame: its file is neither a header of this library (an inlined adapter) nor one of the
// C++ standard library.
bool is_user_code(const source_frame &frame) noexcept {
    return frame.file.find("include/thence/") == std::string::npos &&
           frame.file.find("/include/c++/") == std::string::npos;
}

struct symbol {
    std::string name; // empty if unknown
    std::uintptr_t begin = 0;
};

#ifdef THENCE_HAS_BACKTRACE
void ignore(void *, const char *, int) {}

// Its memory cannot be freed, so a new one is made only if objects were loaded since the last was.
backtrace_state *state() noexcept {
    static backtrace_state *made = nullptr;
    static unsigned long long loads_before = 0;
    unsigned long long loads = 0;
    dl_iterate_phdr(
        [](dl_phdr_info *info, std::size_t, void *data) {
            *static_cast<unsigned long long *>(data) = info->dlpi_adds;
            return 1;
        },
        &loads);
    if (std::exchange(loads_before, loads) != loads) {
        made = backtrace_create_state(nullptr, 0, &ignore, nullptr);
    }
    return made;
}

// The frames that contain the instruction, the innermost inlined function first, and the symbol.
std::vector<source_frame> find_frames(std::uintptr_t code, symbol &found) {
    std::vector<source_frame> frames;
    if (backtrace_state *const from = state(); from != nullptr) {
        backtrace_pcinfo(
            from, code,
            [](void *data, std::uintptr_t, const char *file, int line, const char *function) {
                if (file != nullptr) {
                    static_cast<std::vector<source_frame> *>(data)->push_back({demangled(function), file, line});
                }
                return 0;
            },
            &ignore, &frames);
        backtrace_syminfo(
            from, code,
            [](void *data, std::uintptr_t, const char *name, std::uintptr_t begin, std::uintptr_t) {
                if (name != nullptr) {
                    *static_cast<symbol *>(data) = {demangled(name), begin};
                }
            },
            &ignore, &found);
    }
    return frames;
}
#else
std::vector<source_frame> find_frames(std::uintptr_t, symbol &) {
    return {};
}
#endif

// For a call: the innermost frame of user code. For a function: the outermost one, since its first instruction may
// belong to an inlined function.
const source_frame &frame_to_show(const std::vector<source_frame> &frames, bool is_return) noexcept {
    const auto found = std::find_if(frames.begin(), frames.end(), is_user_code);
    return !is_return ? frames.back() : found != frames.end() ? *found : frames.front();
}

std::string look_up(const void *address, bool is_return) {
    const std::uintptr_t code = reinterpret_cast<std::uintptr_t>(address) - (is_return ? 1 : 0);
    Dl_info info{};
    link_map *map = nullptr;
    std::string module = hex(code);
    symbol function;
    if (dladdr1(reinterpret_cast<void *>(code), &info, reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP) != 0 &&
        map != nullptr) {
        const std::string file(info.dli_fname);
        module = file.substr(file.rfind('/') + 1) + "+" + hex(code - map->l_addr);
        function = {demangled(info.dli_sname), reinterpret_cast<std::uintptr_t>(info.dli_saddr)};
    }
    const std::vector<source_frame> frames = find_frames(code, function);
    const source_frame *const shown = frames.empty() ? nullptr : &frame_to_show(frames, is_return);
    std::string name = shown != nullptr && !shown->function.empty() ? shown->function : function.name;
    constexpr std::size_t longest = 160;
    if (shown == nullptr && !name.empty() && code + (is_return ? 1 : 0) != function.begin) {
        name.append("+").append(hex(code + (is_return ? 1 : 0) - function.begin));
    }
    if (name.size() > longest) {
        name = name.substr(0, longest) + "...";
    }
    if (shown == nullptr) {
        return name.empty() ? module : name + " in " + module;
    }
    const std::string line = short_path(shown->file) + ":" + std::to_string(shown->line);
    return name.empty() ? line : name + " (" + line + ")";
}

const std::string &location(const void *address, bool is_return) {
    static std::mutex mutex;
    // Never destroyed: a thread may report while the process exits.
    static auto &locations = *new std::map<std::pair<const void *, bool>, std::string>;
    const std::scoped_lock guard(mutex);
    std::string &found = locations[{address, is_return}];
    if (found.empty()) {
        found = look_up(address, is_return);
    }
    return found;
}

} // namespace

const std::string &location_of_call(const void *return_address) {
    return location(return_address, true);
}
const std::string &location_of_function(const void *function) {
    return location(function, false);
}

} // namespace thence::diagnose
