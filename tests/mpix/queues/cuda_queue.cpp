// SPDX-License-Identifier: BSD-3-Clause
// CUDA streams as queues. The same program runs on the stand-in of the driver (THENCE_TEST_CUDA_DRIVER names it), on a
// machine with a GPU (scripts/test_cuda.sh), and without a driver, where streams of this type are refused.
#include "support.hpp"

#include <thence/mpix.h>

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <numeric>

namespace {

using device_pointer = unsigned long long;

// The part of the driver that a program with a GPU uses itself.
struct driver {
    int (*cuInit)(unsigned) = nullptr;
    int (*cuDeviceGet)(int *, int) = nullptr;
    int (*cuDevicePrimaryCtxRetain)(void **, int) = nullptr;
    int (*cuCtxSetCurrent)(void *) = nullptr;
    int (*cuStreamCreate)(void **, unsigned) = nullptr;
    int (*cuStreamSynchronize)(void *) = nullptr;
    int (*cuMemAlloc_v2)(device_pointer *, std::size_t) = nullptr;
    int (*cuMemFree_v2)(device_pointer) = nullptr;
    int (*cuMemcpyHtoDAsync_v2)(device_pointer, const void *, std::size_t, void *) = nullptr;
    int (*cuMemcpyDtoHAsync_v2)(void *, device_pointer, std::size_t, void *) = nullptr;
    int (*cuStreamBeginCapture_v2)(void *, int) = nullptr;
    int (*cuStreamEndCapture)(void *, void **) = nullptr;
    bool usable = false;
};

const driver &cuda() {
    static const driver loaded = [] {
        driver d;
        // The library looks libcuda.so.1 up by its soname, so what is loaded here is what it finds.
        const char *named = std::getenv("THENCE_TEST_CUDA_DRIVER");
        void *library = dlopen(named != nullptr ? named : "libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
        if (library == nullptr) {
            return d;
        }
#define FIND(name) d.name = reinterpret_cast<decltype(d.name)>(dlsym(library, #name))
        FIND(cuInit);
        FIND(cuDeviceGet);
        FIND(cuDevicePrimaryCtxRetain);
        FIND(cuCtxSetCurrent);
        FIND(cuStreamCreate);
        FIND(cuStreamSynchronize);
        FIND(cuMemAlloc_v2);
        FIND(cuMemFree_v2);
        FIND(cuMemcpyHtoDAsync_v2);
        FIND(cuMemcpyDtoHAsync_v2);
        FIND(cuStreamBeginCapture_v2);
        FIND(cuStreamEndCapture);
#undef FIND
        int device = 0;
        void *context = nullptr;
        d.usable = d.cuInit(0) == 0 && d.cuDeviceGet(&device, 0) == 0 &&
                   d.cuDevicePrimaryCtxRetain(&context, device) == 0 && d.cuCtxSetCurrent(context) == 0;
        return d;
    }();
    return loaded;
}

class cuda_queue : public ::testing::Test {
protected:
    void SetUp() override {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before_);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, errors_return());
        if (!cuda().usable) {
            GTEST_SKIP() << "no CUDA driver";
        }
        ASSERT_EQ(cuda().cuStreamCreate(&handle, 1), 0);
        ASSERT_EQ(create(), MPI_SUCCESS);
        ASSERT_EQ(MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &comm), MPI_SUCCESS);
    }
    void TearDown() override {
        if (comm != MPI_COMM_NULL) {
            synchronize();
            EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
            // Copies in host memory are given back when the device is past them, which the helper thread sees.
            int code = MPI_ERR_PENDING;
            for (int i = 0; i < 2000 && code != MPI_SUCCESS; ++i) {
                code = MPIX_Stream_free(&stream);
                thence_progress();
                std::this_thread::yield();
            }
            EXPECT_EQ(code, MPI_SUCCESS);
        }
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, before_);
    }
    int create() {
        MPI_Info info = MPI_INFO_NULL;
        MPI_Info_create(&info);
        MPI_Info_set(info, "type", "cudaStream_t");
        MPIX_Info_set_hex(info, "value", &handle, sizeof handle);
        const int code = MPIX_Stream_create(info, &stream);
        MPI_Info_free(&info);
        return code;
    }
    void synchronize() const { EXPECT_EQ(cuda().cuStreamSynchronize(handle), 0); }
    int next() const { return (rank + 1) % size; }
    int previous() const { return (rank + size - 1) % size; }

    void *handle = nullptr;
    MPIX_Stream stream = MPIX_STREAM_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0;
    int size = 1;

private:
    MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

// An array in device memory.
class device_array {
public:
    explicit device_array(std::size_t n) : n_(n) { EXPECT_EQ(cuda().cuMemAlloc_v2(&memory_, n * sizeof(int)), 0); }
    ~device_array() { cuda().cuMemFree_v2(memory_); }
    device_array(const device_array &) = delete;
    device_array &operator=(const device_array &) = delete;
    int *address() const { return reinterpret_cast<int *>(memory_); }
    void set(const std::vector<int> &from, void *stream) {
        kept_.push_back(from); // the copy is asynchronous
        EXPECT_EQ(cuda().cuMemcpyHtoDAsync_v2(memory_, kept_.back().data(), n_ * sizeof(int), stream), 0);
    }
    void get(std::vector<int> &to, void *stream) const {
        EXPECT_EQ(cuda().cuMemcpyDtoHAsync_v2(to.data(), memory_, n_ * sizeof(int), stream), 0);
    }

private:
    std::size_t n_;
    device_pointer memory_ = 0;
    std::deque<std::vector<int>> kept_;
};

// As the paper's example: no synchronization but at the end.
TEST_F(cuda_queue, sends_and_receives_device_memory_in_the_order_of_the_stream) {
    constexpr std::size_t n = 10000;
    std::vector<int> first(n);
    std::vector<int> second(n);
    std::vector<int> got_first(n);
    std::vector<int> got_second(n);
    std::iota(first.begin(), first.end(), 100 * rank);
    std::iota(second.begin(), second.end(), 1000000 + 100 * rank);
    device_array out(n);
    device_array in(n);
    MPI_Status status{};
    for (const auto &[from, to] : {std::pair{&first, &got_first}, std::pair{&second, &got_second}}) {
        MPI_Request request = MPI_REQUEST_NULL;
        out.set(*from, handle);
        EXPECT_EQ(MPIX_Irecv_enqueue(in.address(), n, MPI_INT, previous(), 7, comm, &request), MPI_SUCCESS);
        EXPECT_EQ(MPIX_Send_enqueue(out.address(), n, MPI_INT, next(), 7, comm), MPI_SUCCESS);
        EXPECT_EQ(MPIX_Wait_enqueue(&request, &status), MPI_SUCCESS);
        in.get(*to, handle);
    }
    synchronize();
    EXPECT_EQ(got_first[n - 1], 100 * previous() + static_cast<int>(n) - 1);
    EXPECT_EQ(got_second[0], 1000000 + 100 * previous());
    EXPECT_EQ(status.MPI_SOURCE, previous());
}

TEST_F(cuda_queue, takes_host_memory_as_it_is) {
    int got = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPIX_Irecv_enqueue(&got, 1, MPI_INT, previous(), 1, comm, &request);
    MPIX_Send_enqueue(&rank, 1, MPI_INT, next(), 1, comm);
    MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE);
    synchronize();
    EXPECT_EQ(got, previous());
}

TEST_F(cuda_queue, leaves_the_gaps_of_a_datatype_alone) {
    MPI_Datatype every_other = MPI_DATATYPE_NULL;
    MPI_Type_vector(4, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    device_array out(8);
    device_array in(8);
    std::vector<int> got(8);
    out.set({10, 11, 12, 13, 14, 15, 16, 17}, handle);
    in.set({0, 1, 2, 3, 4, 5, 6, 7}, handle);
    MPI_Request request = MPI_REQUEST_NULL;
    MPIX_Irecv_enqueue(in.address(), 1, every_other, previous(), 1, comm, &request);
    MPIX_Send_enqueue(out.address(), 1, every_other, next(), 1, comm);
    MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE);
    in.get(got, handle);
    synchronize();
    EXPECT_EQ(got, (std::vector<int>{10, 1, 12, 3, 14, 5, 16, 7}));
    MPI_Type_free(&every_other);
}

TEST_F(cuda_queue, collectives_take_device_memory) {
    device_array in(4);
    device_array out(4);
    std::vector<int> got(4);
    in.set({rank, rank + 1, rank + 2, rank + 3}, handle);
    EXPECT_EQ(MPIX_Allreduce_enqueue(in.address(), out.address(), 4, MPI_INT, MPI_SUM, comm), MPI_SUCCESS);
    out.get(got, handle);
    synchronize();
    const int sum = size * (size - 1) / 2;
    EXPECT_EQ(got, (std::vector<int>{sum, sum + size, sum + 2 * size, sum + 3 * size}));
    EXPECT_EQ(MPIX_Allreduce_enqueue(MPI_IN_PLACE, in.address(), 4, MPI_INT, MPI_MAX, comm), MPI_SUCCESS);
    in.get(got, handle);
    synchronize();
    EXPECT_EQ(got[0], size - 1);
    device_array all(static_cast<std::size_t>(size));
    std::vector<int> ranks(static_cast<std::size_t>(size));
    device_array mine(1);
    mine.set({rank}, handle);
    EXPECT_EQ(MPIX_Gather_enqueue(mine.address(), 1, MPI_INT, rank == 0 ? all.address() : nullptr, 1, MPI_INT, 0, comm),
              MPI_SUCCESS);
    EXPECT_EQ(MPIX_Bcast_enqueue(mine.address(), 1, MPI_INT, size - 1, comm), MPI_SUCCESS);
    std::vector<int> root(1);
    mine.get(root, handle);
    if (rank == 0) {
        all.get(ranks, handle);
    }
    synchronize();
    EXPECT_EQ(root[0], size - 1);
    if (rank == 0) {
        EXPECT_EQ(ranks[static_cast<std::size_t>(size) - 1], size - 1);
    }
    const std::vector<int> counts(static_cast<std::size_t>(size), 1);
    if (thence_query_cuda_support() == 0) {
        EXPECT_EQ(
            class_of(MPIX_Reduce_scatter_enqueue(in.address(), out.address(), counts.data(), MPI_INT, MPI_SUM, comm)),
            MPI_ERR_UNSUPPORTED_OPERATION);
    }
}

// Two streams of one process whose operations match each other. MPICH blocks in host functions, which CUDA may run on
// one thread: there this hangs.
TEST_F(cuda_queue, streams_of_one_process_may_wait_for_each_other) {
    if (std::getenv("CUDA_STANDIN_MEMOPS") != nullptr) {
        GTEST_SKIP() << "without stream memory operations a wait holds up the host functions of other streams";
    }
    void *other_handle = nullptr;
    cuda().cuStreamCreate(&other_handle, 1);
    std::swap(handle, other_handle);
    MPIX_Stream other = stream;
    ASSERT_EQ(create(), MPI_SUCCESS);
    std::swap(other, stream);
    std::swap(handle, other_handle);
    // Both communicators have the same processes, so a message of one process to itself is enough.
    MPI_Comm second = MPI_COMM_NULL;
    MPIX_Stream_comm_create(MPI_COMM_SELF, other, &second);
    MPI_Comm first = MPI_COMM_NULL;
    MPIX_Stream_comm_create(MPI_COMM_SELF, stream, &first);
    int a = 0;
    int b = 0;
    MPIX_Recv_enqueue(&a, 1, MPI_INT, 0, 0, first, MPI_STATUS_IGNORE);
    MPIX_Recv_enqueue(&b, 1, MPI_INT, 0, 0, second, MPI_STATUS_IGNORE);
    const int number = 5;
    const auto send_at_once = [&number](MPI_Comm to) { // MPI_Send and MPI_Isend are enqueued
        MPI_Request request = MPI_REQUEST_NULL;
        PMPI_Isend(&number, 1, MPI_INT, 0, 0, to, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    };
    send_at_once(second);
    EXPECT_EQ(cuda().cuStreamSynchronize(other_handle), 0) << "while the first stream still waits";
    send_at_once(first);
    synchronize();
    EXPECT_EQ(a + b, 10);
    MPI_Comm_free(&first);
    MPI_Comm_free(&second);
    EXPECT_EQ(MPIX_Stream_free(&other), MPI_SUCCESS);
}

TEST_F(cuda_queue, refuses_a_stream_that_captures_a_graph) {
    int buffer = 0;
    void *graph = nullptr;
    ASSERT_EQ(cuda().cuStreamBeginCapture_v2(handle, 2), 0); // relaxed
    EXPECT_EQ(class_of(MPIX_Send_enqueue(&buffer, 1, MPI_INT, MPI_PROC_NULL, 0, comm)), MPI_ERR_OTHER);
    cuda().cuStreamEndCapture(handle, &graph);
    EXPECT_EQ(MPIX_Send_enqueue(&buffer, 1, MPI_INT, MPI_PROC_NULL, 0, comm), MPI_SUCCESS);
    synchronize();
}

TEST_F(cuda_queue, errors_do_not_end_the_program) {
    int buffer = 0;
    MPI_Status status{};
    MPIX_Recv_enqueue(&buffer, 1, MPI_INT, size + 3, 0, comm, &status);
    synchronize();
    EXPECT_EQ(class_of(status.MPI_ERROR), MPI_ERR_RANK);
    EXPECT_EQ(class_of(MPIX_Send_enqueue(&buffer, 1, MPI_INT, MPI_PROC_NULL, 0, comm)), MPI_ERR_RANK);
}

TEST(cuda_queue_type, has_a_row_that_says_whether_it_can_be_used) {
    const char *expected = cuda().usable ? "ours" : "not possible"; // loads the driver, before the library does
    thence_extension_info info{};
    for (int i = 0; thence_extension_query(i, &info, sizeof info) == MPI_SUCCESS && info.name != nullptr &&
                    std::strcmp(info.name, "enqueue on CUDA streams") != 0;
         ++i) {
    }
    ASSERT_NE(info.name, nullptr);
    EXPECT_STREQ(info.state, expected) << info.why;
}

TEST(cuda_queue_type, is_refused_where_it_cannot_be_used) {
    MPI_Errhandler before = MPI_ERRHANDLER_NULL;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errors_return());
    MPIX_Stream stream = MPIX_STREAM_NULL;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "type", "cudaStream_t");
    EXPECT_EQ(class_of(MPIX_Stream_create(info, &stream)), MPI_ERR_INFO_VALUE) << "it has no value";
    int dummy = 0;
    void *const no_stream = &dummy;
    MPIX_Info_set_hex(info, "value", &no_stream, sizeof no_stream);
    if (!cuda().usable || std::getenv("THENCE_TEST_CUDA_DRIVER") != nullptr) { // NVIDIA's driver checks no handles
        EXPECT_EQ(class_of(MPIX_Stream_create(info, &stream)), MPI_ERR_UNSUPPORTED_OPERATION);
    }
    MPI_Info_set(info, "type", "hipStream_t");
    EXPECT_EQ(class_of(MPIX_Stream_create(info, &stream)), MPI_ERR_UNSUPPORTED_OPERATION);
    EXPECT_EQ(stream, MPIX_STREAM_NULL);
    MPI_Info_free(&info);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
}

} // namespace
