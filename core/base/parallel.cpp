#include "base/parallel.hpp"

#include <algorithm>

namespace treefold {

Workers::Workers(int n_threads, Poll poll)
    : counts_(static_cast<size_t>(std::max(1, n_threads))), poll_(std::move(poll)),
      caller_(std::this_thread::get_id()), last_poll_(std::chrono::steady_clock::now()) {}

Workers::~Workers() {
    {
        std::lock_guard lock(mutex_);
        is_closing_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void Workers::for_each(size_t n_tasks, const std::function<void(size_t, int)>& body) {
    if (size() == 1 || n_tasks < 2) {
        for (size_t task = 0; task < n_tasks; ++task) {
            check();
            body(task, 0);
        }
        return;
    }
    start_threads();
    {
        std::lock_guard lock(mutex_);
        body_ = &body;
        n_tasks_ = n_tasks;
        next_task_ = 0;
        n_busy_ = static_cast<int>(threads_.size());
        error_ = nullptr;
        ++round_;
    }
    wake_.notify_all();
    run_tasks(0);
    std::unique_lock lock(mutex_);
    while (n_busy_ != 0) {  // the caller has no task left, but it still listens for Ctrl-C
        done_.wait_for(lock, std::chrono::milliseconds(50));
        if (n_busy_ == 0) break;
        lock.unlock();
        try {
            check();
        } catch (...) {
            stop_with(std::current_exception());
        }
        lock.lock();
    }
    body_ = nullptr;
    if (error_) std::rethrow_exception(error_);
}

void Workers::check() {
    if (stopped_.load(std::memory_order_relaxed)) throw Interrupted();
    if (std::this_thread::get_id() != caller_) return;
    auto now = std::chrono::steady_clock::now();
    if (now - last_poll_ < std::chrono::milliseconds(50)) return;
    last_poll_ = now;
    if (poll_ && poll_(done())) {
        stopped_ = true;
        throw Interrupted();
    }
}

uint64_t Workers::done() const {
    uint64_t sum = 0;
    for (const Count& count : counts_) sum += count.done.load(std::memory_order_relaxed);
    return sum;
}

// A call whose work is one task is done before a thread has started.
void Workers::start_threads() {
    for (int worker = static_cast<int>(threads_.size()) + 1; worker < size(); ++worker)
        threads_.emplace_back([this, worker] { serve(worker); });
}

void Workers::serve(int worker) {
    uint64_t seen = 0;
    while (true) {
        {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [&] { return is_closing_ || round_ != seen; });
            if (is_closing_) return;
            seen = round_;
        }
        run_tasks(worker);
        {
            std::lock_guard lock(mutex_);
            --n_busy_;
        }
        done_.notify_one();
    }
}

void Workers::run_tasks(int worker) {
    try {
        for (size_t task; (task = next_task_.fetch_add(1)) < n_tasks_;) {
            check();
            (*body_)(task, worker);
        }
    } catch (...) {
        stop_with(std::current_exception());
    }
}

void Workers::stop_with(std::exception_ptr error) {
    std::lock_guard lock(mutex_);
    if (!error_) error_ = error;
    next_task_ = n_tasks_;
}

}  // namespace treefold
