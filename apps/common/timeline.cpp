// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 writes the recorded spans and messages of all ranks, with times of one clock.
#include "timeline.hpp"

#include "json_file.hpp"

#include <algorithm>
#include <limits>

namespace apps {
namespace {

// All records of one kind from the lanes of this rank.
template <class T> std::vector<T> merge(const Recorder &recorder, std::vector<T> Lane::*part) {
    std::vector<T> all;
    for (const Lane *lane : recorder.lanes()) {
        all.insert(all.end(), (lane->*part).begin(), (lane->*part).end());
    }
    return all;
}

// Records are sent in messages of at most 2^20, so that the number of bytes fits into int. `transfer` gets a pointer
// and a number of bytes.
template <class T, class F> void in_chunks(T *items, long count, const F &transfer) {
    constexpr long chunk = 1L << 20;
    for (long i = 0; i < count; i += chunk) {
        transfer(items + i, static_cast<int>(std::min(chunk, count - i) * static_cast<long>(sizeof(T))));
    }
}

template <class T> void send(const std::vector<T> &items, MPI_Comm comm) {
    const long count = static_cast<long>(items.size());
    MPI_Send(&count, 1, MPI_LONG, 0, 0, comm);
    in_chunks(items.data(), count, [&](const T *at, int bytes) { MPI_Send(at, bytes, MPI_BYTE, 0, 0, comm); });
}

template <class T> std::vector<T> receive(int rank, MPI_Comm comm) {
    long count = 0;
    MPI_Recv(&count, 1, MPI_LONG, rank, 0, comm, MPI_STATUS_IGNORE);
    std::vector<T> items(static_cast<std::size_t>(count));
    in_chunks(items.data(), count,
              [&](T *at, int bytes) { MPI_Recv(at, bytes, MPI_BYTE, rank, 0, comm, MPI_STATUS_IGNORE); });
    return items;
}

} // namespace

Nanoseconds clock_offset(MPI_Comm comm) {
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    // Ranks on one node read the same clock. A measured offset would only add an error, which is large if ranks share
    // cores.
    MPI_Comm node;
    int first = rank;
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Bcast(&first, 1, MPI_INT, 0, node);
    MPI_Comm_free(&node);

    constexpr int rounds = 50;
    Nanoseconds offset = 0;
    for (int peer = 1; peer < ranks; ++peer) {
        Nanoseconds least = std::numeric_limits<Nanoseconds>::max();
        for (int i = 0; i < rounds; ++i) {
            Nanoseconds theirs = 0;
            if (rank == 0) {
                MPI_Recv(&theirs, 1, MPI_INT64_T, peer, 0, comm, MPI_STATUS_IGNORE);
                theirs = now();
                MPI_Send(&theirs, 1, MPI_INT64_T, peer, 0, comm);
            } else if (rank == peer) {
                // Rank 0 reads its clock between these two times. The pair with the smallest distance has the smallest
                // error.
                const Nanoseconds before = now();
                MPI_Send(&theirs, 1, MPI_INT64_T, 0, 0, comm);
                MPI_Recv(&theirs, 1, MPI_INT64_T, 0, 0, comm, MPI_STATUS_IGNORE);
                const Nanoseconds after = now();
                if (after - before < least) {
                    least = after - before, offset = theirs - (before + after) / 2;
                }
            }
        }
        MPI_Barrier(comm);
    }
    return first == 0 ? 0 : offset;
}

void write_timeline(const std::string &file, const Recorder &recorder, MPI_Comm comm, Nanoseconds offset,
                    const TimelineHead &head) {
    auto spans = merge(recorder, &Lane::spans);
    auto messages = merge(recorder, &Lane::messages);
    for (Span &s : spans) {
        s.begin += offset, s.end += offset;
    }
    for (Message &m : messages) {
        m.started += offset, m.complete += offset;
    }
    int rank, ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    if (rank != 0) {
        send(spans, comm);
        send(messages, comm);
        return;
    }
    Nanoseconds origin = std::numeric_limits<Nanoseconds>::max();
    for (const Span &s : spans) {
        origin = std::min(origin, s.begin);
    }
    const auto microseconds = [&](Nanoseconds t) { return static_cast<double>(t - origin) / 1000; };

    JsonFile out(file);
    out.member("variant", head.variant);
    out.member("ranks", ranks);
    out.member("threads", head.threads);
    out.member("iterations", head.iterations);
    out.member("activities", {"compute", "start", "wait", "poll"});
    out.member("span_fields", {"rank", "lane", "activity", "begin_us", "end_us", "iteration", head.row_field, "col"});
    out.member("message_fields", {"rank", "lane", "sent", head.direction_field, "peer", "iteration", "col", "cells",
                                  "started_us", "complete_us"});

    // First the spans of all ranks are written, then the messages of all ranks.
    std::vector<std::vector<Message>> all_messages;
    all_messages.push_back(std::move(messages));
    out.begin_rows("spans");
    for (int r = 0; r < ranks; ++r) {
        if (r > 0) {
            spans = receive<Span>(r, comm);
            all_messages.push_back(receive<Message>(r, comm));
        }
        for (const Span &s : spans) {
            out.row({r, s.lane, static_cast<int>(s.activity), microseconds(s.begin), microseconds(s.end), s.iteration,
                     s.row, s.col});
        }
    }
    out.end_rows();
    out.begin_rows("messages");
    for (std::size_t r = 0; r < all_messages.size(); ++r) {
        for (const Message &m : all_messages[r]) {
            out.row({r, m.lane, m.sent ? 1 : 0, m.direction, m.peer, m.iteration, m.col, m.cells,
                     microseconds(m.started), microseconds(m.complete)});
        }
    }
    out.end_rows();
    out.finish();
}

} // namespace apps
