// SPDX-License-Identifier: BSD-3-Clause
#include "agreement.hpp"

namespace amr {

Agreement::Agreement(const Domain &domain) {
    const Plan &plan = domain.plan();
    std::map<int, Firsts> mine;
    for (std::size_t i = plan.incoming.size(); i-- > 0;) {
        Firsts &first = mine[plan.incoming[i].peer];
        first.offset = plan.incoming[i].offset;
        first.incoming = i;
    }
    for (std::size_t i = plan.outgoing.size(); i-- > 0;) {
        mine[plan.outgoing[i].peer].outgoing = i;
        sent_from[plan.outgoing[i].peer] = plan.outgoing[i].offset;
    }
    std::vector<MPI_Request> requests;
    constexpr int tag = 1, count = 3;
    for (const auto &[peer, firsts] : mine) {
        MPI_Irecv(&theirs[peer], count, MPI_UNSIGNED_LONG_LONG, peer, tag, domain.comm(), &requests.emplace_back());
        MPI_Isend(&firsts, count, MPI_UNSIGNED_LONG_LONG, peer, tag, domain.comm(), &requests.emplace_back());
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

std::size_t Agreement::offset_there(const Parcel &outgoing) const {
    return theirs.at(outgoing.peer).offset + outgoing.offset - sent_from.at(outgoing.peer);
}

std::size_t Agreement::arrives_as(const Parcel &outgoing) const {
    return theirs.at(outgoing.peer).incoming + static_cast<std::size_t>(outgoing.number);
}

std::size_t Agreement::left_as(const Parcel &incoming) const {
    return theirs.at(incoming.peer).outgoing + static_cast<std::size_t>(incoming.number);
}

} // namespace amr
