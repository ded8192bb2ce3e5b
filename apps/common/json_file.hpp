// SPDX-License-Identifier: BSD-3-Clause
// JSON as the applications write it: one object per file, one member per line, in the order in which members are added.
// Tables go to the file row by row, so that a long one is never in memory as a whole.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace apps {

using Json = nlohmann::ordered_json;

class JsonFile {
public:
    explicit JsonFile(const std::string &name) : file(name), out(name) { out << '{'; }

    void member(const std::string &name, const Json &value);

    // A member that is an array with one row per line.
    void begin_rows(const std::string &name);
    void row(const Json &value);
    void end_rows();

    // Ends the object and closes the file; throws std::runtime_error if anything could not be written.
    void finish();

private:
    void key(const std::string &name);
    void write(const Json &value);

    std::string file;
    std::ofstream out;
    bool first_member = true, first_row = true;
};

// Writes `object` to a file, one member per line. Throws std::runtime_error.
void write_json_file(const std::string &file, const Json &object);

} // namespace apps
