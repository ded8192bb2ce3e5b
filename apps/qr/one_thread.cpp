// SPDX-License-Identifier: BSD-3-Clause
#include "one_thread.hpp"

#include <utility>

namespace qr {

LocalGraph::LocalGraph(const Run &run) : of_transfer_(run.sequence.transfers.size(), -1) {
    const Sequence &s = run.sequence;
    std::vector<Access> accesses(static_cast<std::size_t>(s.blocks()));
    const auto access = [&](int block) -> Access & { return accesses[static_cast<std::size_t>(block)]; };
    auto next = s.transfers.begin();
    for (int n = 0; n < static_cast<int>(s.tasks.size()); ++n) {
        for (; next != s.transfers.end() && next->before == n; ++next) {
            if (next->from == run.rank || next->to == run.rank) {
                const int number = static_cast<int>(next - s.transfers.begin());
                const int item = add({.transfer = number, .urgent = true});
                of_transfer_[static_cast<std::size_t>(number)] = item;
                uses(item, access(next->block), next->to == run.rank);
            }
        }
        const Task &task = s.tasks[static_cast<std::size_t>(n)];
        if (task.rank == run.rank) {
            const int item = add({.task = n, .urgent = task.kind == Task::geqrt || task.kind == Task::tpqrt});
            for (const Use &use : s.uses(task)) {
                uses(item, access(use.block), use.writes);
            }
        }
    }
    left_ = static_cast<int>(items_.size());
    for (int i = 0; i < left_; ++i) {
        if (item(i).waits_for == 0) {
            make_ready(i);
        }
    }
}

int LocalGraph::take() {
    std::deque<int> &from = urgent_.empty() ? ready_ : urgent_;
    if (from.empty()) {
        return -1;
    }
    const int item = from.front();
    from.pop_front();
    return item;
}

void LocalGraph::finish(int number) {
    --left_;
    for (const int each : item(number).next) {
        if (--items_[static_cast<std::size_t>(each)].waits_for == 0) {
            make_ready(each);
        }
    }
}

int LocalGraph::add(Item item) {
    items_.push_back(std::move(item));
    return static_cast<int>(items_.size()) - 1;
}

void LocalGraph::uses(int number, Access &access, bool writes) {
    if (!writes) {
        follows(number, access.writer);
        access.readers.push_back(number);
        return;
    }
    for (const int reader : access.readers) {
        follows(number, reader);
    }
    if (access.readers.empty()) {
        follows(number, access.writer);
    }
    access.readers.clear();
    access.writer = number;
}

void LocalGraph::follows(int number, int before) {
    if (before >= 0 && before != number) {
        items_[static_cast<std::size_t>(before)].next.push_back(number);
        ++items_[static_cast<std::size_t>(number)].waits_for;
    }
}

void LocalGraph::make_ready(int number) {
    (item(number).urgent ? urgent_ : ready_).push_back(number);
}

} // namespace qr
