// SPDX-License-Identifier: BSD-3-Clause
// Rank 0 writes the recorded spans and messages of all ranks, with times of one clock.
#include "json.hpp"
#include "outcome.hpp"

#include <limits>

namespace heat {
namespace {

// All records of one kind from the lanes of this rank.
template <class T> std::vector<T> merge(const Recorder &recorder, std::vector<T> Lane::*part) {
    std::vector<T> all;
    for (const Lane *lane : recorder.lanes())
        all.insert(all.end(), (lane->*part).begin(), (lane->*part).end());
    return all;
}

template <class T> void send(const std::vector<T> &items, MPI_Comm comm) {
    const long count = static_cast<long>(items.size());
    MPI_Send(&count, 1, MPI_LONG, 0, 0, comm);
    MPI_Send(items.data(), static_cast<int>(count * static_cast<long>(sizeof(T))), MPI_BYTE, 0, 0, comm);
}

template <class T> std::vector<T> receive(int rank, MPI_Comm comm) {
    long count = 0;
    MPI_Recv(&count, 1, MPI_LONG, rank, 0, comm, MPI_STATUS_IGNORE);
    std::vector<T> items(static_cast<std::size_t>(count));
    MPI_Recv(items.data(), static_cast<int>(count * static_cast<long>(sizeof(T))), MPI_BYTE, rank, 0, comm,
             MPI_STATUS_IGNORE);
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
                if (after - before < least)
                    least = after - before, offset = theirs - (before + after) / 2;
            }
        }
        MPI_Barrier(comm);
    }
    return first == 0 ? 0 : offset;
}

void write_timeline(const Run &run, const Options &options, Nanoseconds offset) {
    auto spans = merge(run.recorder, &Lane::spans);
    auto messages = merge(run.recorder, &Lane::messages);
    for (Span &s : spans)
        s.begin += offset, s.end += offset;
    for (Message &m : messages)
        m.started += offset, m.complete += offset;
    if (run.rank != 0) {
        send(spans, run.comm);
        send(messages, run.comm);
        return;
    }
    Nanoseconds origin = std::numeric_limits<Nanoseconds>::max();
    for (const Span &s : spans)
        origin = std::min(origin, s.begin);
    const auto microseconds = [&](Nanoseconds t) { return static_cast<double>(t - origin) / 1000; };

    JsonWriter json(options.timeline);
    json.member("variant", options.variant->name);
    json.member("ranks", run.ranks).member("threads", run.threads).member("iterations", run.iterations);
    json.key("activities").open('[').value("compute").value("start").value("wait").value("poll").close(']');
    json.key("span_fields").open('[');
    for (const char *f : {"rank", "lane", "activity", "begin_us", "end_us", "iteration", "row", "col"})
        json.value(f);
    json.close(']').key("message_fields").open('[');
    for (const char *f :
         {"rank", "lane", "sent", "down", "peer", "iteration", "col", "cells", "started_us", "complete_us"})
        json.value(f);
    json.close(']');

    // First the spans of all ranks are written, then the messages of all ranks.
    std::vector<std::vector<Span>> all_spans{std::move(spans)};
    std::vector<std::vector<Message>> all_messages{std::move(messages)};
    for (int r = 1; r < run.ranks; ++r) {
        all_spans.push_back(receive<Span>(r, run.comm));
        all_messages.push_back(receive<Message>(r, run.comm));
    }
    json.key("spans").open('[');
    for (std::size_t r = 0; r < all_spans.size(); ++r)
        for (const Span &s : all_spans[r])
            json.line()
                .open('[')
                .value(r)
                .value(s.lane)
                .value(static_cast<int>(s.activity))
                .value(microseconds(s.begin))
                .value(microseconds(s.end))
                .value(s.iteration)
                .value(s.row)
                .value(s.col)
                .close(']');
    json.close(']').key("messages").open('[');
    for (std::size_t r = 0; r < all_messages.size(); ++r)
        for (const Message &m : all_messages[r])
            json.line()
                .open('[')
                .value(r)
                .value(m.lane)
                .value(m.sent ? 1 : 0)
                .value(m.direction == Direction::down ? 1 : 0)
                .value(m.peer)
                .value(m.iteration)
                .value(m.col)
                .value(m.cells)
                .value(microseconds(m.started))
                .value(microseconds(m.complete))
                .close(']');
    json.close(']');
    json.finish();
}

} // namespace heat
