// SPDX-License-Identifier: BSD-3-Clause
// Work that MPI does not do, as requests of MPI: each request stands for a task of std::async. MPI_Waitall waits for
// the tasks and for a message at once. No thread of the program watches the tasks: MPI asks the poll function.
//
// After "grequest.cu" of Zhou et al., "Designing and Prototyping Extensions to MPI in MPICH", with tasks of the host
// in place of a kernel of a GPU: y = a * x + y.

#include <thence/mpix.h>

#include <cstddef>
#include <cstdio>
#include <future>
#include <numeric>
#include <vector>

namespace {

constexpr std::size_t length = 100000;
constexpr float a = 2;

struct task {
    std::vector<float> x = std::vector<float>(length, 1);
    std::vector<float> y = std::vector<float>(length, 2);
    std::future<void> future;
    MPI_Request request = MPI_REQUEST_NULL; // a part of the state: it is set before the first call of poll()
};

int query(void *, MPI_Status *status) {
    MPI_Status_set_elements(status, MPI_FLOAT, length);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int free_nothing(void *) {
    return MPI_SUCCESS;
}

int cancel(void *, int) {
    return MPI_SUCCESS;
}

int poll(void *state, MPI_Status *) {
    task &t = *static_cast<task *>(state);
    if (t.future.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
        MPI_Grequest_complete(t.request);
    }
    return MPI_SUCCESS;
}

} // namespace

int main(int argc, char **argv) {
    int provided = 0;
    int rank = 0;
    int size = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided); // the tasks do not call MPI
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    std::vector<task> tasks(4);
    std::vector<MPI_Request> requests;
    for (task &t : tasks) {
        t.future = std::async(std::launch::async, [&t] {
            for (std::size_t i = 0; i < length; ++i) {
                t.y[i] += a * t.x[i];
            }
        });
        MPIX_Grequest_start(&query, &free_nothing, &cancel, &poll, nullptr, &t, &t.request);
        requests.push_back(t.request);
    }
    int from_left = -1;
    requests.resize(requests.size() + 2, MPI_REQUEST_NULL);
    MPI_Irecv(&from_left, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &requests[tasks.size()]);
    MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[tasks.size() + 1]);
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);

    bool ok = from_left == (rank + size - 1) % size;
    for (const task &t : tasks) {
        ok = ok && std::accumulate(t.y.begin(), t.y.end(), 0.0) == 4.0 * length;
    }
    if (!ok) {
        std::fprintf(stderr, "rank %d: a task was not complete\n", rank);
    } else if (rank == 0) {
        std::printf("%zu tasks and a message: one MPI_Waitall\n", tasks.size());
    }
    MPI_Finalize();
    return ok ? 0 : 1;
}
