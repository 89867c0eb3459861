// Threads that live as long as one call, from the first work for several on, and the flag by which Ctrl-C stops them.
//
// No pool outlives a call, so fork() and nested pools are safe. The calling thread works too; it alone
// polls for an interruption.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace treefold {

// Thrown inside the core when the user interrupts; the bindings turn it into KeyboardInterrupt.
struct Interrupted : std::exception {
    const char* what() const noexcept override { return "interrupted"; }
};

// Asked at most every 50 ms, by the calling thread only, and told how much work is done. True: the user has interrupted.
using Poll = std::function<bool(uint64_t done)>;

class Workers {
public:
    Workers(int n_threads, Poll poll);
    ~Workers();
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    int size() const { return static_cast<int>(counts_.size()); }

    // Calls body(task, worker) for every task, in any order; the first exception is rethrown here.
    void for_each(size_t n_tasks, const std::function<void(size_t task, int worker)>& body);

    // To be called often by long work: throws Interrupted once the user has interrupted.
    void check();

    // Counts work that is done, in a unit of the caller's. Each worker counts for itself, without a lock.
    void advance(int worker, uint64_t amount) {
        std::atomic<uint64_t>& done = counts_[static_cast<size_t>(worker)].done;
        done.store(done.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
    }
    uint64_t done() const;

private:
    struct alignas(64) Count {  // a cache line of its own
        std::atomic<uint64_t> done{0};
    };

    void start_threads();
    void serve(int worker);
    void run_tasks(int worker);
    void stop_with(std::exception_ptr error);

    std::vector<std::thread> threads_;
    std::vector<Count> counts_;
    Poll poll_;
    std::thread::id caller_;
    std::chrono::steady_clock::time_point last_poll_;
    std::atomic<bool> stopped_{false};

    std::mutex mutex_;
    std::condition_variable wake_, done_;
    const std::function<void(size_t, int)>* body_ = nullptr;
    size_t n_tasks_ = 0;
    std::atomic<size_t> next_task_{0};
    int n_busy_ = 0;
    uint64_t round_ = 0;
    bool is_closing_ = false;
    std::exception_ptr error_;
};

}  // namespace treefold
