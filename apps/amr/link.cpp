// SPDX-License-Identifier: BSD-3-Clause
#include "link.hpp"

namespace amr {
namespace {

std::vector<MPI_Request> requests_of(const std::vector<Flight> &flights) {
    std::vector<MPI_Request> all;
    all.reserve(flights.size());
    for (const Flight &f : flights) {
        all.push_back(f.request);
    }
    return all;
}

} // namespace

Message Link::message(bool sent, int stage, const Parcel &p) const {
    const bool higher = (p.peer > run.domain.rank()) == sent;
    return {apps::now(),
            0,
            stage,
            p.number,
            p.peer,
            static_cast<int>(p.count),
            run.recorder.lane().index,
            static_cast<std::uint8_t>(higher ? 1 : 0),
            sent};
}

Flight Link::receive(int stage, const Parcel &p) {
    Flight f{MPI_REQUEST_NULL, message(false, stage, p)};
    const Timed timed(run.recorder, Activity::start, stage, -1, p.number);
    MPI_Irecv(run.domain.receive_part(p), static_cast<int>(p.count), MPI_DOUBLE, p.peer, p.number, run.domain.comm(),
              &f.request);
    return f;
}

Flight Link::send(int stage, const Parcel &p) {
    Flight f{MPI_REQUEST_NULL, message(true, stage, p)};
    const Timed timed(run.recorder, Activity::start, stage, -1, p.number);
    MPI_Isend(run.domain.send_part(p), static_cast<int>(p.count), MPI_DOUBLE, p.peer, p.number, run.domain.comm(),
              &f.request);
    return f;
}

void Link::wait(std::vector<Flight> &flights) {
    std::vector<MPI_Request> requests = requests_of(flights);
    {
        const Timed timed(run.recorder, Activity::wait);
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    }
    for (Flight &f : flights) {
        complete(f);
    }
    flights.clear();
}

int Link::wait_any(std::vector<Flight> &flights) {
    std::vector<MPI_Request> requests = requests_of(flights);
    int which = MPI_UNDEFINED;
    {
        const Timed timed(run.recorder, Activity::wait);
        MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &which, MPI_STATUS_IGNORE);
    }
    if (which == MPI_UNDEFINED) {
        return -1;
    }
    Flight &f = flights[static_cast<std::size_t>(which)];
    complete(f);
    f.request = MPI_REQUEST_NULL;
    return which;
}

} // namespace amr
