// SPDX-License-Identifier: BSD-3-Clause
// Where one-sided parcels go. After each refinement every two neighbours tell each other, in one message each way,
// where the parcels of one lie in the receive buffer of the other, and which numbers they have there. A rank says so
// when it has unpacked all parcels of the epoch before, so no parcel comes too early.
#pragma once

#include "domain.hpp"

#include <map>

namespace amr {

class Agreement {
public:
    // With all ranks that this one has parcels for or from.
    explicit Agreement(const Domain &domain);

    // Of an outgoing parcel: where it begins in the receive buffer of its peer, in numbers, and its index in `incoming`
    // there.
    std::size_t offset_there(const Parcel &outgoing) const;
    std::size_t arrives_as(const Parcel &outgoing) const;
    // Of an incoming parcel: its index in `outgoing` of its peer.
    std::size_t left_as(const Parcel &incoming) const;

private:
    struct Firsts {
        unsigned long long offset = 0, incoming = 0, outgoing = 0;
    };
    std::map<int, Firsts> theirs;         // by peer: of the parcels from this rank, and of those for it
    std::map<int, std::size_t> sent_from; // where the parcels for a peer begin in the send buffer
};

} // namespace amr
