// SPDX-License-Identifier: BSD-3-Clause
// Bytes that are no UTF-8, as a file name may have, are replaced and do not end the program.
#include "json_file.hpp"

#include <stdexcept>

namespace apps {

void JsonFile::write(const Json &value) {
    out << value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void JsonFile::key(const std::string &name) {
    out << (first_member ? "" : ",") << '\n';
    first_member = false;
    write(name);
    out << ": ";
}

void JsonFile::member(const std::string &name, const Json &value) {
    key(name);
    write(value);
}

void JsonFile::begin_rows(const std::string &name) {
    key(name);
    out << '[';
    first_row = true;
}

void JsonFile::row(const Json &value) {
    out << (first_row ? "" : ",") << '\n';
    first_row = false;
    write(value);
}

void JsonFile::end_rows() {
    out << ']';
}

void JsonFile::finish() {
    out << "\n}\n";
    out.close();
    if (!out) {
        throw std::runtime_error(file + ": cannot write; check that the folder exists and has space");
    }
}

void write_json_file(const std::string &file, const Json &object) {
    JsonFile out(file);
    for (const auto &[name, value] : object.items()) {
        out.member(name, value);
    }
    out.finish();
}

} // namespace apps
