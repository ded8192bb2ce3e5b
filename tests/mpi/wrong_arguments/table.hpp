// SPDX-License-Identifier: BSD-3-Clause
// A table of calls that MPI refuses: for every interposed function its arguments as they should be, and what is wrong
// with each in turn. A row is run as MPI_X and as PMPI_X, each in a child of its own that is forked from the same
// state, and what the two did is compared: they must be the same. Where a continuation has completed a persistent
// request, PMPI_X has objects of its own, with a persistent request that is complete and has had no continuation.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace wrong_arguments {

// The objects and buffers of the calls. Created once, on one rank. Children change their copies.
struct world {
    static constexpr int some = 4;
    static constexpr int message_tag = 11; // one message with it has been sent to this rank
    static constexpr int pending_tag = 3;  // a receive waits for one with it
    static constexpr int active_tag = 7;   // the same for the persistent one

    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm ring = MPI_COMM_NULL; // with a Cartesian topology
    // Of calls that would wait for processes that do not come.
    MPI_Comm nobody = MPI_COMM_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Win win = MPI_WIN_NULL;
#if defined(THENCE_MPI_FILES)
    MPI_File file = MPI_FILE_NULL;
#endif
#if defined(THENCE_MPI_BUFFER_FLUSH)
    MPI_Session session = MPI_SESSION_NULL;
#endif
    MPI_Request persistent[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}; // a receive and a send, not started
    MPI_Request pending = MPI_REQUEST_NULL;                           // a receive
    MPI_Request active = MPI_REQUEST_NULL; // a persistent receive that is pending; a test may attach a continuation
    MPI_Request complete[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}; // receives: the status of a send is undefined
    MPI_Request sends[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL}; // to itself
    MPI_Message message = MPI_MESSAGE_NULL; // a message that a probe has matched

    // Outputs, and inputs of one call that are set before it.
    MPI_Request requests[some];
    MPI_Status statuses[some];
    int flag = 0;
    int index = 0;
    int number = 0;
    int indices[some];
    // Some MPIs copy memory before the buffers if a count is negative. It must not be the outputs: whether the calls
    // differ would depend on what lies there.
    unsigned char before_buffers[4096] = {};
    int sent[5] = {}; // a buffer for each message that is under way, and for each request
    int in[16] = {};
    int out[16] = {};
    int received[5] = {};
    MPI_Comm new_comm = MPI_COMM_NULL;
    MPI_Win new_win = MPI_WIN_NULL;
    MPI_Group new_group = MPI_GROUP_NULL;
    MPI_Message new_message = MPI_MESSAGE_NULL;
    void *base = nullptr;

    world();
    ~world();
    world(const world &) = delete;
    world &operator=(const world &) = delete;
    void reset_outputs();
};

struct call {
    std::string function;
    std::string what; // is wrong
    bool alone;       // gets a child for itself: it changes what later calls would see
    bool refusable;   // false: nothing is wrong, so MPI must accept it
    std::function<int(bool pmpi)> run;
};

// One argument: as it should be, and wrong values of it.
template <class T> struct argument {
    T good;
    std::vector<std::pair<const char *, T>> wrong{};
};

template <class T> argument<T> fixed(T value) {
    return {value};
}
template <class T> argument<T *> pointer(T *value) {
    return {value, {{"null pointer", nullptr}}};
}
template <class T> argument<T> count(T value) {
    return {value, {{"negative count", T{-7}}}};
}
inline argument<int> rank(int value = 0) {
    return {value, {{"rank below zero", -7777}, {"rank above the last", 1 << 20}}};
}
inline argument<int> tag(int value) {
    return {value, {{"tag below zero", -7777}}};
}
inline argument<int> number(int value) {
    return {value, {{"number below zero", -7777}}};
}
inline argument<MPI_Comm> comm(MPI_Comm value) {
    return {value, {{"null communicator", MPI_COMM_NULL}}};
}
inline argument<MPI_Datatype> type(MPI_Datatype value = MPI_INT) {
    return {value, {{"null datatype", MPI_DATATYPE_NULL}}};
}
inline argument<MPI_Op> op(MPI_Op value = MPI_SUM) {
    return {value, {{"null operation", MPI_OP_NULL}}};
}
inline argument<MPI_Group> group(MPI_Group value) {
    return {value, {{"null group", MPI_GROUP_NULL}}};
}
inline argument<MPI_Win> win(MPI_Win value) {
    return {value, {{"null window", MPI_WIN_NULL}}};
}

class table {
public:
    // Adds one call per wrong argument. With `good`, the call with none too, and MPI must accept it.
    template <class... P, class... A>
    void add(const char *function, int (*interposed)(P...), int (*own)(P...), bool good, argument<A>... arguments) {
        static_assert(sizeof...(P) == sizeof...(A));
        const std::tuple<P...> all{static_cast<P>(arguments.good)...};
        each_wrong(function, interposed, own, all, std::index_sequence_for<A...>{}, arguments...);
        right_.push_back(
            {function, "", false, false, [=](bool pmpi) { return std::apply(pmpi ? own : interposed, all); }});
        if (good) {
            add_call({function, "nothing is wrong", true, false,
                      [=](bool pmpi) { return std::apply(pmpi ? own : interposed, all); }});
        }
    }
    void add_call(call one) { calls_.push_back(std::move(one)); }
    const std::vector<call> &calls() const { return calls_; }
    // Those with all arguments as they should be, which MPI need not be able to do here.
    const std::vector<call> &right_calls() const { return right_; }

private:
    template <class... P, std::size_t... I, class... A>
    void each_wrong(const char *function, int (*interposed)(P...), int (*own)(P...), const std::tuple<P...> &all,
                    std::index_sequence<I...>, const argument<A> &...arguments) {
        (one_wrong<I>(function, interposed, own, all, arguments), ...);
    }
    template <std::size_t i, class... P, class T>
    void one_wrong(const char *function, int (*interposed)(P...), int (*own)(P...), const std::tuple<P...> &all,
                   const argument<T> &each) {
        for (const auto &[what, value] : each.wrong) {
            std::tuple<P...> with = all;
            std::get<i>(with) = value;
            add_call({function, "argument " + std::to_string(i + 1) + ": " + what, false, true,
                      [=](bool pmpi) { return std::apply(pmpi ? own : interposed, with); }});
        }
    }

    std::vector<call> calls_;
    std::vector<call> right_;
};

void add_requests(table &, world &);
void add_messages(table &, world &);
void add_persistent(table &, world &);
void add_collectives(table &, world &);
void add_communicators(table &, world &);
void add_windows(table &, world &);
void add_files(table &, world &);
void add_nonblocking(table &, world &);
void add_asking(table &, world &);

// All calls, with the objects of this world.
table all_calls(world &);

// The objects of a run, and the calls with them.
struct side {
    const table &calls;
    world &w;
};
// Runs each call both ways, PMPI_X with the first objects and MPI_X with the second, and adds a GoogleTest failure for
// each difference. Prints which calls crash or do not return in MPI itself: these are not compared. `state` names the
// state of the library.
void compare(const char *state, side own, side interposed);

} // namespace wrong_arguments

// A row of the table: the function without MPI_, then its arguments. TRIED: with none wrong, MPI accepts the call.
#define WRONG(name, ...) to.add("MPI_" #name, &MPI_##name, &PMPI_##name, false, __VA_ARGS__)
#define TRIED(name, ...) to.add("MPI_" #name, &MPI_##name, &PMPI_##name, true, __VA_ARGS__)
