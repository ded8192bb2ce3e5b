// SPDX-License-Identifier: BSD-3-Clause
// Every offset of the file is checked before it is used: the file may be damaged.
#include "elf_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <optional>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace command {
namespace {

class mapped_file {
public:
    explicit mapped_file(const std::filesystem::path &path) {
        const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        struct stat facts {};
        if (file >= 0 && fstat(file, &facts) == 0) {
            size_ = static_cast<std::size_t>(facts.st_size);
            start_ = size_ == 0 ? nullptr : mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
        }
        const int error = errno;
        if (file >= 0) {
            close(file);
        }
        if (file < 0 || start_ == MAP_FAILED) {
            throw std::runtime_error("cannot read " + path.string() + ": " + std::strerror(error));
        }
    }
    ~mapped_file() {
        if (start_ != nullptr) {
            munmap(start_, size_);
        }
    }
    mapped_file(const mapped_file &) = delete;
    mapped_file &operator=(const mapped_file &) = delete;

    std::string_view bytes() const { return {static_cast<const char *>(start_), size_}; }

private:
    void *start_ = nullptr;
    std::size_t size_ = 0;
};

std::string_view part(std::string_view bytes, std::uint64_t offset, std::uint64_t size) {
    return offset <= bytes.size() ? bytes.substr(offset, size) : std::string_view();
}

// Entry `index` of the table that begins at `offset`.
template <class Entry>
std::optional<Entry> entry_at(std::string_view bytes, std::uint64_t offset, std::uint64_t index = 0) {
    const std::string_view text = part(bytes, offset + index * sizeof(Entry), sizeof(Entry));
    if (text.size() < sizeof(Entry)) {
        return std::nullopt;
    }
    Entry entry;
    text.copy(reinterpret_cast<char *>(&entry), sizeof entry);
    return entry;
}

// No name or path that means something here is longer.
constexpr std::uint64_t longest_text = 65536;

std::string text_at(std::string_view strings, std::uint64_t offset) {
    const std::string_view rest = part(strings, offset, longest_text);
    return std::string(rest.substr(0, rest.find('\0')));
}

constexpr unsigned char own_class = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
constexpr unsigned char own_order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;

int own_machine() {
    static const int machine = [] {
        const mapped_file self("/proc/self/exe");
        const auto head = entry_at<ElfW(Ehdr)>(self.bytes(), 0);
        return head ? int{head->e_machine} : EM_NONE;
    }();
    return machine;
}

std::string machine_name(unsigned char bits, int machine) {
    const char *name = machine == EM_386       ? "x86"
                       : machine == EM_X86_64  ? "x86-64"
                       : machine == EM_ARM     ? "ARM"
                       : machine == EM_AARCH64 ? "AArch64"
                       : machine == EM_PPC64   ? "PowerPC"
                       : machine == EM_RISCV   ? "RISC-V"
                                               : nullptr;
    return (name != nullptr ? name : "machine " + std::to_string(machine)) +
           (bits == ELFCLASS32 ? ", 32 bit" : ", 64 bit");
}

// A file that is loaded has its dynamic section at an address; this is where the address is in the file.
std::uint64_t offset_of(const std::vector<ElfW(Phdr)> &segments, std::uint64_t address) {
    for (const ElfW(Phdr) & each : segments) {
        if (each.p_type == PT_LOAD && address >= each.p_vaddr && address - each.p_vaddr < each.p_filesz) {
            return address - each.p_vaddr + each.p_offset;
        }
    }
    return UINT64_MAX;
}

// A file with more of them is damaged.
constexpr int most_names = 10000;

void read_dynamic(std::string_view bytes, const std::vector<ElfW(Phdr)> &segments, elf_file &file) {
    int names = 0;
    for (const ElfW(Phdr) & each : segments) {
        if (each.p_type != PT_DYNAMIC) {
            continue;
        }
        std::vector<ElfW(Dyn)> entries;
        const std::string_view section = part(bytes, each.p_offset, each.p_filesz);
        for (std::uint64_t i = 0; auto entry = entry_at<ElfW(Dyn)>(section, 0, i); ++i) {
            if (entry->d_tag == DT_NULL) {
                break;
            }
            entries.push_back(*entry);
        }
        const auto table =
            std::find_if(entries.begin(), entries.end(), [](const auto &entry) { return entry.d_tag == DT_STRTAB; });
        if (table == entries.end()) {
            continue;
        }
        const std::string_view strings = part(bytes, offset_of(segments, table->d_un.d_ptr), std::string_view::npos);
        for (const ElfW(Dyn) & entry : entries) {
            const bool names_something = entry.d_tag == DT_NEEDED || entry.d_tag == DT_SONAME ||
                                         entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH;
            if (!names_something || ++names > most_names) {
                continue;
            }
            const std::string text = text_at(strings, entry.d_un.d_val);
            if (entry.d_tag == DT_NEEDED) {
                file.needed.push_back(text);
            } else if (entry.d_tag == DT_SONAME) {
                file.soname = text;
            } else if (entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH) {
                for (std::size_t at = 0; at < text.size(); at = std::min(text.find(':', at), text.size()) + 1) {
                    file.folders.push_back(text.substr(at, text.find(':', at) - at));
                }
            }
        }
    }
}

// There is at most one section of each of the two types.
void read_symbols(std::string_view bytes, const ElfW(Ehdr) & head, elf_file &file) {
    std::set<ElfW(Word)> wanted{SHT_DYNSYM, SHT_SYMTAB};
    for (unsigned i = 0; i < head.e_shnum; ++i) {
        const auto section = entry_at<ElfW(Shdr)>(bytes, head.e_shoff, i);
        if (!section || wanted.erase(section->sh_type) == 0) {
            continue;
        }
        const auto names_of = entry_at<ElfW(Shdr)>(bytes, head.e_shoff, section->sh_link);
        const std::string_view strings =
            names_of ? part(bytes, names_of->sh_offset, names_of->sh_size) : std::string_view();
        const std::string_view table = part(bytes, section->sh_offset, section->sh_size);
        for (std::uint64_t n = 0; auto symbol = entry_at<ElfW(Sym)>(table, 0, n); ++n) {
            const std::string_view name = part(strings, symbol->st_name, std::string_view::npos);
            const bool of_mpi = name.starts_with("MPI") || name.starts_with("PMPI");
            if (!of_mpi && !name.starts_with("thence_")) {
                continue;
            }
            if (symbol->st_shndx != SHN_UNDEF) {
                file.defined.insert(text_at(name, 0));
            } else if (of_mpi && ELF64_ST_BIND(symbol->st_info) != STB_WEAK) {
                file.undefined.insert(text_at(name, 0));
            }
        }
    }
}

} // namespace

bool elf_file::needs(std::string_view library) const {
    return std::find(needed.begin(), needed.end(), library) != needed.end();
}

elf_file read_elf(const std::filesystem::path &path) {
    const mapped_file mapped(path);
    const std::string_view bytes = mapped.bytes();
    elf_file file;
    if (bytes.starts_with("#!")) {
        file.is = elf_file::kind::script;
    }
    // Up to e_machine, the header is the same for 32 and 64 bit.
    if (!bytes.starts_with(ELFMAG) || bytes.size() < sizeof(Elf32_Ehdr)) {
        return file;
    }
    file.is = elf_file::kind::elf;
    const auto bits = static_cast<unsigned char>(bytes[EI_CLASS]);
    const auto order = static_cast<unsigned char>(bytes[EI_DATA]);
    const auto low =
        static_cast<unsigned char>(bytes[offsetof(Elf32_Ehdr, e_machine) + (order == ELFDATA2MSB ? 1 : 0)]);
    const auto high =
        static_cast<unsigned char>(bytes[offsetof(Elf32_Ehdr, e_machine) + (order == ELFDATA2MSB ? 0 : 1)]);
    const int machine = 256 * high + low;
    if (bits != own_class || order != own_order || machine != own_machine()) {
        file.foreign = machine_name(bits, machine);
        return file;
    }
    const auto head = entry_at<ElfW(Ehdr)>(bytes, 0);
    if (!head) {
        file.damage = "it ends inside its ELF header";
        return file;
    }
    std::vector<ElfW(Phdr)> segments;
    for (unsigned i = 0; i < head->e_phnum; ++i) {
        const auto segment = entry_at<ElfW(Phdr)>(bytes, head->e_phoff, i);
        if (!segment || part(bytes, segment->p_offset, segment->p_filesz).size() < segment->p_filesz) {
            file.damage = "it ends before its program header " + std::to_string(i) + (segment ? "'s data" : "");
            break;
        }
        segments.push_back(*segment);
        if (segment->p_type == PT_INTERP) {
            file.interpreter = text_at(part(bytes, segment->p_offset, segment->p_filesz), 0);
        }
    }
    read_dynamic(bytes, segments, file);
    read_symbols(bytes, *head, file);
    return file;
}

} // namespace command
