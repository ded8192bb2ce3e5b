// SPDX-License-Identifier: BSD-3-Clause
#include "diagnose/place.hpp"

#include "diagnose/addr2line.hpp"

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
    bool operator()(const address &a, const address &b) const noexcept {
        return a.code != b.code ? std::less<>()(a.code, b.code) : a.is_return < b.is_return;
    }
};

// What has been found before. Never destroyed: a thread may report while the process exits.
struct memory {
    std::mutex mutex;
    std::map<address, place, by_code> places;
};
memory &remembered() {
    static auto *found = new memory;
    return *found;
}

struct location {
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

// As a person would name it: relative to where the program runs, if it lies below.
std::string short_path(const std::string &file) {
    char here[4096];
    if (getcwd(here, sizeof here) != nullptr) {
        const std::string head = std::string(here) + "/";
        if (head.size() > 1 && file.starts_with(head)) {
            return file.substr(head.size());
        }
    }
    return file;
}

// The call lies before its return address, and may be the last thing in its line.
std::uintptr_t code_of(const address &which) noexcept {
    return reinterpret_cast<std::uintptr_t>(which.code) - (which.is_return ? 1 : 0);
}

// What the dynamic linker knows: the object file, and a symbol if it is exported.
location look_up(const address &which, place &found) {
    location where;
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

// Neither this library's headers nor those of C++: an adapter that was inlined is not what the user wrote.
bool is_of_user(const source_frame &frame) noexcept {
    return !frame.file.empty() && frame.file.find("include/thence/") == std::string::npos &&
           frame.file.find("/include/c++/") == std::string::npos;
}

// Of the frames at one address, innermost first, the one to name. Of a call the innermost one that the user wrote. A
// function is the outermost one; what stands at its first instruction may be something inlined.
const source_frame *to_name(const std::vector<source_frame> &frames, bool is_return) noexcept {
    if (frames.empty()) {
        return nullptr;
    }
    const auto found = std::find_if(frames.begin(), frames.end(), is_of_user);
    return !is_return ? &frames.back() : found != frames.end() ? &*found : &frames.front();
}

void add_source(place &found, const std::vector<source_frame> &frames, bool is_return) {
    const source_frame *frame = to_name(frames, is_return);
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

std::string place::text() const {
    constexpr std::size_t longest = 160;
    std::string result = function.size() > longest ? function.substr(0, longest) + "..." : function;
    if (!line.empty()) {
        return result.empty() ? line : result + " (" + line + ")";
    }
    return result.empty() ? module : result + " in " + module;
}

std::vector<place> find_places(const std::vector<address> &wanted) {
    memory &known = remembered();
    std::scoped_lock guard(known.mutex);
    struct question {
        std::vector<std::uintptr_t> offsets;
        std::vector<std::pair<const address, place> *> answers;
    };
    std::map<std::string, question> open;
    for (const address &which : wanted) {
        auto [entry, fresh] = known.places.try_emplace(which);
        if (fresh) {
            const location where = look_up(which, entry->second);
            if (!where.object.empty()) {
                open[where.object].offsets.push_back(where.offset);
                open[where.object].answers.push_back(&*entry);
            }
        }
    }
    for (auto &[object, asked] : open) {
        const auto frames = addr2line(object, asked.offsets);
        for (std::size_t i = 0; i < frames.size(); ++i) {
            auto &[which, found] = *asked.answers[i];
            add_source(found, frames[i], which.is_return);
        }
    }
    std::vector<place> result;
    result.reserve(wanted.size());
    for (const address &which : wanted) {
        result.push_back(known.places.at(which));
    }
    return result;
}

} // namespace thence::diagnose
