// SPDX-License-Identifier: BSD-3-Clause
// What all ranks have to agree on: which rank names its wrong value, and whether there are tags enough. A program of
// its own, on any number of ranks.
#include "common/program.hpp"

#include <cstdio>

namespace {

int failures = 0;

void expect(bool right, const char *what, const std::string &found) {
    if (right) {
        return;
    }
    ++failures;
    std::fprintf(stderr, "%s; found: %s\n", what, found.c_str());
}

// For each set of ranks with a wrong value, every rank learns the text of the first of them.
void test_first_wrong(int rank, int ranks) {
    for (int set = 0; set < 1 << ranks; ++set) {
        const std::string mine = (set >> rank & 1) != 0 ? "value " + std::to_string(10 * rank) : "";
        int first = 0;
        while (first < ranks && (set >> first & 1) == 0) {
            ++first;
        }
        const std::string expected =
            first == ranks ? "" : "rank " + std::to_string(first) + ": value " + std::to_string(10 * first);
        const std::string found = apps::first_wrong("program_test", mine, MPI_COMM_WORLD);
        expect(found == expected, ("expected: " + expected).c_str(), found);
    }
}

std::string refusal(long largest) {
    try {
        apps::check_tags(MPI_COMM_WORLD, largest, "10 uses; do this");
    } catch (const apps::InputError &e) {
        return e.what();
    }
    return "accepted";
}

void test_check_tags() {
    int *bound = nullptr, found = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &found);
    if (found == 0) {
        return; // as on simulated ranks
    }
    expect(refusal(*bound) == "accepted", "the largest tag is refused", refusal(*bound));
    const std::string text = "this MPI has tags up to " + std::to_string(*bound) + ", too few for 10 uses; do this";
    expect(refusal(*bound + 1L) == text, text.c_str(), refusal(*bound + 1L));
}

void test_check_notifications(int rank, int ranks) {
    const auto refusal_of = [&](unsigned long most) -> std::string {
        try {
            apps::check_notifications(MPI_COMM_WORLD, 10UL * (static_cast<unsigned long>(rank) + 1), most,
                                      "uses need; do this");
        } catch (const apps::InputError &e) {
            return e.what();
        }
        return "accepted";
    };
    const unsigned long needed = 10UL * static_cast<unsigned long>(ranks);
    const std::string enough = refusal_of(needed);
    expect(enough == "accepted", "as many notifications as are needed are refused", enough);
    const std::string text = "a segment has " + std::to_string(needed - 1) + " notifications, fewer than the " +
                             std::to_string(needed) + " that uses need; do this";
    const std::string found = refusal_of(needed - 1);
    expect(found == text, text.c_str(), found);
}

} // namespace

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    test_first_wrong(rank, ranks);
    test_check_tags();
    test_check_notifications(rank, ranks);
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return failures == 0 ? 0 : 1;
}
